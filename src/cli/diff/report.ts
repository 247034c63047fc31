import type { Propagation } from '../../dialects/propagation/types.ts';
import { type Contract, foresee, foreseenText } from '../../engine/contract/index.ts';
import { type Difference, diffValues } from '../../engine/diff/diff.ts';
import { leftByMoves } from '../../engine/failover/index.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { beyondClusterBudget } from '../../engine/plan/cluster-budget.ts';
import { budgetOf, contentOn } from '../../engine/plan/plan.ts';
import { neverPropagated } from '../../engine/select/select.ts';
import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { canonicalJson, deepEqual } from '../../schema/json.ts';
import { isBindingView } from '../fleet-bindings.ts';
import { nameOf, type Planned, planPropagation, propagationText, type Sources } from '../fleet-reading.ts';
import { redact } from '../redact.ts';

/** All that decides what is on the clusters. */
export interface FleetState {
  readonly propagations: readonly Propagation[];
  readonly clusters: readonly ClusterFacts[];
  readonly sources: Sources;
}

export interface DiffFacts {
  readonly before: FleetState;
  readonly after: FleetState;
  /** The objects of the files, as they would be at the hub. */
  readonly changed: readonly KubeObject[];
  /** What the owners of clusters allow, as far as it is known. */
  readonly contracts?: ReadonlyMap<string, readonly Contract[]>;
}

export interface DiffReport {
  /** Clusters on which the same changes; in order of their first cluster. */
  readonly groups: readonly ClusterGroup[];
  /** What the user should know besides: held changes, failing overrides, objects that go nowhere. */
  readonly notes: readonly DiffNote[];
  readonly summary: { readonly clusters: number; readonly objects: number };
}

export interface ClusterGroup {
  readonly clusters: readonly string[];
  readonly changes: readonly ObjectChange[];
}

export interface ObjectChange {
  readonly ref: ObjectRef;
  readonly change: 'created' | 'changed' | 'removed';
  /** Of changed objects. Values of Secrets are digests. */
  readonly fields: readonly Difference[];
}

export interface DiffNote {
  /** Empty where it is not about clusters. */
  readonly clusters: readonly string[];
  readonly message: string;
}

export type Content = ReadonlyMap<string, KubeObject>;

/** What a cluster has and shall have, by object, and of which propagation it is. */
export interface ClusterContents {
  readonly cluster: string;
  readonly before: Content;
  readonly after: Content;
  readonly owners: ReadonlyMap<string, Planned>;
}

/** Computes for every cluster of the fleet what a change at the hub brings; `note` hears what else is to be known. */
export function fleetContents(
  { before, after }: Pick<DiffFacts, 'before' | 'after'>,
  note: (cluster: string, message: string) => void,
): { readonly clusters: readonly ClusterContents[]; readonly pairs: readonly Pair[] } {
  const pairs = pairsOf(before, after);
  const names = new Set([...before.clusters, ...after.clusters].map((cluster) => cluster.name));
  const clusters = [...names].sort().map((cluster): ClusterContents => {
    const old = new Map<string, KubeObject>();
    const next = new Map<string, KubeObject>();
    const owners = new Map<string, Planned>();
    for (const pair of pairs) {
      const contents = contentsOn(cluster, pair, (message) => note(cluster, message));
      for (const [key, object] of contents.before) if (!old.has(key)) old.set(key, object);
      for (const [key, object] of contents.after) {
        if (next.has(key)) continue;
        next.set(key, object);
        if (pair.after) owners.set(key, pair.after);
      }
    }
    return { cluster, before: old, after: next, owners };
  });
  return { clusters, pairs };
}

/** What a change at the hub would do on which cluster. Pure. */
export function diffReport({ before, after, changed, contracts }: DiffFacts): DiffReport {
  const notes = new Map<string, Set<string>>();
  const note = (cluster: string | undefined, message: string): void => {
    const clusters = notes.get(message) ?? new Set<string>();
    if (cluster !== undefined) clusters.add(cluster);
    notes.set(message, clusters);
  };
  const groups = new Map<string, { clusters: string[]; changes: ObjectChange[] }>();
  const touched = new Set<string>();
  const { clusters, pairs } = fleetContents({ before, after }, note);
  for (const { cluster, before: old, after: next } of clusters) {
    const changes = changesBetween(old, next);
    if (changes.length === 0) continue;
    for (const change of changes) touched.add(refKey(change.ref));
    for (const message of refusedOn(cluster, contracts?.get(cluster) ?? [], pairs, changes))
      note(cluster, message);
    const key = canonicalJson(changes);
    const group = groups.get(key);
    if (group) group.clusters.push(cluster);
    else groups.set(key, { clusters: [cluster], changes });
  }
  for (const message of unsent(changed, pairs)) note(undefined, message);
  const list = [...groups.values()];
  return {
    groups: list,
    notes: [...notes].map(([message, clusters]) => ({ clusters: [...clusters], message })),
    summary: { clusters: list.reduce((sum, group) => sum + group.clusters.length, 0), objects: touched.size },
  };
}

/** What the contract of a cluster's owner will refuse of the changes there. The cluster has the last word. */
function refusedOn(
  cluster: string,
  contracts: readonly Contract[],
  pairs: readonly Pair[],
  changes: readonly ObjectChange[],
): string[] {
  if (contracts.length === 0) return [];
  const changing = new Map(changes.map(({ ref, change }) => [refKey(ref), change]));
  return pairs.flatMap(({ before, after }) => {
    const planned = after ?? before;
    if (!planned) return [];
    const { author, source } = planned.compiled.intent;
    const wanted = after ? [...wantedOn(cluster, after)] : [];
    const had = before ? [...wantedOn(cluster, before)] : [];
    const text = foreseenText(
      foresee(contracts, {
        objects: wanted.filter(([key]) => changing.has(key)).map(([, object]) => object),
        leaving: had.filter(([key]) => changing.get(key) === 'removed').map(([, object]) => refOf(object)),
        author,
        source,
      }),
    );
    return text === undefined ? [] : [`${propagationText(sourceOf(planned))} will be refused there: ${text}`];
  });
}

export interface Pair {
  readonly before: Planned | undefined;
  readonly after: Planned | undefined;
  /** Clusters that keep what they have though they are not chosen, after: too many would be left at once. */
  readonly kept?: KeptClusters | undefined;
  /** The same, before. */
  readonly keptBefore?: KeptClusters | undefined;
}

interface KeptClusters {
  readonly clusters: ReadonlySet<string>;
  readonly why: string;
}

/** The bound that the hub holds to, by what it says that it sent where. */
function keptByBudget(
  { propagation, compiled, plan }: Planned,
  sentTo: readonly string[],
  clusters: readonly ClusterFacts[],
): KeptClusters | undefined {
  const there = new Set(clusters.map(({ name }) => name));
  const chosen = new Set(plan.decision.chosen);
  const moved = leftByMoves(propagation.status?.failover ?? { moves: [] });
  const had = sentTo.filter((name) => there.has(name) && (chosen.has(name) || !moved.has(name)));
  const left = had.filter((name) => !chosen.has(name));
  const why = beyondClusterBudget(compiled.intent.clusterBudget, had.length, left.length);
  return why === undefined ? undefined : { clusters: new Set(left), why };
}

function pairsOf(before: FleetState, after: FleetState): Pair[] {
  const plans = (state: FleetState): Map<string, Planned> =>
    new Map(
      state.propagations
        .filter((propagation) => propagation.metadata.deletionTimestamp === undefined)
        .map((item) => [refKey(refOf(item)), planPropagation(item, state.clusters, state.sources)]),
    );
  const old = plans(before);
  const next = plans(after);
  return [...new Set([...old.keys(), ...next.keys()])].map((key) => {
    const had = old.get(key);
    const has = next.get(key);
    const sentTo = had?.propagation.status?.dispatchedTo ?? had?.plan.decision.chosen ?? [];
    return {
      before: had,
      after: has,
      kept: has && keptByBudget(has, sentTo, after.clusters),
      keptBefore: had && keptByBudget(had, sentTo, before.clusters),
    };
  });
}

/** What one propagation has on one cluster before and after: after, what is held back stays as it was. */
function contentsOn(
  cluster: string,
  { before, after, kept, keptBefore }: Pair,
  note: (message: string) => void,
): { before: Content; after: Content } {
  if (
    after &&
    keptBefore?.clusters.has(cluster) &&
    !kept?.clusters.has(cluster) &&
    !after.plan.decision.chosen.includes(cluster) &&
    heldOn(cluster, after) === undefined
  )
    note(`${propagationText(sourceOf(after))} takes away there what spec.clusterBudget kept until now`);
  if (before && after && sameOn(cluster, before, after)) {
    // Still needed: another propagation may take over or give up one of its objects.
    const content = wantedOn(cluster, before);
    return { before: content, after: content };
  }
  const old = before ? wantedOn(cluster, before) : new Map<string, KubeObject>();
  if (!after) return { before: old, after: new Map() };
  const text = propagationText(sourceOf(after));
  const held = heldOn(cluster, after);
  if (held !== undefined) {
    if (old.size > 0 || after.plan.decision.chosen.includes(cluster))
      note(`${text} changes nothing there: ${held}`);
    return { before: old, after: old };
  }
  if (kept?.clusters.has(cluster)) {
    note(`${text} changes nothing there: ${kept.why}`);
    return { before: old, after: old };
  }
  const heldBefore = before ? heldOn(cluster, before) : undefined;
  if (heldBefore !== undefined && old.size > 0)
    note(`${text} was held back until now (${heldBefore}): more may change there than is shown`);
  const next = wantedOn(cluster, after);
  const budget = overBudget(cluster, after, old, next);
  if (budget !== undefined) {
    note(`${text} changes nothing there: ${budget}`);
    return { before: old, after: old };
  }
  return { before: old, after: next };
}

function sameOn(cluster: string, before: Planned, after: Planned): boolean {
  return (
    before.plan.revision === after.plan.revision &&
    before.plan.decision.chosen.includes(cluster) === after.plan.decision.chosen.includes(cluster) &&
    deepEqual(before.plan.patches.get(cluster), after.plan.patches.get(cluster)) &&
    heldOn(cluster, before) === heldOn(cluster, after)
  );
}

function wantedOn(cluster: string, { compiled, plan }: Planned): Content {
  if (!plan.decision.chosen.includes(cluster)) return new Map();
  const { objects } = contentOn(compiled.intent.objects, plan, cluster);
  return new Map(objects.map((object) => [refKey(refOf(object)), object]));
}

/** Why the hub would send nothing of a propagation to a cluster. */
function heldOn(cluster: string, { compiled, blockers, plan }: Planned): string | undefined {
  if (blockers.length > 0) return blockers.join('; ');
  if (compiled.intent.suspend) return 'spec.suspend is true, the clusters keep what they have';
  const blocked = plan.blocked.get(cluster);
  return blocked === undefined ? undefined : `${blocked}. The cluster keeps what it has`;
}

/** The same bound that the hub holds to; deleting at the hub is no deselecting, and files delete nothing. */
function overBudget(cluster: string, after: Planned, old: Content, next: Content): string | undefined {
  if (!after.plan.decision.chosen.includes(cluster)) return undefined;
  const leaving = [...old].filter(([key]) => !next.has(key)).map(([, object]) => refText(refOf(object)));
  const { deletionBudget } = after.plan;
  if (leaving.length === 0 || leaving.length <= budgetOf(deletionBudget, old.size)) return undefined;
  const some = `${leaving.slice(0, 5).join(', ')}${leaving.length > 5 ? ', …' : ''}`;
  return `it would remove ${leaving.length} of ${old.size} objects by no longer selecting them (${some}), more than spec.deletionBudget ${deletionBudget} allows`;
}

function changesBetween(before: Content, after: Content): ObjectChange[] {
  const changes: ObjectChange[] = [];
  for (const [key, object] of after) {
    const old = before.get(key);
    if (old === object) continue;
    if (old === undefined) changes.push({ ref: refOf(object), change: 'created', fields: [] });
    else {
      const fields = diffValues(redact(old), redact(object));
      if (fields.length > 0) changes.push({ ref: refOf(object), change: 'changed', fields });
    }
  }
  for (const [key, object] of before)
    if (!after.has(key)) changes.push({ ref: refOf(object), change: 'removed', fields: [] });
  return changes.sort((a, b) => compareForApply(a.ref, b.ref));
}

/** Objects of the files that stay at the hub. A namespace comes to a cluster with its first object. */
function unsent(changed: readonly KubeObject[], pairs: readonly Pair[]): string[] {
  const sent = new Set(pairs.flatMap(({ after }) => after?.plan.objects.map(refKey) ?? []));
  const bindings = pairs.some(({ after }) => after !== undefined && isBindingView(after.propagation));
  const nobody = `no propagation selects it${bindings ? ', and no Binding lists it now' : ''}`;
  const out: string[] = [];
  for (const object of changed) {
    const ref = refOf(object);
    if (RESOLVED.test(object.apiVersion) && object.kind !== 'Binding')
      out.push(`what ${refText(ref)} selects is settled by the hub once it is applied, and not shown here`);
    if (sent.has(refKey(ref)) || object.kind === 'Namespace' || STEERING.test(object.apiVersion)) continue;
    const never = neverPropagated(object);
    out.push(`${refText(ref)} stays at the hub: ${never ?? nobody}`);
  }
  return out;
}

/** Groups of the objects that decide what goes where. */
const STEERING = /^(atoll\.dev|core\.oam\.dev|policy\.karmada\.io|(control|edge)\.kubestellar\.io)\//;
/** Those of them that the hub resolves into Bindings. */
const RESOLVED = /^(control|edge)\.kubestellar\.io\//;

function sourceOf({ propagation }: Planned): { kind: string; namespace: string; name: string } {
  return {
    kind: propagation.kind,
    namespace: propagation.metadata.namespace ?? '',
    name: nameOf(propagation),
  };
}
