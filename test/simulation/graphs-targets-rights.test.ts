// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { Author } from '../../src/engine/intent.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  dispatchesOn,
  type SimulatedCluster,
  type SimulatedFleet,
  simulateFleet,
  stored,
} from './fleet.ts';
import {
  at,
  CERTS,
  configMap,
  definition,
  field,
  instance,
  map,
  state,
  targetWords,
} from './graphs-targets-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { write, remove, mesh, remotes, served, active } = targetWords(() => fleet);

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(9, names);
  for (const target of [fleet.hub, ...fleet.spokes]) await write(target, CERTS);
}

describe('a graph with targets', () => {
  it('is carried out for who wrote the definition', async () => {
    await open(['a']);
    await served(definition([configMap('app', { colour: 'red' }, at('a'))]));
    await write(fleet.hub, instance());
    await active();
    const authors = dispatchesOn(fleet.spoke('a')).map(({ spec }) => (spec as { author?: Author }).author);
    expect(authors.map((author) => author?.username)).toEqual(['admin']);
  });

  it('is made with the rights that the cluster gives the author of the definition; what they lack is told', async () => {
    await open();
    const a = fleet.spoke('a');
    const rbac = 'rbac.authorization.k8s.io';
    const rights = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] };
    const account = { kind: 'ServiceAccount', name: 'graphs', namespace: 'default' };
    for (const object of [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'graphs' } },
      { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'graphs' }, rules: [rights] },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'graphs' },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'graphs' },
        subjects: [account],
      },
      {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'SpokeContract',
        metadata: { name: 'owner' },
        spec: {
          allow: [{ kinds: [{ kind: '*', group: '*' }] }],
          executors: [
            { authors: { users: ['admin'] }, serviceAccount: { namespace: 'default', name: 'graphs' } },
          ],
        },
      },
    ])
      await write(a, object as unknown as KubeObject);
    const metadata = { name: '${schema.metadata.name}-secret' };
    const secret = { id: 'secret', ...at('a'), template: { apiVersion: 'v1', kind: 'Secret', metadata } };
    await served(definition([configMap('app', { colour: 'red' }, at('a')), secret]));
    await write(fleet.hub, instance());
    await fleet
      .until(
        () => /secrets? .*forbidden|cannot .* secrets/i.test(conditionMessage(mesh(), 'ResourcesReady')),
        'the refusal',
      )
      .catch((error: unknown) => {
        throw new Error(JSON.stringify([mesh()?.['status'], remotes()], undefined, 1), { cause: error });
      });
    expect(conditionMessage(mesh(), 'ResourcesReady')).toContain('on cluster a');
    expect(map(a, 'one-app')).toBeDefined();
    expect(stored(a, 'core/secrets/default/one-secret')).toBeUndefined();
    expect(state(mesh())).not.toBe('ACTIVE');
  });
});

describe('what is on another cluster', () => {
  const secret = (target: SimulatedCluster, name: string): KubeObject | undefined =>
    stored(target, `core/secrets/default/${name}`);
  const token = (value: string): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'issued', labels: { from: value } },
      data: { token: Buffer.from(value).toString('base64'), other: 'b3RoZXI=' },
    }) as KubeObject;
  const issued = {
    id: 'issued',
    externalRef: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'issued' } },
    ...at('a'),
  };
  const uses = configMap('app', {
    token: '${string(issued.data.token)}',
    from: '${issued.metadata.labels.from}',
  });

  it('[R146] is read, followed, and never written', async () => {
    await open();
    const a = fleet.spoke('a');
    await served(definition([issued, uses]));
    // Any number of instances may read the same.
    for (const name of ['one', 'two']) await write(fleet.hub, instance({}, name));
    await fleet.until(
      () => conditionMessage(mesh(), 'ResourcesReady').includes('issued on cluster a: it does not exist'),
      'that it is waited for',
    );
    expect(state(mesh())).toBe('IN_PROGRESS');
    await write(a, token('first'));
    for (const name of ['one', 'two']) await active(name);
    for (const name of ['one-app', 'two-app']) {
      expect(field(map(fleet.hub, name), 'token')).toBe('first');
      expect(field(map(fleet.hub, name), 'from')).toBe('first');
    }
    expect(secret(fleet.hub, 'issued')).toBeUndefined();
    const writers = (secret(a, 'issued')?.metadata.managedFields ?? []).map(({ manager }) => manager);
    expect(writers).toEqual(['someone']);
    await write(a, token('second'));
    await fleet.until(() => field(map(fleet.hub, 'one-app'), 'token') === 'second', 'the new value');
    // Away, it is not believed; nothing is taken away for it.
    await remove(a, 'v1', 'Secret', 'issued');
    await fleet.until(() => state(mesh()) === 'IN_PROGRESS', 'that it is gone');
    expect(field(map(fleet.hub, 'one-app'), 'token')).toBe('second');
    await write(a, token('third'));
    await fleet.until(() => field(map(fleet.hub, 'two-app'), 'token') === 'third', 'the third');
    for (const name of ['one', 'two']) await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', name);
    await fleet.until(() => mesh() === undefined && mesh('two') === undefined, 'the instances gone');
    await fleet.rest(60_000);
    expect(secret(a, 'issued')?.metadata.deletionTimestamp).toBeUndefined();
    expect(secret(a, 'issued')).toBeDefined();
    expect(remotes()).toEqual([]);
  });

  it('is not read where the contract of the cluster forbids it', async () => {
    await open();
    const a = fleet.spoke('a');
    await write(a, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'SpokeContract',
      metadata: { name: 'owner' },
      spec: { deny: [{ kinds: [{ kind: 'Secret' }], verbs: ['adopt'] }] },
    } as unknown as KubeObject);
    await write(a, token('first'));
    await served(definition([issued, uses]));
    await write(fleet.hub, instance());
    await fleet.until(
      () => conditionMessage(mesh(), 'ResourcesReady').includes('may not adopt'),
      'the refusal',
    );
    await fleet.rest(60_000);
    expect(map(fleet.hub, 'one-app')).toBeUndefined();
    expect(JSON.stringify([remotes(), dispatchesOn(a)])).not.toContain(
      Buffer.from('first').toString('base64'),
    );
  });

  it('is seen with what others write there, and with no more of it than is asked for', async () => {
    await open();
    const a = fleet.spoke('a');
    const metadata = { name: '${schema.metadata.name}-made' };
    const made = { id: 'made', ...at('a'), template: { apiVersion: 'v1', kind: 'Secret', metadata } };
    const reads = configMap('app', { token: '${string(made.data.token)}' });
    await served(definition([made, reads]));
    await write(fleet.hub, instance());
    await fleet.until(() => secret(a, 'one-made') !== undefined, 'the secret on a');
    await fleet.rest(30_000);
    expect(state(mesh())).toBe('IN_PROGRESS');
    const patch = { data: { token: Buffer.from('given').toString('base64') }, immutable: false };
    const resource = await fleet.run(a.client.resourceFor('v1', 'Secret'));
    await fleet.run(a.client.patch(resource, 'default', 'one-made', 'merge', patch));
    await active();
    expect(field(map(fleet.hub, 'one-app'), 'token')).toBe('given');
    const told = (remotes()[0]!['status'] as { fields: object }).fields;
    expect(Object.keys(told)).toEqual(['data']);
  });
});
