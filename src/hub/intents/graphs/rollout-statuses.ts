import {
  clustersNamedBy,
  type DistributionFindings,
  GRAPH_ROLLOUT,
  type GraphRollout,
  type GraphRolloutStatus,
  type NamedCluster,
  rolloutStatus,
} from '../../../dialects/kro/index.ts';
import type { Client } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import { hasCode } from '../../../kube/status-error.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';
import { ENGAGED_CLUSTER, type EngagedCluster } from '../../engaged/kind.ts';
import type { GraphDefinitions } from './graph-definitions.ts';

/** What became of a graph, with the rollouts that this was decided by. */
export interface GraphFindings {
  readonly found: DistributionFindings;
  readonly rollouts: readonly GraphRollout[];
  /** The rollout that counts. */
  readonly inForce: string | undefined;
  /** Whether a SpokeCluster is called so. */
  readonly has: (cluster: string) => boolean;
}

/** Tells every RGDRollout what became of it, also where there is no such graph. */
export interface RolloutStatuses {
  tell(graph: string, findings: GraphFindings): void;
  stop(): Promise<void>;
}

const ROLLOUTS = resourceIdOf(GRAPH_ROLLOUT);
const ENGAGED = resourceIdOf(ENGAGED_CLUSTER);
/** A graph may be applied right after its rollout. */
const GATHER_MS = 500;
/** Clusters without an engine are not watched here. */
const UNKNOWN_AGAIN_MS = 30_000;

export function startRolloutStatuses(
  runtime: Runtime,
  client: Client,
  graphs: GraphDefinitions,
): RolloutStatuses {
  const { clock, log } = runtime;
  const definitions = graphs.informer;
  const rollouts = startInformer<GraphRollout>(runtime, client, ROLLOUTS);
  const known = new Map<string, GraphFindings>();
  /** As they were written last, by UID: the copy here may be older. */
  const written = new Map<string, GraphRolloutStatus>();
  let engaged: { readonly at: number; readonly names: ReadonlySet<string> } | undefined;
  const loop = startController(runtime, { name: 'rollouts of resource graphs', reconcile });

  function lookAt(graph: string, afterMs = 0): void {
    for (const { metadata, spec } of rollouts.list())
      if (spec.graph === graph) loop.enqueue(metadata.name ?? '', afterMs);
  }

  rollouts.onChange(({ type, object, previous }) => {
    const { name = '', uid = '' } = object.metadata;
    if (type === 'deleted') written.delete(uid);
    else if (!previous || object.metadata.generation !== previous.metadata.generation)
      loop.enqueue(name, GATHER_MS);
    else {
      const last = written.get(uid);
      // Somebody else wrote it.
      if (last && !deepEqual(object.status as unknown, last as unknown)) {
        written.delete(uid);
        loop.enqueue(name, GATHER_MS);
      }
    }
  });
  definitions.onChange(({ type, object: { metadata } }) => {
    const { name = '' } = metadata;
    if (type !== 'deleted') return;
    known.delete(name);
    lookAt(name, GATHER_MS);
  });
  Promise.all([graphs.whenReady(), rollouts.whenSynced()]).then(
    () => {
      for (const { metadata } of rollouts.list()) loop.enqueue(metadata.name ?? '', GATHER_MS);
    },
    // It was stopped before.
    (error: unknown) => log.debug('rollouts are told of nothing any longer', { why: errorText(error) }),
  );

  async function reconcile(name: string): Promise<Result | undefined> {
    const rollout = rollouts.get('', name);
    if (!rollout || !graphs.ready || rollout.metadata.deletionTimestamp !== undefined) return undefined;
    const graph = rollout.spec.graph;
    if (!definitions.get('', graph)) return write(rollout, { graph: undefined, unknown: [] });
    const findings = known.get(graph);
    // What was found with another wish is no word on this one; it is about to be found.
    if (!findings?.rollouts.some((seen) => isSameWish(seen, rollout))) return undefined;
    const { found, inForce, has } = findings;
    const unknown = await unknownOf(rollout, has);
    const other = inForce === name ? undefined : inForce;
    const again = await write(rollout, { graph: { found, inForce: other }, unknown });
    return again ?? (unknown.length > 0 ? { requeueAfterMs: UNKNOWN_AGAIN_MS } : undefined);
  }

  async function unknownOf(
    rollout: GraphRollout,
    has: (cluster: string) => boolean,
  ): Promise<readonly NamedCluster[]> {
    const missing = clustersNamedBy(rollout).filter(({ name }) => !has(name));
    if (missing.length === 0) return [];
    const engaged = await engagedNames();
    return missing.filter(({ name }) => !engaged.has(name));
  }

  /** Clusters without an engine have the graphs of the hub as well. */
  async function engagedNames(): Promise<ReadonlySet<string>> {
    const now = clock.monotonic();
    if (engaged && now - engaged.at < UNKNOWN_AGAIN_MS) return engaged.names;
    let names: ReadonlySet<string> = new Set();
    try {
      const { items } = await client.list<EngagedCluster>(ENGAGED, '');
      names = new Set(items.map(({ spec }) => spec.cluster));
    } catch (error) {
      // A hub that engages none.
      if (!hasCode(error, 404) && !hasCode(error, 403)) throw error;
    }
    engaged = { at: now, names };
    return names;
  }

  async function write(
    rollout: GraphRollout,
    findings: Parameters<typeof rolloutStatus>[1],
  ): Promise<Result | undefined> {
    const { uid = '', name = '', resourceVersion } = rollout.metadata;
    const before = written.get(uid) ?? rollout.status;
    const status = rolloutStatus({ ...rollout, ...(before && { status: before }) }, findings, clock.now());
    if (deepEqual(status as unknown, before as unknown)) return undefined;
    return optimisticWrite(
      client
        .patch(
          ROLLOUTS,
          '',
          name,
          'merge',
          { metadata: { resourceVersion }, status },
          { subresource: 'status' },
        )
        .then(() => written.set(uid, status)),
    );
  }

  return {
    tell(graph, findings) {
      known.set(graph, findings);
      lookAt(graph);
    },
    async stop() {
      rollouts.stop();
      await loop.stop();
    },
  };
}

function isSameWish(a: GraphRollout, b: GraphRollout): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.generation === b.metadata.generation;
}
