import { expect, it } from 'vitest';
import { startServer } from '../../apiserver/server.fixture.ts';
import { type AnyCustomKind, customResourceDefinition } from '../../kube/custom-resource.ts';
import {
  DNS_ENDPOINT,
  DOMAIN,
  earlyKinds,
  FEDERATED_TYPE_CONFIG,
  FEDERATION_PLACEMENT,
  federatedKind,
  federatedTypeFor,
  INGRESS_DNS_RECORD,
  KUBEFED_CLUSTER,
  KUBEFED_CONFIG,
  REPLICA_SCHEDULING_PREFERENCE,
  SERVICE_DNS_RECORD,
} from './index.ts';

const deployments = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  pluralName: 'deployments',
  scope: 'Namespaced',
} as const;
const type = federatedTypeFor(deployments);
const kinds: AnyCustomKind[] = [
  KUBEFED_CLUSTER,
  FEDERATED_TYPE_CONFIG,
  KUBEFED_CONFIG,
  REPLICA_SCHEDULING_PREFERENCE,
  DOMAIN,
  SERVICE_DNS_RECORD,
  INGRESS_DNS_RECORD,
  DNS_ENDPOINT,
  federatedKind(type, undefined, ['deploy']),
  FEDERATION_PLACEMENT,
  ...earlyKinds(deployments),
];
const CONFIGS = '/apis/core.kubefed.io/v1beta1/namespaces/default/kubefedconfigs';
const FEDERATED = '/apis/types.kubefed.io/v1beta1/namespaces/default/federateddeployments';

it('all kinds are served, and refuse what can be refused without knowing more', async () => {
  const api = await startServer();
  for (const kind of kinds) {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict';
    const { status, text } = await api.post(path, customResourceDefinition(kind));
    expect([kind.kind, status, status === 201 ? '' : text]).toEqual([kind.kind, 201, '']);
  }
  const config = (spec: object) => ({
    apiVersion: 'core.kubefed.io/v1beta1',
    kind: 'KubeFedConfig',
    metadata: { name: 'kubefed' },
    spec,
  });
  const gate = (name: string) => ({ name, configuration: 'Enabled' });
  const refused = [
    { featureGates: [] },
    { scope: 'Cluster', featureGates: [gate('Teleport')] },
    { scope: 'Cluster', featureGates: [gate('PushReconciler'), gate('PushReconciler')] },
  ];
  for (const spec of refused) expect((await api.post(CONFIGS, config(spec))).status).toBe(422);
  expect(
    (await api.post(CONFIGS, config({ scope: 'Cluster', featureGates: [gate('PushReconciler')] }))).status,
  ).toBe(201);
  const { body } = await api.get(`${CONFIGS}/kubefed`);
  const moved = { ...(body as object), spec: { scope: 'Namespaced' } };
  const answer = await api.put(`${CONFIGS}/kubefed`, moved);
  expect([answer.status, answer.text.includes('scope cannot be changed')]).toEqual([422, true]);
  const federated = (spec: object | undefined) => ({
    apiVersion: 'types.kubefed.io/v1beta1',
    kind: 'FederatedDeployment',
    metadata: { name: 'web' },
    ...(spec === undefined ? {} : { spec }),
  });
  const overrides = [{ clusterName: 'c1', clusterOverrides: [{ op: 'move', path: '/spec' }] }];
  expect((await api.post(FEDERATED, federated(undefined))).status).toBe(422);
  expect((await api.post(FEDERATED, federated({ overrides }))).status).toBe(422);
  const spec = { template: { apiVersion: 'apps/v9', anything: { goes: true } }, placement: { clusters: [] } };
  const made = await api.post(`${FEDERATED}?fieldValidation=Strict`, federated(spec));
  expect([made.status, made.body]).toMatchObject([201, { spec }]);
});
