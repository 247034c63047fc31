import { CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { Cluster } from '../../dialects/kubevela/types.ts';
import { DISPATCH, type Dispatch, type DispatchSpec } from '../../engine/dispatch/index.ts';
import { isObject, type JsonValue, listAt } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { validateValue } from '../../schema/validate.ts';

/** What says nothing, and that no hub signed. */
const NO_ORDER: DispatchSpec = {
  source: { apiVersion: '', kind: '', namespace: '', name: '', uid: '', generation: 0 },
  position: { lineage: '', epoch: 0, generation: 0 },
  digest: '',
  history: [],
  revision: '',
  bundles: [],
  objects: [],
  patches: [],
  tombstones: [],
  publicKey: '',
};

/**
 * A dispatch as the hub can read it, whatever a spoke answers: a status that is none is left out, and an order that is none says
 * nothing. What is said of one spoke is read along with all others of the same intent, which must not fail for that. The API server of
 * an honest spoke keeps the form; nobody knows what stands between. `onMade` hears of what is not in form.
 */
export function dispatchInForm(dispatch: Dispatch, onMade: (what: string) => void): Dispatch {
  let read = dispatch;
  if (!isOrder(read.spec)) {
    onMade('an order');
    read = { ...read, spec: NO_ORDER };
  }
  if (read.status === undefined || isDispatchStatus(read.status)) return read;
  onMade('the status of an order');
  const { status: _status, ...rest } = read;
  return rest;
}

/** The same of what a spoke says of itself. */
export function clusterInForm(cluster: Cluster, onMade: (what: string) => void): Cluster {
  if (cluster.status === undefined || isClusterStatus(cluster.status)) return cluster;
  onMade('what it says of itself');
  const { status: _status, ...rest } = cluster;
  return rest;
}

/** By the parts that are gone through before it is known who signed it: a hub that starts reads very many. */
function isOrder(spec: unknown): boolean {
  if (!isObject(spec) || !isObject(spec['source']) || !isPosition(spec['position'])) return false;
  const { objects, patches, bundles, tombstones, history = [] } = spec;
  return (
    [patches, bundles, history].every(Array.isArray) &&
    areRefs(objects) &&
    Array.isArray(tombstones) &&
    areRefs(refsOf(tombstones))
  );
}

function isDispatchStatus(status: unknown): boolean {
  if (!isValid(status, DISPATCH.status)) return false;
  const { position, removed = [], objects = [], returned = [] } = status;
  return (
    (position === undefined || isPosition(position)) &&
    [removed, refsOf(objects), refsOf(returned)].every(areRefs) &&
    listAt(status, 'returned').every((item) => isObject(item) && isObject(item['status']))
  );
}

function isClusterStatus(status: unknown): boolean {
  return (
    isValid(status, CLUSTER.status) &&
    listAt(status, 'dispatches').every(
      (told) => isObject(told) && typeof told['name'] === 'string' && areRefs(told['kept'] ?? []),
    )
  );
}

function isValid(value: unknown, schema: OpenApiSchema | undefined): value is Record<string, JsonValue> {
  if (!isObject(value) || schema === undefined) return false;
  return validateValue(value, { schema, resolve: () => undefined }).length === 0;
}

function isPosition(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { lineage, epoch, generation } = value;
  return typeof lineage === 'string' && Number.isSafeInteger(epoch) && Number.isSafeInteger(generation);
}

function refsOf(items: unknown): unknown[] {
  return Array.isArray(items) ? items.map((item) => (isObject(item) ? item['ref'] : undefined)) : [];
}

function areRefs(refs: unknown): boolean {
  return Array.isArray(refs) && refs.every(isRef);
}

function isRef(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { apiVersion, kind, namespace = '', name } = value;
  return [apiVersion, kind, namespace, name].every((part) => typeof part === 'string');
}
