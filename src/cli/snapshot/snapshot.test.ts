import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { packBundles, packOrigin } from '../../engine/dispatch/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { connected, put, startApi } from '../fleet.fixture.ts';
import { gatherSnapshot, type SnapshotSource } from './gather.ts';
import { tarArchive } from './tar.ts';
import { withoutSecrets } from './without-secrets.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const SECRET = 'hunter2-do-not-tell';
const secret = (name: string, namespace: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData: { password: SECRET },
  }) as KubeObject;

async function api(): Promise<Awaited<ReturnType<typeof startApi>>> {
  const made = await startApi();
  closing.push(() => made.close());
  return made;
}

describe('a snapshot', () => {
  it('[S129] has the control objects of hub and spokes and the logs, and no value of a Secret', async () => {
    const [hub, spoke] = [await api(), await api()];
    await put(hub.client, connected('a'), secret('token', 'atoll-system'));
    const { bundles } = packBundles([secret('shop', 'shop')]);
    await put(spoke.client, ...bundles);
    const propagation = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name: 'shop', namespace: 'default' },
      spec: {
        resourceSelectors: [{ apiVersion: 'v1', kind: 'Secret' }],
        placement: { clusterSelector: {} },
        overrides: [{ clusterSelector: {}, patch: [{ op: 'add', path: '/stringData/x', value: SECRET }] }],
      },
    };
    await put(hub.client, propagation as KubeObject);
    const source: SnapshotSource = {
      hub: hub.client,
      spokes: new Map([['a', spoke.client]]),
      logs: new Map([['hub', () => Buffer.from('{"msg":"ready"}\n')]]),
      version: 'test',
      takenAt: '2026-03-01T12:00:00Z',
    };
    const { files, missing } = await gatherSnapshot(source);
    expect(missing).toEqual([]);
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'hub/spokeclusters.core.oam.dev.json',
        'hub/propagations.atoll.dev.json',
        'hub/customresourcedefinitions.apiextensions.k8s.io.json',
        'hub/secrets.json',
        'logs/hub.log',
        'snapshot.json',
      ]),
    );
    const texts = files.map(({ content }) => Buffer.from(content).toString('utf8'));
    for (const text of texts) {
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(Buffer.from(SECRET).toString('base64'));
    }
    expect(texts[paths.indexOf('hub/secrets.json')]).toContain('"password": "(left out)"');

    const directory = mkdtempSync(join(tmpdir(), 'snapshot-'));
    closing.push(() => rmSync(directory, { recursive: true }));
    const file = join(directory, 'a.tar');
    writeFileSync(file, tarArchive(files, Date.UTC(2026, 2, 1)));
    const listed = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trim().split('\n');
    expect(listed).toEqual(paths);
    expect(execFileSync('tar', ['-xOf', file, 'logs/hub.log'], { encoding: 'utf8' })).toBe(
      '{"msg":"ready"}\n',
    );
  });

  it('tells what it could not have, and has the rest', async () => {
    const hub = await api();
    const lost = {
      handler: () => Promise.reject(new Error('connect ECONNREFUSED')),
      getJson: () => Promise.reject(new Error('connect ECONNREFUSED')),
    };
    const { files, missing } = await gatherSnapshot({
      hub: hub.client,
      spokes: new Map([['far', lost as unknown as SnapshotSource['hub']]]),
      logs: new Map([
        [
          'gone',
          () => {
            throw new Error('no such file');
          },
        ],
      ]),
      version: 'test',
      takenAt: '2026-03-01T12:00:00Z',
    });
    expect(missing).toEqual(['spokes/far: connect ECONNREFUSED', 'logs/gone.log: no such file']);
    const told = files.find(({ path }) => path === 'snapshot.json')?.content;
    expect(JSON.parse(Buffer.from(told ?? []).toString('utf8')).missing).toEqual(missing);
  });
});

describe('an object that others may see', () => {
  const shown = (object: object): string => JSON.stringify(withoutSecrets(object as KubeObject));

  it.each([
    ['a Secret', { kind: 'Secret', metadata: { name: 's' }, data: { a: SECRET } }],
    [
      'the copy of a Secret in an annotation',
      {
        kind: 'Secret',
        metadata: { name: 's', annotations: { 'kubectl.kubernetes.io/last-applied-configuration': SECRET } },
      },
    ],
    [
      'a template of a Secret in a graph',
      {
        kind: 'ResourceGraphDefinition',
        metadata: { name: 'g' },
        spec: { resources: [{ template: { kind: 'Secret', stringData: { a: SECRET } } }] },
      },
    ],
    [
      'a federated Secret',
      { kind: 'FederatedSecret', metadata: { name: 'f' }, spec: { template: { data: { a: SECRET } } } },
    ],
    [
      'a patch',
      {
        kind: 'Dispatch',
        metadata: { name: 'd' },
        spec: { patches: [{ operations: [{ op: 'add', path: '/data/a', value: { b: SECRET } }] }] },
      },
    ],
    [
      'an override of KubeFed, which needs no op',
      {
        kind: 'FederatedSecret',
        metadata: { name: 'f' },
        spec: { overrides: [{ clusterOverrides: [{ path: '/data/a', value: SECRET }] }] },
      },
    ],
    [
      'an override of the early form',
      {
        kind: 'FederatedSecretOverride',
        metadata: { name: 'f' },
        spec: { overrides: [{ clusterName: 'a', data: { a: SECRET } }] },
      },
    ],
    [
      'an override of a policy, within a document',
      {
        kind: 'OverridePolicy',
        metadata: { name: 'o' },
        spec: {
          overrideRules: [
            {
              overriders: {
                fieldOverrider: [{ fieldPath: '/data/a', json: [{ subPath: '/b', value: SECRET }] }],
              },
            },
          ],
        },
      },
    ],
    [
      'what a cluster merges into an object',
      {
        kind: 'SpokeCluster',
        metadata: { name: 'c' },
        spec: { patches: [{ plane: 'p', component: 'key', properties: { stringData: { a: SECRET } } }] },
      },
    ],
    [
      'what comes back of an object on another cluster',
      { kind: 'RemoteObject', metadata: { name: 'r' }, status: { fields: { data: { a: SECRET } } } },
    ],
    [
      'a packed content',
      { kind: 'Bundle', metadata: { name: 'b' }, spec: { encoding: 'json+gzip', data: SECRET } },
    ],
  ])('does not show %s', (_what, object) => {
    expect(shown(object)).not.toContain(SECRET);
  });

  it('does not show what a Dispatch is from, which may set values of Secrets', () => {
    const origin = packOrigin([
      {
        kind: 'Propagation',
        metadata: { name: 'p' },
        spec: { overrides: [SECRET] },
      } as unknown as KubeObject,
    ]);
    expect(shown({ kind: 'Dispatch', metadata: { name: 'd' }, spec: { origin } })).not.toContain(origin);
  });

  it('is as it is otherwise', () => {
    const object = { kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } };
    expect(shown(object)).toBe(JSON.stringify(object));
  });
});
