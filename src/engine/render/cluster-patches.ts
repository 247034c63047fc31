import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { formatJsonPointer } from '../../schema/json-pointer.ts';
import type { ClusterFacts, PatchOperation, SourceRef } from '../intent.ts';
import { localFactsOf } from './local-facts.ts';
import { type ObjectPatch, OF_CLUSTER } from './override.ts';
import { applyPatches } from './render.ts';

/** What whoever keeps the inventory changes of what goes to one cluster: the last word on it. */
export interface ClusterPatch {
  /** What people call it, such as `SpokeCluster default/a patches[0]`. */
  readonly name: string;
  readonly plane: PlaneName;
  /** `web`, `Deployment/web` or `Deployment/shop/web`: an object of the intent. */
  readonly component: string;
  /** Merged deep into the object: maps by key, lists as a whole, `null` takes away. */
  readonly properties: JsonObject;
}

/** An intent by its name. */
export interface PlaneName {
  readonly text: string;
  readonly kind?: string;
  /** Where it may be; '' is where things are that have no namespace. */
  readonly namespaces: readonly string[];
  readonly name: string;
}

/** What became of one patch of a cluster that could not be applied. */
export interface ClusterPatchProblem {
  readonly patch: ClusterPatch;
  readonly reason: 'UnknownComponent' | 'AmbiguousComponent' | 'PatchRefused';
  readonly message: string;
  /** The cluster keeps what it has of the intent; otherwise only the patch is left out. */
  readonly blocks: boolean;
}

export interface CompiledClusterPatches {
  readonly patches: readonly ObjectPatch[];
  readonly problems: readonly ClusterPatchProblem[];
}

/**
 * `shop`, `team/shop`, `Propagation/shop` or `Propagation/team/shop`: kinds begin with a capital letter, namespaces never do. Without
 * a namespace it is in `home`, or in none: nobody elsewhere can take the name.
 */
export function parsePlane(text: string, home: string): PlaneName {
  const parts = text.split('/');
  const kind = parts.length > 1 && /^[A-Z]/.test(parts[0] ?? '') ? parts.shift() : undefined;
  const name = parts.pop() ?? '';
  const namespace = parts.join('/');
  return {
    text,
    name,
    namespaces: namespace === '' ? [home, ''] : [namespace],
    ...(kind === undefined ? {} : { kind }),
  };
}

/** Whether a name means an intent. */
export function isPlane(
  { kind, namespaces, name }: PlaneName,
  source: Pick<SourceRef, 'kind' | 'namespace' | 'name'>,
): boolean {
  return (
    name === source.name &&
    namespaces.includes(source.namespace) &&
    (kind === undefined || kind === source.kind)
  );
}

/** What a cluster's own patches come to for an intent, checked by applying them after `before`, the patches of the intent. */
export function compileClusterPatches(
  source: SourceRef,
  objects: readonly KubeObject[],
  cluster: ClusterFacts,
  before: readonly ObjectPatch[],
): CompiledClusterPatches {
  const patches: ObjectPatch[] = [];
  const problems: ClusterPatchProblem[] = [];
  const facts = localFactsOf(cluster);
  for (const patch of cluster.patches ?? []) {
    if (!isPlane(patch.plane, source)) continue;
    const fail = (reason: ClusterPatchProblem['reason'], message: string): void => {
      problems.push({ patch, reason, message, blocks: reason !== 'UnknownComponent' });
    };
    const [object, ...others] = objects.filter((item) => isComponent(patch.component, refOf(item)));
    if (!object) {
      fail('UnknownComponent', `component ${patch.component}: ${noneOf(source, objects)}`);
      continue;
    }
    if (others.length > 0) {
      const names = [object, ...others].slice(0, 5).map(fullName).join(', ');
      fail('AmbiguousComponent', `component ${patch.component} is several objects: name one of ${names}`);
      continue;
    }
    const key = refKey(refOf(object));
    const earlier = [...before, ...patches].filter(({ target }) => refKey(target) === key);
    const state = applyPatches(object, earlier, facts);
    // Whoever stated those hears of it.
    if ('problem' in state) continue;
    const operations = mergeOperations(state.object as unknown as JsonObject, patch.properties);
    if (operations.length === 0) continue;
    const merged: ObjectPatch = { target: refOf(object), operations, override: OF_CLUSTER, name: patch.name };
    const result = applyPatches(state.object, [merged], facts);
    if ('problem' in result) fail('PatchRefused', `${refText(refOf(object))}: ${result.problem}`);
    else patches.push(merged);
  }
  return { patches, problems };
}

/**
 * Operations that merge a value into a document. A field is written also where it has the value already: it may have it from an
 * expression, which comes to something else when the cluster changes.
 */
export function mergeOperations(
  document: JsonObject,
  value: JsonObject,
  path: readonly string[] = [],
): PatchOperation[] {
  return Object.entries(value).flatMap(([key, wanted]): PatchOperation[] => {
    if (wanted === undefined) return [];
    const at = [...path, key];
    const present = Object.hasOwn(document, key) ? document[key] : undefined;
    if (wanted === null) return present === undefined ? [] : [{ op: 'remove', path: formatJsonPointer(at) }];
    if (isObject(wanted) && isObject(present)) return mergeOperations(present, wanted, at);
    return [{ op: 'add', path: formatJsonPointer(at), value: withoutNulls(wanted) }];
  });
}

/** Of what is not there nothing can be taken away. */
function withoutNulls(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      item === null || item === undefined ? [] : [[key, withoutNulls(item)]],
    ),
  );
}

function isComponent(component: string, { kind, namespace, name }: ObjectRef): boolean {
  const parts = component.split('/');
  if (parts.pop() !== name) return false;
  const [wantedKind, wantedNamespace] = parts;
  return (
    parts.length <= 2 &&
    (wantedKind === undefined || wantedKind.toLowerCase() === kind.toLowerCase()) &&
    (wantedNamespace === undefined || wantedNamespace === namespace)
  );
}

function noneOf({ kind, namespace, name }: SourceRef, objects: readonly KubeObject[]): string {
  const whose = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  if (objects.length === 0) return `${whose} has no objects now`;
  const names = objects.slice(0, 5).map(fullName).join(', ');
  return `${whose} has no such object; it has ${names}${objects.length > 5 ? ` and ${objects.length - 5} more` : ''}`;
}

function fullName(object: KubeObject): string {
  const { kind, namespace, name } = refOf(object);
  return [kind, namespace, name].filter((part) => part !== '').join('/');
}
