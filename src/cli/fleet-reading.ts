import {
  CLUSTER_OVERRIDE_POLICY,
  closeness,
  OVERRIDE_POLICY,
  type OverridePolicy,
  overridesOfPolicies,
} from '../dialects/karmada/index.ts';
import { clusterFactsOf } from '../dialects/kubevela/cluster-facts.ts';
import { CLUSTER, SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import type { Cluster, SpokeCluster } from '../dialects/kubevela/types.ts';
import { compilePropagation, effectiveSelectors } from '../dialects/propagation/compile.ts';
import { CLUSTER_PROPAGATION, PROPAGATION } from '../dialects/propagation/kinds.ts';
import type { Propagation } from '../dialects/propagation/types.ts';
import type { Compiled } from '../engine/compiled.ts';
import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { ClusterFacts, Intent } from '../engine/intent.ts';
import { decide } from '../engine/place/index.ts';
import { type Plan, planIntent } from '../engine/plan/plan.ts';
import type { ResourceSelector } from '../engine/select/select.ts';
import type { Client } from '../kube/client.ts';
import { apiVersionOf, resourceIdOf } from '../kube/custom-resource.ts';
import { type KubeObject, parseApiVersion } from '../kube/object.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import { errorText } from '../runtime/log.ts';
import { compileView, DEFINITIONS, isBindingView, readBindings } from './fleet-bindings.ts';
import { nearest } from './near-names.ts';

/** What the hub holds of the fleet. */
export interface FleetReading {
  /** Propagations and ClusterPropagations, by kind, namespace and name, and what Bindings come to. */
  readonly propagations: readonly Propagation[];
  /** One a name, in name order: of two with one name the older is the cluster. */
  readonly clusters: readonly SpokeCluster[];
}

/** The objects of a kind, or why they cannot be had. */
export type Source = { readonly objects: readonly KubeObject[] } | { readonly unknown: string };
/** The kinds that propagations select from, by `group/Kind`. */
export type Sources = ReadonlyMap<string, Source>;

/** A propagation with everything that follows from it, computed with the functions of the hub. */
export interface Planned {
  readonly propagation: Propagation;
  readonly compiled: Compiled;
  readonly plan: Plan;
  /** Why the hub dispatches nothing of it now; what is on the spokes stays. */
  readonly blockers: readonly string[];
}

/** What was read of a spoke just now, or why nothing could be. */
export type SpokeReading<T> =
  | { readonly live: true; readonly value: T }
  | { readonly live: false; readonly why: string };

const CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
/** Kinds that change what is sent, whatever it is. */
const POLICIES = [CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY].map((custom) => ({
  apiVersion: apiVersionOf(custom),
  kind: custom.kind,
}));
const SELF = resourceIdOf(CLUSTER);
const DISPATCHES = resourceIdOf(DISPATCH);

/** Reads propagations and clusters. Throws an Error that says so when the API is not that of a hub. */
export async function readFleetAtHub(client: Client): Promise<FleetReading> {
  try {
    const [own, clusterWide, clusters, bindings] = await Promise.all([
      client.list<Propagation>(resourceIdOf(PROPAGATION), ''),
      client.list<Propagation>(resourceIdOf(CLUSTER_PROPAGATION), ''),
      client.list<SpokeCluster>(CLUSTERS, ''),
      readBindings(client),
    ]);
    return {
      propagations: [...own.items, ...clusterWide.items, ...bindings],
      clusters: oldestByName(clusters.items),
    };
  } catch (error) {
    if (hasCode(error, 404)) {
      throw new Error(
        'the API server is no hub of Atoll: it serves no SpokeClusters and Propagations; choose another with --context',
        {
          cause: error,
        },
      );
    }
    throw error;
  }
}

/** The clusters of an inventory: of two SpokeClusters with one name the older is the cluster. */
export function oldestByName(clusters: readonly SpokeCluster[]): SpokeCluster[] {
  const oldest = new Map<string, SpokeCluster>();
  for (const cluster of clusters) {
    const present = oldest.get(nameOf(cluster));
    if (!present || ageKey(cluster) < ageKey(present)) oldest.set(nameOf(cluster), cluster);
  }
  return [...oldest.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

export function clusterFacts(clusters: readonly SpokeCluster[]): ClusterFacts[] {
  return clusters.map(clusterFactsOf);
}

/** The cluster of a name. Throws an Error with similar names where there is none. */
export function clusterNamed(clusters: readonly SpokeCluster[], name: string): SpokeCluster {
  const found = clusters.find((item) => nameOf(item) === name);
  if (found) return found;
  const near = nearest(name, clusters.map(nameOf));
  const hint = near.length > 0 ? `similar: ${near.join(', ')}` : 'see: atoll cluster list';
  throw new Error(`the hub has no cluster "${name}"; ${hint}`);
}

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? '';
}

/** `Propagation shop/web`, `ClusterPropagation base`. */
export function propagationText(propagation: { kind: string; namespace: string; name: string }): string {
  const { kind, namespace, name } = propagation;
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** Key of a kind in {@link Sources}: versions of a kind hold the same objects. */
export function sourceKey(selector: Pick<ResourceSelector, 'apiVersion' | 'kind'>): string {
  return `${parseApiVersion(selector.apiVersion).group}/${selector.kind}`;
}

/** Lists every kind that the propagations select from, and those that come along with what they select. */
export async function readSources(client: Client, propagations: readonly Propagation[]): Promise<Sources> {
  const sources = new Map<string, Source>();
  let wanted = new Map<string, ResourceSelector>();
  for (const propagation of propagations)
    for (const selector of effectiveSelectors(propagation))
      if (!wanted.has(sourceKey(selector))) wanted.set(sourceKey(selector), selector);
  for (const policy of POLICIES) wanted.set(sourceKey(policy), policy);
  if (propagations.some(isBindingView)) wanted.set(sourceKey(DEFINITIONS), DEFINITIONS);
  while (wanted.size > 0) {
    for (const [key, source] of await readKinds(client, wanted)) sources.set(key, source);
    wanted = kindsAskedFor(propagations, sources);
  }
  return sources;
}

/** Kinds that what is known leads to, and that are not read yet. */
function kindsAskedFor(
  propagations: readonly Propagation[],
  sources: Sources,
): Map<string, ResourceSelector> {
  const wanted = new Map<string, ResourceSelector>();
  for (const propagation of propagations) {
    if (propagation.spec.dependencies === undefined && !asksForNamespaces(propagation)) continue;
    compilePropagation(propagation, (selector) => {
      const source = sources.get(sourceKey(selector));
      if (!source) wanted.set(sourceKey(selector), selector);
      return source && 'objects' in source ? source.objects : [];
    });
  }
  return wanted;
}

function asksForNamespaces({ spec }: Propagation): boolean {
  return spec.resourceSelectors.some(({ namespaceSelector }) => namespaceSelector !== undefined);
}

function readKinds(
  client: Client,
  wanted: ReadonlyMap<string, ResourceSelector>,
): Promise<[string, Source][]> {
  return Promise.all(
    [...wanted].map(async ([key, { apiVersion, kind }]): Promise<[string, Source]> => {
      try {
        const list = await client.list(await client.resourceFor(apiVersion, kind), '');
        return [key, { objects: list.items }];
      } catch (error) {
        if (!hasCode(error, 404)) throw error;
        return [key, { unknown: `the hub serves no kind ${kind} in ${apiVersion}` }];
      }
    }),
  );
}

/** What a propagation comes to. Pure. Whether the authors of override policies may do what these say is for the hub to ask. */
export function planPropagation(
  propagation: Propagation,
  clusters: readonly ClusterFacts[],
  sources: Sources,
): Planned {
  const blockers = new Set<string>();
  const objectsOf = (selector: ResourceSelector, mustBeServed: boolean): readonly KubeObject[] => {
    const found = sources.get(sourceKey(selector));
    if (found && 'objects' in found) return found.objects;
    if (mustBeServed || !found)
      blockers.add(found?.unknown ?? `objects of kind ${selector.kind} were not read`);
    return [];
  };
  const compiled = isBindingView(propagation)
    ? compileView(propagation, (kind) => objectsOf(kind, false))
    : compilePropagation(propagation, (selector) => objectsOf(selector, true), {
        named: (selector) => objectsOf(selector, false),
      });
  for (const problem of compiled.problems) blockers.add(problem);
  const before = propagation.status?.decision;
  const decision = decide(compiled.intent.placement, clusters, before);
  const intent = { ...compiled.intent, overrides: withPolicies(compiled.intent, sources) };
  const plan = planIntent(intent, clusters, undefined, decision, propagation.status?.replicas);
  return { propagation, compiled, plan, blockers: [...blockers] };
}

function withPolicies({ objects, overrides }: Compiled['intent'], sources: Sources): Intent['overrides'] {
  const policies = POLICIES.flatMap((kind) => {
    const found = sources.get(sourceKey(kind));
    return found && 'objects' in found ? (found.objects as readonly OverridePolicy[]) : [];
  });
  const meant = policies.map((policy) => ({
    policy,
    objects: objects.filter((object) => closeness(policy, object) !== undefined),
  }));
  return [...overridesOfPolicies(meant), ...overrides];
}

/** A dispatch on a spoke, read through the hub; undefined where the spoke has none of the name. */
export function readDispatch(spoke: Client, name: string): Promise<SpokeReading<Dispatch | undefined>> {
  return readSpoke(async () => {
    try {
      return await spoke.get<Dispatch>(DISPATCHES, SYSTEM_NAMESPACE, name);
    } catch (error) {
      if (hasCode(error, 404) && error.status.details?.kind === DISPATCHES.resource) return undefined;
      throw error;
    }
  });
}

/** A spoke's picture of itself, with its dispatches, read through the hub. */
export function readSelf(
  spoke: Client,
  name: string,
): Promise<SpokeReading<{ cluster: Cluster; dispatches: readonly Dispatch[] }>> {
  return readSpoke(async () => {
    const [cluster, dispatches] = await Promise.all([
      spoke.get<Cluster>(SELF, SYSTEM_NAMESPACE, name),
      spoke.list<Dispatch>(DISPATCHES, SYSTEM_NAMESPACE),
    ]);
    return { cluster, dispatches: dispatches.items };
  });
}

/** A spoke that cannot be asked is a finding, whatever the reason; a hub that cannot be reached ends the command. */
export async function readSpoke<T>(read: () => Promise<T>): Promise<SpokeReading<T>> {
  try {
    return { live: true, value: await read() };
  } catch (error) {
    if (error instanceof Error && error.name === 'HubUnreachable') throw error;
    if (error instanceof StatusError && error.code === 404) {
      const { kind, group } = error.status.details ?? {};
      const unknownToHub = kind === 'clusters' && group === undefined;
      return {
        live: false,
        why: unknownToHub
          ? 'it has not connected since the hub started'
          : `the cluster answers, but no spoke engine has reported there yet (${error.message})`,
      };
    }
    // The hint of the hub's answer is for people with kubectl; here it is known what to do.
    return { live: false, why: errorText(error).replace(/\. What was last known: .*$/s, '') };
  }
}

/** Runs `act` for all items, some at a time, and keeps their order. */
export async function forEachOf<A, B>(
  items: readonly A[],
  atOnce: number,
  act: (item: A) => Promise<B>,
): Promise<B[]> {
  const out: B[] = [];
  for (let start = 0; start < items.length; start += atOnce)
    out.push(...(await Promise.all(items.slice(start, start + atOnce).map(act))));
  return out;
}

function ageKey(cluster: SpokeCluster): string {
  return `${cluster.metadata.creationTimestamp ?? ''} ${cluster.metadata.uid ?? ''}`;
}
