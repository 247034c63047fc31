import { afterEach, expect, it } from 'vitest';
import { hubRights } from '../../src/cli/join/hub-rights.ts';
import type { Client } from '../../src/kube/client.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { clusterRoleBindings, clusterRoles } from '../../src/kube/well-known.ts';
import { conditionMessage, PROPAGATIONS, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { colour, openShop, paint } from './shop.ts';

/** A hub whose engine is a user with the rights that `atoll hub rights` prints, and no other. */
const USER = 'atoll-hub';
let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

interface Refusal {
  readonly method: string;
  readonly path: string;
}

async function startHubWithRights(usualKinds = true): Promise<readonly Refusal[]> {
  const refused: Refusal[] = [];
  let granted: Promise<void> | undefined;
  fleet = await simulateFleet(1, ['near', 'far'], {
    engineApi: (cluster, handler) => (cluster === 'hub' ? asUser(handler) : handler),
  });

  function asUser(handler: Handler): Handler {
    // The owner applies it once, not at every start.
    granted ??= grant(createClient(handler));
    return async (request) => {
      await granted;
      const headers = { 'impersonate-user': USER, 'impersonate-group': 'system:authenticated' };
      const answer = await handler({ ...request, headers: { ...request.headers, ...headers } });
      if (answer.status === 403) refused.push({ method: request.method, path: request.path });
      return answer;
    };
  }

  async function grant(client: Client): Promise<void> {
    for (const object of hubRights({ subject: { user: USER }, accessPort: true, usualKinds }))
      await client.apply(await client.resourceFor(object.apiVersion, object.kind), object, {
        fieldManager: 'owner',
      });
  }
  return refused;
}

it('a hub with the rights that are printed is refused nothing that it does, and does all of it', async () => {
  const refused = await startHubWithRights();
  await openShop(fleet);
  await fleet.until(() => colour(fleet.spoke('far')) === 'red', 'the map on a spoke');
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => colour(fleet.spoke('near')) === 'blue', 'the change on a spoke');
  await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
  await fleet.until(() => colour(fleet.spoke('far')) === '', 'the end of the map');
  await fleet.rest(60_000);
  expect(refused).toEqual([]);
});

it('what a hub may not read holds up what needs it, in words, until it may', async () => {
  const refused = await startHubWithRights(false);
  await openShop(fleet);
  const selected = (): string =>
    conditionMessage(stored(fleet.hub, 'atoll.dev/propagations/shop/shop'), 'Selected');
  await fleet.until(
    () => selected().includes('cannot be read by the hub'),
    'the word about the missing right',
  );
  expect(selected()).toContain(`User "${USER}" cannot list resource "configmaps"`);
  expect(refused.length).toBeGreaterThan(0);
  expect(colour(fleet.spoke('far'))).toBe('');
  const { client } = fleet.hub;
  const role = {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
    metadata: { name: 'maps', labels: { 'rbac.atoll.dev/aggregate-to-hub': 'true' } },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
  };
  await fleet.run(client.create(clusterRoles, role));
  await fleet.until(() => colour(fleet.spoke('far')) === 'red', 'the map on a spoke');
  await fleet.until(() => !selected().includes('cannot be read'), 'the end of the word');
});

it('a hub leaves roles for people as they are where they are other ones than its own, and goes on', async () => {
  const refused = await startHubWithRights();
  await openShop(fleet);
  const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }];
  await fleet.run(fleet.hub.client.patch(clusterRoles, '', 'atoll:exec', 'merge', { rules }));
  await fleet.kill(fleet.hub);
  await fleet.start(fleet.hub);
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => colour(fleet.spoke('far')) === 'blue', 'a change on a spoke');
  expect(stored(fleet.hub, 'rbac.authorization.k8s.io/clusterroles/-/atoll:exec')).toMatchObject({ rules });
  expect(refused.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`)).toEqual([
    'PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/atoll%3Aexec',
  ]);
});

it('a hub makes nobody more than it is', async () => {
  await startHubWithRights();
  const client = createClient(fleet.hub.server.as({ name: USER, groups: ['system:authenticated'] }));
  const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
  await expect(
    fleet.run(client.create(clusterRoles, { ...role, metadata: { name: 'mine' }, rules: everything })),
  ).rejects.toThrow(/forbidden/);
  // Not by a role that it looks after for others either.
  await expect(
    fleet.run(client.patch(clusterRoles, '', 'atoll:hub-users', 'merge', { rules: everything })),
  ).rejects.toThrow(/cannot patch resource "clusterroles"/);
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: USER }];
  await expect(
    fleet.run(
      client.create(clusterRoleBindings, {
        ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
        ...{ metadata: { name: 'mine' }, roleRef, subjects },
      }),
    ),
  ).rejects.toThrow(/forbidden/);
});
