import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fleetDirectory, readFleet } from '../../src/cli/fleet-directory.ts';
import type { Client } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { hasCode } from '../../src/kube/status-error.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  isAlive,
  type Random,
  readPidFile,
  seededRandom,
  sleep,
  systemClock,
} from '../../src/runtime/index.ts';
import { describeFleet, type Fleet, newFleet, onRealServers, startFleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { until } from './harness/until.ts';

const SEED = Number(process.env['ATOLL_E2E_SEED'] ?? 20260801);
const ROUNDS = Number(process.env['ATOLL_E2E_ROUNDS'] ?? (onRealServers ? 2 : 4));
const WRITERS = 6;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(1);
  await fleet.kubectl('hub', 'create', 'namespace', 'crash');
  await fleet.kubectl('spoke-1', 'create', 'namespace', 'own');
  await fleet.apply(
    'hub',
    'apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: all, namespace: crash}\nspec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {clusterSelector: {}}, deletionBudget: 100%}\n',
  );
});
afterAll(() => fleet?.stop());

/** What one writer was promised: the state after its last acknowledged write, and the write that was under way. */
interface Ledger {
  readonly name: string;
  /** The value that the server acknowledged; -1 before the first, undefined when it acknowledged a delete. */
  value: number | undefined;
  /** The state that an unanswered write would have brought. */
  attempted: number | undefined;
  resourceVersion: number;
}

interface Load {
  readonly ledgers: readonly Ledger[];
  /** The number of acknowledged writes so far. */
  acknowledged(): number;
  /** Resolves when every writer has seen its connection fail. */
  ended: Promise<unknown>;
}

/** Writers that create, update and delete one object each, one write at a time, until the server is gone. */
function startLoad(client: Client, namespace: string, round: number, random: Random): Load {
  let acknowledged = 0;
  const ledgers: Ledger[] = Array.from({ length: WRITERS }, (_, i) => ({
    name: `w${round}-${i}`,
    value: -1,
    attempted: -1,
    resourceVersion: 0,
  }));
  async function write(ledger: Ledger): Promise<void> {
    const { name } = ledger;
    for (let value = 0; ; value++) {
      const remove = ledger.value !== undefined && ledger.value >= 0 && random.next() < 0.1;
      ledger.attempted = remove ? undefined : value;
      const object: KubeObject = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: { value: String(value) },
      };
      let answer: KubeObject | undefined;
      try {
        if (remove) await client.delete(configMaps, namespace, name);
        else if (ledger.value === undefined || ledger.value < 0)
          answer = await client.create(configMaps, object);
        else answer = await client.patch(configMaps, namespace, name, 'merge', { data: object['data'] });
      } catch (error) {
        if (hasCode(error, 409) || hasCode(error, 404)) throw error;
        return;
      }
      acknowledged += 1;
      ledger.value = ledger.attempted;
      if (answer === undefined) continue;
      const resourceVersion = Number(answer.metadata.resourceVersion);
      expect(resourceVersion, `${name}: the resourceVersion rises`).toBeGreaterThan(ledger.resourceVersion);
      ledger.resourceVersion = resourceVersion;
    }
  }
  return { ledgers, acknowledged: () => acknowledged, ended: Promise.all(ledgers.map(write)) };
}

/** Every acknowledged write is there; what was not acknowledged is there whole or not at all. */
async function check(client: Client, namespace: string, loads: readonly Load[]): Promise<void> {
  const list = await client.list(configMaps, namespace);
  const values = new Map(
    list.items.map((item) => [
      item.metadata.name,
      Number((item['data'] as Record<string, string> | undefined)?.['value']),
    ]),
  );
  const newest = Math.max(...loads.flatMap((load) => load.ledgers.map((ledger) => ledger.resourceVersion)));
  expect(Number(list.metadata.resourceVersion), 'the revision of the server').toBeGreaterThanOrEqual(newest);
  for (const { ledgers } of loads) {
    for (const { name, value, attempted } of ledgers) {
      const there = values.get(name);
      const promised = value === -1 ? undefined : value;
      expect(
        [promised, attempted === -1 ? undefined : attempted],
        `${name} in ${namespace} (seed ${SEED})`,
      ).toContain(there);
    }
  }
}

describeFleet(`kill -9 under load (seed ${SEED})`, () => {
  for (const [member, namespace] of [
    ['hub', 'crash'],
    ['spoke-1', 'own'],
  ] as const) {
    it(
      `the ${member} loses no acknowledged write, and its resourceVersion never goes back`,
      async () => {
        const random = seededRandom(SEED + member.length);
        const clock = systemClock();
        const loads: Load[] = [];
        for (let round = 0; round < ROUNDS; round++) {
          const load = startLoad(fleet.client(member), namespace, round, random);
          loads.push(load);
          // The moment of the kill counts from the first answer, so that it falls into the load on a slow machine too.
          await until('the first answers', () => load.acknowledged() > WRITERS, { everyMs: 2 });
          await sleep(clock, random.next() * 350);
          await fleet.kill(member);
          await load.ended;
          // How kube-apiserver comes up is nothing of ours.
          if (round % 2 === 1 && !onRealServers) {
            // And once more while it comes up.
            const starting = fleet.atoll(['start', member]);
            const pidFile = join(fleet.directory, 'run', `${member}.pid`);
            const pid = await until('the pid of the new process', () => readPidFile(pidFile), { everyMs: 5 });
            await sleep(clock, random.next() * 300);
            process.kill(pid, 'SIGKILL');
            await until('its end', () => !isAlive(pid), { everyMs: 5 });
            const outcome = await starting;
            if (outcome.code !== 0)
              expect(outcome.stderr).toMatch(new RegExp(`${member} ended while starting`));
          }
          await fleet.mustAtoll('start', member);
          await check(fleet.client(member), namespace, loads);
        }
        expect(loads.reduce((sum, load) => sum + load.acknowledged(), 0)).toBeGreaterThan(ROUNDS * WRITERS);
      },
      30_000 + ROUNDS * 15_000,
    );
  }

  it('afterwards the spoke has exactly what the hub has', async () => {
    await waitReady(fleet, 'crash', 'all');
    const dataOf = async (context: string): Promise<Record<string, unknown>> => {
      const { items } = await fleet.client(context).list(configMaps, 'crash');
      return Object.fromEntries(
        items
          .filter((item) => item.metadata.name !== 'kube-root-ca.crt')
          .map((item) => [item.metadata.name, item['data']]),
      );
    };
    await until(
      'the same on both',
      async () =>
        JSON.stringify(sorted(await dataOf('spoke-1'))) === JSON.stringify(sorted(await dataOf('hub'))),
    );
    expect(Object.keys(await dataOf('hub')).length).toBeGreaterThan(0);
  });

  it.skipIf(onRealServers)('`up` that is killed at any moment can be run again', async () => {
    const random = seededRandom(SEED);
    const clock = systemClock();
    const other = newFleet();
    try {
      for (let round = 0; round < 3; round++) {
        let kill = async (): Promise<void> => undefined;
        const killed = other.atoll(['up', '--spokes', '2'], {
          onStart: (child) => {
            kill = async () => {
              await sleep(clock, 100 + random.next() * 900);
              child.kill('SIGKILL');
            };
          },
        });
        await kill();
        await killed;
      }
      // Killed before anything was written down, it is a new fleet.
      const written = readFleet(fleetDirectory(other.directory))?.members ?? [];
      const spokes = written.filter(({ role }) => role === 'spoke').length;
      const outcome = await other.atoll(['up']);
      expect(outcome, outcome.text).toMatchObject({ code: 0 });
      const table = await other.kubectl('hub', 'get', 'spokeclusters', '--no-headers');
      expect(table.match(/ Connected /g)).toHaveLength(spokes === 0 ? 3 : spokes);
    } finally {
      await other.stop();
    }
  });
});

function sorted(record: Record<string, unknown>): [string, unknown][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}
