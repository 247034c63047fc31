import { describe, expect, it } from 'vitest';
import { HUB_OBJECT_KIND } from '../../../dialects/kro/index.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import { failure } from '../../../kube/status-error.ts';
import { virtualRuntime } from '../../../runtime/index.ts';
import type { Fleet } from '../../fleet.ts';
import { spokeWishes } from './spoke-wishes.ts';

/** A fleet of one spoke, whose link is up all the time. */
function fakeFleet() {
  const spoke = { failing: true, asked: 0, lists: 0 };
  const client = {
    resourceFor() {
      spoke.asked += 1;
      if (spoke.failing) return Promise.reject(failure(503, 'ServiceUnavailable', 'not now'));
      return Promise.resolve(resourceIdOf(HUB_OBJECT_KIND));
    },
    list() {
      spoke.lists += 1;
      return Promise.resolve({ metadata: { resourceVersion: '1' }, items: [] });
    },
    async *watch(_resource: unknown, _namespace: unknown, options: { signal: AbortSignal; onOpen?(): void }) {
      options.onOpen?.();
      await new Promise<void>((resolve) => options.signal.addEventListener('abort', () => resolve()));
    },
  };
  const fleet = { session: () => ({ client, live: true }), onChange: () => undefined } as unknown as Fleet;
  return { spoke, fleet };
}

describe('what a spoke wants of the hub', () => {
  it('is read once it can be, although nothing more is heard of the spoke', async () => {
    const runtime = virtualRuntime(1);
    const { spoke, fleet } = fakeFleet();
    const wishes = spokeWishes(runtime, fleet, () => undefined);
    wishes.follow('one', true);
    await runtime.clock.advance(2_000);
    expect(wishes.of('one')).toBeUndefined();
    spoke.failing = false;
    await runtime.clock.advance(10_000);
    expect(wishes.of('one')?.names()).toEqual([]);
    wishes.stop();
  });

  it('is asked for no longer when nobody wants it, or all is stopped', async () => {
    const runtime = virtualRuntime(1);
    const { spoke, fleet } = fakeFleet();
    const wishes = spokeWishes(runtime, fleet, () => undefined);
    wishes.follow('one', true);
    wishes.follow('two', true);
    await runtime.clock.advance(1_000);
    wishes.follow('one', false);
    wishes.stop();
    const { asked } = spoke;
    await runtime.clock.advance(60_000);
    wishes.follow('two', true);
    await runtime.clock.advance(60_000);
    expect([spoke.asked, spoke.lists]).toEqual([asked, 0]);
  });
});
