import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import { DETACH_FINALIZER } from '../../hub/inventory/index.ts';
import {
  JOINED_LABEL,
  pendingRequests,
  recordLetGo,
  revokeJoinToken,
  spokeClusterNamed,
} from '../../hub/join/index.ts';
import { RETRACTION, type Retraction } from '../../hub/propagate/retractions.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { refText } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { certificateSigningRequests, secrets } from '../../kube/well-known.ts';
import { sleep } from '../../runtime/clock.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { readFleetAtHub } from '../fleet-reading.ts';
import { type AskingOptions, ask } from '../output.ts';
import { startProgress } from '../progress.ts';

export interface DetachOptions extends AskingOptions {
  readonly cleanup?: boolean;
  readonly orphan?: boolean;
  readonly force: boolean;
  /** Seconds. */
  readonly timeout?: number;
}

export interface DetachReport {
  readonly cluster: string;
  readonly policy: 'detach' | 'cleanup' | 'orphan';
  readonly outcome: 'gone' | 'forced' | 'waiting';
  /** Whether the cluster was there to be told. One that was not is let go all the same, with its orders, and keeps itself up. */
  readonly told: boolean;
  /** What is still on the cluster, as far as that is known. */
  readonly residues: readonly string[];
}

export interface DetachWish {
  readonly name: string;
  readonly policy?: DetachReport['policy'];
  readonly force: boolean;
  readonly timeoutMs: number;
}

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
const RETRACTIONS = resourceIdOf(RETRACTION);
const WAIT_MS = 300_000;
const FORCED_WAIT_MS = 30_000;
const SETTLE_MS = 15_000;

/** Ends with 1 where the cluster is not gone. */
export function detach(name: string, options: DetachOptions): Promise<void> {
  return ask(options, async (asking) => {
    if (options.cleanup === true && options.orphan === true)
      throw new Error('--cleanup takes away what --orphan leaves: choose one');
    const runtime = systemRuntime();
    const progress = startProgress(runtime.clock);
    const { hub } = asking;
    const policy = options.cleanup === true ? 'cleanup' : options.orphan === true ? 'orphan' : undefined;
    try {
      const report = await detachCluster(
        runtime,
        hub.client,
        hub.spokeClient(name),
        {
          name,
          force: options.force,
          timeoutMs:
            options.timeout === undefined
              ? options.force
                ? FORCED_WAIT_MS
                : WAIT_MS
              : options.timeout * 1000,
          ...(policy === undefined ? {} : { policy }),
        },
        (text) => progress.step(text),
      );
      progress.stop();
      asking.print(report, detachText);
      return report.outcome === 'waiting' ? 1 : 0;
    } finally {
      progress.stop();
    }
  });
}

/**
 * Lets a cluster go by its policy and waits until the hub has done so. By force the wait is bounded: then the SpokeCluster goes
 * whatever is left on the cluster, which is told as far as it is known.
 */
export async function detachCluster(
  runtime: Pick<Runtime, 'clock'>,
  hub: Client,
  spoke: Client,
  wish: DetachWish,
  onStep: (text: string) => void,
): Promise<DetachReport> {
  const { name, force, timeoutMs } = wish;
  const cluster = await spokeClusterNamed(hub, name);
  if (!cluster) throw new Error(`the hub has no SpokeCluster ${name}`);
  const policy = wish.policy ?? cluster.spec.deletionPolicy ?? 'detach';
  const { namespace = '' } = cluster.metadata;
  if (wish.policy !== undefined && wish.policy !== cluster.spec.deletionPolicy)
    await hub.patch(SPOKE_CLUSTERS, namespace, name, 'merge', { spec: { deletionPolicy: wish.policy } });
  if (policy === 'orphan') await credentialStays(runtime, hub, cluster);
  await ignoring(404, hub.delete(SPOKE_CLUSTERS, namespace, name));
  onStep(waitText(name, policy));
  let seen = cluster;
  let gone = await untilGone(runtime, hub, cluster, timeoutMs, async (present) => {
    seen = present;
    const left = await ordersOn(spoke);
    onStep(
      left === undefined ? `what ${name} holds is not known` : `${left.length} orders are left on ${name}`,
    );
  });
  const told = seen.status?.connection === 'Connected';
  let residues: readonly string[] = [];
  if (!gone) residues = await residuesOf(hub, spoke, name);
  if (gone || force) await forget(hub, name);
  if (gone) return { cluster: name, policy, outcome: 'gone', told, residues: [] };
  if (!force) return { cluster: name, policy, outcome: 'waiting', told, residues };
  await recordLetGo(runtime, hub, name);
  await dropFinalizer(hub, cluster);
  gone = await untilGone(runtime, hub, cluster, FORCED_WAIT_MS, async () => undefined);
  return { cluster: name, policy, outcome: gone ? 'forced' : 'waiting', told, residues };
}

/** Resolves with whether the SpokeCluster went within the time. `onWait` is called now and then. */
async function untilGone(
  { clock }: Pick<Runtime, 'clock'>,
  hub: Client,
  { metadata: { namespace = '', name = '', uid } }: SpokeCluster,
  timeoutMs: number,
  onWait: (present: SpokeCluster) => Promise<void>,
): Promise<boolean> {
  const deadline = clock.monotonic() + timeoutMs;
  for (;;) {
    let present: SpokeCluster;
    try {
      present = await hub.get<SpokeCluster>(SPOKE_CLUSTERS, namespace, name);
      if (present.metadata.uid !== uid) return true;
    } catch (error) {
      if (hasCode(error, 404)) return true;
      throw error;
    }
    const left = deadline - clock.monotonic();
    if (left <= 0) return false;
    await onWait(present);
    await nextChange(clock, hub, namespace, name, Math.min(left, 2_000));
  }
}

/** Until the SpokeCluster changes, or the time is over. */
async function nextChange(
  clock: Runtime['clock'],
  hub: Client,
  namespace: string,
  name: string,
  withinMs: number,
): Promise<void> {
  const over = new AbortController();
  const timer = clock.after(withinMs, () => over.abort());
  try {
    const changes = hub.watch(SPOKE_CLUSTERS, namespace, {
      fieldSelector: `metadata.name=${name}`,
      signal: over.signal,
    });
    for await (const { type } of changes) if (type === 'DELETED' || type === 'ERROR') return;
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    timer.cancel();
    over.abort();
  }
}

/** The orders on a cluster; undefined where it cannot be asked. */
async function ordersOn(spoke: Client): Promise<readonly Dispatch[] | undefined> {
  try {
    return (await spoke.list<Dispatch>(resourceIdOf(DISPATCH), SYSTEM_NAMESPACE)).items;
  } catch {
    // Whatever is the matter with it, its orders are not known.
    return undefined;
  }
}

async function residuesOf(hub: Client, spoke: Client, name: string): Promise<string[]> {
  const orders = await ordersOn(spoke);
  if (orders) return orders.flatMap(({ spec }) => spec.objects.map(refText));
  const { propagations } = await readFleetAtHub(hub);
  const known = propagations.filter(({ status }) => status?.dispatchedTo?.includes(name) === true);
  return known.map(({ kind, metadata: { namespace = '', name: source = '' } }) =>
    namespace === '' ? `all of ${kind} ${source}` : `all of ${kind} ${namespace}/${source}`,
  );
}

/** What lets a spoke of this name in, and what is owed to it. */
async function forget(hub: Client, name: string): Promise<void> {
  await revokeJoinToken(hub, name);
  for (const { metadata } of await pendingRequests(hub, name))
    await ignoring(404, hub.delete(certificateSigningRequests, '', metadata.name ?? ''));
  const { items } = await hub.list<Retraction>(RETRACTIONS, '');
  for (const { metadata, spec } of items) {
    if (!spec.clusters.includes(name)) continue;
    const clusters = spec.clusters.filter((other) => other !== name);
    await ignoring(
      404,
      clusters.length === 0
        ? hub.delete(RETRACTIONS, '', metadata.name ?? '')
        : hub.patch(RETRACTIONS, '', metadata.name ?? '', 'merge', { spec: { clusters } }),
    );
  }
}

/** A credential that `atoll join` made would go with its SpokeCluster: the hub lets go of it first. */
async function credentialStays(
  { clock }: Pick<Runtime, 'clock'>,
  hub: Client,
  { metadata: { namespace = '', name = '' } }: SpokeCluster,
): Promise<void> {
  const labelSelector = `${JOINED_LABEL}=${name}`;
  const deadline = clock.monotonic() + SETTLE_MS;
  for (;;) {
    const { items } = await hub.list(secrets, namespace, { labelSelector });
    if (items.every(({ metadata }) => (metadata.ownerReferences ?? []).length === 0)) return;
    if (clock.monotonic() > deadline)
      throw new Error(`the hub does not let go of the credential of ${name}: does it run?`);
    await sleep(clock, 100);
  }
}

async function dropFinalizer(hub: Client, cluster: SpokeCluster): Promise<void> {
  const { namespace = '', name = '' } = cluster.metadata;
  try {
    const { metadata } = await hub.get(SPOKE_CLUSTERS, namespace, name);
    const finalizers = (metadata.finalizers ?? []).filter((item) => item !== DETACH_FINALIZER);
    await hub.patch(SPOKE_CLUSTERS, namespace, name, 'merge', {
      metadata: { finalizers, resourceVersion: metadata.resourceVersion },
    });
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
  }
}

function waitText(name: string, policy: DetachReport['policy']): string {
  const what = { detach: 'to let go of its objects', cleanup: 'to be cleaned', orphan: 'to be forgotten' };
  return `waiting for ${name} ${what[policy]}`;
}

export function detachText({ cluster, policy, outcome, told, residues }: DetachReport): string {
  const list = residues.map((item) => `  ${item}\n`).join('');
  switch (outcome) {
    case 'gone': {
      if (!told && policy === 'detach')
        return `${cluster} is forgotten. It could not be told: orders that it has stay in force there. On the cluster, to end that: atoll leave --force\n`;
      const stays = {
        detach: 'its objects stay',
        cleanup: 'what was dispatched is gone',
        orphan: 'its orders stay',
      };
      return `${cluster} is detached; ${stays[policy]}. On the cluster, to take away the hub's rights: atoll leave\n`;
    }
    case 'forced':
      return `${cluster} is forgotten.${list === '' ? '' : ` Left over there, as far as is known:\n${list}`}\nOn the cluster, when it is back: atoll leave --force\n`;
    default:
      return `${cluster} is not gone yet.${list === '' ? '' : ` Still there, as far as is known:\n${list}`}\nThe hub goes on with it. To forget it all the same: atoll detach ${cluster} --force\n`;
  }
}
