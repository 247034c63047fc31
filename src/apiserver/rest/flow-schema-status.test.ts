import { expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const GROUP = '/apis/flowcontrol.apiserver.k8s.io/v1';
const schema = {
  metadata: { name: 's' },
  spec: { priorityLevelConfiguration: { name: 'mine' }, matchingPrecedence: 500 },
};
const level = {
  metadata: { name: 'mine' },
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
};

it('flow schemas tell whether their priority level is there', async () => {
  const { post, get, delete: remove } = await startServer();
  const made = await post(`${GROUP}/flowschemas`, schema);
  expect(made.body.status).toEqual({});
  const condition = async () => (await get(`${GROUP}/flowschemas/s`)).body.status.conditions[0];
  expect(await condition()).toMatchObject({
    type: 'Dangling',
    status: 'True',
    reason: 'NotFound',
    message:
      'This FlowSchema references the PriorityLevelConfiguration object named "mine" but there is no such object',
  });
  await post(`${GROUP}/prioritylevelconfigurations`, level);
  expect(await condition()).toMatchObject({ status: 'False', reason: 'Found' });
  const { metadata } = (await get(`${GROUP}/flowschemas/s`)).body;
  expect(metadata.generation).toBe(1);
  expect(metadata.managedFields).toContainEqual(
    expect.objectContaining({
      manager: 'api-priority-and-fairness-config-consumer-v1',
      operation: 'Apply',
      subresource: 'status',
    }),
  );
  await remove(`${GROUP}/prioritylevelconfigurations/mine`);
  await expect.poll(condition).toMatchObject({ status: 'True', reason: 'NotFound' });
});

it('a flow schema is made though a policy refuses what is noted in it', async () => {
  const { post, get } = await startServer();
  const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
  const rule = {
    apiGroups: ['flowcontrol.apiserver.k8s.io'],
    apiVersions: ['*'],
    operations: ['*'],
    resources: ['flowschemas/status'],
  };
  const policy = await post(`${ADMISSION}/validatingadmissionpolicies`, {
    metadata: { name: 'never' },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false' }] },
  });
  expect(policy.status).toBe(201);
  const binding = { metadata: { name: 'b' }, spec: { policyName: 'never', validationActions: ['Deny'] } };
  expect((await post(`${ADMISSION}/validatingadmissionpolicybindings`, binding)).status).toBe(201);
  expect((await post(`${GROUP}/flowschemas`, schema)).status).toBe(201);
  expect((await get(`${GROUP}/flowschemas/s`)).body.status).toEqual({});
});
