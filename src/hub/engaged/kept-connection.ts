import type { EngineState } from '../../dialects/kro/index.ts';
import type { Client } from '../../kube/client.ts';
import { within } from '../../kube/deadline.ts';
import type { Handler } from '../../kube/exchange.ts';
import { createClient } from '../../kube/rest-client.ts';
import { StatusError } from '../../kube/status-error.ts';
import type { Timer } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { CredentialError } from '../credential/index.ts';
import type { EngagedState } from './kind.ts';
import type { ClusterAccess, ClusterConnection } from './provider.ts';

/** What is done on a cluster, over whatever connection there is. It waits for nothing, and stops without touching what is there. */
export interface ConnectedWork {
  stop(): Promise<void>;
}

export interface KeptConnectionOptions {
  /** How the cluster is. */
  show(state: EngagedState, message?: string): void;
  /** On each API server that an access leads to, anew. The client and the handler go on over rotations; `tell` says how the work is doing. */
  begin(way: ClusterWay): ConnectedWork;
}

export interface ClusterWay {
  readonly access: ClusterAccess;
  readonly client: Client;
  readonly handler: Handler;
  tell(state: EngineState): void;
}

/** Work on one cluster, on whatever connection its access leads to now. */
export interface KeptConnection {
  /** The work goes on with it; what was there before is closed once the new one is. */
  use(access: ClusterAccess): void;
  stop(): Promise<void>;
}

interface Running {
  readonly place: string;
  readonly labels: string;
  readonly work: ConnectedWork;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** A server that hangs with its connections open says nothing: it is asked now and then. */
const PULSE_MS = 30_000;
const ANSWER_MS = 10_000;
/** Whoever works there has had its answers. */
const SETTLED: ReadonlySet<string> = new Set(['Ready', 'EnginePresent', 'AlreadyEngaged']);
/** So many times in a row without an answer it is unreachable, and another connection is tried. */
const MISSES = 2;

/** Finds its way back from everything: bad credentials, rotations, other API servers, and servers that hang. */
export function keepConnected(
  runtime: Runtime,
  first: ClusterAccess,
  { show: tellState, begin }: KeptConnectionOptions,
): KeptConnection {
  const { clock, log } = runtime;
  let access = first;
  let used: ClusterAccess | undefined;
  let connection: ClusterConnection | undefined;
  let running: Running | undefined;
  let retry: Timer | undefined;
  let failures = 0;
  let stopped = false;
  let turn: Promise<void> = Promise.resolve();
  /** What the engine said last, for when the credential is right again. */
  let told: EngineState | undefined;
  let pulse: Timer | undefined;
  let missed = 0;

  /** Whatever connection there is now: work goes on over a rotation. */
  const handler: Handler = async (request) => {
    if (!connection) throw new Error('the cluster is not connected to');
    return connection.handler(request);
  };

  const newClient = (): Client => createClient(handler, { clock, userAgent: 'atoll-hub' });
  const asking = newClient();

  function show(): void {
    if (stopped) return;
    if (missed >= MISSES)
      tellState('Unreachable', 'the cluster does not answer; it is asked again on another connection');
    else if (told) tellState(told.state, 'message' in told ? told.message : undefined);
  }

  async function look(): Promise<void> {
    const of = connection;
    const before = missed;
    if (!of) {
      // There is a credential to be put right, or a connection is about to be opened.
      pulse = clock.after(PULSE_MS, look);
      return;
    }
    try {
      await within(clock, ANSWER_MS, (signal) => asking.getJson('/version', { signal }));
      missed = 0;
    } catch (error) {
      // Whoever refuses is there.
      missed = error instanceof StatusError && error.code < 500 ? 0 : missed + 1;
    }
    if (stopped) return;
    pulse = clock.after(PULSE_MS, look);
    // It was rotated meanwhile: what was asked says nothing of the new connection.
    if (connection !== of) return;
    // It answers, while what was asked before does not come to an end.
    const stuck = missed === 0 && !SETTLED.has(told?.state ?? '');
    if (missed >= MISSES || stuck) {
      // Others who share it find out for themselves; nobody is given it any more.
      of.abandon?.();
      of.close();
      connection = undefined;
      used = undefined;
      step();
    }
    if (missed >= MISSES !== before >= MISSES) show();
  }

  function step(): void {
    retry?.cancel();
    retry = undefined;
    turn = turn.then(connect).catch((error: unknown) => {
      log.error('a cluster could not be worked on by a defect', { error: errorText(error) });
      again();
    });
  }

  function again(): void {
    if (stopped) return;
    failures += 1;
    retry?.cancel();
    retry = clock.after(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)), step);
  }

  async function connect(): Promise<void> {
    const wanted = access;
    if (stopped || used === wanted) return;
    let opened: ClusterConnection;
    try {
      opened = await opening(wanted);
    } catch (error) {
      const why = errorText(error);
      const before = connection === undefined ? '' : '; the credential of before is used meanwhile';
      if (!(error instanceof CredentialError)) log.warn('a cluster cannot be connected to', { why });
      if (!stopped) tellState('Refused', `${why}${before}`);
      again();
      return;
    }
    if (stopped) return opened.close();
    const labels = JSON.stringify(wanted.labels);
    const old = connection;
    // On another API server nothing that is known holds.
    const goesOn = running?.place === opened.place && running.labels === labels;
    connection = opened;
    used = wanted;
    failures = 0;
    if (goesOn) {
      old?.close();
      show();
      return;
    }
    const ending = running?.work.stop();
    old?.close();
    await ending;
    if (stopped) return;
    running = { place: opened.place, labels, work: work(wanted) };
    // The name stays engaged: what came meanwhile is the next turn.
    if (access !== wanted) step();
  }

  function work(of: ClusterAccess): ConnectedWork {
    told = undefined;
    return begin({
      access: of,
      // What one API server serves says nothing of another.
      client: newClient(),
      handler,
      tell(state) {
        told = state;
        show();
      },
    });
  }

  /** Names are resolved on the way, by whoever may not answer. */
  function opening(wanted: ClusterAccess): Promise<ClusterConnection> {
    return within(clock, ANSWER_MS, (signal) =>
      wanted.connect().then((opened) => {
        if (signal.aborted) opened.close();
        return opened;
      }),
    );
  }

  tellState('Engaging');
  step();
  pulse = clock.after(PULSE_MS, look);

  return {
    use(next) {
      access = next;
      failures = 0;
      step();
    },
    async stop() {
      stopped = true;
      retry?.cancel();
      pulse?.cancel();
      const ending = running?.work.stop();
      connection?.close();
      connection = undefined;
      await turn;
      await ending;
    },
  };
}
