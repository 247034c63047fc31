import { expect, it } from 'vitest';
import type { Intent } from '../../engine/intent.ts';
import type { KubeObject } from '../../kube/object.ts';
import { refKey, refOf } from '../../kube/object.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import type { Capacities } from './capacities.ts';
import { createRoom } from './room.ts';

const web: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 4,
    template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] } },
  },
};

it.each([0, -3_600_000])(
  'what was given out is free again after a while, whatever the clock is set to (%i)',
  async (byMs) => {
    const clock = virtualClock();
    const report = { free: { cpu: 10_000, pods: 100 } };
    const room = createRoom({ clock, capacities: { of: () => report } as unknown as Capacities });
    const intent = { objects: [web], replicas: { strategy: 'DynamicWeight' } } as unknown as Intent;
    room.divided('Propagation/shop/web', intent, {}, { [refKey(refOf(web))]: { a: 4 } });
    expect(room.forReplicas('a', web)).toBe(6);
    clock.jump(byMs);
    await clock.advance(40_000);
    expect(room.forReplicas('a', web)).toBe(10);
  },
);
