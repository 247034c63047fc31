import { afterEach, describe, expect, it } from 'vitest';
import { ENGINE_LABEL, engineRelease } from '../../src/cli/join/engine-release.ts';
import { spokeManifests } from '../../src/cli/join/index.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { deployments } from '../../src/kube/well-known.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import { applyAll } from './federation.ts';
import {
  conditionOf,
  PROPAGATIONS,
  type SimulatedFleet,
  type SimulatedSpoke,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
} from './fleet.ts';
import { colour, merge, openShop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const HUB = {
  name: 'hub',
  addresses: ['hub.example:7443'],
  ca: 'none',
  trust: { lineage: 'l', publicKey: 'k' },
  tokens: {},
};
const ENGINE = 'apps/deployments/atoll-engine/atoll-spoke';

const manifests = (cluster: string): KubeObject[] =>
  spokeManifests({ cluster, hub: HUB, image: 'atoll:1', usualKinds: true, hubUpgrades: true });

interface Running {
  readonly spec?: { template?: { spec?: { containers?: { image?: string; args?: string[] }[] } } };
  readonly status?: { availableReplicas?: number; updatedReplicas?: number; replicas?: number };
}
const engine = (spoke: SimulatedSpoke): (KubeObject & Running) | undefined => stored(spoke, ENGINE);
const container = (name: string) => engine(fleet.spoke(name))?.spec?.template?.spec?.containers?.[0];
const available = (spoke: SimulatedSpoke): number => engine(spoke)?.status?.availableReplicas ?? 0;
const imageOn = (name: string): string | undefined => container(name)?.image;

describe('the engine of a spoke', () => {
  it('[K39] is there before anything else: nothing is ordered, and nothing made, on a fresh cluster until it runs', async () => {
    // No process of the engine is anywhere near the cluster `far` until its pod runs there.
    let podRuns = false;
    fleet = await simulateFleet(221, ['near'], {
      workloads: true,
      engineApi:
        (cluster: string, handler: Handler): Handler =>
        async (request) => {
          if (cluster === 'far' && !podRuns) throw new Error('there is no engine here');
          return handler(request);
        },
    });
    await openShop(fleet);
    await expect(fleet.add('far', fleet.hub)).rejects.toThrow('there is no engine here');
    const far = fleet.spoke('far');
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('far')));
    await fleet.until(() => colour(fleet.spoke('near')) === 'red', 'the others are not held up');
    await fleet.rest(60_000);
    const made = (): string[] =>
      far.audit
        .filter(({ verb, responseStatus }) => verb === 'create' && (responseStatus?.code ?? 500) < 300)
        .map(
          ({ objectRef, user }) =>
            `${user.username === HUB_USER ? 'hub: ' : ''}${objectRef?.resource ?? ''}/${objectRef?.namespace ?? ''}`,
        );
    expect(made().filter((item) => item.startsWith('hub: ') || item.endsWith('/shop'))).toEqual([]);

    await applyAll(fleet, far, manifests('far'));
    await fleet.until(() => available(far) === 1, 'the engine is available');
    expect(made().filter((item) => item.startsWith('hub: ') || item.endsWith('/shop'))).toEqual([]);
    podRuns = true;
    await fleet.kill(far);
    await fleet.start(far);
    await fleet.until(() => colour(far) === 'red', 'what is ordered');
    expect(made().filter((item) => item.startsWith('hub: '))).not.toEqual([]);
    const version = (): unknown =>
      (stored(fleet.hub, 'core.oam.dev/spokeclusters/default/far')?.['status'] as { engine?: string })
        ?.engine;
    await fleet.until(() => version() === 'test', 'its version at the hub');
  });

  it('is upgraded by an order where its owner lets the hub: one first, back where it does not come up, and never taken away', async () => {
    fleet = await simulateFleet(222, ['a', 'b', 'c'], { workloads: true });
    for (const name of ['a', 'b']) {
      await applyAll(fleet, fleet.spoke(name), manifests(name));
      await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, {
        metadata: { labels: { [ENGINE_LABEL]: 'dispatched' } },
      });
    }
    await fleet.until(
      () => ['a', 'b'].every((name) => available(fleet.spoke(name)) === 1),
      'the engines run',
    );
    const uid = engine(fleet.spoke('a'))?.metadata.uid;
    const release = (image: string): KubeObject[] => engineRelease({ image, soakSeconds: 30 });
    await applyAll(fleet, fleet.hub, release('atoll:2'));
    await fleet.until(() => imageOn('a') === 'atoll:2' || imageOn('b') === 'atoll:2', 'the first');
    expect([imageOn('a'), imageOn('b')].sort()).toEqual(['atoll:1', 'atoll:2']);
    await fleet.until(() => imageOn('a') === 'atoll:2' && imageOn('b') === 'atoll:2', 'all of them', 600_000);
    await fleet.until(() => stateOf() === 'True/Ready', 'ready', 600_000);
    // It is the same Deployment, and each has its own name.
    expect(engine(fleet.spoke('a'))?.metadata.uid).toBe(uid);
    expect(container('b')?.args).toEqual(['spoke', '--name', 'b', '--stand-by']);
    expect(engine(fleet.spoke('c'))).toBeUndefined();
    expect((stored(fleet.hub, ENGINE)?.['spec'] as { replicas?: number } | undefined)?.replicas).toBe(0);

    // The next one does not come up: the one before goes on running, and is gone back to.
    const broken = release('atoll:3').map((object) =>
      object.kind === 'Deployment' ? withAnnotation(object, 'sim.atoll.dev/fail', 'image-pull') : object,
    );
    const least = { a: 1, b: 1 };
    const watch = (): boolean => {
      for (const name of ['a', 'b'] as const)
        least[name] = Math.min(least[name], available(fleet.spoke(name)));
      return imageOn('a') === 'atoll:3' || imageOn('b') === 'atoll:3';
    };
    await applyAll(fleet, fleet.hub, broken);
    await fleet.until(watch, 'the first has the broken one', 120_000);
    await fleet.until(() => !watch(), 'back', 3_600_000);
    await fleet.rest(120_000);
    watch();
    expect([imageOn('a'), imageOn('b')]).toEqual(['atoll:2', 'atoll:2']);
    expect(least).toEqual({ a: 1, b: 1 });

    // Whatever is deleted at the hub, the engine stays.
    await fleet.run(fleet.hub.client.delete(deployments, 'atoll-engine', 'atoll-spoke'));
    await fleet.rest(60_000);
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'atoll-engine', 'engine'));
    await fleet.rest(120_000);
    for (const name of ['a', 'b']) expect(available(fleet.spoke(name))).toBe(1);
    expect(engine(fleet.spoke('a'))?.metadata.uid).toBe(uid);
  });
});

function stateOf(): string {
  return conditionOf(stored(fleet.hub, 'atoll.dev/propagations/atoll-engine/engine'), 'Ready');
}

function withAnnotation(object: KubeObject, key: string, value: string): KubeObject {
  const spec = object['spec'] as { template: { metadata: object } };
  const template = {
    ...spec.template,
    metadata: { ...spec.template.metadata, annotations: { [key]: value } },
  };
  return { ...object, spec: { ...spec, template } } as unknown as KubeObject;
}
