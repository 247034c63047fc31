import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import { startController } from '../../kube/controller-loop.ts';
import { startLeadership } from '../../kube/leadership.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type ClusterRunOptions, startClusterRun } from './cluster-run.ts';
import type { KeptConnection } from './kept-connection.ts';
import { objectNameOf } from './kind.ts';
import type { Aware, ClusterAccess } from './provider.ts';
import type { Workers } from './workers.ts';

export interface EngagementsOptions extends ClusterRunOptions {
  readonly workers: Workers;
  /** Where several workers may have a cluster: it is fenced by a Lease. */
  readonly fence?: { readonly client: Client; readonly identity: string; readonly namespace: string };
}

/** The clusters that this worker was told of; those that are its own are worked on. */
export interface Engagements extends Aware {
  has(cluster: ClusterName): boolean;
  /** Who works on what has changed. */
  shareAnew(): void;
  stop(): Promise<void>;
}

interface Told {
  readonly access: ClusterAccess;
  readonly signal: AbortSignal;
}

interface Held {
  access: ClusterAccess;
  /** There while this worker has the cluster's Lease. */
  run?: KeptConnection;
  readonly stop: () => Promise<void>;
}

/** Clusters that are begun or ended at the same time; one that hangs holds up no other. */
const AT_ONCE = 64;
/** A Lease a cluster: one renewal in ten seconds. */
const FENCE = { leaseMs: 30_000, renewDeadlineMs: 20_000, retryMs: 10_000 } as const;

export function createEngagements(runtime: Runtime, options: EngagementsOptions): Engagements {
  const { workers, fence, views } = options;
  const told = new Map<ClusterName, Told>();
  const held = new Map<ClusterName, Held>();
  const loop = startController(runtime, {
    name: 'engagements',
    concurrency: AT_ONCE,
    reconcile: (name) => bringAbout(name as ClusterName),
  });
  const stopListening = workers.onChange(shareAnew);

  function shareAnew(): void {
    for (const name of new Set([...told.keys(), ...held.keys()])) loop.enqueue(name);
  }

  function hold(name: ClusterName, access: ClusterAccess): Held {
    if (!fence) {
      const run = startClusterRun(runtime, name, access, options);
      return { access, run, stop: () => run.stop() };
    }
    const lead = { ...FENCE, ...fence, name: `engaged-${objectNameOf(name)}`.slice(0, 253) };
    const leadership = startLeadership(runtime, lead, () => {
      const run = startClusterRun(runtime, name, own.access, options);
      own.run = run;
      return {
        stop() {
          delete own.run;
          views.leave(name);
          return run.stop();
        },
      };
    });
    const own: Held = { access, stop: () => leadership.stop() };
    return own;
  }

  async function bringAbout(name: ClusterName): Promise<void> {
    const wanted = told.get(name);
    const present = held.get(name);
    if (wanted && workers.mine(name)) {
      if (!present) held.set(name, hold(name, wanted.access));
      else if (present.access !== wanted.access) {
        present.access = wanted.access;
        present.run?.use(wanted.access);
      }
      return;
    }
    if (!present) return;
    const worked = present.run !== undefined;
    await present.stop();
    held.delete(name);
    views.leave(name);
    if (worked && !told.has(name)) views.state(name, 'Disengaged', DISENGAGED);
    // It was told of again meanwhile.
    if (told.has(name)) loop.enqueue(name);
  }

  return {
    engage(name, access, signal) {
      if (signal.aborted) return;
      told.set(name, { access, signal });
      signal.addEventListener(
        'abort',
        () => {
          // A rotation came before: this signal means nothing any longer.
          if (told.get(name)?.signal !== signal) return;
          told.delete(name);
          loop.enqueue(name);
        },
        { once: true },
      );
      loop.enqueue(name);
    },
    has: (name) => told.has(name),
    shareAnew,
    async stop() {
      stopListening();
      await loop.stop();
      await Promise.all([...held.values()].map((own) => own.stop()));
      held.clear();
      told.clear();
    },
  };
}

export const DISENGAGED =
  'no provider tells of it any longer; what is there was left as it is, and is looked after by nobody';
