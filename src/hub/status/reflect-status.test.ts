import { expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { createStatusReflector } from './reflect-status.ts';

const web: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', uid: 'u' },
  spec: { replicas: 1 },
};

it.each([0, -3_600_000])(
  'waits for clusters only for a while after a start, whatever the clock is set to (%i)',
  async (byMs) => {
    const { clock, log } = virtualRuntime(1);
    const asked: string[] = [];
    const client = {
      resourceFor: async (_version: string, kind: string) => asked.push(kind),
      get: async () => ({ ...web, metadata: { ...web.metadata, uid: 'another' } }),
    } as unknown as Client;
    const { reflect } = createStatusReflector({ client, clock, log });
    const seen = { cluster: 'a', live: false, wantedGeneration: 1 };
    const look = () => reflect('any', { templates: [web], observations: [seen], upToDate: true });
    expect(await look()).toEqual({ requeueAfterMs: 40_000 });
    clock.jump(byMs);
    await clock.advance(41_000);
    expect(await look()).toBeUndefined();
  },
);
