import { clusterInfoOf } from '../dialects/kubevela/cluster-info.ts';
import type { ClusterInfo } from '../dialects/kubevela/types.ts';
import { readBody } from '../kube/exchange.ts';
import { StatusError } from '../kube/status-error.ts';
import { nodes } from '../kube/well-known.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SpokeSession } from './fleet.ts';

/** What one look at a spoke found. */
export type Probe =
  | {
      readonly reached: true;
      readonly latencyMs: number;
      readonly info: ClusterInfo | undefined;
      readonly infoProblem?: string;
    }
  /** `Unauthorized` is a bad credential; everything else is a spoke that cannot be reached. */
  | { readonly reached: false; readonly unauthorized: boolean; readonly message: string };

/** GET /livez within the time given, then version and nodes. Never throws: an unreachable spoke is state, not a fault. */
export async function probeSpoke(runtime: Runtime, session: SpokeSession, timeoutMs: number): Promise<Probe> {
  const timeout = new AbortController();
  const timer = runtime.clock.after(timeoutMs, () =>
    timeout.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
  );
  const started = runtime.clock.monotonic();
  try {
    const response = await session.client.handler({
      method: 'GET',
      path: '/livez',
      headers: {},
      signal: timeout.signal,
    });
    await readBody(response, 64 * 1024);
    if (response.status === 401 || response.status === 403) {
      return {
        reached: false,
        unauthorized: response.status === 401,
        message: `the spoke answers ${response.status} to the credential of the hub`,
      };
    }
    if (response.status !== 200)
      return {
        reached: false,
        unauthorized: false,
        message: `GET /livez on the spoke answers ${response.status}`,
      };
    const latencyMs = Math.round(runtime.clock.monotonic() - started);
    try {
      const version = await session.client.getJson<{ gitVersion?: string }>('/version', {
        signal: timeout.signal,
      });
      const list = await session.client.list(nodes, '', { signal: timeout.signal });
      return { reached: true, latencyMs, info: clusterInfoOf(version.gitVersion ?? '', list.items) };
    } catch (error) {
      if (error instanceof StatusError && error.code === 401)
        return {
          reached: false,
          unauthorized: true,
          message: 'the spoke answers 401 to the credential of the hub',
        };
      return { reached: true, latencyMs, info: undefined, infoProblem: errorText(error) };
    }
  } catch (error) {
    const reason: unknown = timeout.signal.aborted ? timeout.signal.reason : error;
    return { reached: false, unauthorized: false, message: errorText(reason) };
  } finally {
    timer.cancel();
  }
}
