import { clusterInfoOf } from '../../dialects/kubevela/cluster-info.ts';
import type { ClusterInfo } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import { readBody } from '../../kube/exchange.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { namespaces, nodes } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { readServedApis, type ServedApis } from './served-apis.ts';

/** What a look at a spoke need not find out again. */
export interface ProbeMemory {
  readonly served?: ServedApis;
  /** Of its namespace kube-system, which a cluster keeps for life. */
  readonly uid?: string;
  /** When it told all of that, by the monotonic clock; absent where it is to be asked. */
  readonly askedAt?: number;
}

/** Who a cluster is, and which release, is asked when its link comes up, and then rarely. */
const ASKED_EVERY_MS = 300_000;

/** What one look at a spoke found. */
export type Probe =
  | {
      readonly reached: true;
      readonly latencyMs: number;
      readonly info: ClusterInfo | undefined;
      readonly infoProblem?: string;
      readonly memory: ProbeMemory;
    }
  /** `unauthorized` is a bad credential, `answered` a server that is there and not well; else it cannot be reached. */
  | {
      readonly reached: false;
      readonly unauthorized: boolean;
      readonly answered: boolean;
      readonly message: string;
    };

/** What a proxy or a balancer on the way says about a server that it cannot reach itself. */
const GATEWAY_CODES = new Set([502, 503, 504]);

/**
 * GET /livez within the time given, then version and nodes unless its engine `stated` them, and what the cluster serves and who
 * it is. Never throws: an unreachable spoke is state, not a fault.
 */
export async function probeSpoke(
  runtime: Runtime,
  client: Client,
  timeoutMs: number,
  memory: ProbeMemory,
  stated: (signal: AbortSignal) => Promise<ClusterInfo | undefined>,
): Promise<Probe> {
  const timeout = new AbortController();
  const { signal } = timeout;
  const timer = runtime.clock.after(timeoutMs, () =>
    timeout.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
  );
  // Who is slow to state it is asked for it by itself, within the same time.
  const waiting = new AbortController();
  const patience = runtime.clock.after(timeoutMs / 2, () => waiting.abort());
  const started = runtime.clock.monotonic();
  const lost = (message: string, status = 0): Probe => ({
    reached: false,
    unauthorized: status === 401,
    answered: status !== 0 && !GATEWAY_CODES.has(status),
    message,
  });
  try {
    const response = await client.handler({ method: 'GET', path: '/livez', headers: {}, signal });
    const body = Buffer.from(await readBody(response, 64 * 1024)).toString('utf8');
    const { status } = response;
    if (status === 401 || status === 403)
      return lost(`the spoke answers ${status} to the credential of the hub`, status);
    if (status !== 200) return lost(`GET /livez on the spoke answers ${status}`, status);
    // Whoever answers in place of the cluster, such as a page to log in at, says something else.
    if (body.trim().toLowerCase() !== 'ok') return lost('GET /livez on the spoke does not answer ok', status);
    const latencyMs = Math.round(runtime.clock.monotonic() - started);
    const found = { reached: true, latencyMs } as const;
    try {
      const info = (await stated(waiting.signal)) ?? (await readInfo(client, signal));
      return { ...found, info, memory: await readMore(runtime, client, memory, signal) };
    } catch (error) {
      if (error instanceof StatusError && error.code === 401)
        return lost('the spoke answers 401 to the credential of the hub', 401);
      return { ...found, info: undefined, infoProblem: errorText(error), memory };
    }
  } catch (error) {
    const reason: unknown = signal.aborted ? signal.reason : error;
    return lost(errorText(reason));
  } finally {
    patience.cancel();
    timer.cancel();
  }
}

async function readInfo(client: Client, signal: AbortSignal): Promise<ClusterInfo> {
  const version = await client.getJson<{ gitVersion?: string }>('/version', { signal });
  const list = await client.list(nodes, '', { signal });
  return clusterInfoOf(version.gitVersion ?? '', list.items);
}

/** Asks a spoke again what it serves, within the time given. What was known stays where it cannot be had. */
export async function refreshApis(
  runtime: Runtime,
  client: Client,
  timeoutMs: number,
  memory: ProbeMemory,
): Promise<ProbeMemory> {
  const timeout = new AbortController();
  const timer = runtime.clock.after(timeoutMs, () =>
    timeout.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
  );
  try {
    const served = await readServedApis(client, memory.served, false, timeout.signal);
    return served === undefined ? memory : { ...memory, served };
  } catch (error) {
    runtime.log.debug('a spoke could not be asked', { what: 'what it serves', why: errorText(error) });
    return memory;
  } finally {
    timer.cancel();
  }
}

/** What is good to know, and no condition of anything: where it cannot be had, what was known stays. */
async function readMore(
  runtime: Runtime,
  client: Client,
  memory: ProbeMemory,
  signal: AbortSignal,
): Promise<ProbeMemory> {
  const now = runtime.clock.monotonic();
  const isDue = memory.askedAt === undefined || now - memory.askedAt >= ASKED_EVERY_MS;
  const orBefore = async <T>(what: string, before: T, read: () => Promise<T | undefined>): Promise<T> => {
    try {
      return (await read()) ?? before;
    } catch (error) {
      // A credential with the least rights may not be let look.
      if (!hasCode(error, 403) && !hasCode(error, 404))
        runtime.log.debug('a spoke could not be asked', { what, why: errorText(error) });
      return before;
    }
  };
  const served = await orBefore('what it serves', memory.served, () =>
    readServedApis(client, memory.served, isDue, signal),
  );
  const known = { ...memory, ...(served === undefined ? {} : { served }) };
  if (!isDue) return known;
  const uid =
    memory.uid ??
    (await orBefore(
      'who it is',
      undefined,
      async () => (await client.get(namespaces, '', 'kube-system', { signal })).metadata.uid,
    ));
  return uid === undefined ? known : { ...known, uid, askedAt: now };
}
