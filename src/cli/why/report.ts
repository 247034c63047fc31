import type { Propagation } from '../../dialects/propagation/types.ts';
import { shortDigest } from '../../engine/digest.ts';
import type { Dispatch, ObjectState } from '../../engine/dispatch/index.ts';
import type { PatchOperation } from '../../engine/intent.ts';
import { selectorText } from '../../engine/place/decide.ts';
import { rejectionIn, rejectionText } from '../../engine/place/decision.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { stands } from '../../engine/plan/standing.ts';
import { neverPropagated } from '../../engine/select/select.ts';
import { type ClusterSummary, type ClusterWord, summariseCluster } from '../../engine/summarise/summarise.ts';
import { type Condition, type KubeObject, type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import { type ClusterLine, clusterLine } from '../cluster/facts.ts';
import { isBindingView } from '../fleet-bindings.ts';
import { clusterFacts, nameOf, type SpokeReading } from '../fleet-reading.ts';
import { redactOperation } from '../redact.ts';
import type { SelectingPropagation, WhyFacts } from './facts.ts';
import { type FederatedChain, federatedChain } from './federated.ts';
import { selectingOf } from './selecting.ts';

/** The chain from an object at the hub to what became of it on the clusters. */
export interface WhyReport {
  readonly object: ObjectRef & {
    readonly generation?: number;
    readonly created?: string;
    readonly deleting?: true;
  };
  /** Why no propagation would ever take it. */
  readonly neverPropagated?: string;
  /** Of its namespace, ClusterPropagations, and Bindings that list it. */
  readonly propagations: readonly PropagationChain[];
  /** What the object says of itself on clusters that it goes to by itself, such as a definition of a graph. */
  readonly distributed?: string;
  /** What became of it as a federated object. */
  readonly federated?: FederatedChain;
  /** How many Bindings there are that do not list it. */
  readonly otherBindings?: number;
}

export interface PropagationChain {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly selects: boolean;
  readonly reason: string;
  /** Why the hub changes nothing on any cluster now, though it selects the object. */
  readonly held?: string;
  /** What a Binding says is wrong, with this object or with another. */
  readonly errors?: readonly string[];
  /** The hub has not looked at its newest change yet. */
  readonly pending?: true;
  readonly clusters: readonly ClusterChain[];
}

export interface ClusterChain {
  readonly cluster: string;
  readonly connection: 'Connected' | 'Disconnected' | 'Unknown';
  readonly lastSynced?: string;
  readonly chosen: boolean;
  /** Why it is chosen, or why it is not. */
  readonly reason: string;
  /** In one word; absent for a cluster that is not chosen and holds nothing. */
  readonly word?: ClusterWord | 'Removing';
  readonly message: string;
  /** What the overrides change of this object on this cluster. */
  readonly overrides: readonly OverrideLine[];
  /** Why the cluster keeps what it has. */
  readonly blocked?: string;
  readonly dispatch?: DispatchChain;
  /** What the hub saw of the cluster last, where the spoke could not be asked. */
  readonly lastKnown?: LastKnown;
  readonly health?: Pick<ObjectState, 'health' | 'reason' | 'message'>;
}

/** Of everything on the cluster, not of the one object: the hub keeps no more of a spoke that is away. */
export interface LastKnown {
  readonly asOf?: string;
  /** Whether it had applied all that was dispatched to it. */
  readonly applied?: boolean;
  readonly objects?: { readonly healthy: number; readonly total: number };
}

export interface OverrideLine {
  readonly override: number;
  /** What people call it, or the policy that it stands in. */
  readonly name?: string;
  readonly operations: readonly PatchOperation[];
}

export interface DispatchChain {
  /** False where the spoke could not be asked: then this is the last that the hub wrote down. */
  readonly live: boolean;
  /** Why it could not. */
  readonly why?: string;
  /** The generation that the hub wants there. */
  readonly wantedGeneration: number;
  readonly generation?: number;
  readonly revision?: string;
  readonly acceptedGeneration?: number;
  /** The spoke's reason for not taking it. */
  readonly refused?: string;
  readonly appliedGeneration?: number;
  readonly appliedAt?: string;
  /** Whether the dispatch holds the object, or orders it away. */
  readonly holds?: 'object' | 'tombstone' | 'nothing';
}

/** The chain of one object. Pure. */
export function whyReport(facts: WhyFacts): WhyReport {
  const { object, fleet } = facts;
  const { generation, creationTimestamp, deletionTimestamp, namespace = '' } = object.metadata;
  const never = neverPropagated(object);
  const near = fleet.propagations.filter((item) =>
    isBindingView(item)
      ? facts.selecting.some(({ propagation }) => propagation === item)
      : item.metadata.namespace === undefined || item.metadata.namespace === namespace,
  );
  const otherBindings = fleet.propagations.filter(
    (item) => isBindingView(item) && !near.includes(item),
  ).length;
  const propagations = near.map((propagation): PropagationChain => {
    const selecting = selectingOf(propagation, object);
    const found = facts.selecting.find((item) => item.propagation === propagation);
    const base = {
      kind: propagation.kind,
      namespace: propagation.metadata.namespace ?? '',
      name: nameOf(propagation),
      selects: selecting.selects,
      reason: selecting.reason,
    };
    if (!found) return { ...base, clusters: [] };
    const held = heldBy(found);
    const pending = (propagation.status?.observedGeneration ?? 0) < (propagation.metadata.generation ?? 0);
    return {
      ...base,
      ...(held === undefined ? {} : { held }),
      ...errorsOf(propagation),
      ...(pending ? { pending: true } : {}),
      clusters: fleet.clusters
        .map(nameOf)
        .filter((name) => facts.cluster === undefined || name === facts.cluster)
        .map((name) => clusterChain(facts, found, name)),
    };
  });
  return {
    object: {
      ...refOf(object),
      ...(generation === undefined ? {} : { generation }),
      ...(creationTimestamp ? { created: creationTimestamp } : {}),
      ...(deletionTimestamp === undefined ? {} : { deleting: true }),
    },
    ...(never === undefined ? {} : { neverPropagated: never }),
    propagations: propagations.sort((a, b) => Number(b.selects) - Number(a.selects)),
    ...(otherBindings === 0 ? {} : { otherBindings }),
    ...distributedIn(object),
    ...federatedIn(facts),
  };
}

function federatedIn({ federated, fleet, cluster }: WhyFacts): { federated?: FederatedChain } {
  if (!federated) return {};
  const chain = federatedChain(federated, clusterFacts(fleet.clusters));
  const clusters = chain.clusters.filter((item) => cluster === undefined || item.cluster === cluster);
  return { federated: { ...chain, clusters } };
}

function distributedIn(object: KubeObject): { distributed?: string } {
  const { conditions = [] } = (object['status'] ?? {}) as { conditions?: readonly Condition[] };
  const found = conditions.find(({ type }) => type === 'Distributed');
  return found === undefined ? {} : { distributed: `${found.reason}: ${found.message}` };
}

function errorsOf(propagation: Propagation): { errors?: readonly string[] } {
  const errors = isBindingView(propagation) ? (propagation.binding.status?.errors ?? []) : [];
  return errors.length === 0 ? {} : { errors };
}

/** What withholds every dispatch of a propagation. */
function heldBy({ propagation, blockers }: SelectingPropagation): string | undefined {
  if (propagation.metadata.deletionTimestamp !== undefined)
    return 'it is being deleted: its objects are being removed from the clusters';
  if (blockers.length > 0) return `${blockers.join('; ')}. Nothing is changed on the spokes meanwhile`;
  if (propagation.spec.suspend === true)
    return 'spec.suspend is true: changes are held back, the spokes keep what they have';
  return undefined;
}

function clusterChain(facts: WhyFacts, found: SelectingPropagation, name: string): ClusterChain {
  const { propagation, plan } = found;
  const { decision } = plan;
  const key = refKey(refOf(facts.object));
  const spoke = facts.fleet.clusters.find((cluster) => nameOf(cluster) === name);
  const line = spoke === undefined ? undefined : clusterLine(spoke);
  const chosen = decision.chosen.includes(name);
  const rejection = rejectionIn(decision, name);
  const rejected = rejection && rejectionText(rejection);
  const reading = found.dispatches.get(name);
  const blocked = plan.blocked.get(name);
  const overrides = (plan.patches.get(name) ?? [])
    .filter((patch) => refKey(patch.target) === key)
    .map(({ override, name, operations }) => ({
      override,
      ...(name === undefined ? {} : { name }),
      operations: operations.map((operation) => redactOperation(facts.object, operation)),
    }));
  const base = {
    cluster: name,
    connection: line?.connection ?? 'Unknown',
    ...(line?.lastSynced === undefined ? {} : { lastSynced: line.lastSynced }),
    chosen,
    reason: chosen ? placementText(propagation) : (rejected ?? 'it is not in the inventory'),
    overrides,
    ...(blocked === undefined ? {} : { blocked }),
  } as const;
  const seen = reading?.live === true ? reading.value : undefined;
  const told = propagation.status?.dispatchedTo?.includes(name) === true;
  if (!chosen && seen === undefined && !told) return { ...base, message: '' };
  const noted = propagation.status?.notReady?.find((item) => item.cluster === name);
  // Where content is rolled out each cluster has a generation of its own, and the hub says who is behind.
  const ownGeneration =
    propagation.status?.revisions === undefined ? undefined : seen?.spec.position.generation;
  const newest = propagation.status?.dispatchGeneration ?? 0;
  // What was told before and still says all stands.
  const standing =
    seen && stands(seen.spec, name, withAuthor(plan, seen), newest)
      ? seen.spec.position.generation
      : undefined;
  const wantedGeneration = ownGeneration ?? standing ?? newest;
  const dispatch = dispatchChain(reading, wantedGeneration, key);
  const health = seen === undefined ? undefined : healthIn(seen, key);
  if (!chosen) {
    const message = seen || reading?.live === false ? 'what it holds is being removed' : '';
    return { ...base, word: 'Removing', message, dispatch };
  }
  const summary = summariseCluster({
    cluster: name,
    live: reading?.live === true,
    ...(reading?.live === false ? { staleReason: reading.why } : {}),
    wantedGeneration,
    ...(seen?.status === undefined ? {} : { status: seen.status }),
    ...(noted?.reason === 'HeldBack' ? { heldBack: noted.message } : {}),
    ...(blocked === undefined
      ? noted?.reason === 'NotDispatched'
        ? { dispatchProblem: noted.message }
        : noted?.reason === 'DispatchTimedOut'
          ? { dispatchProblem: noted.message, dispatchTimedOut: true }
          : {}
      : { dispatchProblem: blocked }),
  });
  return {
    ...base,
    ...ofObject(summary, health),
    dispatch,
    ...(dispatch.live || line === undefined ? {} : { lastKnown: lastKnownOf(line) }),
    ...(health === undefined ? {} : { health }),
  };
}

/** Who wrote a propagation only the hub's engine asks for. */
function withAuthor(plan: Plan, { spec }: Dispatch): Plan {
  const { author: _author, ...apply } = plan.apply;
  return { ...plan, apply: { ...apply, ...(spec.author === undefined ? {} : { author: spec.author }) } };
}

function lastKnownOf({ lastSynced, dispatchedRevision, appliedRevision, objects }: ClusterLine): LastKnown {
  return {
    ...(lastSynced === undefined ? {} : { asOf: lastSynced }),
    ...(dispatchedRevision === undefined ? {} : { applied: dispatchedRevision === appliedRevision }),
    ...(objects === undefined ? {} : { objects }),
  };
}

/** Troubles of a cluster that are troubles of every object, whatever the spoke says of each. */
const OF_ALL_OBJECTS = new Set(['NotDispatched', 'DispatchTimedOut', 'RenderFailed']);

/** The state of this object: troubles of others in the same dispatch do not count. */
function ofObject(
  summary: Pick<ClusterSummary, 'word' | 'reason' | 'message'>,
  health: ClusterChain['health'],
): { word: ClusterWord; message: string } {
  const { word, reason, message } = summary;
  if (health === undefined || word === 'Stale' || word === 'Waiting' || OF_ALL_OBJECTS.has(reason))
    return { word, message };
  if (health.health === 'Healthy') return { word: 'Ready', message: '' };
  return {
    word: health.health === 'Degraded' ? 'Degraded' : 'Progressing',
    message: `${health.reason}: ${health.message}`,
  };
}

function dispatchChain(
  reading: SpokeReading<Dispatch | undefined> | undefined,
  wantedGeneration: number,
  key: string,
): DispatchChain {
  if (reading?.live !== true)
    return { live: false, wantedGeneration, ...(reading === undefined ? {} : { why: reading.why }) };
  const dispatch = reading.value;
  if (!dispatch) return { live: true, wantedGeneration, holds: 'nothing' };
  const { spec, status } = dispatch;
  const refused = status?.conditions?.find(
    (condition: Condition) => condition.type === 'Accepted' && condition.status === 'False',
  );
  const has = (refs: readonly ObjectRef[]): boolean => refs.some((ref) => refKey(ref) === key);
  return {
    live: true,
    wantedGeneration,
    generation: spec.position.generation,
    revision: spec.revision === '' ? '' : shortDigest(spec.revision),
    ...(status?.position === undefined ? {} : { acceptedGeneration: status.position.generation }),
    ...(refused === undefined ? {} : { refused: `${refused.reason}: ${refused.message}` }),
    ...(status?.appliedGeneration === undefined ? {} : { appliedGeneration: status.appliedGeneration }),
    ...(status?.appliedAt === undefined ? {} : { appliedAt: status.appliedAt }),
    holds: has(spec.objects)
      ? 'object'
      : has((spec.tombstones ?? []).map((tombstone) => tombstone.ref))
        ? 'tombstone'
        : 'nothing',
  };
}

/** Statuses name this many objects at most: beyond, an object that is not named may be in trouble as well. */
const MOST_LISTED = 50;

/** How the object is as the spoke reports it: it names those that are not healthy. Undefined where it says nothing of it yet. */
export function healthIn({ spec, status }: Dispatch, key: string): ClusterChain['health'] {
  if (!spec.objects.some((ref) => refKey(ref) === key)) return undefined;
  if ((status?.position?.generation ?? -1) < spec.position.generation) return undefined;
  const listed = status?.objects ?? [];
  const named = listed.find((item) => refKey(item.ref) === key);
  if (named) return { health: named.health, reason: named.reason, message: named.message };
  if (listed.length >= MOST_LISTED)
    return {
      health: 'Unknown',
      reason: 'NotListed',
      message: `the spoke names only ${MOST_LISTED} of the objects that are not healthy`,
    };
  return { health: 'Healthy', reason: 'Healthy', message: '' };
}

function placementText(propagation: Propagation): string {
  if (isBindingView(propagation)) return 'it is one of its destinations';
  const { clusterNames, clusterSelector } = propagation.spec.placement;
  const parts: string[] = [];
  if (clusterNames !== undefined) parts.push('clusterNames lists it');
  if (clusterSelector !== undefined)
    parts.push(`clusterSelector (${selectorText(clusterSelector)}) matches its labels`);
  return parts.join(' and ');
}
