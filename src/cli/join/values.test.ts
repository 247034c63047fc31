import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { type JsonObject, listAt, objectAt } from '../../schema/json.ts';
import { spokeManifests } from './spoke-manifests.ts';
import { JOIN_VALUES, readValues, valuesOf } from './values.ts';

const HUB = {
  name: 'hub',
  addresses: ['hub.example:7443'],
  ca: 'none',
  trust: { lineage: 'l', publicKey: 'k' },
  tokens: {},
};
const plain = (): KubeObject[] =>
  spokeManifests({ cluster: 'a', hub: HUB, image: 'atoll:1', usualKinds: true });
const engineOf = (objects: readonly KubeObject[]): JsonObject =>
  objectAt(
    objects.find(({ kind }) => kind === 'Deployment'),
    'spec',
  ) ?? {};
const podOf = (objects: readonly KubeObject[]): JsonObject =>
  objectAt(engineOf(objects), 'template', 'spec') ?? {};
const containerOf = (objects: readonly KubeObject[]): JsonObject =>
  (listAt(podOf(objects), 'containers')[0] ?? {}) as JsonObject;

it('[R100] without values the manifest is as documented, with none it stays so', () => {
  expect(valuesOf({})(plain())).toEqual(plain());
  expect(engineOf(plain())).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
  expect(containerOf(plain())).toMatchObject({
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: { allowPrivilegeEscalation: false },
    args: ['spoke', '--name', 'a'],
  });
  expect(podOf(plain())).toMatchObject({ securityContext: { runAsNonRoot: true, runAsUser: 65532 } });
});

it('[R100] values say how the engine runs, with which rights and settings', () => {
  const made = valuesOf({
    image: { pullPolicy: 'Always', ko: true, repository: 'x' },
    imagePullSecrets: [{ name: 'pull' }],
    serviceAccount: { annotations: { a: 'b' } },
    rbac: { mode: 'aggregation' },
    deployment: {
      replicaCount: 2,
      resources: { requests: { cpu: '256m' } },
      nodeSelector: { disk: 'ssd' },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      env: [{ name: 'HTTPS_PROXY', value: 'http://proxy' }],
      extraVolumes: [{ name: 'v', emptyDir: {} }],
      extraVolumeMounts: [{ name: 'v', mountPath: '/v' }],
      podAnnotations: { seen: 'yes' },
    },
    metrics: { service: { create: true } },
    debug: { pprof: { enabled: true } },
    config: { allowCRDDeletion: true, clientQps: 20, enableLeaderElection: true, rgdMaxGraphRevisions: 7 },
  })(plain());
  expect(engineOf(made)).toMatchObject({
    replicas: 2,
    strategy: { type: 'RollingUpdate' },
    template: { metadata: { annotations: { seen: 'yes' } } },
  });
  expect(podOf(made)).toMatchObject({
    imagePullSecrets: [{ name: 'pull' }],
    nodeSelector: { disk: 'ssd' },
    topologySpreadConstraints: [{ maxSkew: 1 }],
    volumes: [{ name: 'v', emptyDir: {} }],
  });
  expect(containerOf(made)).toMatchObject({
    image: 'atoll:1',
    imagePullPolicy: 'Always',
    resources: { requests: { cpu: '256m' } },
    env: [{ name: 'HTTPS_PROXY', value: 'http://proxy' }],
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
  });
  expect(listAt(containerOf(made), 'args')).toEqual([
    ...['spoke', '--name', 'a', '--stand-by'],
    ...['--allow-crd-deletion=true', '--client-qps=20', '--leader-elect=true', '--rgd-max-graph-revisions=7'],
  ]);
  expect(made.find(({ kind }) => kind === 'ServiceAccount')?.metadata.annotations).toEqual({ a: 'b' });
  const role = made.find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'atoll:graph-engine',
  );
  expect(role?.['aggregationRule']).toBeDefined();
  expect(
    made.find(
      ({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name === 'atoll:graph-engine',
    ),
  ).toMatchObject({ subjects: [{ kind: 'ServiceAccount', name: 'atoll-spoke', namespace: 'atoll-system' }] });
});

it.each([
  [
    { deployment: { replicas: 2 } },
    'there is no value deployment.replicas; there are config, image.pullPolicy',
  ],
  [{ other: true }, 'there is no value other'],
  [{ constructor: { x: 1 } }, 'there is no value constructor.x'],
  [{ rbac: { mode: 'all' } }, 'rbac.mode: "all" is neither'],
  [{ deployment: { replicaCount: 'many' } }, 'deployment.replicaCount: "many" is no number'],
  [{ config: { speed: 1 } }, 'there is no value config.speed'],
  [{ config: { clientQps: 'fast' } }, 'client-qps=fast: requests to the API in a second'],
  [{ config: 'x' }, 'config is no map'],
] as const)('a value that there is not is said: %j', (values, message) => {
  expect(() => valuesOf(values as unknown as JsonObject)).toThrow(message);
});

it('a values file is read, and named where it is wrong', () => {
  const directory = mkdtempSync(join(tmpdir(), 'values-'));
  const file = join(directory, 'values.yaml');
  try {
    writeFileSync(file, 'deployment: {priorityClassName: high}\n');
    expect(podOf(readValues(file)(plain()))).toMatchObject({ priorityClassName: 'high' });
    writeFileSync(file, '- a\n');
    expect(() => readValues(file)).toThrow(`--values ${file}: it is no map`);
    expect(() => readValues(join(directory, 'none.yaml'))).toThrow('ENOENT');
  } finally {
    rmSync(directory, { recursive: true });
  }
  expect(new Set(JOIN_VALUES.map(({ path }) => path)).size).toBe(JOIN_VALUES.length);
});
