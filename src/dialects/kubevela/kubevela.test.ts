import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { clusterInfoOf, statedInfoOf } from './cluster-info.ts';
import { reportSpoke, type SpokeFindings, sameButForProbing } from './report.ts';
import type { SpokeClusterStatus } from './types.ts';

function node(
  name: string,
  labels: Record<string, string>,
  capacity: object = {},
  osImage: string = '',
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    status: { capacity, nodeInfo: { osImage } },
  };
}

describe('facts of a cluster', () => {
  it.each([
    ['eks', node('n', { 'eks.amazonaws.com/nodegroup': 'x' })],
    ['gke', node('n', { 'cloud.google.com/gke-nodepool': 'x' })],
    ['aks', node('n', { 'kubernetes.azure.com/agentpool': 'x' })],
    ['k3s', node('n', { 'node.kubernetes.io/instance-type': 'k3s' })],
    ['k3s', node('n', {}, {}, 'K3s dev')],
    ['kind', node('my-kind-worker', {})],
    ['unknown', node('n', {})],
  ])('[K14] the platform %s is told from its nodes', (platform, item) => {
    expect(clusterInfoOf('v1.34.0', [node('silent', {}), item]).platform).toBe(platform);
  });

  it('[K14] capacity is summed in the units that nodes use', () => {
    const nodes = [
      node('a', {}, { cpu: '1500m', memory: '1Gi' }),
      node('b', {}, { cpu: '2', memory: '512Mi' }),
      node('c', {}),
    ];
    expect(clusterInfoOf('v1', nodes)).toMatchObject({
      nodeCount: 3,
      totalCPU: '3500m',
      totalMemory: '1536Mi',
    });
    expect(clusterInfoOf('v1', [])).toMatchObject({
      nodeCount: 0,
      totalCPU: '0',
      totalMemory: '0',
      platform: 'unknown',
      region: 'N/A',
    });
  });

  it('are taken from an engine that states them, and nothing else that it states', () => {
    const nodes = [node('silent', {}), node('kind-worker', {})];
    const made = clusterInfoOf('v1.36.0', nodes);
    expect(statedInfoOf({ ...made, lastSyncedTime: 'x', apiServerEndpoint: 'https://elsewhere' })).toEqual(
      made,
    );
    const hostile = {
      ...made,
      platform: 'x'.repeat(1_000),
      zones: [7, 'z1'],
      totalCPU: 'plenty',
      capacity: { cpu: 4, memory: '1Gi', pods: 'many', ['x'.repeat(1_000)]: '1' },
      id: 'another',
    };
    expect(statedInfoOf(hostile as never)).toEqual({
      ...made,
      platform: 'unknown',
      zones: ['z1'],
      totalCPU: '0',
      capacity: { memory: '1Gi' },
    });
    for (const none of [
      undefined,
      {},
      { kubernetesVersion: 'v1' },
      { ...made, nodeCount: 0.5 },
      { ...made, nodeCount: -1 },
      'v1',
    ])
      expect(statedInfoOf(none as never)).toBeUndefined();
  });

  it('[K14] the region is that of the credential, else of the nodes, else N/A', () => {
    const nodes = [node('a', {}), node('b', { 'topology.kubernetes.io/region': 'eu-1' })];
    expect(clusterInfoOf('v1', nodes, 'us-1').region).toBe('us-1');
    expect(clusterInfoOf('v1', nodes).region).toBe('eu-1');
  });
});

const T0 = Date.UTC(2026, 0, 1);
const good: SpokeFindings = {
  generation: 2,
  credential: { ok: true, reason: 'Materialized', message: 'm' },
  registered: { ok: true, reason: 'Registered', message: 'm' },
  connected: { ok: true, unauthorized: false, message: 'm', latencyMillis: 3 },
  info: { kubernetesVersion: 'v1.34.0', nodeCount: 1 },
  endpoint: 'https://x',
  engine: 'v1',
};
const words = (status: SpokeClusterStatus): string[] =>
  (status.conditions ?? []).map((item) => `${item.type}=${item.status}`);

describe('the status of a SpokeCluster', () => {
  it('[K16] has conditions that read as a prefix of the pass', () => {
    expect(
      words(
        reportSpoke(
          { generation: 1, credential: { ok: false, reason: 'MaterializeFailed', message: 'm' } },
          undefined,
          T0,
        ),
      ),
    ).toEqual(['CredentialValid=False']);
    expect(words(reportSpoke(good, undefined, T0))).toEqual([
      'CredentialValid=True',
      'Registered=True',
      'Connected=True',
      'InfoSynced=True',
    ]);
  });

  it('[K13] is Unknown for a bad credential and Disconnected for a spoke that cannot be reached', () => {
    const failed = (unauthorized: boolean): SpokeFindings => ({
      ...good,
      connected: { ok: false, unauthorized, message: 'm' },
    });
    expect(reportSpoke(failed(true), undefined, T0).connection).toBe('Unknown');
    expect(reportSpoke(failed(false), undefined, T0).connection).toBe('Disconnected');
    expect(
      reportSpoke(
        { generation: 1, credential: { ok: false, reason: 'NoProvider', message: 'm' } },
        undefined,
        T0,
      ).connection,
    ).toBe('Unknown');
  });

  it('[K15] keeps what is known of a spoke that is away, with the time at which it was true', () => {
    const before = reportSpoke(good, undefined, T0);
    const { info: _info, ...rest } = good;
    const away = reportSpoke(
      { ...rest, connected: { ok: false, unauthorized: false, message: 'm' }, syncedAt: T0 + 600_000 },
      before,
      T0 + 900_000,
    );
    expect(away.clusterInfo).toEqual({ ...before.clusterInfo, lastSyncedTime: '2026-01-01T00:10:00Z' });
    expect(away.lastProbeTime).toBe('2026-01-01T00:15:00Z');
    expect(away.engine).toBe('v1');
  });

  it('[K15] stays connected where only the facts could not be read', () => {
    const before = reportSpoke(good, undefined, T0);
    const { info: _info, ...rest } = good;
    const partly = reportSpoke({ ...rest, infoProblem: 'nodes is forbidden' }, before, T0 + 60_000);
    expect(partly.connection).toBe('Connected');
    expect(words(partly)).toContain('InfoSynced=False');
    expect(partly.clusterInfo).toEqual(before.clusterInfo);
  });

  it('[K17] is not written for what every probe moves', () => {
    const before = reportSpoke(good, undefined, T0);
    const later = reportSpoke(
      { ...good, connected: { ok: true, unauthorized: false, message: 'm', latencyMillis: 90 } },
      before,
      T0 + 30_000,
    );
    expect(later).not.toEqual(before);
    expect(sameButForProbing(before, later)).toBe(true);
    expect(sameButForProbing(undefined, later)).toBe(false);
    expect(
      sameButForProbing(before, reportSpoke({ ...good, info: { kubernetesVersion: 'v1.35.0' } }, before, T0)),
    ).toBe(false);
    expect(sameButForProbing(before, reportSpoke({ ...good, appliedRevision: 'x' }, before, T0))).toBe(false);
  });

  it('forgets the engine where none runs any more', () => {
    const before = reportSpoke(good, undefined, T0);
    expect(reportSpoke({ ...good, engine: '' }, before, T0).engine).toBeUndefined();
  });
});
