import {
  contentsOf,
  memoryDriver,
  type StorageDriver,
  type StoredContents,
  type StoredValue,
} from '../../../src/apiserver/storage/index.ts';
import { RESOURCE_GRAPH_DEFINITION } from '../../../src/dialects/kro/kinds.ts';
import { resourceIdOf } from '../../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { configMaps, namespaces } from '../../../src/kube/well-known.ts';
import { parseJson } from '../../../src/schema/json-text.ts';
import { startTestFleet } from '../../../src/testing/index.ts';
import { configMap } from '../shop.ts';
import { shopGraph } from './shop-graph.ts';

/** A fleet that was started once and came to rest, as its clusters stored it. Histories begin with that. */
export interface GoldenImage {
  /** Wall time at which it was taken, milliseconds since the epoch. */
  readonly takenAt: number;
  /** Throws an Error where the image has no cluster of that name. */
  stored(cluster: string): StoredContents;
}

/** Apart from every seed of a history: what a history names must be new in it. */
const SEED = 0x90_1d;
const REST_MS = 120_000;

const images = new Map<string, Promise<GoldenImage>>();

/** The image of a fleet with spokes of these names, with a graph or without; it is made once for the process. */
export function goldenImage(spokes: readonly string[], withGraph: boolean): Promise<GoldenImage> {
  const key = `${spokes.join(' ')}${withGraph ? ' with a graph' : ''}`;
  const known = images.get(key);
  if (known) return known;
  const made = takeImage(spokes, withGraph);
  images.set(key, made);
  return made;
}

async function takeImage(spokes: readonly string[], withGraph: boolean): Promise<GoldenImage> {
  const storages = new Map<string, StorageDriver>();
  const fleet = await startTestFleet({
    spokes,
    virtualTime: { seed: SEED },
    storage: (name) => {
      const driver = memoryDriver();
      storages.set(name, driver);
      return driver;
    },
  });
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  for (const cluster of [fleet.hub, ...fleet.spokes])
    await fleet.run(cluster.client.create(namespaces, namespace));
  // Somebody else's, of the same kind and in the same namespace as what the hub sends.
  for (const spoke of fleet.spokes)
    await fleet.run(spoke.client.create(configMaps, configMap('foreign', 'own')));
  if (withGraph) {
    const { client } = fleet.hub;
    await fleet.run(client.create(resourceIdOf(RESOURCE_GRAPH_DEFINITION), shopGraph('first')));
  }
  await fleet.rest(REST_MS);
  await fleet.stop();
  const contents = new Map<string, StoredContents>();
  for (const [name, driver] of storages) contents.set(name, parsed(await contentsOf(driver)));
  return {
    takenAt: fleet.runtime.clock.now(),
    stored(cluster) {
      const found = contents.get(cluster);
      if (!found) throw new Error(`the image has no cluster ${cluster}`);
      return found;
    },
  };
}

/**
 * The same without the way to it, and parsed once for all histories, which cost less so; it is frozen, so that none can tell what
 * another did to it.
 */
function parsed({ revision, present }: StoredContents): StoredContents {
  return {
    revision,
    compactedRevision: revision,
    present: present.map((stored) => ({ ...stored, object: frozen(objectOf(stored)) })),
    changes: [],
  };
}

function objectOf({ value }: StoredValue): KubeObject {
  return parseJson(Buffer.from(value).toString()) as unknown as KubeObject;
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const item of Object.values(value)) frozen(item);
  return Object.freeze(value);
}
