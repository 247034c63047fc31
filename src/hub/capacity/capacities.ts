import { type CapacityReport, capacityOf, tallyPods } from '../../engine/divide/index.ts';
import type { Client } from '../../kube/client.ts';
import { pagesOf } from '../../kube/pages.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { nodes, pods } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { isObject, type JsonValue } from '../../schema/json.ts';
import type { Fleet } from '../fleet.ts';

export interface Capacities {
  /**
   * What is free on a cluster as it was read last. `away` where it could not be read, or not lately; `untold` where the cluster
   * does not let it be known.
   */
  of(cluster: string): CapacityReport | 'away' | 'untold';
  /** Reads those again of which what is known is too old. Never rejects: what cannot be read is not known. */
  refresh(clusters: readonly string[]): Promise<void>;
  /** Something changed there: what is known of it is too old, whenever it was read. */
  outdate(cluster: string): void;
  keep(has: (cluster: string) => boolean): void;
}

export interface CapacitiesOptions {
  readonly fleet: Pick<Fleet, 'session'>;
}

/** Where a spoke's own engine answers, with a few hundred bytes; a cluster that is reached without one is read in full. */
const PATH = '/atoll/capacity';
/** What is read is good for so long: reservations make up for what is decided meanwhile. */
const FRESH_MS = 5_000;
/** Older than this nothing is known, such as of a spoke that is away. */
const LOST_MS = 60_000;
const TIMEOUT_MS = 3_000;
const PAGE = 500;
/** An engine puts nodes together until there are no more than so many classes of them. */
const MOST_CLASSES = 1_000;
/** Clusters that are read at the same time. */
const CONCURRENCY = 32;

interface Reading {
  report: CapacityReport | 'away' | 'untold';
  /** On the monotonic clock. */
  at: number;
  outdated: boolean;
}

export function createCapacities(runtime: Runtime, { fleet }: CapacitiesOptions): Capacities {
  const { clock } = runtime;
  const readings = new Map<string, Reading>();
  const underWay = new Map<string, Promise<void>>();

  async function read(cluster: string): Promise<void> {
    const session = fleet.session(cluster);
    if (session?.link.up !== true) return;
    const controller = new AbortController();
    const timer = clock.after(TIMEOUT_MS, () => controller.abort());
    // What changes while it is read may not be in it.
    const reading: Reading = { report: 'away', at: clock.monotonic(), outdated: false };
    readings.set(cluster, { ...reading, report: readings.get(cluster)?.report ?? 'away' });
    try {
      reading.report = await ask(session.client, controller.signal);
    } catch (error) {
      if (hasCode(error, 403)) reading.report = 'untold';
      const why = controller.signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : errorText(error);
      runtime.log.debug('the room on a spoke could not be read', { spoke: cluster, why });
    } finally {
      timer.cancel();
    }
    readings.set(cluster, { ...reading, outdated: readings.get(cluster)?.outdated ?? false });
  }

  function refreshed(cluster: string): Promise<void> {
    const present = underWay.get(cluster);
    if (present) return present;
    const turn = read(cluster).finally(() => underWay.delete(cluster));
    underWay.set(cluster, turn);
    return turn;
  }

  return {
    of(cluster): CapacityReport | 'away' | 'untold' {
      const reading = readings.get(cluster);
      return reading && clock.monotonic() - reading.at <= LOST_MS ? reading.report : 'away';
    },
    async refresh(clusters): Promise<void> {
      const stale = clusters.filter((cluster) => {
        const reading = readings.get(cluster);
        return (
          !reading ||
          reading.outdated ||
          reading.report === 'away' ||
          clock.monotonic() - reading.at > FRESH_MS
        );
      });
      const waiting = [...stale];
      const worker = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await refreshed(next);
      };
      await Promise.all(Array.from({ length: Math.min(CONCURRENCY, stale.length) }, worker));
    },
    outdate(cluster): void {
      const reading = readings.get(cluster);
      if (reading) reading.outdated = true;
    },
    keep(has): void {
      for (const cluster of readings.keys()) if (!has(cluster)) readings.delete(cluster);
    },
  };
}

async function ask(client: Client, signal: AbortSignal): Promise<CapacityReport> {
  const answer = await ignoring([404, 403], client.getJson<JsonValue>(PATH, { signal }));
  if (isReport(answer)) return answer;
  const tally = tallyPods();
  for await (const items of pagesOf(client, pods, '', { signal, limit: PAGE })) tally.add(items);
  const { items } = await client.list(nodes, '', { signal });
  return { ...capacityOf(items, tally.used), pending: tally.pending };
}

/** A spoke is foreign: what it says is looked at before it is reckoned with. */
function isReport(answer: unknown): answer is CapacityReport {
  if (!isObject(answer) || !isAmounts(answer['free'])) return false;
  const { nodes: classes, pending } = answer;
  const areClasses =
    classes === undefined ||
    (Array.isArray(classes) && classes.length <= MOST_CLASSES && classes.every(isNodeClass));
  const arePending =
    pending === undefined ||
    (Array.isArray(pending) &&
      pending.every((item) => isObject(item) && isWhole(item['count']) && isCount(item['since'])));
  return areClasses && arePending;
}

function isAmounts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isCount);
}

function isNodeClass(item: unknown): boolean {
  if (!isObject(item) || !isWhole(item['count']) || !isAmounts(item['free'])) return false;
  const { labels, taints } = item;
  if (labels !== undefined && !isObject(labels)) return false;
  return taints === undefined || (Array.isArray(taints) && taints.every(isObject));
}

/** A part of a node or of a pod would be a part of a replica. */
function isWhole(value: unknown): boolean {
  return isCount(value) && Number.isSafeInteger(value);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
