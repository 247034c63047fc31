import { expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { startEventRecorder } from './events.ts';
import type { Request } from './exchange.ts';
import { createClient } from './rest-client.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'n', uid: 'u' } };

it('creates an Event and raises its count when the same happens again', async () => {
  const runtime = virtualRuntime(1);
  const asked: Request[] = [];
  const client = createClient(async (request) => {
    asked.push(request);
    return { status: 200, headers: {}, body: Buffer.from('{}') };
  });
  const recorder = startEventRecorder(runtime, client, { component: 'test' });
  for (let i = 0; i < 3; i++) recorder.record(pod, 'Normal', 'Pulled', 'image pulled');
  await runtime.clock.settle();
  recorder.record(pod, 'Normal', 'Pulled', 'image pulled');
  recorder.record(pod, 'Warning', 'Failed', 'no');
  await runtime.clock.settle();
  expect(asked.map((each) => each.method)).toEqual(['POST', 'PATCH', 'POST']);
  const body = (i: number): Record<string, unknown> =>
    JSON.parse(Buffer.from(asked[i]?.body ?? []).toString());
  expect(body(0)).toMatchObject({ count: 3, reason: 'Pulled', involvedObject: { kind: 'Pod', uid: 'u' } });
  expect(body(1)).toMatchObject({ count: 4 });
  recorder.stop();
});

it('is bounded and drops when the server does not keep up or fails', async () => {
  const runtime = virtualRuntime(1);
  const client = createClient(async () => {
    throw new Error('down');
  });
  const recorder = startEventRecorder(runtime, client, { component: 'test', pending: 10, remember: 5 });
  for (let i = 0; i < 30; i++) recorder.record(pod, 'Normal', 'Pulled', `image ${i}`);
  await runtime.clock.settle();
  expect(recorder.dropped).toBe(30);
  recorder.stop();
});
