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
