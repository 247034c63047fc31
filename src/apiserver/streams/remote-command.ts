import type { Status } from '../../kube/status-error.ts';
import { badRequest } from '../../kube/status-error.ts';
import type { Clock, Timer } from '../../runtime/index.ts';
import type { TerminalDevice } from '../workloads/containers/index.ts';
import type { ByteSink, ByteSource } from './byte-pipe.ts';

/** What a client of `exec` or `attach` wants. */
export interface CommandRequest {
  readonly container: string | undefined;
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The streams between a command and its client, whatever carries them. */
export interface CommandStreams {
  readonly stdin: ByteSource;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
  /** Sizes of the client's terminal, as JSON texts. */
  readonly sizes: ByteSource | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** Runs what was asked for; resolves with how it ended, for the client. */
export type ServeCommand = (streams: CommandStreams) => Promise<Status>;

/** Reads the query of `exec` and `attach`. Throws 400. */
export function commandRequest(query: URLSearchParams): CommandRequest {
  const flag = (name: string): boolean => query.get(name) === 'true' || query.get(name) === '1';
  const tty = flag('tty');
  const asked = {
    container: query.get('container') ?? undefined,
    command: query.getAll('command'),
    stdin: flag('stdin'),
    stdout: flag('stdout'),
    // A terminal has one output.
    stderr: flag('stderr') && !tty,
    tty,
  };
  if (!asked.stdin && !asked.stdout && !asked.stderr)
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  return asked;
}

/** The Status that tells an exit code. */
export function exitStatus(code: number): Status {
  if (code === 0) return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

const PROBE_MS = 30_000;

/**
 * Says something without meaning to the client now and then. A client that has gone while its input was not wanted is noticed
 * by that alone, since nothing is read that would tell. Returns how to stop.
 */
export function probeClient(clock: Clock, probe: () => void): () => void {
  let timer: Timer;
  const again = (): void => {
    timer = clock.after(PROBE_MS, () => {
      probe();
      again();
    });
  };
  again();
  return () => timer.cancel();
}

const MAX_SIZE_TEXT = 1024;
const MAX_COLUMNS = 0xffff;

/** Tells a terminal of the sizes that the client sends. Resolves at their end. */
export async function followSizes(sizes: ByteSource, terminal: TerminalDevice): Promise<void> {
  let text = '';
  for (let chunk = await sizes.read(); chunk !== undefined; chunk = await sizes.read()) {
    text += Buffer.from(chunk).toString('latin1');
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const [, width = '0'] = /"Width":\s*(\d{1,9})/.exec(text.slice(0, end)) ?? [];
      const [, height = '0'] = /"Height":\s*(\d{1,9})/.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 1);
      terminal.resize(Math.min(MAX_COLUMNS, Number(width)), Math.min(MAX_COLUMNS, Number(height)));
    }
    if (text.length > MAX_SIZE_TEXT) text = '';
  }
}
