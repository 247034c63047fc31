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

it('[V68] what every server has comes back, and the mandatory ones cannot be changed', async () => {
  const { get, delete: remove, merge, runtime } = await startServer();
  const all = async () =>
    Promise.all(
      ['flowschemas', 'prioritylevelconfigurations'].map(
        async (resource) =>
          (await get(`${GROUP}/${resource}`)).body.items as {
            metadata: { name: string; uid: string; creationTimestamp: string };
          }[],
      ),
    );
  const before = await all();
  await runtime.clock.advance(60_000);
  for (const resource of ['flowschemas', 'prioritylevelconfigurations'])
    expect((await remove(`${GROUP}/${resource}`)).status).toBe(200);
  await runtime.clock.settle();
  const after = await all();
  // They are others, though of the same names, owners and conditions.
  const told = (lists: typeof before, index: number): object[] =>
    lists[index]!.map((item) => {
      const text = JSON.stringify({ ...item, metadata: { ...item.metadata, uid: '', resourceVersion: '' } });
      return JSON.parse(text.replaceAll(item.metadata.creationTimestamp, '<made>'));
    });
  for (const index of [0, 1]) {
    expect(told(after, index)).toEqual(told(before, index));
    expect(after[index]![0]!.metadata.uid).not.toBe(before[index]![0]!.metadata.uid);
  }

  const changed = await merge(`${GROUP}/flowschemas/catch-all`, { spec: { matchingPrecedence: 9999 } });
  expect(changed.status).toBe(422);
  expect(changed.body.details.causes).toMatchObject([
    {
      field: 'spec',
      message: expect.stringMatching(
        /^Invalid value: flowcontrol\.FlowSchemaSpec\{PriorityLevelConfiguration:flowcontrol\.PriorityLevelConfigurationReference\{Name:"catch-all"\}, MatchingPrecedence:9999, .*: spec of 'catch-all' must equal the fixed value$/,
      ),
    },
  ]);
  const level = `${GROUP}/prioritylevelconfigurations/exempt`;
  expect((await merge(level, { spec: { exempt: { lendablePercent: 20 } } })).status).toBe(200);
  const limited = await merge(level, { spec: { limited: { nominalConcurrencyShares: 1 } } });
  expect(limited.body.details.causes.map(({ message }: { message: string }) => message)).toContainEqual(
    expect.stringMatching(/spec of 'exempt' except the 'spec\.exempt' field must equal the fixed value$/),
  );
  expect((await merge(`${GROUP}/flowschemas/probes`, { spec: { matchingPrecedence: 3 } })).status).toBe(200);
});
