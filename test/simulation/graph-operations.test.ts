// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import { type Leadership, startLeadership } from '../../src/kube/leadership.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { graphAccess, startGraphs } from '../../src/spoke/graphs/index.ts';
import { conditionMessage } from './fleet.ts';
import {
  configMap,
  ENGINE_USER,
  type GraphCluster,
  shopDefinition,
  shopInstance,
  shopWords,
  startGraphCluster,
  stateOf,
} from './graph-cluster.ts';

let cluster: GraphCluster;
const leaders: Leadership[] = [];
const { map, shop, served, active } = shopWords(() => cluster);
afterEach(async () => {
  for (const leader of leaders.splice(0)) await cluster.run(leader.stop());
  await cluster?.stop();
});

const ONE = configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' });

describe('[R101] of several engines', () => {
  const LEASE_MS = 15_000;

  /** An engine that may be cut off from its API server, as if it had died. */
  function candidate(identity: string): { readonly leadership: Leadership; die(): void } {
    let dead = false;
    const handler = cluster.server.as({ ...ENGINE_USER, groups: [...ENGINE_USER.groups] });
    const between: Handler = (request) =>
      dead ? Promise.reject(new Error('connect ECONNREFUSED')) : handler(request);
    const client = createClient(between, { clock: cluster.runtime.clock });
    const leadership = startLeadership(
      cluster.runtime,
      { client, identity, namespace: 'kube-system', name: 'graphs' },
      () => startGraphs(cluster.runtime, { client, version: identity }),
    );
    leaders.push(leadership);
    return {
      leadership,
      die() {
        dead = true;
      },
    };
  }

  async function ready(): Promise<void> {
    cluster = await startGraphCluster();
    await cluster.stop();
  }

  it('one works; when it dies another one takes over within the time of its lease', async () => {
    await ready();
    const first = candidate('first');
    await cluster.until(() => first.leadership.leading, 'the first leads');
    const second = candidate('second');
    await served(shopDefinition([ONE]));
    await cluster.write(shopInstance());
    await active();
    await cluster.rest(60_000);
    expect([first.leadership.leading, second.leadership.leading]).toEqual([true, false]);
    first.die();
    const died = cluster.runtime.clock.monotonic();
    await cluster.write(shopInstance({}, 'two'));
    let together = false;
    await cluster.until(() => {
      together ||= first.leadership.leading && second.leadership.leading;
      return map('two-1') !== undefined;
    }, 'the second works');
    expect(cluster.runtime.clock.monotonic() - died).toBeLessThanOrEqual(LEASE_MS);
    // Who cannot renew stops before another one begins.
    expect([together, first.leadership.leading]).toEqual([false, false]);
    expect(map('two-1')?.metadata.labels?.['kro.run/kro-version']).toBe('second');
  });

  it('one that is stopped gives the lease away at once, after its work has ended', async () => {
    await ready();
    const first = candidate('first');
    await cluster.until(() => first.leadership.leading, 'the first leads');
    const second = candidate('second');
    await cluster.rest(5_000);
    await cluster.run(first.leadership.stop());
    const stopped = cluster.runtime.clock.monotonic();
    await cluster.until(() => second.leadership.leading, 'the second leads');
    expect(cluster.runtime.clock.monotonic() - stopped).toBeLessThan(1_000);
    expect(cluster.stored('coordination.k8s.io/leases/kube-system/graphs')?.['spec']).toMatchObject({
      holderIdentity: 'second',
      leaseTransitions: 1,
    });
  });

  it('two that begin together agree on one', async () => {
    await ready();
    const both = [candidate('a'), candidate('b')];
    await cluster.rest(60_000);
    expect(both.filter(({ leadership }) => leadership.leading)).toHaveLength(1);
  });
});

describe('[R102] rights', () => {
  const ENGINE = { name: 'restricted-engine', groups: [] };
  const subject = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: ENGINE.name };
  const secret = {
    id: 'second',
    template: { apiVersion: 'v1', kind: 'Secret', metadata: { name: '${schema.metadata.name}-2' } },
  };
  const rolesFor = (kinds: readonly string[]): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'extra', labels: { 'rbac.kro.run/aggregate-to-controller': 'true' } },
    rules: [{ apiGroups: [''], resources: kinds, verbs: ['*'] }],
  });

  it('that aggregate: a kind that no role lists is Forbidden, which the status shows, until one does', async () => {
    cluster = await startGraphCluster();
    await cluster.stop();
    for (const object of graphAccess('aggregation', subject)) await cluster.write(object);
    await cluster.write(rolesFor(['configmaps']));
    cluster.start({ user: ENGINE });
    await served(shopDefinition([ONE, secret]));
    await cluster.write(shopInstance());
    const message = (): string => conditionMessage(shop(), 'ResourcesReady');
    await cluster.until(() => message().includes('forbidden'), 'the refusal');
    expect(message()).toContain('Secret default/one-2 cannot be read');
    expect([map('one-1') !== undefined, stateOf(shop())]).toEqual([true, 'ERROR']);
    await cluster.write(rolesFor(['configmaps', 'secrets']));
    await active();
    await cluster.remove('kro.run/v1alpha1', 'Shop', 'one');
    await cluster.until(() => shop() === undefined && map('one-1') === undefined, 'all gone');
  });

  it('that are not restricted, and those of people who may view or edit', async () => {
    cluster = await startGraphCluster();
    await cluster.stop();
    for (const object of graphAccess('unrestricted', subject)) await cluster.write(object);
    cluster.start({ user: ENGINE });
    await served(shopDefinition([ONE, secret]));
    await cluster.write(shopInstance());
    await active();
    for (const [user, role] of [
      ['viewer', 'view'],
      ['editor', 'edit'],
    ] as const)
      await cluster.write({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: user },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
      } as KubeObject);
    await cluster.rest(2_000);
    const status = async (user: string, method: string): Promise<number> => {
      const answer = await cluster.run(
        cluster.server.as({ name: user, groups: [] })({
          method,
          path: '/apis/kro.run/v1alpha1/namespaces/default/shops/one',
          headers: method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {},
          ...(method === 'PATCH' && { body: Buffer.from('{"spec":{"colour":"blue"}}') }),
        }),
      );
      return answer.status;
    };
    expect(await status('viewer', 'GET')).toBe(200);
    expect(await status('viewer', 'PATCH')).toBe(403);
    expect(await status('editor', 'PATCH')).toBe(200);
    expect(await status('nobody', 'GET')).toBe(403);
  });
});
