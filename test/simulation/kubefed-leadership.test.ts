import { afterEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../src/apiserver/index.ts';
import { type Engine, loadRoles, startEngine } from '../../src/cli/engine.ts';
import { type HubReplica, leadHub } from '../../src/cli/hub-replicas.ts';
import { createLinks } from '../../src/cli/links.ts';
import {
  DEFAULT_NAMESPACE,
  FEDERATED_TYPE_CONFIG,
  federatedTypeFor,
  typeConfigName,
  typeConfigOf,
} from '../../src/dialects/kubefed/index.ts';
import { installKind } from '../../src/hub/kubefed/index.ts';
import type { Client } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { namespaces } from '../../src/kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../../src/runtime/index.ts';
import { at } from '../../src/schema/json.ts';
import { untilHolds, whileTimePasses } from '../../src/testing/moving-time.ts';
import { TARGETS } from './federation.ts';

/** What `leaderElect.leaseDuration` is in KubeFed, and what replicas of a hub use. */
const LEASE_MS = 15_000;
const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };
const TYPE_CONFIGS = resourceIdOf(FEDERATED_TYPE_CONFIG);

interface Process {
  readonly replica: HubReplica;
  /** How often its controllers were started. */
  readonly starts: number;
  readonly running: boolean;
  /** `dead` sends nothing any more, as after SIGKILL; `cut off` is refused. */
  state: 'alive' | 'dead' | 'cut off';
}

let runtime: VirtualRuntime;
let server: ApiServer;
let client: Client;
const processes: Process[] = [];
const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(runtime.clock, work);
const until = (condition: () => boolean | Promise<boolean>, what: string, limitMs?: number): Promise<void> =>
  untilHolds(runtime.clock, condition, what, limitMs);

afterEach(async () => {
  for (const each of processes) each.state = 'alive';
  await run(Promise.all(processes.splice(0).map(({ replica }) => replica.stop())));
  await run(server.close());
});

async function open(): Promise<void> {
  await loadRoles();
  runtime = virtualRuntime(71);
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }), { clock: runtime.clock });
  await run(
    client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DEFAULT_NAMESPACE } }),
  );
  await run(installKind(client, FEDERATED_TYPE_CONFIG));
}

async function start(identity: string): Promise<Process> {
  const state = { now: 'alive' as Process['state'], starts: 0, engine: undefined as Engine | undefined };
  const serve: Handler = server.as(ENGINE);
  const through: Handler = (request) => {
    if (state.now === 'cut off') return Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:6443'));
    if (state.now === 'alive') return serve(request);
    return new Promise((_resolve, reject) => {
      request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
    });
  };
  const own = createClient(through, { clock: runtime.clock });
  const replica = await run(
    leadHub(runtime, { client: own, identity }, async () => {
      state.starts += 1;
      const engine = await startEngine(runtime, {
        name: 'hub',
        client: own,
        version: 'test',
        links: createLinks(runtime),
        credentials: { resolve: async () => [], rules: {} },
        roles: { hub: true },
      });
      state.engine = engine;
      return {
        async stop(): Promise<void> {
          state.engine = undefined;
          await engine.stop();
        },
      };
    }),
  );
  const made: Process = {
    replica,
    get starts() {
      return state.starts;
    },
    get running() {
      return state.engine !== undefined;
    },
    get state() {
      return state.now;
    },
    set state(next) {
      state.now = next;
    },
  };
  processes.push(made);
  return made;
}

/** Whether somebody runs KubeFed's controllers: a type that is enabled comes to run. */
async function federates(kind: string): Promise<void> {
  const target = TARGETS[kind];
  if (!target) throw new Error(`no target ${kind}`);
  await run(client.create(TYPE_CONFIGS, typeConfigOf(federatedTypeFor(target), DEFAULT_NAMESPACE)));
  await until(async () => {
    const config = await client.get(TYPE_CONFIGS, DEFAULT_NAMESPACE, typeConfigName(target));
    return at(config, 'status', 'propagationController') === 'Running';
  }, `${kind} is federated`);
}

describe('replicas of a hub', () => {
  it('[F49] the second takes over within the duration of the lease when the first is killed', async () => {
    await open();
    const first = await start('first');
    await until(() => first.running, 'the first to lead');
    const second = await start('second');
    await federates('Namespace');
    await runtime.clock.advance(60_000);
    expect([first.running, second.running]).toEqual([true, false]);
    first.state = 'dead';
    const killedAt = runtime.clock.monotonic();
    await until(() => second.running, 'the second to lead');
    expect(runtime.clock.monotonic() - killedAt).toBeLessThan(LEASE_MS);
    await federates('ConfigMap');
  });

  it('[F49] one that loses the lease ends its controllers and waits, without starting over and over', async () => {
    await open();
    const first = await start('first');
    await until(() => first.running, 'the first to lead');
    const second = await start('second');
    first.state = 'cut off';
    await until(() => second.running, 'the second to lead');
    // It stopped before the other one began: never two at a time.
    expect([first.running, first.replica.leading]).toEqual([false, false]);
    await runtime.clock.advance(120_000);
    first.state = 'alive';
    await runtime.clock.advance(300_000);
    expect([first.starts, second.starts]).toEqual([1, 1]);
    expect([first.running, second.running]).toEqual([false, true]);
    await federates('Namespace');
    // It is as good as before.
    second.state = 'cut off';
    await until(() => first.running, 'the first to lead again');
    expect([first.starts, second.running]).toEqual([2, false]);
    await federates('ConfigMap');
  });
});
