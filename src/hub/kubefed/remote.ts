import {
  type FederatedType,
  isSettled,
  observeWorkload,
  type WorkloadObservation,
} from '../../dialects/kubefed/index.ts';
import { impersonationHeaders, userOnSpoke } from '../../engine/access/index.ts';
import { DISPATCH_LABEL } from '../../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { createClient } from '../../kube/rest-client.ts';
import { hasCode } from '../../kube/status-error.ts';
import { pods } from '../../kube/well-known.ts';
import type { Link } from '../../link/link.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, type JsonValue, numberAt, stringsAt } from '../../schema/json.ts';
import type { Fleet } from '../fleet.ts';
import { startCountedController } from './metrics.ts';

/**
 * Who reads objects on spokes for the federation: a user of the hub like others, who may look and do nothing else. What the
 * owner of a cluster takes from the users of the hub is not read there.
 */
const READER = userOnSpoke({ name: 'atoll:kubefed', groups: [] });
/** A workload that is not ready is looked at again, since nothing tells of its pods. */
const LOOK_AGAIN_MS = 30_000;
/** How long replicas wait for a cluster that does not say what it has. Others are not held up for longer. */
const ANSWER_MS = 60_000;
const GATHER_MS = 50;

/** What federated objects are like on the spokes, read on demand. */
export interface Remote {
  /** What is known of a workload by cluster, for whoever divides its replicas. */
  workloads(key: string): ReadonlyMap<string, WorkloadObservation>;
  /** Begins to look at an object on these clusters, and says what is known already. */
  follow(key: string, type: FederatedType, object: KubeObject, clusters: readonly string[]): Following;
  /** The status of an object by cluster, as far as it is there and may be read. */
  statuses(
    key: string,
    type: FederatedType,
    object: KubeObject,
    clusters: readonly string[],
  ): ReadonlyMap<string, JsonValue>;
  /** An object on a cluster. `known` is false until the cluster was read. */
  object(
    cluster: string,
    resource: ResourceId,
    namespace: string,
    name: string,
  ): { readonly known: boolean; readonly object?: KubeObject };
  /** Reads a spoke as the reader of the federation. */
  client(cluster: string): Client | undefined;
  /** Nobody asks for an object any more. */
  forget(key: string): void;
  /** Hears of every change of an object on a spoke that was asked for. */
  onChange(listener: (cluster: string, resource: ResourceId, namespace: string, name: string) => void): void;
  stop(): Promise<void>;
}

export interface Following {
  /** What is still to be read; absent where everything is known that can be. */
  readonly waitingFor?: string;
  /** Clusters that did not answer for so long that they are waited for no more. They are followed all the same. */
  readonly silent: ReadonlySet<string>;
}

export interface RemoteOptions {
  readonly fleet: Fleet;
  /** Something is known now that an object's wish may depend on. */
  readonly onNews: (key: string) => void;
}

interface Copy {
  readonly link: Link;
  readonly informer: Informer;
  /** Why it cannot be read, where it cannot. */
  problem?: string;
}

/** What somebody wants to know of an object. */
interface Interest {
  readonly resource: ResourceId;
  readonly namespace: string;
  readonly name: string;
  clusters: readonly string[];
  /** Whether its pods count. */
  workload: boolean;
  /** Clusters that did not answer for too long, as far as whoever asks was told. */
  readonly silent: Set<string>;
  /** How many replicas each cluster was seen to be asked for last. */
  readonly asked: Map<string, { readonly replicas: number; readonly changedAtMs: number | undefined }>;
}

export function openRemote(runtime: Runtime, { fleet, onNews }: RemoteOptions): Remote {
  const { clock } = runtime;
  /** By cluster and resource. */
  const copies = new Map<string, Copy>();
  const clients = new Map<string, { readonly link: Link; readonly client: Client }>();
  const interests = new Map<string, Interest>();
  /** Keys of interests by what they look at: an event looks at no others. */
  const lookingAt = new Map<string, Set<string>>();
  const observed = new Map<string, Map<string, WorkloadObservation>>();
  /** Since when clusters are asked for a resource and do not answer, by both. */
  const unansweredSince = new Map<string, number>();
  const listeners: ((cluster: string, resource: ResourceId, namespace: string, name: string) => void)[] = [];
  const loop = startCountedController(runtime, {
    name: 'kubefed-remote',
    concurrency: 4,
    reconcile: observe,
  });

  function clientOf(cluster: string): Client | undefined {
    const session = fleet.session(cluster);
    if (!session || !READER) return undefined;
    const { link } = session;
    const present = clients.get(cluster);
    if (present?.link === link) return present.client;
    const headers = impersonationHeaders(READER);
    const client = createClient(
      (request) => link.handler({ ...request, headers: { ...request.headers, ...headers } }),
      { userAgent: 'atoll-hub', clock },
    );
    clients.set(cluster, { link, client });
    return client;
  }

  function copyOf(cluster: string, resource: ResourceId): Copy | undefined {
    const id = `${cluster} ${idOf(resource)}`;
    const session = fleet.session(cluster);
    const present = copies.get(id);
    if (present && present.link === session?.link) return present;
    present?.informer.stop();
    copies.delete(id);
    const client = clientOf(cluster);
    if (!session?.live || !client) return undefined;
    const informer = startInformer(runtime, client, resource, {
      // Only what the spoke applied for a hub: nothing else is anybody's business here.
      labelSelector: DISPATCH_LABEL,
      onFailure(error) {
        // Anything else passes, and is asked again.
        if (!hasCode(error, 403) && !hasCode(error, 404)) return;
        copy.problem = errorText(error);
        ask();
      },
    });
    const copy: Copy = { link: session.link, informer };
    copies.set(id, copy);
    // Whoever came back, or is asked again, has all the time once more.
    unansweredSince.delete(id);
    const ask = (): void => {
      for (const [key, interest] of interests)
        if (sameResource(interest.resource, resource)) loop.enqueue(key, GATHER_MS);
    };
    informer.onChange(({ object, previous }) => {
      if (
        previous &&
        deepEqual(object['status'], previous['status']) &&
        deepEqual(object['spec'], previous['spec'])
      )
        return;
      const { namespace = '', name = '' } = object.metadata;
      for (const key of lookingAt.get(placeOf(resource, namespace, name)) ?? []) loop.enqueue(key, GATHER_MS);
      for (const listener of listeners) listener(cluster, resource, namespace, name);
    });
    informer.whenSynced().then(ask, () => undefined);
    return copy;
  }

  fleet.onChange(({ spoke, dispatch, cluster }) => {
    if (dispatch !== undefined || cluster) return;
    // It came, went, or became live: what is asked of it is read anew.
    for (const [key, interest] of interests)
      if (interest.clusters.includes(spoke)) loop.enqueue(key, GATHER_MS);
  });

  function read(
    cluster: string,
    resource: ResourceId,
    namespace: string,
    name: string,
  ): { readonly known: boolean; readonly object?: KubeObject } {
    const copy = copyOf(cluster, resource);
    const id = `${cluster} ${idOf(resource)}`;
    if (copy?.informer.synced !== true) {
      if (copy?.problem !== undefined) return { known: true };
      if (!unansweredSince.has(id)) unansweredSince.set(id, clock.monotonic());
      return { known: false };
    }
    unansweredSince.delete(id);
    const object = copy.informer.get(namespace, name);
    return { known: true, ...(object === undefined ? {} : { object }) };
  }

  /** How long a cluster is still waited for; undefined where it answered. */
  function answersWithinMs(cluster: string, resource: ResourceId): number | undefined {
    const since = unansweredSince.get(`${cluster} ${idOf(resource)}`);
    return since === undefined ? undefined : Math.max(0, since + ANSWER_MS - clock.monotonic());
  }

  function interestIn(
    key: string,
    { target }: FederatedType,
    object: KubeObject,
    clusters: readonly string[],
    workload: boolean,
  ): Interest {
    const resource: ResourceId = {
      group: target.group ?? '',
      version: target.version,
      resource: target.pluralName,
      kind: target.kind,
      namespaced: target.scope === 'Namespaced',
    };
    const namespace = resource.namespaced ? (object.metadata.namespace ?? '') : '';
    const name = object.metadata.name ?? '';
    const present = interests.get(key);
    if (present && sameResource(present.resource, resource)) {
      // Who divides replicas looks at more clusters than who shows what is there.
      if (workload || !present.workload) present.clusters = clusters;
      present.workload ||= workload;
      return present;
    }
    if (present) unlook(key, present);
    const interest: Interest = {
      resource,
      namespace,
      name,
      clusters,
      workload,
      silent: new Set(),
      asked: new Map(),
    };
    interests.set(key, interest);
    const place = placeOf(resource, namespace, name);
    const keys = lookingAt.get(place) ?? new Set();
    lookingAt.set(place, keys.add(key));
    return interest;
  }

  function unlook(key: string, { resource, namespace, name }: Interest): void {
    const place = placeOf(resource, namespace, name);
    const keys = lookingAt.get(place);
    keys?.delete(key);
    if (keys?.size === 0) lookingAt.delete(place);
    interests.delete(key);
    observed.delete(key);
    for (const other of interests.values()) if (sameResource(other.resource, resource)) return;
    // Whoever asks again opens them again.
    const isOfResource = (id: string): boolean => id.endsWith(` ${idOf(resource)}`);
    for (const [id, { informer }] of copies) {
      if (!isOfResource(id)) continue;
      informer.stop();
      copies.delete(id);
    }
    for (const id of unansweredSince.keys()) if (isOfResource(id)) unansweredSince.delete(id);
  }

  /** Looks at one object on all clusters that it concerns. */
  async function observe(key: string): Promise<Result | undefined> {
    const interest = interests.get(key);
    if (!interest) return undefined;
    const { resource, namespace, name } = interest;
    let again: number | undefined;
    let isNews = false;
    if (interest.workload) {
      const found = new Map<string, WorkloadObservation>();
      for (const cluster of interest.clusters) {
        const { known: isKnown, object } = read(cluster, resource, namespace, name);
        if (!isKnown) {
          const waitMs = answersWithinMs(cluster, resource);
          if (waitMs === 0 && !interest.silent.has(cluster)) {
            interest.silent.add(cluster);
            isNews = true;
          } else if (waitMs) again = Math.min(again ?? waitMs, waitMs);
          continue;
        }
        if (interest.silent.delete(cluster)) isNews = true;
        if (!object) {
          changeOf(interest, cluster, 0);
          found.set(cluster, { current: 0 });
          continue;
        }
        const changedAtMs = changeOf(interest, cluster, numberAt(object, 'spec', 'replicas') ?? 0);
        const settled = isSettled(object);
        const its = settled ? [] : await podsOf(cluster, object);
        const { lookAgainAtMs, ...observation } = observeWorkload(object, its, clock.now(), changedAtMs);
        found.set(cluster, observation);
        if (!settled) again = Math.min(again ?? LOOK_AGAIN_MS, LOOK_AGAIN_MS);
        if (lookAgainAtMs !== undefined)
          again = Math.min(again ?? LOOK_AGAIN_MS, Math.max(1_000, lookAgainAtMs - clock.now() + 1));
      }
      const before = observed.get(key);
      observed.set(key, found);
      if (!isNews && before && deepEqual([...before], [...found]))
        return again === undefined ? undefined : { requeueAfterMs: again };
    }
    onNews(key);
    return again === undefined ? undefined : { requeueAfterMs: again };
  }

  /** When the number of replicas on a cluster changed, where that was seen. */
  function changeOf({ asked }: Interest, cluster: string, replicas: number): number | undefined {
    const before = asked.get(cluster);
    if (before?.replicas === replicas) return before.changedAtMs;
    const changedAtMs = before && clock.now();
    asked.set(cluster, { replicas, changedAtMs });
    return changedAtMs;
  }

  async function podsOf(cluster: string, workload: KubeObject): Promise<readonly KubeObject[]> {
    const client = clientOf(cluster);
    const labels = Object.entries(stringsAt(workload, 'spec', 'selector', 'matchLabels'));
    if (!client || labels.length === 0) return [];
    try {
      const labelSelector = labels.map(([name, value]) => `${name}=${value}`).join(',');
      return (await client.list(pods, workload.metadata.namespace ?? '', { labelSelector })).items;
    } catch (error) {
      runtime.log.debug('pods of a workload could not be read', { cluster, why: errorText(error) });
      return [];
    }
  }

  return {
    workloads: (key) => observed.get(key) ?? new Map(),
    follow(key, type, object, clusters) {
      const { resource, namespace, name, silent } = interestIn(key, type, object, clusters, true);
      const waiting: string[] = [];
      for (const cluster of clusters) {
        const seen = observed.get(key);
        if (seen?.has(cluster)) {
          // Keeps its copy open, and opens it again where the link is another.
          copyOf(cluster, resource);
          continue;
        }
        const { known } = read(cluster, resource, namespace, name);
        const copy = copyOf(cluster, resource);
        // Where it may not be read nothing will ever be known.
        if (copy?.problem !== undefined && !copy.informer.synced) continue;
        const waitMs = known ? 0 : answersWithinMs(cluster, resource);
        if (!known && waitMs === 0) silent.add(cluster);
        if (silent.has(cluster)) continue;
        loop.enqueue(key, waitMs);
        waiting.push(cluster);
      }
      return {
        silent,
        ...(waiting.length === 0
          ? {}
          : {
              waitingFor: `what runs on ${waiting.slice(0, 3).join(', ')} is being read, before replicas are divided`,
            }),
      };
    },
    statuses(key, type, object, clusters) {
      const { resource, namespace, name } = interestIn(key, type, object, clusters, false);
      const out = new Map<string, JsonValue>();
      for (const cluster of clusters) {
        const status = read(cluster, resource, namespace, name).object?.['status'] as JsonValue | undefined;
        if (status !== undefined) out.set(cluster, status);
      }
      return out;
    },
    object: read,
    forget(key): void {
      const interest = interests.get(key);
      if (interest) unlook(key, interest);
    },
    client: clientOf,
    onChange: (listener) => void listeners.push(listener),
    async stop(): Promise<void> {
      for (const { informer } of copies.values()) informer.stop();
      copies.clear();
      await loop.stop();
    },
  };
}

function sameResource(a: ResourceId, b: ResourceId): boolean {
  return a.group === b.group && a.version === b.version && a.resource === b.resource;
}

function idOf({ group, version, resource }: ResourceId): string {
  return `${resource}.${version}.${group}`;
}

function placeOf({ group, resource }: ResourceId, namespace: string, name: string): string {
  return `${resource}.${group}/${namespace}/${name}`;
}
