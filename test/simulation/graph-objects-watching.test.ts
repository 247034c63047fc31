// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionOf } from './fleet.ts';
import {
  configMap,
  dataOf,
  type GraphCluster,
  type GraphSettings,
  shopWords,
  startGraphCluster,
} from './graph-cluster.ts';
import { graphObject, graphWords, MAPS, plainMap, WRITE } from './graph-object-words.ts';

let cluster: GraphCluster;
const { map } = shopWords(() => cluster);
const { allow, graph, ready, told, leave } = graphWords(() => cluster);
afterEach(async () => cluster?.stop());

const open = async (rules: readonly object[] = [MAPS], settings?: GraphSettings): Promise<void> => {
  cluster = await startGraphCluster(settings);
  await allow(rules);
};
const ACCOUNT = 'system:serviceaccount:default:default';
const ofShared = { id: 'shared', ref: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared' } } };
const copy = configMap('copy', 'copy', { colour: '${shared.data.colour}' });
/** What was asked with the rights of an account. */
const askedAs = (resource: string, verbs: readonly string[], user = ACCOUNT): string[] =>
  cluster.audit
    .filter(
      ({ impersonatedUser, objectRef, verb }) =>
        impersonatedUser?.username === user && objectRef?.resource === resource && verbs.includes(verb),
    )
    .map(({ verb, responseStatus }) => `${verb} ${responseStatus?.code ?? ''}`.trim());
const watchesOpened = (user = ACCOUNT): number => askedAs('configmaps', ['watch'], user).length;
/** A role that allows some verbs with ConfigMaps, of some names. */
const maps = (verbs: readonly string[], names?: readonly string[]): object => ({
  ...{ apiGroups: [''], resources: ['configmaps'], verbs },
  ...(names && { resourceNames: names }),
});

describe('what a Graph reads', () => {
  it('is watched with the rights of its account: told at once, and nothing is asked at rest', async () => {
    await open();
    await cluster.write(plainMap('shared', { colour: 'red' }));
    await cluster.write({ ...plainMap('one', { n: '1' }), metadata: { name: 'one', labels: { of: 'us' } } });
    const selected = {
      id: 'ours',
      ref: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { selector: { matchLabels: { of: 'us' } } } },
    };
    const count = configMap('count', 'count', { n: '${string(ours.size())}' });
    const patch = { id: 'mark', patch: plainMap('patched', { from: '${shared.data.colour}' }) };
    await cluster.write(plainMap('patched', { own: 'o' }));
    // A selector looks into all namespaces where it names none.
    const here = {
      ...selected,
      ref: { ...selected.ref, metadata: { ...selected.ref.metadata, namespace: 'default' } },
    };
    await cluster.write(graphObject([ofShared, copy, here, count, patch]));
    await ready();
    await cluster.rest(60_000);
    expect(watchesOpened()).toBe(1);
    cluster.audit.length = 0;
    await cluster.rest(600_000);
    expect(cluster.asked()).toEqual([]);
    const soon = 1_000;
    await cluster.write(plainMap('shared', { colour: 'blue' }));
    await cluster.until(() => dataOf(map('copy'))['colour'] === 'blue', 'the change', soon);
    await cluster.until(() => dataOf(map('patched'))['from'] === 'blue', 'the patch', soon);
    await cluster.write({ ...plainMap('two', { n: '2' }), metadata: { name: 'two', labels: { of: 'us' } } });
    await cluster.until(() => dataOf(map('count'))['n'] === '2', 'another one', soon);
    await cluster.write(plainMap('patched', { own: 'other' }));
    await cluster.rest(30_000);
    expect(dataOf(map('patched'))).toEqual({ own: 'other', from: 'blue' });
    expect(askedAs('configmaps', ['get', 'list', 'watch'])).toEqual([]);
  });

  it('is one watch for all Graphs of an account, closed with the last of them', async () => {
    await open();
    await allow([MAPS], 'second');
    await cluster.write(plainMap('shared', { colour: 'red' }));
    const named = (name: string): object[] => [
      ofShared,
      configMap('copy', name, { c: '${shared.data.colour}' }),
    ];
    for (let n = 0; n < 5; n += 1) await cluster.write(graphObject(named(`copy-${n}`), {}, `graph-${n}`));
    const other = { serviceAccountName: 'second' };
    await cluster.write(graphObject(named('copy-other'), other, 'other'));
    for (const name of ['graph-0', 'graph-4', 'other']) await ready(name);
    expect(watchesOpened()).toBe(1);
    expect(watchesOpened('system:serviceaccount:default:second')).toBe(1);
    const watches = (): string =>
      /^dynamic_controller_watch_count(?:\{[^}]*\})? (\d+)$/m.exec(cluster.graphs?.metrics() ?? '')?.[1] ??
      '';
    expect(watches()).toBe('3');
    await leave('other');
    await cluster.rest(1_000);
    expect(watches()).toBe('2');
    for (let n = 0; n < 5; n += 1) await leave(`graph-${n}`);
    await cluster.rest(1_000);
    expect(watches()).toBe('0');
    // Nor are changes of rights followed any more.
    cluster.audit.length = 0;
    await allow([], 'second');
    await cluster.rest(60_000);
    expect(cluster.asked()).toEqual([]);
  });

  it('is seen no longer when the rights go, which is said, and again when they are back', async () => {
    await open();
    await cluster.write(plainMap('shared', { colour: 'red' }));
    await cluster.write(graphObject([ofShared, copy]));
    await ready();
    await allow([maps(['create', 'patch', 'delete'])]);
    await told('configmaps "shared" is forbidden');
    expect(conditionOf(graph(), 'Ready')).toContain('False');
    await cluster.write(plainMap('shared', { colour: 'blue' }));
    await cluster.rest(60_000);
    expect(dataOf(map('copy'))).toEqual({ colour: 'red' });
    await allow([MAPS]);
    await cluster.until(() => dataOf(map('copy'))['colour'] === 'blue', 'what it may see', 2_000);
    await ready();
    await cluster.rest(60_000);
    cluster.audit.length = 0;
    await cluster.rest(300_000);
    expect(cluster.asked()).toEqual([]);
    // Rights of others elsewhere are none of its business.
    await cluster.write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    const elsewhere = { name: 'x', namespace: 'other' };
    cluster.audit.length = 0;
    await cluster.write({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: elsewhere },
      rules: [],
    } as KubeObject);
    await cluster.rest(5_000);
    expect(askedAs('selfsubjectaccessreviews', ['create'])).toEqual([]);
  });

  it('is watched by name where the account may see no more than that', async () => {
    await open([maps(WRITE, ['shared', 'copy']), maps(['create'])]);
    await cluster.write(plainMap('shared', { colour: 'red' }));
    await cluster.write(plainMap('secret', { colour: 'black' }));
    await cluster.write(graphObject([ofShared, copy]));
    await ready();
    await cluster.rest(60_000);
    cluster.audit.length = 0;
    await cluster.rest(300_000);
    expect(cluster.asked()).toEqual([]);
    await cluster.write(plainMap('shared', { colour: 'blue' }));
    await cluster.until(() => dataOf(map('copy'))['colour'] === 'blue', 'the change', 1_000);
    const other = { ...ofShared, ref: { ...ofShared.ref, metadata: { name: 'secret' } } };
    await cluster.write(graphObject([other, copy]));
    await told('configmaps "secret" is forbidden');
    expect(dataOf(map('copy'))).toEqual({ colour: 'blue' });
  });

  it('is read every 15 s where the account may get and not watch', async () => {
    await open([maps(['get', 'create', 'patch', 'delete'])]);
    await cluster.write(plainMap('shared', { colour: 'red' }));
    await cluster.write(graphObject([ofShared, copy]));
    await ready();
    await cluster.write(plainMap('shared', { colour: 'blue' }));
    await cluster.until(() => dataOf(map('copy'))['colour'] === 'blue', 'the change', 31_000);
    cluster.audit.length = 0;
    await cluster.rest(60_000);
    expect(askedAs('configmaps', ['list', 'watch', 'patch'])).toEqual([]);
  });

  it('is watched also by an engine that may not see who has which rights', async () => {
    const user = { name: 'bounded', groups: [] };
    cluster = await startGraphCluster({ user });
    const rules = [
      { apiGroups: ['kro.run', 'internal.kro.run', 'apiextensions.k8s.io'], resources: ['*'], verbs: ['*'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] },
      { nonResourceURLs: ['*'], verbs: ['get'] },
    ];
    const metadata = { name: 'bounded' };
    const RBAC = 'rbac.authorization.k8s.io';
    await cluster.write({ apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata, rules } as KubeObject);
    await cluster.write({
      ...{ apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleBinding', metadata },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'bounded' },
      subjects: [{ kind: 'User', name: 'bounded', apiGroup: RBAC }],
    } as KubeObject);
    await allow([MAPS]);
    await cluster.write(plainMap('shared', { colour: 'red' }));
    await cluster.write(graphObject([ofShared, copy]));
    await ready();
    await cluster.write(plainMap('shared', { colour: 'blue' }));
    await cluster.until(() => dataOf(map('copy'))['colour'] === 'blue', 'the change', 1_000);
    // It looks at rights now and then.
    await allow([maps(['create', 'patch', 'delete'])]);
    await cluster.rest(310_000);
    await told('configmaps "shared" is forbidden');
  });
});
