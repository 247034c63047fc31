import type { Propagation } from '../../dialects/propagation/types.ts';
import { type Dispatch, dispatchName } from '../../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import {
  clusterFacts,
  clusterNamed,
  type FleetReading,
  forEachOf,
  nameOf,
  type Planned,
  planPropagation,
  readDispatch,
  readFleetAtHub,
  readSources,
  type SpokeReading,
} from '../fleet-reading.ts';
import { readResources, resourceNamed } from '../kind-name.ts';
import { nearest } from '../near-names.ts';
import { type FederatedFacts, readFederated } from './federated.ts';
import { selectingOf } from './selecting.ts';

/** What `atoll why` found out. */
export interface WhyFacts {
  readonly object: KubeObject;
  readonly fleet: FleetReading;
  /** Propagations that select the object, with what follows from them. */
  readonly selecting: readonly SelectingPropagation[];
  /** Where the object is a federated one. */
  readonly federated?: FederatedFacts;
  /** The one cluster that was asked for; all where absent. */
  readonly cluster?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface SelectingPropagation extends Planned {
  /** The dispatch of this propagation on clusters that may have one, by cluster. */
  readonly dispatches: ReadonlyMap<string, SpokeReading<Dispatch | undefined>>;
}

export interface Asked {
  /** As it was typed: `deploy`, `deployments.apps`. */
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly cluster?: string;
}

const SPOKES_AT_ONCE = 32;

/** `deploy/cart`, or the two words apart. */
export function parseAsked(words: readonly string[]): { kind: string; name: string } {
  const [first = '', second, ...more] = words;
  const slash = first.indexOf('/');
  if (slash >= 0 && second !== undefined) throw new Error('give <kind>/<name>, or <kind> <name>: not both');
  const kind = slash < 0 ? first : first.slice(0, slash);
  const name = slash < 0 ? (second ?? '') : first.slice(slash + 1);
  if (more.length > 0 || kind === '' || name === '' || name.includes('/'))
    throw new Error('name one object as <kind>/<name>, for example: atoll why deploy/cart -n shop');
  return { kind, name };
}

/** Reads the whole chain of one object: at the hub, and through it on the clusters that are concerned. */
export async function readWhy(
  hub: Client,
  spokeClient: (name: string) => Client,
  asked: Asked,
  now: number,
): Promise<WhyFacts> {
  const [resources, fleet] = await Promise.all([readResources(hub), readFleetAtHub(hub)]);
  const resource = resourceNamed(resources, asked.kind);
  if (asked.cluster !== undefined) clusterNamed(fleet.clusters, asked.cluster);
  const object = await readObject(hub, resource, asked);
  const federated = await readFederated(hub, object);
  const hits = fleet.propagations.filter((propagation) => selectingOf(propagation, object).selects);
  const sources = await readSources(hub, hits);
  const facts = clusterFacts(fleet.clusters);
  const selecting = await Promise.all(
    hits.map(async (propagation): Promise<SelectingPropagation> => {
      const planned = planPropagation(propagation, facts, sources);
      const concerned = concernedClusters(planned, propagation, asked.cluster);
      const name = dispatchName(planned.plan.source);
      const readings = await forEachOf(concerned, SPOKES_AT_ONCE, (cluster) =>
        readDispatch(spokeClient(cluster), name),
      );
      const dispatches = new Map<string, SpokeReading<Dispatch | undefined>>();
      readings.forEach((reading, index) => void dispatches.set(concerned[index] ?? '', reading));
      return { ...planned, dispatches };
    }),
  );
  return {
    object,
    fleet,
    selecting,
    now,
    ...(federated === undefined ? {} : { federated }),
    ...(asked.cluster === undefined ? {} : { cluster: asked.cluster }),
  };
}

function concernedClusters(planned: Planned, propagation: Propagation, only: string | undefined): string[] {
  const all = new Set([...planned.plan.decision.chosen, ...(propagation.status?.dispatchedTo ?? [])]);
  return [...all].filter((name) => only === undefined || name === only).sort();
}

async function readObject(hub: Client, resource: ResourceId, asked: Asked): Promise<KubeObject> {
  const namespace = resource.namespaced ? asked.namespace : '';
  try {
    const object = await hub.get(resource, namespace, asked.name);
    return { ...object, apiVersion: formatApiVersion(resource.group, resource.version), kind: resource.kind };
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
    const where = namespace === '' ? '' : ` in namespace ${namespace}`;
    const hint = await nearObjects(hub, resource, namespace, asked.name);
    throw new Error(`the hub has no ${resource.kind} "${asked.name}"${where}; ${hint}`);
  }
}

/** Where else an object of that name is, or what has a similar name. */
async function nearObjects(
  hub: Client,
  resource: ResourceId,
  namespace: string,
  name: string,
): Promise<string> {
  const { items } = await hub.list(resource, '');
  const elsewhere = items
    .filter((item) => nameOf(item) === name)
    .map((item) => item.metadata.namespace ?? '');
  if (elsewhere.length > 0)
    return `there is one in namespace ${elsewhere.slice(0, 5).join(', ')}: say so with -n`;
  const here = items.filter((item) => (item.metadata.namespace ?? '') === namespace);
  const near = nearest(name, here.map(nameOf));
  if (near.length > 0) return `similar: ${near.join(', ')}`;
  const far = nearest(name, items.map(nameOf));
  if (far.length > 0) {
    const texts = items.filter((item) => far.includes(nameOf(item))).slice(0, 5);
    return `similar: ${texts.map((item) => `${item.metadata.namespace ?? ''}/${nameOf(item)}`).join(', ')}`;
  }
  return here.length === 0
    ? `there is no ${resource.kind} there`
    : `there are ${here.length} others; see: kubectl get ${resource.resource}`;
}
