import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(2);
}, 120_000);
afterAll(() => fleet?.stop());

const own = join(inject('checkout'), 'examples');

async function field(context: string, object: string, path: string, ...more: string[]): Promise<string> {
  return (await fleet.tryKubectl(context, ['get', object, '-o', `jsonpath={${path}}`, ...more])).stdout;
}

async function isThere(context: string, object: string): Promise<boolean> {
  return (await fleet.tryKubectl(context, ['get', object])).code === 0;
}

/** Namespace and origin of what the hub has of a kind. */
function onHub(plural: string): Promise<string> {
  const origin = '.metadata.annotations.kro\\.run/originating-cluster';
  return field(
    'hub',
    plural,
    `range .items[*]}{.metadata.namespace}/{.metadata.name}@{${origin}}{" "}{end`,
    '-A',
  );
}

describeFleet('a graph with parts that only the hub serves', () => {
  it('[R148] [R150] has its parts on the hub and all that they are made of where the instance is', async () => {
    await fleet.kubectl('hub', 'apply', '-f', join(own, 'full-stack.yaml'));
    await fleet.kubectl('hub', 'wait', 'rgd/full-stack', '--for=condition=Distributed', '--timeout=40s');
    await fleet.kubectl('spoke-1', 'apply', '-f', join(own, 'full-stack-instance.yaml'));
    await fleet.kubectl(
      'spoke-1',
      'wait',
      'fullstackapp/store',
      '--for=jsonpath={.status.state}=ACTIVE',
      '--timeout=50s',
    );
    expect(await field('spoke-1', 'fullstackapp/store', '.status.connectionString')).toBe(
      'postgres://store-db.default.svc:5432/app',
    );
    expect(
      await field('spoke-1', 'deployment/store-web', '.spec.template.spec.containers[0].env[0].value'),
    ).toBe('postgres://store-db.default.svc:5432/app');
    for (const plural of ['databases.kro.run', 'webapplications.kro.run'])
      expect(await onHub(plural)).toMatch(/^spoke-1-default-[0-9a-f]{10}\/store@spoke-1 $/);
    for (const elsewhere of ['hub', 'spoke-2'])
      for (const name of ['store-db', 'store-web'])
        expect(await isThere(elsewhere, `deployment/${name}`)).toBe(false);
    expect(await isThere('spoke-1', 'databases.kro.run')).toBe(false);
  });

  it('[R151] takes them along when it goes, also when the hub was killed meanwhile', async () => {
    await fleet.kill('hub');
    await fleet.kubectl('spoke-1', 'delete', 'fullstackapp/store', '--wait=false');
    await until('the reason', async () =>
      (await field('spoke-1', 'fullstackapp/store', '.status.conditions')).includes(
        'WebApplication default/store on the hub (the hub has not said yet that it is gone',
      ),
    );
    expect(await isThere('spoke-1', 'deployment/store-db')).toBe(true);
    await fleet.mustAtoll('start', 'hub');
    await fleet.kubectl('spoke-1', 'wait', 'fullstackapp/store', '--for=delete', '--timeout=50s');
    for (const name of ['store-db', 'store-web'])
      expect(await isThere('spoke-1', `deployment/${name}`)).toBe(false);
    expect([await onHub('databases.kro.run'), await onHub('webapplications.kro.run')]).toEqual(['', '']);
  });
});
