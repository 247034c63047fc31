import type { Client } from '../../kube/client.ts';
import { type ClusterName, clusterName } from '../../kube/cluster-name.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { installKinds } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { namespaces } from '../../kube/well-known.ts';
import { parseTime, sleep, type Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ActAs, ClusterRunner } from './cluster-run.ts';
import { createEngagements, DISENGAGED } from './engagements.ts';
import { DEFINITIONS, ENGAGED_FINALIZER, hubDefinitions } from './hub-definitions.ts';
import { ENGAGED_CLUSTER, type EngagedCluster } from './kind.ts';
import type { ClusterProvider, RunningProvider } from './provider.ts';
import { createTwins } from './twins.ts';
import { createViews, ENGAGED_CLUSTERS } from './views.ts';
import { ALONE, startWorkers } from './workers.ts';

export interface EngagedClustersOptions {
  /** The hub's own. */
  readonly client: Client;
  readonly provider: ClusterProvider;
  readonly runner: ClusterRunner;
  /** Where the clusters are shared with other processes: who this one is, and where their Leases are. */
  readonly worker?: { readonly identity: string; readonly namespace: string };
  /** Whom objects of instances are written as; as the credential's own user where nothing is said. */
  readonly actAs?: ActAs;
}

/** The clusters without an engine whose graphs this hub runs. */
export interface EngagedClusters {
  stop(): Promise<void>;
}

/** By the UID of this namespace hubs are told apart. */
const HUB_IS = 'kube-system';
const LOOK_MS = 1_000;
const RETRY_MS = 5_000;
/** So long one that is disengaged is shown. */
const SHOWN_MS = 86_400_000;
/** A definition that no cluster has: one may be about to get it. */
const QUIET_MS = 30_000;

export function startEngagedClusters(runtime: Runtime, options: EngagedClustersOptions): EngagedClusters {
  const { clock, log } = runtime;
  const ending = new AbortController();
  let work: EngagedClusters | undefined;

  async function begin(): Promise<void> {
    while (!ending.signal.aborted) {
      try {
        await installKinds(clock, options.client, [ENGAGED_CLUSTER]);
        const { metadata } = await options.client.get(namespaces, '', HUB_IS);
        if (!ending.signal.aborted) work = startWork(runtime, options, metadata.uid ?? '');
        return;
      } catch (error) {
        log.warn('clusters without an engine cannot be engaged yet', { error: errorText(error) });
        await sleep(clock, RETRY_MS, ending.signal);
      }
    }
  }
  begin().catch((error: unknown) => {
    if (!ending.signal.aborted)
      log.error('the clusters of a provider could not be engaged', { error: errorText(error) });
  });

  return {
    async stop() {
      ending.abort(new Error('the engaged clusters are let go of'));
      await work?.stop();
    },
  };
}

function startWork(runtime: Runtime, options: EngagedClustersOptions, hub: string): EngagedClusters {
  const { clock, log } = runtime;
  const { client, provider, worker, runner, actAs } = options;
  const identity = worker?.identity ?? 'hub';
  const definitions = hubDefinitions(runtime, client);
  const clusters = startInformer<EngagedCluster>(runtime, client, ENGAGED_CLUSTERS);
  const workers = worker ? startWorkers(runtime, { client, ...worker }) : ALONE;
  const views = createViews(runtime, {
    ...{ client, informer: clusters, worker: identity, provider: provider.kind },
  });
  const engagements = createEngagements(runtime, {
    ...{ hub, definitions, views, twins: createTwins(clusters, views), runner, workers },
    ...(actAs && { actAs }),
    ...(worker && { fence: { client, ...worker } }),
  });
  const holds = startController(runtime, { name: 'definitions of engaged clusters', reconcile: release });
  /** Since when no cluster has a definition. */
  const quiet = new Map<string, number>();
  let running: RunningProvider | undefined;
  let looking: Timer | undefined;
  let stopped = false;

  clusters.whenSynced().then(
    () => {
      // What was shown before must be known by then.
      running = provider.start(runtime, engagements);
      workers.onChange(sweepSoon);
      clusters.onChange(({ object, previous }) => {
        sweepSoon();
        const shown = nameOf(object.spec.cluster);
        if (shown !== undefined) views.again(shown);
        const graphs = [object, previous].flatMap((item) => item?.status?.graphs ?? []);
        for (const name of new Set(graphs.map((graph) => graph.name))) holds.enqueue(name);
      });
      definitions.onChange((name) => holds.enqueue(name));
      for (const { metadata } of definitions.list()) holds.enqueue(metadata.name ?? '');
      sweepSoon();
    },
    // It was stopped before.
    () => undefined,
  );

  function sweepSoon(): void {
    if (stopped) return;
    looking ??= clock.after(LOOK_MS, () => {
      looking = undefined;
      sweep();
    });
  }

  /** What was shown before this process began, and of clusters that nobody tells of any longer. */
  function sweep(): void {
    if (!running?.synced()) {
      sweepSoon();
      return;
    }
    for (const { spec, status, metadata } of clusters.list()) {
      const name = nameOf(spec.cluster);
      if (name === undefined || engagements.has(name) || !workers.mine(name)) continue;
      if (status?.state !== 'Disengaged') views.state(name, 'Disengaged', DISENGAGED);
      else if (clock.now() - (parseTime(status.since) ?? 0) > SHOWN_MS)
        client
          .delete(ENGAGED_CLUSTERS, '', metadata.name ?? '', { preconditions: { uid: metadata.uid ?? '' } })
          .catch((error: unknown) => {
            if (!hasCode(error, 404))
              log.debug('a cluster that is disengaged is shown on', { error: errorText(error) });
          });
    }
  }

  /** Lets a definition go that no cluster has anything of. */
  async function release(name: string): Promise<Result | undefined> {
    const object = definitions.get(name);
    const { finalizers = [], deletionTimestamp, resourceVersion } = object?.metadata ?? {};
    if (!object || !finalizers.includes(ENGAGED_FINALIZER) || !clusters.live) return undefined;
    const has = clusters
      .list()
      .some(
        ({ status }) =>
          status?.state !== 'Disengaged' && (status?.graphs ?? []).some((graph) => graph.name === name),
      );
    if (has) {
      quiet.delete(name);
      return undefined;
    }
    const since = quiet.get(name) ?? clock.monotonic();
    quiet.set(name, since);
    const left = since + QUIET_MS - clock.monotonic();
    if (deletionTimestamp === undefined && left > 0) return { requeueAfterMs: left };
    quiet.delete(name);
    await ignoring(
      404,
      client.patch(DEFINITIONS, '', name, 'merge', {
        metadata: { resourceVersion, finalizers: finalizers.filter((item) => item !== ENGAGED_FINALIZER) },
      }),
    );
    return undefined;
  }

  return {
    async stop() {
      stopped = true;
      looking?.cancel();
      // Not disengaged: whoever comes next goes on.
      await engagements.stop();
      running?.stop();
      definitions.stop();
      clusters.stop();
      await Promise.all([holds.stop(), views.stop(), workers.stop()]);
    },
  };
}

function nameOf(text: string): ClusterName | undefined {
  try {
    return clusterName(text);
  } catch {
    // Somebody wrote an object that stands for nothing.
    return undefined;
  }
}
