import type { Compiled } from '../../engine/compiled.ts';
import { newestOf, openApiOfSimpleSchema, supersetDefinition } from '../../engine/graph/index.ts';
import type { Author, ClusterFacts, Override } from '../../engine/intent.ts';
import { type CompiledMatch, compileMatch, matchesCluster } from '../../engine/place/index.ts';
import { portable } from '../../engine/render/portable.ts';
import { findCondition, isTrue } from '../../kube/conditions.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { formatJsonPointer } from '../../schema/json-pointer.ts';
import { composedNodes, cycleMessage, type HubOnlyKind, hubKindOf, withHubNodes } from './composition.ts';
import { DISTRIBUTE_LABEL, hasTargets } from './definition-place.ts';
import {
  DISTRIBUTED_REVISION,
  distributedRevisionOf,
  INSTANCES_PER_MINUTE,
  KIND_REMOVAL,
  ON_DELETION,
  pinOf,
} from './revision-marks.ts';
import { type GraphRollout, rolloutOf } from './rollout.ts';
import type { GraphRevision, ResourceGraphDefinition, ResourceGraphDefinitionSpec } from './types.ts';

/** What distributing a definition may know beside it. */
export interface DistributionContext {
  /** All revisions of the hub. */
  readonly revisions: readonly GraphRevision[];
  /** All rollouts of the hub. */
  readonly rollouts: readonly GraphRollout[];
  /** Whether clusters may have it by now: then what becomes of it at the hub stops nothing. */
  readonly begun: boolean;
  /** Kinds that only the hub serves, so that instances of clusters have theirs there; none where nothing is said. */
  readonly composition?: Composition | undefined;
  readonly author?: Author | undefined;
}

export interface Composition {
  /** By `group/kind`. */
  readonly kinds: ReadonlyMap<string, HubOnlyKind>;
  /** The CustomResourceDefinitions of the hub. */
  readonly definitions: readonly KubeObject[];
  /** The way from the definition back to it, where there is one. */
  readonly cycle?: readonly string[] | undefined;
}

/** What a definition comes to on the fleet. */
export interface CompiledDistribution extends Compiled {
  /** Of clusters without a pin; 0 where there is none yet. */
  readonly revision: number;
  /** The first that means a cluster holds for it. */
  readonly pins: readonly { readonly match: CompiledMatch; readonly revision: number }[];
  readonly rollout: GraphRollout | undefined;
  /** Whether it is to be anywhere but at the hub. */
  readonly everywhere: boolean;
}

/** The revision that a cluster is to have. */
export function revisionFor({ pins, revision }: CompiledDistribution, cluster: ClusterFacts): number {
  return pins.find(({ match }) => matchesCluster(match, cluster))?.revision ?? revision;
}

/**
 * The intent of a definition: itself, as one of its revisions says it, for the clusters to run by themselves. Nothing is sent before
 * the hub serves it. A definition that was edited wrongly has no new revision, so the one before is what clusters go on to have.
 * Clusters that are held at another revision get it by an override.
 */
export function compileDistribution(
  object: ResourceGraphDefinition,
  context: DistributionContext,
): CompiledDistribution {
  const { name = '', uid = '', generation = 0, labels = {} } = object.metadata;
  const problems: string[] = [];
  const known = context.revisions.filter((revision) => isRevisionOf(revision, object));
  const rollout = rolloutOf(name, context.rollouts);
  // Instances of a graph over several clusters are where the clusters are known.
  const everywhere = labels[DISTRIBUTE_LABEL] !== 'false' && !hasTargets(object);
  const wanted = rollout?.spec.revision ?? pinOf(object) ?? distributedRevisionOf(object);
  const target = wanted === undefined ? newestServed(object, known) : known.find(numbered(wanted));
  if (everywhere && !context.begun) problems.push(...servingProblems(object));
  if (!target) problems.push(missing(wanted, known, object));
  const sent = target ? { ...object, spec: target.spec.snapshot.spec } : object;
  const specOf = forClusters(sent, context.composition, problems);
  const overrides: Override[] = [];
  const pins: CompiledDistribution['pins'][number][] = [];
  // Of several that mean a cluster the first holds; later overrides win.
  for (const { revision, ...clusters } of (rollout?.spec.pins ?? []).toReversed()) {
    const pinned = known.find(numbered(revision));
    if (!pinned) problems.push(missing(revision, known, object));
    else {
      overrides.push({ ...clusters, patch: patchTo(pinned, specOf) });
      pins.unshift({ match: compileMatch(clusters, 'pins', problems), revision });
      if (target && target !== pinned) problems.push(...conflicts(target, pinned));
    }
  }
  // Clusters that had the newest one keep its fields: an older one must fit into them.
  const newest = newestServed(object, known);
  if (target && newest && target !== newest) problems.push(...conflicts(newest, target));
  const { clusterNames, clusterSelector } = rollout?.spec.clusters ?? {};
  return {
    intent: {
      source: { apiVersion: object.apiVersion, kind: object.kind, namespace: '', name, uid, generation },
      ...(context.author === undefined ? {} : { author: context.author }),
      objects: target ? [definitionAt(object, target, specOf)] : [],
      placement: everywhere
        ? {
            ...(clusterNames === undefined ? {} : { clusterNames }),
            ...(clusterSelector === undefined ? {} : { clusterSelector }),
            ...(clusterNames === undefined && clusterSelector === undefined ? { clusterSelector: {} } : {}),
          }
        : { clusterNames: [] },
      overrides,
      suspend: false,
      // It is one object on a cluster: there is nothing that a change could deselect.
      deletionBudget: '100%',
      // Its status tells of the instances there.
      returns: 'Raw',
      ...(rollout?.spec.strategy === undefined ? {} : { rollout: rollout.spec.strategy }),
    },
    revision: target?.spec.revision ?? 0,
    pins,
    rollout,
    everywhere,
    skipped: [],
    emptySelectors: [],
    problems: [...new Set(problems)],
  };
}

/** Whether what a definition comes to may change with another object. */
export function distributionConcernedBy(object: ResourceGraphDefinition, changed: KubeObject): boolean {
  const { name } = object.metadata;
  if (changed.kind === 'GraphRevision') return (changed as GraphRevision).spec.snapshot.name === name;
  return changed.kind === 'RGDRollout' && (changed as GraphRollout).spec.graph === name;
}

function isRevisionOf({ metadata, spec }: GraphRevision, { metadata: { name, uid } }: KubeObject): boolean {
  return (
    spec.snapshot.name === name &&
    metadata.deletionTimestamp === undefined &&
    (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid)
  );
}

function numbered(number: number): (revision: GraphRevision) => boolean {
  return ({ spec }) => spec.revision === number;
}

/** The status of the definition names it only once its kind was made. */
function newestServed(
  { status }: ResourceGraphDefinition,
  known: readonly GraphRevision[],
): GraphRevision | undefined {
  const issued = status?.lastIssuedRevision ?? 0;
  const verified = known.filter(
    (revision) =>
      revision.spec.revision <= issued && isTrue(revision.status?.conditions ?? [], 'GraphVerified'),
  );
  const records = verified.map((revision) => ({
    revision,
    number: revision.spec.revision,
    hash: '',
    state: 'Active' as const,
  }));
  return newestOf(records)?.revision;
}

function servingProblems({ status }: ResourceGraphDefinition): string[] {
  const { conditions = [], state } = status ?? {};
  if (state === 'Active') return [];
  const ready = findCondition(conditions, 'Ready');
  return [`the hub does not serve it yet${ready && ready.status !== 'True' ? `: ${ready.message}` : ''}`];
}

function missing(
  wanted: number | undefined,
  known: readonly GraphRevision[],
  { metadata: { name } }: KubeObject,
): string {
  if (wanted === undefined) return `there is no revision of ${name} that can be served`;
  const numbers = known.map(({ spec }) => spec.revision).toSorted((a, b) => a - b);
  const there =
    numbers.length === 0
      ? 'there is none'
      : numbers.length === 1
        ? `there is ${numbers[0]} only`
        : `there are ${numbers.join(', ')}`;
  return `there is no revision ${wanted} of ${name}; ${there}`;
}

/** Marks of ours mean something at the hub only, but for these. */
const PASSED_ON = new Set([KIND_REMOVAL, ON_DELETION, INSTANCES_PER_MINUTE]);
const HUB_MARKS = /^(atoll\.dev\/|kubectl\.kubernetes\.io\/)/;

/** A definition as one of its revisions says it, under its number, for another cluster. */
export function definitionAt(
  object: ResourceGraphDefinition,
  { spec }: GraphRevision,
  specOf: SpecOf = (written) => written,
): KubeObject {
  const { metadata, apiVersion, kind } = portable(object);
  const kept = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => !HUB_MARKS.test(key) || PASSED_ON.has(key),
  );
  return {
    apiVersion,
    kind,
    metadata: {
      ...metadata,
      annotations: { ...Object.fromEntries(kept), [DISTRIBUTED_REVISION]: String(spec.revision) },
    },
    spec: specOf(spec.snapshot.spec) as unknown as JsonValue,
  };
}

type SpecOf = (spec: ResourceGraphDefinitionSpec) => ResourceGraphDefinitionSpec;

/** What a definition says on clusters; where it would say nothing that they can follow, that is a problem. */
function forClusters(
  object: ResourceGraphDefinition,
  composition: Composition | undefined,
  problems: string[],
): SpecOf {
  if (!composition || composition.kinds.size === 0) return (spec) => spec;
  const { kinds, definitions, cycle } = composition;
  for (const { id, of } of composedNodes(object, kinds))
    if (!hubKindOf(of, definitions))
      problems.push(`the hub does not serve ${of.kind} in version ${of.version} yet, which node ${id} is of`);
  if (cycle) problems.push(cycleMessage(cycle));
  return (spec) =>
    withHubNodes(spec, (of) =>
      kinds.has(`${of.group}/${of.kind}`) ? hubKindOf(of, definitions) : undefined,
    );
}

function patchTo({ spec }: GraphRevision, specOf: SpecOf): NonNullable<Override['patch']> {
  return [
    { op: 'replace', path: '/spec', value: specOf(spec.snapshot.spec) as unknown as JsonValue },
    {
      op: 'replace',
      path: formatJsonPointer(['metadata', 'annotations', DISTRIBUTED_REVISION]),
      value: String(spec.revision),
    },
  ];
}

/** Why two revisions cannot be served under one CustomResourceDefinition. */
function conflicts(a: GraphRevision, b: GraphRevision): string[] {
  const { conflicts: found = [] } = supersetDefinition(fieldsOf(a), [fieldsOf(b)]);
  return found.map(
    (text) => `revisions ${a.spec.revision} and ${b.spec.revision} do not fit under one kind: ${text}`,
  );
}

/** As much of the CustomResourceDefinition of a revision as its fields need. */
function fieldsOf({ spec: { snapshot } }: GraphRevision): KubeObject {
  const { spec = {}, types = {}, apiVersion } = snapshot.spec.schema;
  const { schema } = openApiOfSimpleSchema(objectOr(spec), objectOr(types));
  const openAPIV3Schema = { type: 'object', properties: { spec: schema } };
  const versions = [{ name: apiVersion, schema: { openAPIV3Schema } }] as unknown as JsonValue;
  return { apiVersion: '', kind: '', metadata: {}, spec: { versions } };
}

function objectOr(value: JsonValue): JsonObject {
  return isObject(value) ? value : {};
}
