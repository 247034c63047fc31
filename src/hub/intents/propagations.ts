import {
  compilePropagation,
  concernedBy,
  effectiveSelectors,
  reachOf,
} from '../../dialects/propagation/compile.ts';
import { CLUSTER_PROPAGATION, PROPAGATION } from '../../dialects/propagation/kinds.ts';
import { reportPropagation } from '../../dialects/propagation/report.ts';
import type { Propagation, PropagationStatus } from '../../dialects/propagation/types.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { optimisticWrite } from '../../kube/optimistic-write.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, isObject } from '../../schema/json.ts';
import { setFinalizers } from './finalizers.ts';
import type { GoneIntent, IntentSource } from './intent-source.ts';

/** Keeps a Propagation until its objects are gone from every cluster that has them. */
export const PROPAGATION_FINALIZER = 'atoll.dev/propagation';
const KINDS = [PROPAGATION, CLUSTER_PROPAGATION].map(resourceIdOf);

/** The Propagations and ClusterPropagations of the hub. What the hub must remember of them is in their status. */
export function openPropagations(
  runtime: Runtime,
  client: Client,
  onChange: (key: string, gone?: GoneIntent) => void,
): IntentSource<Propagation> {
  const { clock } = runtime;
  const informers = new Map<string, Informer<Propagation>>();
  const byKey = new Map<string, Propagation>();
  for (const resource of KINDS) {
    const informer = startInformer<Propagation>(runtime, client, resource);
    informers.set(resource.kind, informer);
    informer.onChange(({ type, object, previous }) => {
      const key = keyOf(resource, object);
      if (type === 'deleted') byKey.delete(key);
      else byKey.set(key, object);
      const relevant =
        type !== 'updated' ||
        !deepEqual(object.spec, previous?.spec) ||
        !deepEqual(object.status?.scheduled, previous?.status?.scheduled) ||
        object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp ||
        (isHeld(previous) && !isHeld(object));
      // That it is missing in a list says nothing: the API server may have been restored from an old state.
      const isGone = type === 'deleted' && previous !== undefined && previous !== object;
      if (relevant) onChange(key, isGone ? { object, record: object.status } : undefined);
    });
  }

  function resourceOf(propagation: Propagation): ResourceId {
    return KINDS.find((resource) => resource.kind === propagation.kind) ?? resourceIdOf(PROPAGATION);
  }

  /** Merges into the status. With `resourceVersion` only over what was read: 409 where it moved on. */
  async function writeStatus(
    propagation: Propagation,
    status: object,
    resourceVersion?: string,
  ): Promise<void> {
    const { namespace = '', name = '' } = propagation.metadata;
    const patch = resourceVersion === undefined ? { status } : { metadata: { resourceVersion }, status };
    await client.patch(resourceOf(propagation), namespace, name, 'merge', patch, { subresource: 'status' });
  }

  return {
    finalizer: PROPAGATION_FINALIZER,
    get synced() {
      return [...informers.values()].every((informer) => informer.synced);
    },
    owns: (key) => byKey.has(key) || informers.has(key.slice(0, key.indexOf('/'))),
    get: (key) => byKey.get(key),
    *entries(): Iterable<[string, Propagation]> {
      for (const resource of KINDS)
        for (const object of informers.get(resource.kind)?.list() ?? [])
          yield [keyOf(resource, object), object];
    },
    compile: (propagation, { objects, named = objects }) =>
      compilePropagation(propagation, ({ apiVersion, kind }) => objects(apiVersion, kind), {
        named: ({ apiVersion, kind }) => named(apiVersion, kind),
      }),
    claim: (propagation) => {
      const { kind, metadata, spec } = propagation;
      const { namespace = '', name = '' } = metadata;
      const { priority, preemption } = spec;
      return {
        source: { kind, namespace, name },
        selectors: effectiveSelectors(propagation),
        ...(priority === undefined ? {} : { priority }),
        ...(preemption === undefined ? {} : { preemption }),
      };
    },
    schedulePriority: ({ spec }) => spec.schedulePriority ?? 0,
    reach: reachOf,
    concernedBy,
    author: ({ spec }) => spec.author,
    record: ({ status }) => status,
    writeRecord: async (propagation, record) => writeStatus(propagation, record),
    async report(propagation, findings) {
      const found = { ...findings, suspended: findings.suspended || propagation.spec.suspend === true };
      const status = reportPropagation(found, propagation.status, clock.now());
      if (deepEqual(status, propagation.status)) return undefined;
      // Only over what was read: a plan that was recorded meanwhile must not be undone.
      const patch = { ...status, ...withoutLeftovers(status, propagation.status) };
      return optimisticWrite(writeStatus(propagation, patch, propagation.metadata.resourceVersion));
    },
    setFinalizers: async (propagation, finalizers) =>
      setFinalizers(client, resourceOf(propagation), propagation, finalizers),
    stop(): void {
      for (const informer of informers.values()) informer.stop();
    },
  };
}

function isHeld(propagation: Propagation | undefined): boolean {
  return propagation?.metadata.finalizers?.includes(PROPAGATION_FINALIZER) === true;
}

function keyOf(resource: ResourceId, object: Propagation): string {
  return `${resource.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
}

/** A merge keeps what it is not told of: fields of records that are gone are taken away by name. */
function withoutLeftovers(
  next: PropagationStatus,
  before: PropagationStatus | undefined,
): Record<string, object | null> {
  const out: Record<string, object | null> = {};
  for (const name of ['rollout', 'revisions'] as const)
    if (before?.[name] !== undefined && next[name] === undefined) out[name] = null;
  if (before?.rollout !== undefined && next.rollout !== undefined)
    out['rollout'] = mergeTo(before.rollout, next.rollout);
  for (const name of ['freshness', 'decision', 'replicas'] as const)
    if (before?.[name] !== undefined) out[name] = mergeTo(before[name], next[name] ?? {});
  return out;
}

/** The merge patch that makes one record of another. */
function mergeTo(before: object, next: object): object {
  const patch: Record<string, unknown> = { ...next };
  for (const [field, value] of Object.entries(before)) {
    const wanted = (next as Record<string, unknown>)[field];
    if (wanted === undefined) patch[field] = null;
    else if (isObject(wanted) && isObject(value)) patch[field] = mergeTo(value, wanted);
  }
  return patch;
}
