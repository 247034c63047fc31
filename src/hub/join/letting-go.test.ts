import { expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { createClient } from '../../kube/rest-client.ts';
import { configMaps } from '../../kube/well-known.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { whileTimePasses } from '../../testing/moving-time.ts';
import { certificatesFrom, dropOldRecords, recordLetGo } from './letting-go.ts';

const DAY = 86_400_000;

it('what is recorded of a spoke that was let go stays as long as one of its certificates could be renewed', async () => {
  const runtime = virtualRuntime(1);
  const { clock } = runtime;
  const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(clock, work);
  const server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  const client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }), { clock });
  const longest = `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61);
  const records = async (): Promise<number> =>
    (await run(client.list(configMaps, 'atoll-system', { labelSelector: 'atoll.dev/let-go' }))).items.length;

  expect(await run(certificatesFrom(client, 'edge'))).toBeUndefined();
  const at = clock.now();
  for (const name of ['edge', longest]) await run(recordLetGo(runtime, client, name));
  const from = (await run(certificatesFrom(client, 'edge'))) ?? 0;
  // What was made before began five minutes earlier than it was made, by whichever clock.
  expect(from).toBeGreaterThan(at - 299_000);
  expect(from).toBeLessThan(at - 60_000);
  expect(from % 1_000).toBe(0);
  await clock.advance(31 * DAY);
  await run(dropOldRecords(runtime, client));
  expect(await records()).toBe(2);

  // Let go once more, the name is void for as long again.
  await run(recordLetGo(runtime, client, 'edge'));
  await clock.advance(2 * DAY);
  await run(dropOldRecords(runtime, client));
  expect(await records()).toBe(1);
  expect(await run(certificatesFrom(client, longest))).toBeUndefined();
  expect(await run(certificatesFrom(client, 'edge'))).toBeGreaterThan(from);
  await run(server.close());
});
