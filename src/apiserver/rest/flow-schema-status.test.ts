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
