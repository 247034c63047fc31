import { describe, expect, it } from 'vitest';
import type { AggregateRule } from '../../engine/reflect/index.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import type { Client } from '../../kube/client.ts';
import { type KubeObject, refOf } from '../../kube/object.ts';
import { failure } from '../../kube/status-error.ts';
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

describe('a status that the hub refuses', () => {
  function rig(): {
    look(template?: KubeObject): Promise<unknown>;
    advance(ms: number): Promise<void>;
    allow(): void;
    setRule(rule: AggregateRule): void;
    tries(): number;
  } {
    const { clock, log } = virtualRuntime(1);
    let tries = 0;
    let allowed = false;
    let rule: AggregateRule | undefined;
    const client = {
      resourceFor: async () => ({}),
      get: async () => web,
      patch: async () => {
        tries += 1;
        if (!allowed) throw failure(403, 'Forbidden', 'a policy says no');
        return web;
      },
    } as unknown as Client;
    const { reflect } = createStatusReflector({ client, clock, log, rule: () => rule });
    const status = {
      name: 'x',
      appliedGeneration: 1,
      returned: [{ ref: refOf(web), status: { replicas: 3 } }],
    };
    const seen = { cluster: 'a', live: true, wantedGeneration: 1, status } as unknown as ClusterObservation;
    return {
      look: (template = web) =>
        reflect('any', { templates: [template], observations: [seen], upToDate: true }),
      advance: (ms) => clock.advance(ms),
      allow: () => {
        allowed = true;
      },
      setRule: (next) => {
        rule = next;
      },
      tries: () => tries,
    };
  }

  it('is tried again with pauses that grow, up to a bound, until it is taken', async () => {
    const { look, advance, allow, tries } = rig();
    const pauses: unknown[] = [];
    for (let time = 0; time < 9; time += 1) {
      const again = (await look()) as { requeueAfterMs: number };
      pauses.push(again.requeueAfterMs / 1000);
      expect(await look()).toEqual(again);
      await advance(again.requeueAfterMs);
    }
    expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
    expect(tries()).toBe(9);
    allow();
    expect(await look()).toBeUndefined();
    expect(tries()).toBe(10);
  });

  it('is tried again at once when the object or its rule changes', async () => {
    const { look, setRule, tries } = rig();
    await look();
    await look({ ...web, metadata: { ...web.metadata, generation: 2 } });
    expect(tries()).toBe(2);
    setRule(() => ({ replicas: 4 }));
    await look({ ...web, metadata: { ...web.metadata, generation: 2 } });
    expect(tries()).toBe(3);
  });
});

describe('a status of an object that is sent no more', () => {
  const status = {
    name: 'x',
    appliedGeneration: 1,
    returned: [{ ref: refOf(web), status: { replicas: 3 } }],
  };
  const seen = { cluster: 'a', live: true, wantedGeneration: 1, status } as unknown as ClusterObservation;
  const sent = { templates: [web], observations: [seen], upToDate: true };

  /** A hub that answers this to the next writes of a status. */
  function rig() {
    const runtime = virtualRuntime(1);
    const failing: number[] = [];
    let live: KubeObject = structuredClone(web);
    const client = {
      resourceFor: async () => ({}),
      get: async () => structuredClone(live),
      async patch(_resource: unknown, _namespace: string, _name: string, _type: string, patch: KubeObject) {
        const code = failing.shift();
        if (code !== undefined) throw failure(code, '', 'not now');
        live = { ...live, status: patch['status'] };
        return live;
      },
    } as unknown as Client;
    const reflector = createStatusReflector({ client, clock: runtime.clock, log: runtime.log });
    const shown = (): unknown => (live['status'] as { replicas?: number | null } | undefined)?.replicas ?? 0;
    return { ...reflector, clock: runtime.clock, failing, shown };
  }

  it.each([409, 403])('is cleared in the end where the hub answers %i at first', async (code) => {
    const { reflect, failing, shown, clock } = rig();
    await reflect('any', sent);
    expect(shown()).toBe(3);
    failing.push(code);
    const again = await reflect('any', { ...sent, templates: [] });
    expect(again).toMatchObject({ requeueAfterMs: expect.any(Number) });
    await clock.advance(again?.requeueAfterMs ?? 0);
    expect(await reflect('any', { ...sent, templates: [] })).toBeUndefined();
    expect(shown()).toBe(0);
  });

  it('is cleared by whoever tries again after the hub did not answer', async () => {
    const { reflect, failing, shown } = rig();
    await reflect('any', sent);
    failing.push(503);
    await expect(reflect('any', { ...sent, templates: [] })).rejects.toMatchObject({ code: 503 });
    await reflect('any', { ...sent, templates: [] });
    expect(shown()).toBe(0);
  });

  it('is cleared in the end where its intent is gone, unless that is there again', async () => {
    const { reflect, forget, failing, shown, clock, stop } = rig();
    await reflect('any', sent);
    failing.push(503, 409, 403);
    forget('any');
    await clock.advance(60_000);
    expect(shown()).toBe(0);
    await reflect('any', sent);
    failing.push(503);
    forget('any');
    await clock.advance(10);
    await reflect('any', sent);
    await clock.advance(60_000);
    expect(shown()).toBe(3);
    failing.push(503);
    forget('any');
    await clock.advance(10);
    stop();
    await clock.advance(60_000);
    expect(shown()).toBe(3);
  });
});
