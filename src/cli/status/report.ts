import type { Propagation } from '../../dialects/propagation/types.ts';
import { formatTime } from '../../runtime/clock.ts';
import { AUTHORITY_NOTICE_MS } from '../certificates.ts';
import { type ClusterLine, clusterLine } from '../cluster/facts.ts';
import { BINDING_RESOURCE, isBindingView } from '../fleet-bindings.ts';
import { type FleetReading, nameOf, propagationText } from '../fleet-reading.ts';

/** What `atoll status` found out. */
export interface StatusFacts {
  readonly server: string;
  readonly context: string;
  readonly hub:
    | { readonly reachable: true; readonly version: string }
    | { readonly reachable: false; readonly message: string; readonly next: string };
  /** When the authority of links ends, milliseconds since the epoch; absent where the hub takes no links, or that may not be read. */
  readonly linkAuthorityEnds?: number;
  readonly now: number;
  /** Absent where the hub cannot be reached. */
  readonly fleet?: FleetReading;
  /** Members of the fleet on this machine: those can be started from here. */
  readonly members: readonly string[];
  /** ` --dir x`, for commands that are printed. */
  readonly dirOption: string;
}

export interface StatusReport {
  readonly hub: {
    readonly server: string;
    readonly context: string;
    readonly reachable: boolean;
    readonly version?: string;
    readonly message?: string;
  };
  readonly clusters: readonly ClusterLine[];
  readonly propagations: readonly PropagationLine[];
  /** What is well now and will not be. */
  readonly warnings: readonly string[];
  /** What to do next where something is wrong. */
  readonly next?: { readonly why: string; readonly command: string };
}

export interface PropagationLine {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly clusters: number;
  /** Absent where that is not known: a Binding says only whether all are. */
  readonly ready?: number;
  readonly stale: number;
  readonly objects: number;
  /** `Ready`, or the reason of the first condition that fails. */
  readonly state: string;
  readonly ok: boolean;
  readonly message: string;
  /** A cluster on which it is not ready. */
  readonly cluster?: string;
}

/** The fleet at a glance. Pure. */
export function statusReport(facts: StatusFacts): StatusReport {
  const { hub, server, context, fleet } = facts;
  const clusters = (fleet?.clusters ?? []).map(clusterLine);
  const propagations = (fleet?.propagations ?? []).map(propagationLine);
  const next = nextStep(facts, clusters, propagations);
  return {
    hub: {
      server,
      context,
      reachable: hub.reachable,
      ...(hub.reachable ? { version: hub.version } : { message: hub.message }),
    },
    clusters,
    propagations,
    warnings: warningsOf(facts),
    ...(next === undefined ? {} : { next }),
  };
}

function warningsOf({ linkAuthorityEnds, now }: StatusFacts): string[] {
  if (linkAuthorityEnds === undefined || linkAuthorityEnds - now > AUTHORITY_NOTICE_MS) return [];
  const ended = linkAuthorityEnds <= now;
  return [
    `The authority of the links ${ended ? 'ended' : 'ends'} on ${formatTime(linkAuthorityEnds).slice(0, 10)}: ${
      ended ? 'no spoke can connect' : 'no spoke connects after that'
    }. See docs/joining.md`,
  ];
}

/** In the order in which one thing follows from another: the first that fails is the cause of those behind it. */
const CONDITIONS = ['Synced', 'Selected', 'Placed', 'OverridesApplied', 'Dispatched', 'Ready'];

export function propagationLine(propagation: Propagation): PropagationLine {
  const { status, metadata } = propagation;
  const conditions = status?.conditions ?? [];
  const failing = CONDITIONS.map((type) => conditions.find((condition) => condition.type === type)).find(
    (condition) => condition !== undefined && condition.status !== 'True',
  );
  const line = {
    kind: propagation.kind,
    namespace: metadata.namespace ?? '',
    name: nameOf(propagation),
    clusters: status?.clusters ?? 0,
    stale: status?.stale ?? 0,
    objects: status?.objects ?? 0,
    ...(isBindingView(propagation) && status?.ready === undefined ? {} : { ready: status?.ready ?? 0 }),
  };
  if (metadata.deletionTimestamp !== undefined) {
    const left = status?.dispatchedTo ?? [];
    const message =
      left.length === 0 ? 'it is being deleted' : `its objects are being removed from ${left.join(', ')}`;
    return { ...line, state: 'Deleting', ok: true, message };
  }
  if (conditions.length === 0 || (status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return {
      ...line,
      state: 'Pending',
      ok: false,
      message: 'the hub has not looked at the newest change yet',
    };
  if (!failing) return { ...line, state: 'Ready', ok: true, message: '' };
  const cluster = status?.notReady?.[0]?.cluster;
  return {
    ...line,
    state: failing.reason,
    ok: failing.reason === 'Suspended',
    message: failing.message,
    ...(cluster === undefined ? {} : { cluster }),
  };
}

function nextStep(
  facts: StatusFacts,
  clusters: readonly ClusterLine[],
  propagations: readonly PropagationLine[],
): StatusReport['next'] {
  const { hub, dirOption, members } = facts;
  if (!hub.reachable) return { why: 'the hub is not reachable', command: hub.next };
  if (clusters.length === 0) return { why: 'the hub has no cluster', command: `npx atoll up${dirOption}` };
  const away = clusters.filter((cluster) => cluster.stale);
  const own = away.find((cluster) => members.includes(cluster.name));
  if (own) return { why: `${own.name} is not connected`, command: `npx atoll start ${own.name}${dirOption}` };
  const bad = propagations.find((propagation) => !propagation.ok);
  const broken = bad && !['Stale', 'Pending'].includes(bad.state) ? bad : undefined;
  if (broken) {
    const why = `${propagationText(broken)} is not ready: ${broken.state}`;
    const inNamespace = broken.namespace === '' ? '' : ` -n ${broken.namespace}`;
    if (broken.state === 'HeldBack')
      return {
        why: `${propagationText(broken)} is being rolled out`,
        command: `npx atoll rollout status ${broken.kind.toLowerCase()}/${broken.name}${inNamespace}${dirOption}`,
      };
    if (broken.cluster !== undefined && !['OverrideFailed', 'NothingSelected'].includes(broken.state))
      return { why, command: `npx atoll cluster show ${broken.cluster} --live${dirOption}` };
    const context = facts.context === '' ? '' : ` --context ${facts.context}`;
    return {
      why,
      command: `kubectl${context}${inNamespace} describe ${broken.kind === 'Binding' ? BINDING_RESOURCE : broken.kind.toLowerCase()} ${broken.name}`,
    };
  }
  const first = away[0];
  if (first)
    return {
      why: `${first.name} is not connected`,
      command: `npx atoll cluster show ${first.name}${dirOption}`,
    };
  const sick = clusters.find((cluster) => cluster.objects && cluster.objects.healthy < cluster.objects.total);
  if (sick)
    return {
      why: `${sick.name} has objects that are not healthy`,
      command: `npx atoll cluster show ${sick.name} --live${dirOption}`,
    };
  return undefined;
}
