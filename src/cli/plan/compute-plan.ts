import type { Propagation } from '../../dialects/propagation/types.ts';
import { type Difference, diffValues } from '../../engine/diff/diff.ts';
import { dispatchName } from '../../engine/dispatch/index.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import {
  type BlastRadius,
  blastRadius,
  type ChangeSource,
  type ChangeWord,
  type ClusterChanges,
  changeOf,
  type ObjectChange,
  type PlanInputs,
  planHash,
  planInputs,
} from '../../engine/plan/change.ts';
import { type LocalFacts, localFactsOf } from '../../engine/render/local-facts.ts';
import { OF_DIVISION, patchOrigin } from '../../engine/render/override.ts';
import type { Client } from '../../kube/client.ts';
import { type KubeObject, type ObjectRef, refKey, refOf, refText } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import { orderedObjects } from '../desired/index.ts';
import { readDiff } from '../diff/facts.ts';
import type { Manifest } from '../diff/manifest-files.ts';
import { type ClusterContents, type FleetState, fleetContents, type Pair } from '../diff/report.ts';
import {
  clusterFacts,
  forEachOf,
  nameOf,
  type Planned,
  readDispatch,
  readFleetAtHub,
  readSources,
  readSpoke,
} from '../fleet-reading.ts';
import { redact } from '../redact.ts';
import { lookAt, type Wanted } from './look.ts';
import { tellStages } from './stages.ts';

/** What a plan is of: files to be applied at the hub, or a propagation to be carried out that is held back. */
export type Asked =
  | { readonly manifests: readonly Manifest[]; readonly namespace: { name: string; explicit: boolean } }
  | { readonly propagation: ObjectRef };

export interface FleetPlan {
  readonly hash: string;
  readonly radius: BlastRadius;
  readonly clusters: readonly PlannedCluster[];
  /** What should be known besides. */
  readonly notes: readonly { readonly clusters: readonly string[]; readonly message: string }[];
  readonly inputs: PlanInputs;
}

export interface PlannedCluster {
  readonly cluster: string;
  readonly away?: string;
  readonly changes: readonly PlannedChange[];
}

export interface PlannedChange {
  readonly ref: ObjectRef;
  readonly change: ChangeWord;
  readonly by: ChangeSource;
  /** Of changed objects. Values of Secrets are digests. */
  readonly fields: readonly Difference[];
  /** Overrides that made it what it is there: by name, or by position. */
  readonly overrides: readonly string[];
  readonly message?: string;
}

const AT_ONCE = 16;
const UNPROVEN =
  'no dry run, since you may not write there by way of the hub: what is there was only read; see: atoll grant create write --help';

/** Computes a plan. Reads the hub and, through it, every cluster that is concerned; writes nothing. */
export async function computePlan(
  hub: Client,
  spokeClient: (name: string) => Client,
  asked: Asked,
): Promise<FleetPlan> {
  const { before, after, whole, what } = await factsOf(hub, asked);
  const notes = new Map<string, string[]>();
  const note = (cluster: string, message: string): void => {
    notes.set(message, [...(notes.get(message) ?? []), cluster]);
  };
  const { clusters: contents, pairs } = fleetContents({ before, after }, note);
  const planned = await forEachOf(contents, AT_ONCE, async (content) => {
    const { cluster } = content;
    const facts = after.clusters.filter(({ name }) => name === cluster).map(localFactsOf)[0];
    const { wanted, ordered } = await wantedOn(content, whole, pairs, spokeClient, facts);
    if (wanted.size === 0) return { cluster, changes: [] };
    const seen = await lookAt(spokeClient(cluster), wanted, cluster);
    if (seen.away === undefined && seen.unproven) note(cluster, UNPROVEN);
    const changes = [...wanted].flatMap(([key, item]): ObjectChange[] => {
      const look = seen.away === undefined ? seen.looks.get(key) : undefined;
      const isHeld = ordered !== undefined && item.owner !== undefined && keyOf(item.owner) === whole;
      const known = isHeld ? ordered.get(key) : content.before.get(key);
      const change = changeOf({
        before: known ?? (item.after ? undefined : item.object),
        after: item.after ? item.object : undefined,
        look,
      });
      return change ? [change] : [];
    });
    changes.sort((a, b) => compareForApply(a.ref, b.ref));
    return { cluster, ...(seen.away === undefined ? {} : { away: seen.away }), changes };
  });
  const touched = planned.filter(({ changes }) => changes.length > 0);
  tellStages(pairs, after.clusters, new Set(touched.map(({ cluster }) => cluster)), note);
  const of = (planned: (pair: Pair) => Planned | undefined): unknown[] =>
    pairs.map(planned).flatMap((one) => (one === undefined ? [] : [plannedDigest(one)]));
  const hubs = { before: of(({ before: had }) => had), after: of(({ after: has }) => has) };
  const inputs = planInputs(what, hubs, touched);
  const owners = new Map(contents.map(({ cluster, owners: of }) => [cluster, of]));
  return {
    hash: planHash(inputs),
    radius: blastRadius(touched, contents.length),
    clusters: touched.map((item) => shown(item, owners.get(item.cluster))),
    notes: [...notes].map(([message, clusters]) => ({ clusters, message })),
    inputs,
  };
}

interface PlanFacts {
  readonly before: FleetState;
  readonly after: FleetState;
  /** The propagation all of whose objects are looked at, changed or not. */
  readonly whole: string | undefined;
  readonly what: unknown;
}

async function factsOf(hub: Client, asked: Asked): Promise<PlanFacts> {
  if ('manifests' in asked) {
    const { before, after, changed } = await readDiff(hub, asked.manifests, asked.namespace);
    // What a dry run makes of an object that is new differs each time: its file does not.
    const what = asked.manifests.map(({ object }) => object);
    return { before, after, whole: undefined, what: [what, changed.map((object) => refKey(refOf(object)))] };
  }
  const key = refKey(asked.propagation);
  const fleet = await readFleetAtHub(hub);
  const found = fleet.propagations.find((item) => refKey(refOf(item)) === key);
  if (!found) throw new Error(`the hub has no ${refText(asked.propagation)}`);
  const sources = await readSources(hub, fleet.propagations);
  const clusters = clusterFacts(fleet.clusters);
  const released: Propagation = { ...found, spec: { ...found.spec, suspend: false } };
  const propagations = fleet.propagations.map((item) => (item === found ? released : item));
  return {
    before: { propagations: fleet.propagations, clusters, sources },
    after: { propagations, clusters, sources },
    whole: key,
    what: key,
  };
}

interface WantedOn {
  /** Those that change, and all of a propagation that is planned as a whole. */
  readonly wanted: ReadonlyMap<string, Wanted>;
  /** What that one was to be on the cluster until now: the hub's own objects went on while it was held back. */
  readonly ordered?: ReadonlyMap<string, KubeObject> | undefined;
}

/** The objects of one cluster that are looked at. */
async function wantedOn(
  { cluster, before, after, owners }: ClusterContents,
  whole: string | undefined,
  pairs: readonly Pair[],
  spokeClient: (name: string) => Client,
  facts: LocalFacts | undefined,
): Promise<WantedOn> {
  const wanted = new Map<string, Wanted>();
  for (const [key, object] of after) {
    const owner = owners.get(key);
    const isWhole = whole !== undefined && owner !== undefined && keyOf(owner) === whole;
    if (isWhole || !deepEqual(before.get(key), object)) wanted.set(key, { object, after: true, owner });
  }
  for (const [key, object] of before)
    if (!after.has(key)) wanted.set(key, { object, after: false, owner: undefined });
  const pair = pairs.find(({ after: planned }) => planned && keyOf(planned) === whole);
  const planned = pair?.after;
  if (!planned || pair?.kept?.clusters.has(cluster)) return { wanted };
  const spoke = spokeClient(cluster);
  const reading = await readDispatch(spoke, dispatchName(planned.compiled.intent.source));
  const spec = reading.live ? reading.value?.spec : undefined;
  // What was sent before it was held back, and is not selected any more.
  for (const ref of spec?.objects ?? []) {
    if (after.has(refKey(ref))) continue;
    const { apiVersion, kind, namespace, name } = ref;
    const object = { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } };
    wanted.set(refKey(ref), { object, after: false, owner: planned });
  }
  if (!spec) return { wanted };
  const content = await readSpoke(() => orderedObjects(spoke, spec, facts));
  if (!content.live) return { wanted };
  return { wanted, ordered: new Map(content.value.objects.map((object) => [refKey(refOf(object)), object])) };
}

function keyOf({ propagation }: Planned): string {
  return refKey(refOf(propagation));
}

/** What the hub has of a propagation and makes of it. Generations and times of what is asked for do not count. */
function plannedDigest({ propagation, plan, blockers }: Planned): unknown {
  return [nameOf(propagation), plan.revision, blockers, plan.decision.chosen];
}

function shown(
  { cluster, away, changes }: ClusterChanges,
  owners: ReadonlyMap<string, Planned> | undefined,
): PlannedCluster {
  return {
    cluster,
    ...(away === undefined ? {} : { away }),
    changes: changes.map(({ ref, change, by, from, to, message }) => ({
      ref,
      change,
      by,
      fields: from && to ? diffValues(redact(from), redact(to)) : [],
      overrides: overridesOf(cluster, ref, owners),
      // Servers repeat the values that they refuse.
      ...(message === undefined
        ? {}
        : { message: ref.kind === 'Secret' ? 'its cluster refuses it' : message }),
    })),
  };
}

function overridesOf(
  cluster: string,
  ref: ObjectRef,
  owners: ReadonlyMap<string, Planned> | undefined,
): string[] {
  const key = refKey(ref);
  const patches = owners?.get(key)?.plan.patches.get(cluster) ?? [];
  return patches.flatMap((patch) =>
    refKey(patch.target) === key && patch.override !== OF_DIVISION ? [patch.name ?? patchOrigin(patch)] : [],
  );
}
