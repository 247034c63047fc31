import { formatMicroTime, type Timer } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { numberAt, stringAt } from '../schema/json.ts';
import type { Client } from './client.ts';
import { within } from './deadline.ts';
import { startInformer } from './informer-cache.ts';
import type { KubeObject } from './object.ts';
import { hasCode } from './status-error.ts';
import { leases } from './well-known.ts';

export interface LeadershipOptions {
  readonly client: Client;
  /** Of this process among those that may lead; different for each. */
  readonly identity: string;
  /** Of the Lease. */
  readonly namespace: string;
  readonly name: string;
  /** How long a leader that says nothing is believed in. 15 s by default. */
  readonly leaseMs?: number;
  /** A leader that could not renew for so long leads no more. 10 s by default, less than the lease in any case. */
  readonly renewDeadlineMs?: number;
  /** 2 s by default. */
  readonly retryMs?: number;
}

export interface Leadership {
  readonly leading: boolean;
  /** Ends the work, then gives the Lease away, so that another one need not wait for its end. */
  stop(): Promise<void>;
}

/** What leads does. */
export interface LedWork {
  stop(): Promise<void>;
}

/**
 * Does `lead` in one process of several at a time, by a Lease of Kubernetes. Others watch it: they begin as soon as it is given away,
 * or when it was not renewed for its time by their own clock. Who cannot renew stops before that.
 */
export function startLeadership(
  runtime: Runtime,
  options: LeadershipOptions,
  lead: () => LedWork,
): Leadership {
  const { clock, log } = runtime;
  const { client, identity, namespace, name } = options;
  const leaseMs = options.leaseMs ?? 15_000;
  const retryMs = options.retryMs ?? 2_000;
  const deadlineMs = Math.min(options.renewDeadlineMs ?? 10_000, leaseMs - retryMs);
  const lease = startInformer(runtime, client, leases, { namespace, fieldSelector: `metadata.name=${name}` });
  let held: { lease: KubeObject; renewedAt: number; work: LedWork } | undefined;
  let seenAt = clock.monotonic();
  let timer: Timer | undefined;
  let stopped = false;
  let turn: Promise<void> = Promise.resolve();

  function again(afterMs: number): void {
    timer?.cancel();
    if (!stopped) timer = clock.after(Math.max(0, afterMs), step);
  }

  /** One thing after the other. */
  function step(): void {
    turn = turn.then(held ? renew : attempt).catch((error: unknown) => {
      log.error('leadership failed by a defect', { error: errorText(error) });
      again(retryMs);
    });
  }

  function spec(before: KubeObject | undefined): object {
    const now = formatMicroTime(clock.now());
    const own = stringAt(before, 'spec', 'holderIdentity') === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(leaseMs / 1_000)),
      acquireTime: own ? (stringAt(before, 'spec', 'acquireTime') ?? now) : now,
      renewTime: now,
      leaseTransitions: (numberAt(before, 'spec', 'leaseTransitions') ?? 0) + (before && !own ? 1 : 0),
    };
  }

  async function attempt(): Promise<void> {
    if (stopped || held) return;
    if (!lease.synced) return again(retryMs);
    const before = lease.get(namespace, name);
    const holder = stringAt(before, 'spec', 'holderIdentity') ?? '';
    const left = seenAt + leaseMs - clock.monotonic();
    if (before && holder !== '' && holder !== identity && left > 0) return again(left);
    const began = clock.monotonic();
    try {
      const taken = await within(clock, deadlineMs, (signal) =>
        before
          ? client.update(leases, { ...before, spec: spec(before) } as KubeObject, { signal })
          : client.create(
              leases,
              {
                apiVersion: 'coordination.k8s.io/v1',
                kind: 'Lease',
                metadata: { name, namespace },
                spec: spec(undefined),
              },
              { signal },
            ),
      );
      if (stopped) return;
      held = { lease: taken, renewedAt: began, work: lead() };
      log.info('leads', { lease: `${namespace}/${name}`, identity });
    } catch (error) {
      // Somebody else was faster, which the watch tells.
      if (!hasCode(error, 409)) log.debug('the lease could not be taken', { error: errorText(error) });
    }
    again(retryMs);
  }

  async function renew(): Promise<void> {
    if (!held || stopped) return;
    const { lease: before } = held;
    const began = clock.monotonic();
    const left = held.renewedAt + deadlineMs - began;
    try {
      if (left <= 0) return await lose('it could not be renewed');
      const renewed = await within(clock, left, (signal) =>
        client.update(leases, { ...before, spec: spec(before) } as KubeObject, { signal }),
      );
      held.lease = renewed;
      held.renewedAt = began;
    } catch (error) {
      if (hasCode(error, 409) || hasCode(error, 404)) return lose('somebody else has it');
      log.warn('the lease could not be renewed', { error: errorText(error) });
      if (clock.monotonic() - held.renewedAt >= deadlineMs) return lose('it could not be renewed');
    }
    again(retryMs);
  }

  async function lose(why: string): Promise<void> {
    const work = held?.work;
    held = undefined;
    log.warn('leads no more', { lease: `${namespace}/${name}`, why });
    await work?.stop();
    again(retryMs);
  }

  lease.onChange(() => {
    seenAt = clock.monotonic();
    if (!held) again(0);
  });
  again(0);

  return {
    get leading() {
      return held !== undefined;
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      lease.stop();
      await turn;
      if (!held) return;
      const { work, lease: before } = held;
      held = undefined;
      await work.stop();
      try {
        const given = { ...(before['spec'] as object), holderIdentity: '' };
        await within(clock, retryMs, (signal) =>
          client.update(leases, { ...before, spec: given } as KubeObject, { signal }),
        );
      } catch (error) {
        log.debug('the lease could not be given away; it ends by itself', { error: errorText(error) });
      }
    },
  };
}
