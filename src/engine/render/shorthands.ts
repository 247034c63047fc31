import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { formatJsonPointer, parseJsonPointer } from '../../schema/json-pointer.ts';
import type {
  EntriesOverride,
  ImagePartOverride,
  Override,
  PatchOperation,
  WordsOverride,
} from '../intent.ts';
import { changedImage, withImagePart } from './images.ts';

/** Parts of an override that look for containers, and find some or none. */
export type ContainerPart = 'images' | 'command' | 'args';

/** What the parts of an override but its patch come to on an object. */
export interface Shorthands {
  readonly operations: readonly PatchOperation[];
  /** Those that found a container that they mean. */
  readonly found: readonly ContainerPart[];
}

/** Where pod specs are, by the shape of the object, so that custom workloads with the same shape work too. */
const POD_SPEC_PATHS = [
  ['spec', 'template', 'spec'],
  ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  ['spec'],
];

/** Patch operations, so that a spoke needs to know one form only. In the order of the parts in {@link Override}. */
export function shorthandOperations(object: KubeObject, override: Override): Shorthands {
  const { images = [], imageParts = [], command = [], args = [], labels, annotations } = override;
  const operations: PatchOperation[] = [];
  const found = new Set<ContainerPart>();
  if (images.length + command.length + args.length > 0) {
    const containers = containersOf(object);
    for (const { container, path } of containers) {
      const image = container['image'];
      const changed = typeof image === 'string' ? changedImage(image, images) : undefined;
      if (changed === undefined) continue;
      found.add('images');
      if (changed !== image) operations.push({ op: 'replace', path: `${path}/image`, value: changed });
    }
    for (const [part, changes] of [
      ['command', command],
      ['args', args],
    ] as const)
      for (const { container, path } of containers) {
        const meant = changes.filter(
          ({ container: name }) => name === undefined || name === container['name'],
        );
        if (meant.length === 0) continue;
        found.add(part);
        const operation = wordsOperation(container[part], `${path}/${part}`, meant);
        if (operation) operations.push(operation);
      }
  }
  for (const change of imageParts) operations.push(...imagePartOperations(object, change));
  operations.push(...entriesOperations(object.metadata.labels, '/metadata/labels', labels));
  operations.push(...entriesOperations(object.metadata.annotations, '/metadata/annotations', annotations));
  return { operations, found: [...found] };
}

/** Every container with the JSON pointer to it. */
function containersOf(object: KubeObject): { container: JsonObject; path: string }[] {
  const out: { container: JsonObject; path: string }[] = [];
  for (const path of POD_SPEC_PATHS) {
    let podSpec: JsonValue | undefined = object as unknown as JsonObject;
    for (const key of path) podSpec = isObject(podSpec) ? podSpec[key] : undefined;
    if (!isObject(podSpec)) continue;
    for (const field of ['initContainers', 'containers']) {
      const containers = podSpec[field];
      if (!Array.isArray(containers)) continue;
      containers.forEach((container, index) => {
        if (isObject(container)) out.push({ container, path: `/${[...path, field, index].join('/')}` });
      });
    }
  }
  return out;
}

/** Of an image at a path that is not there the patch fails, and says so. */
function imagePartOperations(object: KubeObject, change: ImagePartOverride): PatchOperation[] {
  const at = change.path;
  const images = containersOf(object)
    .map(({ container, path }) => ({ image: container['image'], path: `${path}/image` }))
    .filter(({ path }) => at === undefined || at === path);
  if (at !== undefined && images.length === 0) images.push({ image: valueAt(object, at), path: at });
  return images.flatMap(({ image, path }): PatchOperation[] => {
    const value = typeof image === 'string' ? withImagePart(image, change) : '';
    return value === image || (typeof image !== 'string' && at === undefined)
      ? []
      : [{ op: 'replace', path, value }];
  });
}

function valueAt(object: KubeObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object as unknown as JsonObject;
  for (const token of parseJsonPointer(path) ?? []) {
    if (Array.isArray(value)) value = /^(0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined;
    else value = isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
  }
  return value;
}

function wordsOperation(
  value: JsonValue | undefined,
  path: string,
  changes: readonly WordsOverride[],
): PatchOperation | undefined {
  const before: readonly JsonValue[] = Array.isArray(value) ? value : [];
  let words = before;
  for (const { remove = [], add = [] } of changes)
    words = [...words.filter((word) => typeof word !== 'string' || !remove.includes(word)), ...add];
  if (words.length === before.length && words.every((word, index) => word === before[index]))
    return undefined;
  if (words.length === 0) return { op: 'remove', path };
  return { op: value === undefined ? 'add' : 'replace', path, value: [...words] };
}

function entriesOperations(
  entries: Readonly<Record<string, string>> | undefined,
  path: string,
  change: EntriesOverride | undefined,
): PatchOperation[] {
  if (!change) return [];
  const operations: PatchOperation[] = [];
  const present = new Set(Object.keys(entries ?? {}));
  const at = (key: string): string => path + formatJsonPointer([key]);
  for (const key of change.remove ?? [])
    if (present.delete(key)) operations.push({ op: 'remove', path: at(key) });
  for (const [key, value] of Object.entries(change.replace ?? {}))
    if (present.has(key)) operations.push({ op: 'replace', path: at(key), value });
  const added = Object.entries(change.add ?? {});
  if (entries === undefined && added.length > 0)
    return [...operations, { op: 'add', path, value: Object.fromEntries(added) }];
  return [
    ...operations,
    ...added.map(([key, value]): PatchOperation => ({ op: 'add', path: at(key), value })),
  ];
}
