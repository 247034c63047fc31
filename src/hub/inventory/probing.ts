import { statedInfoOf } from '../../dialects/kubevela/cluster-info.ts';
import type { ClusterInfo, SpokeCluster } from '../../dialects/kubevela/types.ts';
import { judgeProbe } from '../../engine/liveness/index.ts';
import type { Client } from '../../kube/client.ts';
import { createClient } from '../../kube/rest-client.ts';
import type { Link } from '../../link/link.ts';
import type { HistogramRow } from '../../runtime/metrics.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Fleet } from '../fleet.ts';
import { type Probe, type ProbeMemory, probeSpoke, refreshApis } from './probe.ts';
import { sharedServedApis } from './served-apis.ts';
import type { Connection, Sighting } from './sighting.ts';
import { ID_PROPERTY } from './twins.ts';

/** As users of KubeFed know it. */
const PROBE_METRIC: HistogramRow = {
  name: 'cluster_health_status_duration_seconds',
  help: 'How long probes of clusters took.',
  bounds: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
};
/** A probe that is nearly due is due. */
const EARLY_MS = 50;

export function probeInterval(spoke: SpokeCluster): number {
  return (spoke.spec.probeIntervalSeconds ?? 30) * 1000;
}

/** Probes clusters when it is their time, and remembers in between what that told. */
export interface Probing {
  probe(spoke: SpokeCluster, link: Link, sighting: Sighting): Promise<Connection>;
  clientOf(name: string, link: Link): Client;
}

export function createProbing(runtime: Runtime, fleet: Fleet): Probing {
  const { clock } = runtime;
  const took = runtime.metrics.histogram(PROBE_METRIC);
  const sharedApis = sharedServedApis();

  function clientOf(name: string, link: Link): Client {
    const session = fleet.session(name);
    if (session?.link === link) return session.client;
    return createClient(link.handler, { userAgent: 'atoll-hub', clock });
  }

  async function probe(spoke: SpokeCluster, link: Link, sighting: Sighting): Promise<Connection> {
    const { name = '' } = spoke.metadata;
    const timeoutMs = (spoke.spec.probeTimeoutSeconds ?? 10) * 1000;
    const last = sighting.probed;
    const applied = fleet.session(name)?.cluster()?.status?.appliedRevision;
    if (last && isFresh(spoke, link, last)) {
      if (applied === sighting.applied || last.found.apis === undefined)
        return withInfo(last.found, statedBy(spoke, link));
      sighting.applied = applied;
      const read = await refreshApis(runtime, clientOf(name, link), timeoutMs, sighting.memory);
      sighting.memory = shared(read, sighting.memory);
      const found = { ...last.found, apis: sighting.memory.served?.all ?? last.found.apis };
      sighting.probed = { ...last, found };
      return withInfo(found, statedBy(spoke, link));
    }
    sighting.applied = applied;
    // Behind a link that was away there may be another cluster by now.
    const memory =
      last?.up === link.up && last.found.connected?.ok === true
        ? sighting.memory
        : withoutUid(sighting.memory);
    const at = clock.monotonic();
    const probed = await probeSpoke(runtime, clientOf(name, link), timeoutMs, memory, (signal) =>
      whenStated(spoke, link, signal),
    );
    const result = probed.reached ? { ...probed, memory: shared(probed.memory, memory) } : probed;
    took.observe((clock.monotonic() - at) / 1000);
    const probedAt = clock.now();
    if (result.reached) {
      sighting.memory = result.memory;
      if (result.info !== undefined) sighting.syncedAt = probedAt;
    }
    const found = judged(spoke, sighting, foundBy(name, result, probedAt));
    sighting.probed = { at, up: link.up, found };
    return withInfo(found, statedBy(spoke, link));
  }

  /** Nothing new is nothing to look for. */
  function shared(read: ProbeMemory, before: ProbeMemory): ProbeMemory {
    const { served } = read;
    return served === undefined || served === before.served ? read : { ...read, served: sharedApis(served) };
  }

  /** Looks for an engine first where none is known: it may be there by now. */
  async function whenStated(
    spoke: SpokeCluster,
    link: Link,
    signal: AbortSignal,
  ): Promise<ClusterInfo | undefined> {
    const session = fleet.session(spoke.metadata.name ?? '');
    if (session?.link !== link) return undefined;
    // A look has no end of its own.
    if (session.engine !== true) await Promise.race([session.look(), session.whenRead(signal)]);
    await session.whenRead(signal);
    return statedBy(spoke, link);
  }

  /**
   * What the engine states, as it changes. An engine that dials is there to state it while its link is up; that of a cluster whose
   * link is made here may be gone for long.
   */
  function statedBy({ metadata, spec }: SpokeCluster, link: Link): ClusterInfo | undefined {
    const session = fleet.session(metadata.name ?? '');
    if (spec.credential.type !== 'tunnel' || session?.link !== link || !session.live) return undefined;
    return statedInfoOf(session.cluster()?.status?.clusterInfo);
  }

  function isFresh(spoke: SpokeCluster, link: Link, last: NonNullable<Sighting['probed']>): boolean {
    if (clock.monotonic() - last.at >= probeInterval(spoke) - EARLY_MS) return false;
    const { probeFailureThreshold = 1, probeSuccessThreshold = 1 } = spoke.spec;
    // Where probes are counted, a link that comes and goes must not make more of them.
    const isCounted = probeFailureThreshold > 1 || probeSuccessThreshold > 1;
    // Nor where it was not well before: that a link went down as well is no news.
    const isNoNews = !link.up && last.found.connected?.ok !== true;
    return last.up === link.up || isCounted || isNoNews;
  }

  function foundBy(name: string, probed: Probe, probedAt: number): Connection {
    if (!probed.reached) {
      const { unauthorized, answered, message } = probed;
      return { probedAt, connected: { ok: false, unauthorized, answered, message } };
    }
    const { latencyMs, info, infoProblem, memory } = probed;
    const id = fleet.session(name)?.cluster()?.status?.properties?.[ID_PROPERTY] ?? memory.uid;
    return {
      probedAt,
      connected: { ok: true, unauthorized: false, message: 'the spoke answers', latencyMillis: latencyMs },
      ...(info === undefined ? {} : { info: { ...info, ...(id === undefined ? {} : { id }) } }),
      ...(infoProblem === undefined ? {} : { infoProblem }),
      ...(memory.served === undefined ? {} : { apis: memory.served.all }),
    };
  }

  return { probe, clientOf };
}

/** A probe is believed at once, or, where the cluster has thresholds, when enough others said the same. */
function judged(spoke: SpokeCluster, sighting: Sighting, found: Connection): Connection {
  const { probeFailureThreshold: failure = 1, probeSuccessThreshold: success = 1 } = spoke.spec;
  const isUp = found.connected?.ok === true;
  const isRefused = found.connected?.unauthorized === true;
  const verdict = judgeProbe(sighting.verdict, isUp, { failure: isRefused ? 1 : failure, success });
  sighting.verdict = verdict;
  if (isUp) sighting.lastGood = found;
  else sighting.lastBad = found;
  if (verdict.up === isUp) return found;
  const { probedAt } = found;
  const at = probedAt === undefined ? {} : { probedAt };
  if (verdict.up && sighting.lastGood) return { ...sighting.lastGood, ...at };
  const message = `the spoke answers again: ${verdict.contrary} of ${success} times in a row`;
  const before = sighting.lastBad?.connected;
  return { ...at, connected: { ok: false, unauthorized: false, ...before, message } };
}

/** What the engine states now is newer than what was found. */
function withInfo(found: Connection, stated: ClusterInfo | undefined): Connection {
  if (!stated || found.info === undefined) return found;
  const { id } = found.info;
  return { ...found, info: { ...stated, ...(id === undefined ? {} : { id }) } };
}

function withoutUid({ served }: ProbeMemory): ProbeMemory {
  return served === undefined ? {} : { served };
}
