import { afterEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/apiserver/index.ts';
import { DEFAULT_NAMESPACE, federatedTypeFor, typeConfigOf } from '../../src/dialects/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { namespaces, serviceAccounts } from '../../src/kube/well-known.ts';
import { at, stringAt } from '../../src/schema/json.ts';
import {
  accountRights,
  applyAll,
  enable,
  established,
  federated,
  makeNamespace,
  propagation,
  TARGETS,
} from './federation.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  everything,
  type SimulatedFleet,
  simulateFleet,
  stored,
  storedBelow,
  writeTo,
} from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const ACCOUNT = 'system:serviceaccount:team:kubefed-controller';
const CONFIGS = 'types.kubefed.io/federatedconfigmaps';

const settings = (scope: 'Cluster' | 'Namespaced'): KubeObject =>
  ({
    apiVersion: 'core.kubefed.io/v1beta1',
    kind: 'KubeFedConfig',
    metadata: { name: 'kubefed', namespace: 'team' },
    spec: { scope },
  }) as KubeObject;

function types(...kinds: string[]): KubeObject[] {
  return kinds.flatMap((kind) => {
    const target = TARGETS[kind];
    return target ? [typeConfigOf(federatedTypeFor(target), 'team')] : [];
  });
}

const colour = (name: string, value: string, clusters: string[], namespace = 'team'): KubeObject =>
  federated(
    'ConfigMap',
    name,
    {
      template: { data: { colour: value } },
      placement: { clusters: clusters.map((item) => ({ name: item })) },
    },
    namespace,
  );

const runs = (name: string): unknown =>
  at(
    stored(fleet.hub, `core.kubefed.io/federatedtypeconfigs/team/${name}`),
    'status',
    'propagationController',
  );
const word = (name: string): string => propagation(stored(fleet.hub, `${CONFIGS}/team/${name}`)).is;
const onSpoke = (spoke: string, name: string, namespace = 'team'): unknown =>
  at(stored(fleet.spoke(spoke), `core/configmaps/${namespace}/${name}`), 'data', 'colour');
const planeOf = (): KubeObject | undefined =>
  stored(fleet.hub, 'core.kubefed.io/kubefedconfigs/team/kubefed');

/**
 * What the engine asked the hub's API server for about federated objects and their kin, as itself or for others. Where a control plane
 * is, is no business of the control plane; nor is the inventory, which tells of SpokeClusters and reads their kubeconfigs.
 */
function asked(since: number): AuditEvent[] {
  return fleet.hub.audit.slice(since).filter(({ user, impersonatedUser, objectRef }) => {
    const { apiGroup = '', resource = '', namespace = '', name = '' } = objectRef ?? {};
    if (user.username !== 'atoll:engine') return false;
    if (impersonatedUser !== undefined) return true;
    return (
      (apiGroup.endsWith('kubefed.io') && resource !== 'kubefedconfigs') ||
      (namespace === 'team' && resource === 'secrets' && name === 'c-token')
    );
  });
}

const told = ({ verb, impersonatedUser, objectRef }: AuditEvent): string =>
  `${impersonatedUser?.username ?? 'engine'} ${verb} ${objectRef?.resource}/${objectRef?.subresource ?? ''} in ${objectRef?.namespace ?? 'all'}`;

/** The hub's process ends and starts again. */
async function restart(): Promise<void> {
  await fleet.kill(fleet.hub);
  await fleet.start(fleet.hub);
}

async function open(spokes: string[]): Promise<void> {
  fleet = await simulateFleet(9, spokes);
  await enable(fleet, []);
  await fleet.rest(3_000);
  await makeNamespace(fleet, 'team');
  for (const spoke of fleet.spokes)
    await fleet.run(
      spoke.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }),
    );
}

describe('a control plane of one namespace', () => {
  it('[F50] does all that it does at the hub as an account with a Role there, in no other namespace; cluster-scoped types do not run', async () => {
    await open(['a', 'b']);
    await applyAll(fleet, fleet.hub, [...accountRights(), settings('Namespaced')]);
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'True/Allowed', 'it may');
    const since = fleet.hub.audit.length;
    await applyAll(fleet, fleet.hub, types('ConfigMap', 'Deployment', 'ClusterRole'));
    await fleet.until(() => runs('configmaps') === 'Running', 'config maps run');
    await fleet.until(() => runs('deployments.apps') === 'Running', 'deployments run');
    await fleet.until(
      () => runs('clusterroles.rbac.authorization.k8s.io') === 'NotRunning',
      'cluster roles do not',
    );
    // Objects with an override, one whose replicas are divided, and a cluster that is registered.
    const own = colour('own', 'red', ['a', 'b']);
    (own['spec'] as Record<string, unknown>)['overrides'] = [
      { clusterName: 'b', clusterOverrides: [{ path: '/data/colour', value: 'blue' }] },
    ];
    const container = { name: 'web', image: 'web' };
    const labels = { app: 'web' };
    const pods = { metadata: { labels }, spec: { containers: [container] } };
    await applyAll(fleet, fleet.hub, [
      own,
      federated(
        'Deployment',
        'web',
        {
          template: { spec: { replicas: 1, selector: { matchLabels: labels }, template: pods } },
          placement: { clusterSelector: {} },
        },
        'team',
      ),
      {
        apiVersion: 'scheduling.kubefed.io/v1alpha1',
        kind: 'ReplicaSchedulingPreference',
        metadata: { name: 'web', namespace: 'team' },
        spec: { targetKind: 'FederatedDeployment', totalReplicas: 4 },
      } as KubeObject,
      colour('other', 'red', ['a'], DEFAULT_NAMESPACE),
    ]);
    await fleet.until(() => word('own') === 'True', 'it is on both', 120_000);
    expect([onSpoke('a', 'own'), onSpoke('b', 'own')]).toEqual(['red', 'blue']);
    await fleet.until(
      () =>
        ['a', 'b'].every(
          (name) => at(stored(fleet.spoke(name), 'apps/deployments/team/web'), 'spec', 'replicas') === 2,
        ),
      'two on each',
      120_000,
    );
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'c-token', namespace: 'team' },
        data: { token: Buffer.from('secret').toString('base64') },
      } as KubeObject,
      {
        apiVersion: 'core.kubefed.io/v1beta1',
        kind: 'KubeFedCluster',
        metadata: { name: 'c', namespace: 'team' },
        spec: { apiEndpoint: 'https://c.test', secretRef: { name: 'c-token' } },
      } as KubeObject,
    ]);
    await fleet.until(
      () => stored(fleet.hub, 'core.oam.dev/spokeclusters/team/c') !== undefined,
      'c is in the inventory',
    );
    await fleet.until(
      () => stored(fleet.hub, 'core.kubefed.io/kubefedclusters/team/a') !== undefined,
      'the others show',
    );
    const resource = await fleet.run(fleet.hub.client.resourceFor(own.apiVersion, own.kind));
    await fleet.run(fleet.hub.client.delete(resource, 'team', 'own'));
    await fleet.until(() => stored(fleet.hub, `${CONFIGS}/team/own`) === undefined, 'gone');
    await fleet.rest(5_000);
    await restart();
    await fleet.rest(20_000);
    expect(onSpoke('a', 'own')).toBeUndefined();
    expect(onSpoke('a', 'other', DEFAULT_NAMESPACE)).toBeUndefined();
    const events = asked(since);
    const all = [...new Set(events.map(told))].sort();
    expect(all.filter((text) => !text.startsWith(`${ACCOUNT} `) || !text.endsWith(' in team'))).toEqual([]);
    // Something of each was asked for, and nothing was refused.
    for (const part of [
      'list federatedconfigmaps',
      'watch replicaschedulingpreferences',
      'get secrets',
      'create events',
      'patch federatedconfigmaps/status',
    ])
      expect(all.join('\n')).toContain(part);
    const writers = storedBelow(fleet.hub, 'core/events/team').filter(
      (event) => stringAt(event, 'involvedObject', 'kind') !== 'SpokeCluster',
    );
    const written = fleet.hub.audit
      .slice(since)
      .filter(
        ({ verb, objectRef }) =>
          verb === 'create' && objectRef?.resource === 'events' && objectRef.namespace === 'team',
      );
    expect(written.filter(({ impersonatedUser }) => impersonatedUser?.username === ACCOUNT)).toHaveLength(
      writers.length,
    );
    expect(events.filter(({ responseStatus }) => responseStatus?.code === 403).map(told)).toEqual([]);
    expect(conditionOf(planeOf(), 'Authorized')).toBe('True/Allowed');
  });

  it('[F50] without its Role says what is missing, holds up nobody else, and goes on once it has it', async () => {
    await open(['a']);
    await applyAll(fleet, fleet.hub, [settings('Namespaced'), ...types('ConfigMap')]);
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'False/NoAccount', 'no account');
    await writeTo(fleet, fleet.hub, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'else' },
      data: { colour: 'red' },
    } as KubeObject);
    await writeTo(fleet, fleet.hub, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name: 'else' },
      spec: {
        resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'else' }],
        placement: { clusterNames: ['a'] },
      },
    } as KubeObject);
    await fleet.until(() => onSpoke('a', 'else', 'default') === 'red', 'others go on');
    expect(conditionMessage(planeOf(), 'Authorized')).toContain('ServiceAccount team/kubefed-controller');
    await applyAll(fleet, fleet.hub, accountRights('Role'));
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'False/Forbidden', 'no role');
    const message = conditionMessage(planeOf(), 'Authorized');
    expect(message).toContain(`${ACCOUNT} may not `);
    expect(message).toContain('list federatedtypeconfigs.core.kubefed.io');
    expect(runs('configmaps')).toBeUndefined();
    // With a Role that lacks one kind, its type config says so.
    const lacking = accountRights().map((object) =>
      object.kind === 'Role'
        ? {
            ...object,
            rules: [
              { apiGroups: ['core.kubefed.io', 'scheduling.kubefed.io'], resources: ['*'], verbs: ['*'] },
              {
                apiGroups: ['types.kubefed.io'],
                resources: ['federatedsecrets', 'federatedsecrets/status'],
                verbs: ['*'],
              },
            ],
          }
        : object,
    );
    await applyAll(fleet, fleet.hub, [...lacking, ...types('Secret')]);
    await fleet.until(() => runs('configmaps') === 'NotRunning', 'its kind is there');
    await fleet.until(() => established(fleet.hub, 'federatedconfigmaps.types.kubefed.io'), 'served');
    await fleet.rest(15_000);
    await applyAll(fleet, fleet.hub, [colour('own', 'red', ['a'])]);
    const ftc = (): KubeObject | undefined =>
      stored(fleet.hub, 'core.kubefed.io/federatedtypeconfigs/team/configmaps');
    await fleet.until(() => conditionOf(ftc(), 'Authorized') === 'False/Forbidden', 'its type says so');
    expect(conditionMessage(ftc(), 'Authorized')).toContain('list federatedconfigmaps.types.kubefed.io');
    expect(runs('configmaps')).toBe('NotRunning');
    await fleet.until(() => runs('secrets') === 'Running', 'the other type runs');
    expect(onSpoke('a', 'own')).toBeUndefined();
    await applyAll(fleet, fleet.hub, accountRights());
    await fleet.until(() => runs('configmaps') === 'Running', 'it runs');
    await fleet.until(() => word('own') === 'True' && onSpoke('a', 'own') === 'red', 'it is there');
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'True/Allowed', 'nothing is missing');
    expect(conditionOf(ftc(), 'Authorized')).toBe('');
  });

  it('says of a cluster whose token it may not read that it is forbidden, and of what is taken away while it runs', async () => {
    await open(['a']);
    await applyAll(fleet, fleet.hub, [...accountRights(), settings('Namespaced'), ...types('ConfigMap')]);
    await fleet.until(() => runs('configmaps') === 'Running', 'config maps run');
    const narrowed = accountRights().map((object) =>
      object.kind === 'Role'
        ? { ...object, rules: [{ apiGroups: ['core.kubefed.io'], resources: ['*'], verbs: ['*'] }] }
        : object,
    );
    await applyAll(fleet, fleet.hub, [
      ...narrowed,
      {
        apiVersion: 'core.kubefed.io/v1beta1',
        kind: 'KubeFedCluster',
        metadata: { name: 'c', namespace: 'team' },
        spec: { apiEndpoint: 'https://c.test', secretRef: { name: 'c-token' } },
      } as KubeObject,
      colour('own', 'red', ['a']),
    ]);
    const cluster = (): KubeObject | undefined => stored(fleet.hub, 'core.kubefed.io/kubefedclusters/team/c');
    await fleet.until(() => conditionOf(cluster(), 'Ready') === 'False/Forbidden', 'it is forbidden');
    expect(conditionMessage(cluster(), 'Ready')).toContain('get secrets');
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'False/Forbidden', 'told');
    expect(conditionMessage(planeOf(), 'Authorized')).toContain('patch federatedconfigmaps.types.kubefed.io');
    // Nothing is sent that could not be marked before.
    expect(onSpoke('a', 'own')).toBeUndefined();
    await applyAll(fleet, fleet.hub, accountRights());
    await fleet.until(() => word('own') === 'True', 'it goes on', 120_000);
    await fleet.until(
      () => conditionOf(cluster(), 'ConfigMalformed') !== '',
      'its token does not exist',
      120_000,
    );
    await fleet.until(
      () => conditionOf(planeOf(), 'Authorized') === 'True/Allowed',
      'nothing is missing',
      1_300_000,
    );
    // And when the hub starts without: what is there stays, and is not taken for what nobody remembers.
    await applyAll(fleet, fleet.hub, [...narrowed, colour('own', 'green', ['a'])]);
    await restart();
    await fleet.rest(60_000);
    expect(onSpoke('a', 'own')).toBeDefined();
    expect(conditionMessage(planeOf(), 'Authorized')).toContain('list federatedconfigmaps.types.kubefed.io');
    await applyAll(fleet, fleet.hub, [...accountRights(), colour('own', 'blue', ['a'])]);
    await fleet.until(() => onSpoke('a', 'own') === 'blue' && word('own') === 'True', 'blue', 120_000);
  });

  it('acts for nobody once its account is deleted, leaves everything as it is, and goes on with it', async () => {
    await open(['a']);
    await applyAll(fleet, fleet.hub, [...accountRights(), settings('Namespaced'), ...types('ConfigMap')]);
    await fleet.until(() => runs('configmaps') === 'Running', 'config maps run');
    await applyAll(fleet, fleet.hub, [colour('own', 'red', ['a'])]);
    await fleet.until(() => onSpoke('a', 'own') === 'red' && word('own') === 'True', 'it is there');
    await fleet.run(fleet.hub.client.delete(serviceAccounts, 'team', 'kubefed-controller'));
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'False/NoAccount', 'told');
    const since = fleet.hub.audit.length;
    await applyAll(fleet, fleet.hub, [colour('own', 'green', ['a'])]);
    await restart();
    await fleet.rest(30_000);
    expect(onSpoke('a', 'own')).toBe('red');
    expect(asked(since).filter(({ impersonatedUser }) => impersonatedUser !== undefined)).toEqual([]);
    await applyAll(fleet, fleet.hub, accountRights());
    await fleet.until(() => onSpoke('a', 'own') === 'green', 'it goes on');
    await fleet.until(() => word('own') === 'True', 'and says so');
  });

  it('that was one of the cluster before leaves alone what is in other namespaces, also after a restart', async () => {
    await open(['a']);
    await makeNamespace(fleet, 'shop');
    await applyAll(fleet, fleet.hub, [
      ...accountRights(),
      settings('Cluster'),
      ...types('Namespace', 'ConfigMap'),
    ]);
    await fleet.until(() => runs('configmaps') === 'Running', 'config maps run');
    const everywhere = { placement: { clusters: [{ name: 'a' }] } };
    await applyAll(fleet, fleet.hub, [
      federated('Namespace', 'shop', everywhere),
      colour('theirs', 'red', ['a'], 'shop'),
    ]);
    await fleet.until(() => onSpoke('a', 'theirs', 'shop') === 'red', 'there');
    await fleet.rest(5_000);
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('core.kubefed.io/v1beta1', 'KubeFedConfig'),
    );
    await fleet.run(fleet.hub.client.delete(resource, 'team', 'kubefed'));
    await applyAll(fleet, fleet.hub, [settings('Namespaced')]);
    await fleet.until(() => conditionOf(planeOf(), 'Authorized') === 'True/Allowed', 'it is one of team');
    await fleet.rest(5_000);
    const theirs = (): unknown => storedBelow(fleet.hub, `${CONFIGS}/shop`);
    const before = JSON.stringify(theirs());
    const since = fleet.hub.audit.length;
    await restart();
    await applyAll(fleet, fleet.hub, [colour('own', 'green', ['a'])]);
    await fleet.until(() => onSpoke('a', 'own') === 'green' && word('own') === 'True', 'its own goes on');
    await fleet.rest(30_000);
    expect(JSON.stringify(theirs())).toBe(before);
    expect(onSpoke('a', 'theirs', 'shop')).toBe('red');
    expect(dispatchesOn(fleet.spoke('a')).length).toBeGreaterThan(2);
    const elsewhere = asked(since)
      .map(told)
      .filter((text) => !text.startsWith(ACCOUNT) || !text.endsWith('in team'));
    expect([...new Set(elsewhere)]).toEqual([]);
    // At rest nothing is written.
    const calm = everything(fleet.hub);
    await fleet.rest(60_000);
    const moved = Object.entries(everything(fleet.hub)).filter(([key, revision]) => calm[key] !== revision);
    expect(moved.map(([key]) => key).filter((key) => key.includes('kubefed'))).toEqual([]);
  });

  it('writes no labels on clusters of other namespaces, and is the author of what nobody is known to have written', async () => {
    await open(['a']);
    await applyAll(fleet, fleet.hub, [...accountRights(), settings('Namespaced'), ...types('ConfigMap')]);
    const view = (): KubeObject | undefined => stored(fleet.hub, 'core.kubefed.io/kubefedclusters/team/a');
    await fleet.until(() => view() !== undefined && runs('configmaps') === 'Running', 'a shows');
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('core.kubefed.io/v1beta1', 'KubeFedCluster'),
    );
    await fleet.run(
      fleet.hub.client.patch(resource, 'team', 'a', 'merge', { metadata: { labels: { tier: 'gold' } } }),
    );
    await fleet.until(() => view()?.metadata.labels?.['tier'] === undefined, 'it is as the inventory has it');
    const spokes = storedBelow(fleet.hub, 'core.oam.dev/spokeclusters/default');
    expect(spokes.map((spoke) => spoke.metadata.labels?.['tier'])).toEqual([undefined]);
    await applyAll(fleet, fleet.hub, [colour('own', 'red', ['a'])]);
    await fleet.until(() => word('own') === 'True', 'there');
    const writers = (): (string | undefined)[] =>
      dispatchesOn(fleet.spoke('a'))
        .map((item) => stringAt(item, 'spec', 'author', 'username'))
        .sort();
    expect(writers()).toEqual(['admin']);
    // From before the hub wrote authors down.
    const policy = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingAdmissionPolicyBinding' };
    const bindings = await fleet.run(fleet.hub.client.resourceFor(policy.apiVersion, policy.kind));
    await fleet.run(fleet.hub.client.delete(bindings, '', 'atoll.dev-kubefed-author'));
    await applyAll(fleet, fleet.hub, [colour('old', 'red', ['a'])]);
    await fleet.until(() => word('old') === 'True', 'there');
    expect(writers()).toEqual(['admin', ACCOUNT]);
  });
});
