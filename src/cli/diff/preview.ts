import type { Client, ResourceId } from '../../kube/client.ts';
import { asJson, asObject, type KubeObject, parseApiVersion, refText } from '../../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../../kube/status-error.ts';
import { at, type JsonObject, stringAt } from '../../schema/json.ts';
import { forEachOf } from '../fleet-reading.ts';
import { type Manifest, ManifestError } from './manifest-files.ts';
import { withoutRemoved } from './removed-fields.ts';

/** An object as it would be at the hub if its file were applied. */
export interface Previewed {
  readonly at: string;
  readonly object: KubeObject;
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** What `kubectl apply` is known as on objects that it applied on the server. */
const MANAGER = 'kubectl';
const AT_ONCE = 8;

/**
 * What the hub would make of manifests, by dry runs on its API server: defaults, admission and validation are the hub's
 * own. Objects that cannot be tried, because their namespace or kind comes with the same files, are taken as they stand.
 * Throws {@link ManifestError} for what the hub would refuse. With `write` it is no dry run: they are applied, in their order.
 */
export async function previewManifests(
  client: Client,
  manifests: readonly Manifest[],
  namespace: { readonly name: string; readonly explicit: boolean },
  { write = false }: { readonly write?: boolean } = {},
): Promise<Previewed[]> {
  const brought = kindsIn(manifests);
  const results = await forEachOf(
    manifests,
    write ? 1 : AT_ONCE,
    async (manifest): Promise<Previewed | string> => {
      const { object, at: place } = manifest;
      try {
        const served = await resourceOf(client, object);
        const scope = served?.namespaced ?? brought.get(kindKey(object));
        if (scope === undefined)
          return `${place}: the hub serves no kind ${object.kind} in ${object.apiVersion}: check apiVersion and kind, or add its CustomResourceDefinition`;
        const placed = inNamespace(object, scope, namespace);
        if (typeof placed === 'string') return `${place}: ${placed}`;
        return {
          at: place,
          object: served === undefined ? placed : await preview(client, served, placed, !write),
        };
      } catch (error) {
        if (!(error instanceof StatusError) || error.code >= 500) throw error;
        return `${place}: ${error.message}`;
      }
    },
  );
  const problems = results.filter((result) => typeof result === 'string');
  if (problems.length > 0) throw new ManifestError(problems);
  return results.filter((result) => typeof result !== 'string');
}

async function resourceOf(client: Client, object: KubeObject): Promise<ResourceId | undefined> {
  return ignoring(404, client.resourceFor(object.apiVersion, object.kind));
}

/** Kinds that the files define themselves: whether they are namespaced, by group and kind. */
function kindsIn(manifests: readonly Manifest[]): ReadonlyMap<string, boolean> {
  const kinds = new Map<string, boolean>();
  for (const { object } of manifests) {
    if (object.kind !== 'CustomResourceDefinition') continue;
    const kind = stringAt(object, 'spec', 'names', 'kind');
    const key = `${stringAt(object, 'spec', 'group') ?? ''}/${kind ?? ''}`;
    kinds.set(key, stringAt(object, 'spec', 'scope') === 'Namespaced');
  }
  return kinds;
}

function kindKey(object: KubeObject): string {
  return `${parseApiVersion(object.apiVersion).group}/${object.kind}`;
}

/** The object in the namespace where it will be, or why it can be in none. */
function inNamespace(
  object: KubeObject,
  namespaced: boolean,
  namespace: { readonly name: string; readonly explicit: boolean },
): KubeObject | string {
  // What `kubectl get -o yaml` writes besides the object is no part of what is wanted.
  const { namespace: own, managedFields: _managedFields, ...metadata } = object.metadata;
  if (!namespaced) return { ...object, metadata };
  if (own !== undefined && own !== '') {
    if (namespace.explicit && own !== namespace.name)
      return `${refText({ ...object, namespace: own, name: metadata.name ?? '' })} is not in the namespace "${namespace.name}" that -n names`;
    return { ...object, metadata: { ...metadata, namespace: own } };
  }
  return { ...object, metadata: { ...metadata, namespace: namespace.name } };
}

async function preview(
  client: Client,
  resource: ResourceId,
  object: KubeObject,
  dryRun: boolean,
): Promise<KubeObject> {
  const { namespace = '', name = '' } = object.metadata;
  const live = await ignoring(404, client.get(resource, namespace, name));
  let applied: KubeObject;
  try {
    applied = await client.apply(resource, object, { fieldManager: MANAGER, force: true, dryRun });
  } catch (error) {
    if (live === undefined && hasCode(error, 404) && error.status.details?.kind === 'namespaces')
      return object;
    throw error;
  }
  const before = live === undefined ? undefined : lastApplied(live);
  if (before === undefined) return applied;
  // kubectl's client-side apply takes away what its last file had and this one has not. Server-side apply leaves such
  // fields alone, since another manager's name is on them.
  const stripped = withoutRemoved(asJson(applied), before, asJson(object));
  if (stripped === undefined) return applied;
  return client.update(resource, asObject(stripped), { fieldManager: MANAGER, dryRun });
}

function lastApplied(live: KubeObject): JsonObject | undefined {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return at(value, 'metadata') === undefined ? undefined : (value as JsonObject);
  } catch {
    // Someone wrote something else into the annotation; kubectl would refuse, the dry run has told its own view.
    return undefined;
  }
}
