import {
  ACCESS_GRANT,
  type AccessGrant,
  type AccessGrantStatus,
  findGrant,
  type GrantedAct,
  type GrantState,
  grantCovers,
  grantState,
} from '../../engine/access/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { type EventRecorder, startEventRecorder } from '../../kube/events.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { hasCode } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/clock.ts';
import type { Runtime, Timer } from '../../runtime/index.ts';
import { errorText } from '../../runtime/log.ts';

/** The grants of a hub, asked at each request that needs one. */
export interface Grants {
  /** The grant that allows an act now, which is counted as used; undefined where there is none. */
  use(act: GrantedAct): AccessGrant | undefined;
  /** A grant about the act that does not count yet or any more, for whoever is refused. */
  nearest(act: GrantedAct): AccessGrant | undefined;
  /** Calls `cut` once when the act is no longer allowed. Returns what ends the watching. */
  follow(act: GrantedAct, cut: (why: string) => void): () => void;
  /** Why no grant counts, where that is so for all. */
  readonly problem: string | undefined;
  stop(): void;
}

const RESOURCE = resourceIdOf(ACCESS_GRANT);
/** Uses are written down this long after the first that is not, all together. */
const COUNT_AFTER_MS = 10_000;
/** Whoever counts at the same time is one of few. */
const COUNT_ATTEMPTS = 8;
/** Timers of JavaScript go no further; a clock that was set may have changed what time it is, too. */
const LOOK_AGAIN_MS = 60_000;
const ENDED = 'the grant that allowed it has ended';

interface Uses {
  count: number;
  at: number;
  last: string;
}

/** Nothing is durable at a request: uses are counted here, and written to the grant's status now and then. */
export function startGrants(runtime: Runtime, client: Client, problem?: string): Grants {
  if (problem !== undefined) return noGrants(problem);
  const { clock, log } = runtime;
  const copy: Informer<AccessGrant> = startInformer<AccessGrant>(runtime, client, RESOURCE);
  const recorder: EventRecorder = startEventRecorder(runtime, client, { component: 'atoll-access' });
  const uses = new Map<string, Uses>();
  const streams = new Set<{ readonly act: GrantedAct; readonly cut: (why: string) => void }>();
  let counting: Timer | undefined;
  let looking: Timer | undefined;
  /** States that are being written down. */
  const writing = new Map<string, GrantState>();
  let isDue = false;
  let stopped = false;

  copy.onChange(({ type, object }) => {
    if (type === 'deleted') uses.delete(nameOf(object));
    if (isDue || stopped) return;
    // Of many changes at once one look sees all.
    isDue = true;
    clock.defer(look);
  });

  /** Judges every grant and every stream again, and once more when the next of them ends. */
  function look(): void {
    isDue = false;
    if (stopped) return;
    looking?.cancel();
    looking = undefined;
    const now = clock.now();
    const live: AccessGrant[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const grant of copy.list()) {
      const { state, message, until } = grantState(grant, now);
      if (until !== undefined) next = Math.min(next, until);
      if (state === 'Live') live.push(grant);
      if (grant.status?.state !== state && writing.get(nameOf(grant)) !== state)
        write(grant, { state, message });
    }
    for (const stream of streams) {
      if (findGrant(live, stream.act, now)) continue;
      streams.delete(stream);
      stream.cut(ENDED);
    }
    if (next !== Number.POSITIVE_INFINITY)
      looking = clock.after(Math.max(0, Math.min(next - now, LOOK_AGAIN_MS)), look);
  }

  function write(grant: AccessGrant, status: AccessGrantStatus & { readonly state: GrantState }): void {
    const name = nameOf(grant);
    const { state } = status;
    writing.set(name, state);
    client
      .patch(RESOURCE, '', name, 'merge', { status }, { subresource: 'status' })
      .catch((error: unknown) => complain(name, error))
      .finally(() => {
        if (writing.get(name) === state) writing.delete(name);
      });
  }

  function complain(grant: string, error: unknown): void {
    if (stopped || hasCode(error, 404)) return;
    log.warn('the status of a grant could not be written', { grant, why: errorText(error) });
  }

  function count(grant: AccessGrant, { user, cluster, namespace, what }: GrantedAct, now: number): void {
    const name = nameOf(grant);
    const seen = uses.get(name) ?? { count: 0, at: 0, last: '' };
    uses.set(name, {
      count: seen.count + 1,
      at: now,
      last: `${user.name}: ${what} on ${cluster.name}${namespace === '' ? '' : `, namespace ${namespace}`}`,
    });
    counting ??= clock.after(COUNT_AFTER_MS, writeUses);
  }

  function writeUses(): void {
    counting = undefined;
    for (const [name, used] of uses) {
      const grant = copy.get('', name);
      if (!grant) continue;
      const { count, last } = used;
      recorder.record(grant, 'Normal', 'GrantUsed', `${last} (${count} times in ${COUNT_AFTER_MS / 1000} s)`);
      addUses(name, used).catch((error: unknown) => complain(name, error));
    }
    uses.clear();
  }

  /** Replicas of a hub count what was asked of each: the sum is lost by none. */
  async function addUses(name: string, { count, at, last }: Uses): Promise<void> {
    for (let left = COUNT_ATTEMPTS; ; left--) {
      const { metadata, status } = await client.get<AccessGrant>(RESOURCE, '', name);
      const counted = { uses: (status?.uses ?? 0) + count, lastUsedAt: formatTime(at), lastUse: last };
      try {
        await client.patch(
          RESOURCE,
          '',
          name,
          'merge',
          { metadata: { resourceVersion: metadata.resourceVersion ?? '' }, status: counted },
          { subresource: 'status' },
        );
        return;
      } catch (error) {
        if (!hasCode(error, 409) || left <= 1) throw error;
      }
    }
  }

  return {
    problem: undefined,
    use(act) {
      const now = clock.now();
      const found = findGrant(copy.list(), act, now);
      if (found) count(found.grant, act, now);
      return found?.grant;
    },
    nearest: (act) => copy.list().find((grant) => grantCovers(grant, act)),
    follow(act, cut) {
      if (!findGrant(copy.list(), act, clock.now())) {
        cut(ENDED);
        return () => undefined;
      }
      const stream = { act, cut };
      streams.add(stream);
      return () => void streams.delete(stream);
    },
    stop() {
      stopped = true;
      looking?.cancel();
      counting?.cancel();
      copy.stop();
      recorder.stop();
      for (const { cut } of streams) cut('the hub stops');
      streams.clear();
    },
  };
}

function noGrants(problem: string): Grants {
  return {
    problem,
    use: () => undefined,
    nearest: () => undefined,
    follow: () => () => undefined,
    stop: () => undefined,
  };
}

function nameOf({ metadata }: AccessGrant): string {
  return metadata.name ?? '';
}
