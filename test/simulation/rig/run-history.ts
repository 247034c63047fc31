import { createHash } from 'node:crypto';
import { RESOURCE_GRAPH_DEFINITION } from '../../../src/dialects/kro/kinds.ts';
import { confirmHub } from '../../../src/hub/mode.ts';
import { ROLLOUT_ACTION } from '../../../src/hub/rollouts/index.ts';
import type { Client } from '../../../src/kube/client.ts';
import { resourceIdOf } from '../../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { configMaps } from '../../../src/kube/well-known.ts';
import type { Logger } from '../../../src/runtime/index.ts';
import { errorText } from '../../../src/runtime/log.ts';
import type { VirtualRuntime } from '../../../src/runtime/runtime.ts';
import type { JsonObject, JsonValue } from '../../../src/schema/json.ts';
import { startTestFleet, type TestFleet } from '../../../src/testing/index.ts';
import {
  DISPATCHES,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedCluster,
  SPOKE_CLUSTERS,
  storedBelow,
} from '../fleet.ts';
import { configMap, propagation } from '../shop.ts';
import { type FaultyNetwork, type FaultyStorage, faultyNetwork, faultyStorage } from './faults.ts';
import { goldenImage } from './golden-image.ts';
import { createOracle, type Oracle, observes, rivalOf, type Wish } from './oracle.ts';
import { shopGraph, shopInstance } from './shop-graph.ts';
import type { Command, Manner, Step } from './step.ts';

export interface HistoryOptions {
  readonly seed: number;
  readonly spokes: readonly string[];
  /** Whether the hub distributes a graph from the beginning. */
  readonly withGraph?: boolean;
  readonly log?: Logger;
}

export interface Outcome {
  /** What must never happen and did; empty for a good history. */
  readonly findings: readonly string[];
  /** Virtual time that went by, milliseconds. */
  readonly virtualMs: number;
  /** How often each thing was done that had an effect. */
  readonly did: Readonly<Record<string, number>>;
  /** Of what the clusters store in the end and in which order it was written: the same for the same steps and seed. */
  readonly digest: string;
}

const ACTIONS = resourceIdOf(ROLLOUT_ACTION);
const GRAPHS = resourceIdOf(RESOURCE_GRAPH_DEFINITION);
const SHOPS = { group: 'kro.run', version: 'v1alpha1', resource: 'shops', kind: 'Shop', namespaced: true };

/** Time that the fleet gets to come to rest once everything works again; less where it rests before. */
const HEALING_MS = 240_000;
/** Who writes nothing for so long, and is as it should be, rests. */
const STILL_MS = 40_000;
/** One history of so many gets all the time there is, and its engines look for their kinds at each start. */
const THOROUGH = 8;
const IDLE_MS = 120_000;

/** Plays a history on a whole fleet: real controllers and API servers, virtual clock and network. The same steps give the same outcome. */
export async function runHistory(steps: readonly Step[], options: HistoryOptions): Promise<Outcome> {
  const disks = new Map<string, FaultyStorage>();
  const networks = new Map<string, FaultyNetwork>();
  const nets = new Map<string, ReturnType<typeof faultyNetwork>>();
  let fleet: TestFleet<VirtualRuntime> | undefined;
  const image = await goldenImage(options.spokes, options.withGraph ?? false);
  fleet = await startTestFleet({
    spokes: options.spokes,
    virtualTime: { seed: options.seed, start: image.takenAt },
    engineLatencyMs: (options.seed % 3) * 40,
    // The image has them, and no step takes them away. Some histories look all the same.
    kindsInstalled: options.seed % THOROUGH !== 0,
    ...(options.log === undefined ? {} : { log: options.log }),
    storage: (name) => {
      const disk = faultyStorage(image.stored(name));
      disks.set(name, disk);
      return disk;
    },
    network: (name, handler) => (request) => {
      // The fleet's own clock is there once the first request comes.
      const runtime = fleet?.runtime;
      if (!runtime) return handler(request);
      let net = nets.get(name);
      if (!net) {
        net = faultyNetwork(runtime);
        nets.set(name, net);
        networks.set(name, net.state);
      }
      return net.over(handler)(request);
    },
  });
  const run = createRun(fleet, disks, networks, options.seed % THOROUGH === 0);
  const outcome = (findings: readonly string[], played: TestFleet<VirtualRuntime>): Outcome => ({
    findings,
    virtualMs: played.runtime.clock.monotonic(),
    did: run.did,
    digest: digestOf(played, findings),
  });
  try {
    for (const step of steps) await run.take(step);
    await run.heal();
    return outcome(run.oracle.findings, fleet);
  } catch (error) {
    const why = `the history could not be played: ${errorText(error)}`;
    return outcome([...run.oracle.findings, why], fleet);
  } finally {
    await fleet.stop();
  }
}

function digestOf(fleet: TestFleet<VirtualRuntime>, findings: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(findings));
  for (const cluster of [fleet.hub, ...fleet.spokes]) {
    hash.update(cluster.name);
    // What objects hold may follow from keys, which are made anew by every process.
    for (const { key, revision } of cluster.server.store.list('').records)
      hash.update(`${key} ${revision}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

interface Run {
  readonly oracle: Oracle;
  readonly did: Readonly<Record<string, number>>;
  take(step: Step): Promise<void>;
  heal(): Promise<void>;
}

function createRun(
  fleet: TestFleet<VirtualRuntime>,
  disks: ReadonlyMap<string, FaultyStorage>,
  networks: ReadonlyMap<string, FaultyNetwork>,
  thorough: boolean,
): Run {
  const did: Record<string, number> = {};
  const note = (deed: string): void => {
    did[deed] = (did[deed] ?? 0) + 1;
  };
  const clusterOf = (name: string): SimulatedCluster => (name === 'hub' ? fleet.hub : fleet.spoke(name));
  const alive = (cluster: SimulatedCluster): boolean =>
    cluster.engine !== undefined && disks.get(cluster.name)?.crashed !== true;
  const severed = new Set<string>();
  const reachable = (spoke: SimulatedCluster): boolean => alive(spoke) && !severed.has(spoke.name);
  const oracle = createOracle(fleet, { alive, reachable });
  let said = 0;

  /** What people ask of an API server that may be dying, full or away: their request may fail. */
  async function attempt(
    cluster: SimulatedCluster,
    deed: Step['do'] | 'finish',
    act: (client: Client) => Promise<unknown>,
  ): Promise<void> {
    if (!alive(cluster)) return;
    try {
      await fleet.run(act(cluster.client));
      note(deed);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }

  async function take(step: Step): Promise<void> {
    await act(step);
    // A process whose storage broke off is dead, whatever it still says.
    for (const [name, disk] of disks)
      if (disk.crashed && clusterOf(name).engine) {
        note('crash between writes');
        await fleet.kill(clusterOf(name));
      }
    oracle.look();
    await fleet.rest(10);
    oracle.look();
  }

  async function act(step: Step): Promise<void> {
    const { hub } = fleet;
    switch (step.do) {
      case 'put': {
        const labels = { group: step.group };
        const made = configMap(step.name, step.shade, labels);
        const there = alive(hub) && storedBelow(hub, 'core/configmaps/shop').some(named(step.name));
        const patch = { metadata: { labels }, data: { colour: step.shade } };
        return attempt(hub, step.do, (client) =>
          there
            ? client.patch(configMaps, 'shop', step.name, 'merge', patch)
            : client.create(configMaps, made),
        );
      }
      case 'delete':
        return attempt(hub, step.do, (client) => client.delete(configMaps, 'shop', step.name));
      case 'propagate':
        return propagate(step.group, step.tier);
      case 'stop propagating':
        return attempt(hub, step.do, (client) => client.delete(PROPAGATIONS, 'shop', step.group));
      case 'manner':
        oracle.noteManner(step.group);
        return attempt(hub, step.do, (client) =>
          client.patch(PROPAGATIONS, 'shop', step.group, 'merge', { spec: mannerOf(step.manner) }),
        );
      case 'say':
        oracle.noteWord(step.group, step.action);
        return say(step.group, step.action);
      case 'rival':
        return challenge(step.group, step.priority);
      case 'suspend':
        return attempt(hub, step.do, (client) =>
          client.patch(PROPAGATIONS, 'shop', step.group, 'merge', { spec: { suspend: step.on } }),
        );
      case 'edit graph':
        return attempt(hub, step.do, (client) =>
          client.patch(GRAPHS, '', 'shop', 'merge', {
            spec: { resources: (shopGraph(step.edition)['spec'] as { resources: JsonValue }).resources },
          }),
        );
      case 'instance':
        return attempt(clusterOf(step.spoke), step.do, (client) =>
          client.apply(SHOPS, shopInstance(step.name, step.shade), { fieldManager: 'owner', force: true }),
        );
      case 'delete instance':
        return attempt(clusterOf(step.spoke), step.do, (client) =>
          client.delete(SHOPS, 'default', step.name),
        );
      case 'spoil child':
        return attempt(clusterOf(step.spoke), step.do, (client) =>
          step.shade === null
            ? client.delete(configMaps, 'default', `${step.name}-map`)
            : client.patch(configMaps, 'default', `${step.name}-map`, 'merge', {
                data: { colour: step.shade },
              }),
        );
      case 'label':
        return attempt(hub, step.do, (client) =>
          client.patch(SPOKE_CLUSTERS, 'default', step.spoke, 'merge', {
            metadata: { labels: { tier: step.tier } },
          }),
        );
      case 'drift':
        return attempt(clusterOf(step.spoke), step.do, (client) =>
          client.patch(configMaps, 'shop', step.name, 'merge', { data: { colour: step.shade } }),
        );
      case 'remove on spoke':
        return attempt(clusterOf(step.spoke), step.do, (client) =>
          client.delete(configMaps, 'shop', step.name),
        );
      case 'remove order': {
        const spoke = clusterOf(step.spoke);
        const order = alive(spoke) ? dispatchesOn(spoke)[0]?.metadata.name : undefined;
        if (order === undefined) return;
        return attempt(spoke, step.do, (client) => client.delete(DISPATCHES, 'atoll-system', order));
      }
      case 'cut':
        if (!severed.has(step.spoke)) note('cut');
        severed.add(step.spoke);
        return fleet.cut(step.spoke);
      case 'heal':
        severed.delete(step.spoke);
        return fleet.heal(step.spoke);
      case 'one way':
      case 'delay':
      case 'duplicate': {
        const network = networks.get(step.spoke);
        if (!network) return;
        if (step.do !== 'one way') note(step.do);
        else if (step.lost !== 'nothing') note(`lost ${step.lost}`);
        if (step.do === 'one way') network.lose(step.lost);
        else if (step.do === 'delay') network.longestMs = step.longestMs;
        else network.duplicate = step.on;
        return;
      }
      case 'crash':
        disks.get(step.cluster)?.crashAfter(step.afterCommits);
        // With nothing to write it would live on.
        if (step.afterCommits === 0 && clusterOf(step.cluster).engine) {
          note('crash at rest');
          await fleet.kill(clusterOf(step.cluster));
        }
        return;
      case 'start':
        return start(step.cluster);
      case 'fill disk': {
        const disk = disks.get(step.cluster);
        if (disk) disk.full = step.on;
        if (step.on) note('full disk');
        return;
      }
      case 'back up':
        return disks.get(step.cluster)?.backUp();
      case 'restore':
        return restore(step.cluster);
      case 'jump clock':
        oracle.noteJump();
        note('clock jump');
        return fleet.runtime.clock.jump(step.byMs);
      case 'rest':
      case 'wait':
        return fleet.rest(step.ms);
    }
  }

  function propagate(group: string, tier: string | null): Promise<void> {
    const clusterSelector = tier === null ? {} : { matchLabels: { tier } };
    const spec = {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { group } } }],
      placement: { clusterSelector },
      deletionBudget: '100%',
      preemption: 'Always',
      overrides: [{ clusterNames: ['b'], patch: [{ op: 'add', path: '/data/on', value: 'b' }] }],
    };
    return attempt(fleet.hub, 'propagate', async (client) => {
      const there = storedBelow(fleet.hub, 'atoll.dev/propagations/shop').find(named(group));
      if (!there) return client.create(PROPAGATIONS, propagation(group, spec));
      const matchLabels = tier === null ? null : { tier };
      const placement = { clusterSelector: { matchLabels }, numberOfClusters: null };
      return client.patch(PROPAGATIONS, 'shop', group, 'merge', { spec: { placement, failover: null } });
    });
  }

  function challenge(group: string, priority: number | null): Promise<void> {
    const name = rivalOf(group);
    const spec = {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { group } } }],
      placement: { clusterSelector: {} },
      deletionBudget: '100%',
      preemption: 'Always',
      priority,
    };
    return attempt(fleet.hub, 'rival', (client) => {
      if (priority === null) return client.delete(PROPAGATIONS, 'shop', name);
      return storedBelow(fleet.hub, 'atoll.dev/propagations/shop').some(named(name))
        ? client.patch(PROPAGATIONS, 'shop', name, 'merge', { spec: { priority } })
        : client.create(PROPAGATIONS, propagation(name, spec));
    });
  }

  function say(group: string, action: Command): Promise<void> {
    said += 1;
    const word = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'RolloutAction',
      metadata: { name: `word-${said}`, namespace: 'shop' },
      spec: {
        target: { kind: 'Propagation', name: group },
        action,
        ...(action === 'Approve' ? { stage: 'rest' } : {}),
      },
    } as KubeObject;
    return attempt(fleet.hub, 'say', (client) => client.create(ACTIONS, word));
  }

  /** What people do in the end, so that all there is to wait for is time. */
  async function finish(): Promise<void> {
    const wishes = storedBelow(fleet.hub, 'atoll.dev/propagations/shop') as Wish[];
    // What a suspended one lets go no more another could not take in time: such a rollout has failed, and is to be tried again.
    const suspended = wishes.some(({ spec }) => spec.suspend === true);
    for (const { metadata, spec } of wishes) {
      const { name = '' } = metadata;
      if (spec.suspend)
        await attempt(fleet.hub, 'finish', (client) =>
          client.patch(PROPAGATIONS, 'shop', name, 'merge', { spec: { suspend: false } }),
        );
      if (!spec.rollout) continue;
      // Nobody said anything to it: it has to end by itself.
      const isApproved = spec.rollout.stages.some(({ approval }) => approval !== undefined);
      if (!oracle.wasTold(name) && !isApproved && !suspended) continue;
      for (const action of ['Resume', 'Retry', 'Promote', 'Approve'] as const) {
        await say(name, action);
        await fleet.rest(2_000);
      }
    }
  }

  async function start(name: string): Promise<void> {
    const cluster = clusterOf(name);
    const disk = disks.get(name);
    if (cluster.engine && !disk?.crashed) return;
    if (cluster.engine) await fleet.kill(cluster);
    disk?.revive();
    if (disk?.full) disk.full = false;
    await fleet.start(cluster);
  }

  async function restore(name: string): Promise<void> {
    const disk = disks.get(name);
    if (!disk?.hasBackup) return;
    if (clusterOf(name).engine) await fleet.kill(clusterOf(name));
    disk.restore();
    note(name === 'hub' ? 'restore of the hub' : 'restore of a spoke');
    if (name === 'hub') oracle.noteRestore();
    else oracle.forgetPositions(name);
    await start(name);
  }

  /** Lets time pass until everything rests, or for as long as it may take. */
  async function settle(longestMs: number): Promise<void> {
    if (thorough) return fleet.rest(longestMs);
    const revisions = (): string =>
      [fleet.hub, ...fleet.spokes].map(({ server }) => server.store.revision).join();
    const end = fleet.runtime.clock.monotonic() + longestMs;
    for (let before = ''; before !== revisions() && fleet.runtime.clock.monotonic() < end; ) {
      before = revisions();
      await fleet.rest(STILL_MS);
    }
  }

  async function judgement(): Promise<readonly string[]> {
    oracle.look();
    return [...oracle.judgement(), ...(await writesAtRest(fleet, thorough ? IDLE_MS : IDLE_MS / 2))];
  }

  return {
    oracle,
    did,
    take,
    async heal(): Promise<void> {
      for (const disk of disks.values()) disk.full = false;
      for (const network of networks.values()) {
        network.lose('nothing');
        Object.assign(network, { longestMs: 0, duplicate: false });
      }
      for (const name of disks.keys()) {
        await start(name);
        disks.get(name)?.revive();
      }
      for (const spoke of fleet.spokes) fleet.heal(spoke.name);
      severed.clear();
      await settle(HEALING_MS / 2);
      oracle.look();
      // What a person does who finds that the hub was restored.
      if (observes(fleet.hub)) await fleet.run(confirmHub(fleet.hub.client));
      await finish();
      await settle(HEALING_MS);
      let found = await judgement();
      // Something may have waited for its time without a word: it gets all there is.
      if (found.length > 0 && !thorough) {
        await fleet.rest(HEALING_MS);
        found = await judgement();
      }
      for (const finding of found) oracle.find(finding);
    },
  };
}

/** At rest nobody writes anything. */
async function writesAtRest(fleet: TestFleet<VirtualRuntime>, restMs: number): Promise<readonly string[]> {
  const clusters = [fleet.hub, ...fleet.spokes];
  const before = clusters.map(({ server }) => server.store.revision);
  const toldBefore = clusters.map(eventsOf);
  await fleet.rest(restMs);
  return clusters.flatMap((cluster, index) => {
    const { name, server } = cluster;
    const told = eventsOf(cluster);
    // An hour after an Event was told it goes by itself, which may be any time where clocks jump.
    const expired = [...(toldBefore[index] ?? [])].filter((key) => !told.has(key)).length;
    const writes = server.store.revision - (before[index] ?? 0) - expired;
    return writes === 0 ? [] : [`${name} wrote ${writes} times at rest`];
  });
}

function eventsOf({ server }: SimulatedCluster): ReadonlySet<string> {
  const groups = ['/core/events/', '/events.k8s.io/events/'];
  return new Set(groups.flatMap((prefix) => server.store.list(prefix).records.map(({ key }) => key)));
}

/** The parts of a Propagation that a manner is about. */
function mannerOf(manner: Manner): JsonObject {
  const one = { placement: { clusterSelector: { matchLabels: null }, numberOfClusters: 1 }, rollout: null };
  switch (manner) {
    case 'at once':
      return { rollout: null, failover: null, placement: { numberOfClusters: null } };
    case 'staged':
    case 'approved': {
      const rest = { name: 'rest', ...(manner === 'approved' ? { approval: { users: ['admin'] } } : {}) };
      const stages = [{ name: 'canary', clusterNames: ['a'], soakSeconds: 20 }, rest];
      return { rollout: { stages }, failover: null, placement: { numberOfClusters: null } };
    }
    case 'graceful':
      return { ...one, failover: { cluster: { tolerationSeconds: 10, purge: 'Gracefully' } } };
    case 'direct':
      return { ...one, failover: { cluster: { tolerationSeconds: 10, purge: 'Directly' } } };
  }
}

function named(name: string): (object: { metadata: { name?: string } }) => boolean {
  return (object) => object.metadata.name === name;
}
