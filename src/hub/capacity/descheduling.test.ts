import { expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import type { Capacities } from './capacities.ts';
import { createDescheduling } from './descheduling.ts';

const unready = (cluster: string) => ({
  cluster,
  live: true,
  wantedGeneration: 1,
  status: { position: { lineage: 'l', epoch: 1, generation: 1 } },
});

it('asks for each intent in its time, also where another one that was due is not looked at', async () => {
  const runtime = virtualRuntime(1);
  const due: string[] = [];
  const descheduling = createDescheduling(runtime, {
    capacities: {} as Capacities,
    onDue: (key) => void due.push(key),
  });
  descheduling.seen('one', [unready('a')]);
  await runtime.clock.advance(60_000);
  descheduling.seen('two', [unready('a')]);
  await runtime.clock.advance(250_000);
  expect(due).toEqual(['one']);
  // One that cannot be planned is not told all the time.
  for (let look = 0; look < 10; look++) {
    descheduling.seen('one', [unready('a')]);
    await runtime.clock.advance(1_000);
  }
  expect(due).toEqual(['one']);
  await runtime.clock.advance(60_000);
  expect(due).toEqual(['one', 'two']);
});

it('asks in its time after the clock was set back', async () => {
  const runtime = virtualRuntime(1);
  const due: string[] = [];
  const descheduling = createDescheduling(runtime, {
    capacities: {} as Capacities,
    onDue: (key) => void due.push(key),
  });
  descheduling.seen('one', [unready('a')]);
  runtime.clock.jump(-600_000);
  await runtime.clock.advance(1_000_000);
  expect(due).toEqual(['one']);
});

it('asks again in its time where others were told while a cluster took long to answer', async () => {
  const runtime = virtualRuntime(1);
  const { clock } = runtime;
  const due: string[] = [];
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'n' } };
  // Will have waited for long enough half a second after the answer.
  const pending = [{ kind: 'Deployment', namespace: 'n', name: 'web', count: 1, since: clock.now() + 6_000 }];
  const capacities: Capacities = {
    of: () => ({ free: {}, pending }),
    outdate: () => undefined,
    refresh: () => new Promise((resolve) => void clock.after(3_000, () => resolve())),
    keep: () => undefined,
  };
  const descheduling = createDescheduling(runtime, { capacities, onDue: (key) => void due.push(key) });
  descheduling.seen('one', [unready('a')]);
  await clock.advance(4_000);
  descheduling.seen('two', [unready('b')]);
  await clock.advance(298_500);
  const limits = descheduling.limits('one', { objects: [object] } as never, {});
  await clock.advance(3_000);
  await limits;
  due.length = 0;
  await clock.advance(3_000);
  expect(due).toContain('one');
});
