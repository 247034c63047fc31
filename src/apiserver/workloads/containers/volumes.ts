import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../../schema/json.ts';
import type { Container } from '../kinds.ts';
import {
  type Directory,
  emptyDirectory,
  type FileSystem,
  normalizePath,
  readOnlyDirectory,
} from './file-system.ts';
import { containersOf, entriesOf, fieldValue, type PodFacts, resourceValue } from './pod-facts.ts';

type Files = Record<string, Uint8Array>;

const FILE_MODE = 0o644;
/** What stands where a token would be: simulated pods ask no API. */
const NO_TOKEN = 'simulated pods have no token\n';

/**
 * Puts the volumes of a container into its files as they are now: ConfigMaps, Secrets and the downward API are copied
 * anew, so that a change is seen; all other volumes are empty directories that the containers of the pod share in `shared`.
 */
export function mountVolumes(
  facts: PodFacts,
  container: Container,
  files: FileSystem,
  shared: Map<string, Directory>,
  now: number,
): void {
  const volumes = (facts.pod.spec.volumes ?? []) as unknown as JsonObject[];
  for (const mount of listAt(container as unknown as JsonObject, 'volumeMounts')) {
    const name = stringAt(mount, 'name') ?? '';
    const path = stringAt(mount, 'mountPath') ?? '';
    const volume = volumes.find((each) => stringAt(each, 'name') === name);
    if (volume === undefined || normalizePath(path) === '/') continue;
    const content = volumeFiles(facts, volume);
    const subPath = stringAt(mount, 'subPath') ?? '';
    if (content === undefined) {
      let directory = shared.get(name);
      if (directory === undefined) {
        directory = emptyDirectory(now, 0o777);
        shared.set(name, directory);
      }
      files.mount(normalizePath(path), directory);
    } else if (subPath !== '' && Object.hasOwn(content.files, subPath)) {
      // One file in a directory that is otherwise the image's; a copy that stays as it was, as with kubelets.
      if (!files.has(normalizePath(path))) {
        files.makeDirectory(normalizePath(`${path}/..`), { parents: true });
        files.write(normalizePath(path), content.files[subPath] ?? '', content.mode);
      }
    } else files.mount(normalizePath(path), readOnlyDirectory(content.files, content.mode, now));
  }
}

/** The files of a volume that shows objects; `undefined` for one that keeps what is written. */
function volumeFiles(facts: PodFacts, volume: JsonObject): { files: Files; mode: number } | undefined {
  const secret = objectAt(volume, 'secret');
  if (secret) return { files: secretFiles(facts, secret, 'secretName'), mode: modeOf(secret) };
  const configMap = objectAt(volume, 'configMap');
  if (configMap)
    return {
      files: objectFiles(facts, 'configmaps', stringAt(configMap, 'name'), configMap),
      mode: modeOf(configMap),
    };
  const downward = objectAt(volume, 'downwardAPI');
  if (downward) return { files: downwardFiles(facts, downward), mode: modeOf(downward) };
  const projected = objectAt(volume, 'projected');
  if (!projected) return undefined;
  const files: Files = {};
  for (const source of listAt(projected, 'sources')) {
    if (!isObject(source)) continue;
    const map = objectAt(source, 'configMap');
    const token = objectAt(source, 'serviceAccountToken');
    const own = objectAt(source, 'secret');
    const fields = objectAt(source, 'downwardAPI');
    if (map) Object.assign(files, objectFiles(facts, 'configmaps', stringAt(map, 'name'), map));
    if (own) Object.assign(files, secretFiles(facts, own, 'name'));
    if (fields) Object.assign(files, downwardFiles(facts, fields));
    if (token) files[stringAt(token, 'path') ?? 'token'] = Buffer.from(NO_TOKEN);
  }
  return { files, mode: modeOf(projected) };
}

function modeOf(source: JsonObject): number {
  return (numberAt(source, 'defaultMode') ?? FILE_MODE) & 0o777;
}

function secretFiles(facts: PodFacts, source: JsonObject, nameField: string): Files {
  return objectFiles(facts, 'secrets', stringAt(source, nameField), source);
}

function objectFiles(
  facts: PodFacts,
  resource: 'configmaps' | 'secrets',
  name: string | undefined,
  source: JsonObject,
): Files {
  const object = facts.find(resource, name ?? '');
  if (object === undefined) return {};
  const entries = entriesOf(object);
  const items = listAt(source, 'items');
  if (items.length === 0) return entries;
  const files: Files = {};
  for (const item of items) {
    const value = entries[stringAt(item, 'key') ?? ''];
    if (value !== undefined) files[stringAt(item, 'path') ?? ''] = value;
  }
  return files;
}

function downwardFiles(facts: PodFacts, source: JsonObject): Files {
  const files: Files = {};
  const { containers, init } = containersOf(facts.pod);
  for (const item of listAt(source, 'items')) {
    const field = stringAt(item, 'fieldRef', 'fieldPath');
    const resource = stringAt(item, 'resourceFieldRef', 'resource');
    const name = stringAt(item, 'resourceFieldRef', 'containerName');
    const container = [...containers, ...init].find((each) => each.name === name);
    const divisor = stringAt(item, 'resourceFieldRef', 'divisor') ?? '';
    const text =
      field !== undefined
        ? fieldValue(facts.pod, field)
        : resource !== undefined && container
          ? resourceValue(facts, container, resource, divisor)
          : undefined;
    if (text !== undefined) files[stringAt(item, 'path') ?? ''] = Buffer.from(text);
  }
  return files;
}
