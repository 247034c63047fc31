import type { EngineState } from '../../dialects/kro/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import { within } from '../../kube/deadline.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ConnectedWork } from './kept-connection.ts';
import { askId, type Twins } from './twins.ts';

export interface OnceOnlyOptions {
  readonly cluster: ClusterName;
  readonly twins: Twins;
  /** Of the cluster. */
  readonly client: Client;
  tell(state: EngineState): void;
  begin(): ConnectedWork;
}

const ANSWER_MS = 5_000;
const RETRY_MS = 1_000;

/** Work on a cluster, begun once it is known that nobody does it under another name; until then nothing is written there. */
export function onceOnly(runtime: Runtime, options: OnceOnlyOptions): ConnectedWork {
  const { cluster, twins, client, tell, begin } = options;
  const { clock, log } = runtime;
  const ending = new AbortController();
  let id: string | undefined;
  let work: ConnectedWork | undefined;
  let retry: Timer | undefined;
  let unlisten: (() => void) | undefined;
  let turn: Promise<void> = Promise.resolve();

  function again(): void {
    if (!ending.signal.aborted) retry = clock.after(RETRY_MS, ask);
  }

  function ask(): void {
    within(clock, ANSWER_MS, (signal) => askId(client, AbortSignal.any([signal, ending.signal]))).then(
      (found) => {
        if (ending.signal.aborted) return;
        id = found;
        if (id !== undefined) unlisten = twins.listen(id, decide);
        decide();
      },
      (error: unknown) => {
        if (ending.signal.aborted) return;
        const why = errorText(error);
        tell({
          state: 'Unreachable',
          message: `the cluster does not answer; it is asked again: ${why}`,
        });
        again();
      },
    );
  }

  function decide(): void {
    retry?.cancel();
    turn = turn.then(step).catch((error: unknown) => {
      log.warn('it cannot be told yet under which names a cluster is engaged', { why: errorText(error) });
      if (!ending.signal.aborted) retry = clock.after(RETRY_MS, decide);
    });
  }

  async function step(): Promise<void> {
    if (ending.signal.aborted) return;
    const twin = await twins.claim(cluster, id);
    if (ending.signal.aborted) return;
    if (twin === undefined) {
      work ??= begin();
      return;
    }
    const before = work;
    work = undefined;
    await before?.stop();
    tell({
      state: 'AlreadyEngaged',
      message: `it is the same cluster as ${twin}, which is engaged already: by this name nothing is written there. Next: take one of the two credentials away; see: kubectl get engagedclusters`,
    });
  }

  ask();

  return {
    async stop() {
      ending.abort(new Error('the cluster is let go of'));
      retry?.cancel();
      unlisten?.();
      const stopping = work?.stop();
      await turn;
      await stopping;
      twins.release(cluster);
    },
  };
}
