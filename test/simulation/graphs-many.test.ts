// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { type SimulatedCluster, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());

const CLUSTERS = 50;
const GRAPHS = 20;
/** For each cluster, its API server and what it stores included, of twenty graphs. */
const STATED_BYTES = 10_000_000;

function graph(name: string): KubeObject {
  const metadata = { name: '${schema.metadata.name}' };
  const template = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { a: '${schema.spec.a}' } };
  const schema = { apiVersion: 'v1alpha1', kind: `Kind${name.toUpperCase()}`, spec: { a: 'string' } };
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name },
    spec: { schema, resources: [{ id: 'secret', template }] },
  } as unknown as KubeObject;
}

function isActive(target: SimulatedCluster, name: string): boolean {
  const status = stored(target, `kro.run/resourcegraphdefinitions/-/${name}`)?.['status'];
  return (status as { state?: string } | undefined)?.state === 'Active';
}

async function write(target: SimulatedCluster, object: KubeObject): Promise<void> {
  const resource = await target.client.resourceFor(object.apiVersion, object.kind);
  await target.client.apply(resource, object, { fieldManager: 'someone' });
}

describe('many clusters with many graphs', () => {
  it('[R139] hold one watch for a kind of instances, none for their objects before there is one, in stated memory', {
    timeout: 600_000,
  }, async () => {
    const clusters = Array.from({ length: CLUSTERS }, (_, index) => `c${index}`);
    const graphs = Array.from({ length: GRAPHS }, (_, index) => `g${index}`);
    const watched = new Map(clusters.map((name) => [name, [] as string[]]));
    fleet = await simulateFleet(7, clusters, {
      engineApi: (cluster, handler) => (request) => {
        const [path = '', query = ''] = request.path.split('?');
        if (query.includes('watch=')) watched.get(cluster)?.push(path.slice(path.lastIndexOf('/') + 1));
        return handler(request);
      },
    });
    const before = process.memoryUsage().heapUsed;
    for (const name of graphs) await fleet.run(write(fleet.hub, graph(name)));
    const spokes = clusters.map((name) => fleet.spoke(name));
    await fleet.until(
      () => spokes.every((spoke) => graphs.every((name) => isActive(spoke, name))),
      'all graphs on all clusters',
      1_200_000,
    );
    expect((process.memoryUsage().heapUsed - before) / CLUSTERS).toBeLessThan(STATED_BYTES);
    for (const paths of watched.values()) {
      const kinds = paths.filter((path) => /^kindg\d+s$/.test(path));
      expect(new Set(kinds).size).toBe(GRAPHS);
      expect(kinds).toHaveLength(GRAPHS);
      expect(new Set(paths).size).toBeLessThanOrEqual(GRAPHS + 12);
      expect(paths).not.toContain('secrets');
    }
    const [first] = spokes;
    const instance = {
      apiVersion: 'kro.run/v1alpha1',
      kind: 'KindG3',
      metadata: { name: 'one', namespace: 'default' },
    };
    await fleet.run(write(first!, { ...instance, spec: { a: 'b' } } as KubeObject));
    await fleet.until(() => stored(first!, 'core/secrets/default/one') !== undefined, 'its object');
    const withSecrets = clusters.filter((name) => watched.get(name)?.includes('secrets'));
    expect(withSecrets).toEqual([clusters[0]]);
  });
});
