// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordName } from '../../src/hub/graphs/composition/answers.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { namespaces } from '../../src/kube/well-known.ts';
import {
  conditionOf,
  type SimulatedFleet,
  type SimulatedSpoke,
  simulateFleet,
  stored,
  storedBelow,
  writeTo,
} from './fleet.ts';

let fleet: SimulatedFleet;
let spoke: SimulatedSpoke;

const definition = (name: string, kind: string, resources: readonly object[], labels = {}): KubeObject => ({
  apiVersion: 'kro.run/v1alpha1',
  kind: 'ResourceGraphDefinition',
  metadata: { name, labels },
  spec: { schema: { apiVersion: 'v1alpha1', kind, spec: { size: 'string' } }, resources },
});
const DATABASE = definition('database', 'Database', [], { 'kro.run/distribute': 'false' });
const APP = definition('app', 'App', [
  {
    id: 'database',
    template: {
      apiVersion: 'kro.run/v1alpha1',
      kind: 'Database',
      metadata: { name: '${schema.metadata.name}' },
      spec: { size: '${schema.spec.size}' },
    },
  },
]);

/** As whoever has the spoke writes them, past its engine. */
function wish(name: string, database: string, namespace = 'default', size = 'small'): KubeObject {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'HubObject',
    metadata: { name, finalizers: ['atoll.dev/hub-object'] },
    spec: {
      graph: 'app',
      node: 'database',
      instance: { apiVersion: 'kro.run/v1alpha1', kind: 'App', name: 'mine', namespace: 'default' },
      object: {
        apiVersion: 'kro.run/v1alpha1',
        kind: 'Database',
        metadata: { name: database, namespace },
        spec: { size },
      },
    },
  };
}

const databases = (): string[] =>
  fleet.hub.server.store
    .list('/kro.run/databases/root/')
    .records.map(({ object }) => object.metadata.name ?? '')
    .sort();
const answer = (name: string): { state?: string; message?: string; uid?: string } =>
  (storedBelow(spoke, 'atoll.dev/hubreplies/-').find(({ metadata }) => metadata.name === name)?.['spec'] ??
    {}) as object;
const path = (name: string): string => `atoll.dev/hubobjects/-/${name}`;

async function ask(name: string, ...rest: [string, string?, string?]): Promise<void> {
  await writeTo(fleet, spoke, wish(name, ...rest));
}

async function answered(name: string, state: string): Promise<void> {
  await fleet
    .until(() => answer(name).state === state, `${name} is ${state}`)
    .catch((error: unknown) => {
      throw new Error(JSON.stringify([answer(name), databases()]), { cause: error });
    });
}

async function change(name: string, method: 'DELETE' | 'PATCH', body?: object): Promise<void> {
  const request = {
    method,
    path: `/apis/atoll.dev/v1alpha1/hubobjects/${name}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    ...(body && { body: Buffer.from(JSON.stringify(body)) }),
  };
  const { status } = await fleet.run(Promise.resolve(spoke.client.handler(request)));
  expect(status).toBe(200);
}

beforeEach(async () => {
  fleet = await simulateFleet(5, ['a']);
  spoke = fleet.spoke('a');
  for (const object of [DATABASE, APP]) {
    await writeTo(fleet, fleet.hub, object);
    const { name = '' } = object.metadata;
    const found = (): KubeObject | undefined =>
      stored(fleet.hub, `kro.run/resourcegraphdefinitions/-/${name}`);
    await fleet.until(() => conditionOf(found(), 'Ready') === 'True/Ready', `${name} is ready`);
    if (object === APP)
      await fleet.until(() => conditionOf(found(), 'Distributed') === 'True/Distributed', 'it is there');
  }
});
afterEach(async () => fleet?.stop());

describe('a spoke in wrong hands', () => {
  it('has no more made on the hub than it has wishes: one that becomes another is refused', async () => {
    await ask('one', 'first');
    await answered('one', 'Applied');
    await ask('one', 'second');
    await answered('one', 'Failed');
    expect(answer('one').message).toContain('Database first');
    await ask('one', 'first', 'elsewhere');
    await fleet.rest(30_000);
    expect(databases()).toEqual(['first']);
    // It can still be given up, and then be asked for anew.
    await change('one', 'DELETE');
    await fleet.until(() => databases().length === 0, 'it is gone');
    await fleet.until(() => stored(spoke, path('one')) === undefined, 'the wish is let go');
    await ask('one', 'second');
    await fleet.until(() => databases().join() === 'second', 'another one is made');
  });

  it('deletes nothing by a wish of before: what was made since is not for it', async () => {
    await ask('one', 'first');
    await answered('one', 'Applied');
    const uid = answer('one').uid;
    // Set back to a time at which another wish of the name was on its way out.
    fleet.cut('a');
    await change('one', 'PATCH', { metadata: { finalizers: [] } });
    await change('one', 'DELETE');
    await ask('one', 'first');
    await change('one', 'DELETE');
    expect(stored(spoke, path('one'))?.metadata.uid).not.toBe(uid);
    fleet.heal('a');
    await fleet.until(() => stored(spoke, path('one')) === undefined, 'the wish is let go');
    expect(databases()).toEqual(['first']);
  });

  it('is refused what is too large to be an instance', async () => {
    await ask('large', 'large', 'default', 'x'.repeat(300_000));
    await answered('large', 'Failed');
    expect(answer('large').message).toContain('larger than');
    expect(databases()).toEqual([]);
  });

  it('is given so many namespaces on the hub and no more, though they stay when they are empty', async () => {
    const labels = { 'atoll.dev/composition': recordName('a', '') };
    const made = Array.from({ length: 1_000 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: `a-made-${index}`, labels },
    }));
    await fleet.run(Promise.all(made.map((object) => fleet.hub.client.create(namespaces, object))));
    await ask('one', 'first');
    await answered('one', 'Failed');
    expect(answer('one').message).toContain('1000 namespaces');
    expect(databases()).toEqual([]);
    await fleet.run(fleet.hub.client.delete(namespaces, '', 'a-made-1'));
    await answered('one', 'Applied');
  });
});
