import type { Clock } from '../../../runtime/index.ts';
import type { ByteSink, ByteSource } from '../../streams/byte-pipe.ts';
import type { FileSystem } from './file-system.ts';

/** What the programs of a container see of the machine that they seem to run on. */
export interface Machine {
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly hostName: string;
  /** What the container itself runs, for lists of processes. */
  readonly command: readonly string[];
  readonly userId: number;
  readonly groupId: number;
  readonly node: { readonly kernel: string; readonly architecture: string };
  /** By name. */
  readonly programs: ReadonlyMap<string, Program>;
}

/** The terminal that a process is connected to. */
export interface Terminal {
  /** As the client says; 0 until it does. */
  readonly size: { readonly columns: number; readonly rows: number };
  /** Who is told of Ctrl-C; the one set last. */
  onInterrupt: (() => void) | undefined;
}

/** A program that runs. */
export interface Process {
  /** The name by which it was called, and what follows. */
  readonly name: string;
  readonly args: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
  readonly directory: string;
  readonly stdin: Input;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
  readonly machine: Machine;
  readonly terminal: Terminal | undefined;
  /** Aborted when it is to end: its client has gone, its container has ended, or Ctrl-C. */
  readonly signal: AbortSignal;
  /** Shared with all that it starts. */
  readonly budget: Budget;
}

/** Resolves with the exit code. Rejects with `BrokenPipe` when nobody reads it any more, and with the reason of its signal. */
export type Program = (process: Process) => Promise<number>;

/** Keeps one exec from taking the server for itself. */
export interface Budget {
  /** Counts a step; waits now and then, so that others have their turn. Throws {@link OverBudget}. */
  step(signal: AbortSignal): Promise<void>;
}

export class OverBudget extends Error {
  constructor() {
    super('killed: a simulated container runs 100000 commands at most');
    this.name = 'OverBudget';
  }
}

const MAX_STEPS = 100_000;
const STEPS_A_TURN = 100;

export function stepBudget(clock: Clock): Budget {
  let steps = 0;
  return {
    async step(signal) {
      signal.throwIfAborted();
      steps += 1;
      if (steps > MAX_STEPS) throw new OverBudget();
      if (steps % STEPS_A_TURN !== 0) return;
      await new Promise<void>((resolve) => clock.after(0, resolve));
      signal.throwIfAborted();
    },
  };
}

/** An input that can be read by line as well; whoever reads after someone else gets what that one left. */
export interface Input extends ByteSource {
  /** The next line with its end, as far as there is one; `undefined` at the end. */
  readLine(): Promise<string | undefined>;
}

const LINE_FEED = 0x0a;
const MAX_LINE = 64 * 1024;

export function inputOf(source: ByteSource): Input {
  let left: Uint8Array | undefined;
  return {
    async read() {
      if (left === undefined) return source.read();
      const chunk = left;
      left = undefined;
      return chunk;
    },
    async readLine() {
      const parts: Uint8Array[] = [];
      let size = 0;
      for (;;) {
        const chunk = left ?? (await source.read());
        left = undefined;
        if (chunk === undefined) break;
        const end = chunk.indexOf(LINE_FEED);
        const line = end < 0 ? chunk : chunk.subarray(0, end + 1);
        if (line.byteLength < chunk.byteLength) left = chunk.subarray(line.byteLength);
        parts.push(line);
        size += line.byteLength;
        if (end >= 0 || size >= MAX_LINE) break;
      }
      return parts.length === 0 ? undefined : Buffer.concat(parts).toString('utf8');
    },
    cancel: source.cancel,
  };
}

const CHUNK_BYTES = 64 * 1024;

/** Bytes that are at hand, in pieces that keep nobody waiting. */
export function sourceOf(content: Uint8Array): ByteSource {
  let at = 0;
  return {
    read() {
      if (at >= content.byteLength) return Promise.resolve(undefined);
      at += CHUNK_BYTES;
      return Promise.resolve(content.subarray(at - CHUNK_BYTES, at));
    },
    cancel() {
      at = content.byteLength;
    },
  };
}

/** A text without what it ends with. A regular expression would look at long runs within it again and again. */
export function withoutEnd(text: string, char: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end -= 1;
  return text.slice(0, end);
}

export async function print(sink: ByteSink, text: string): Promise<void> {
  if (text !== '') await sink.write(Buffer.from(text));
}

/** Says on standard error what went wrong: `ls: /x: No such file or directory`. Returns the exit code. */
export async function complain(process: Process, message: string, code: number = 1): Promise<number> {
  await print(process.stderr, `${process.name}: ${message}\n`);
  return code;
}

/** The whole of what is left of a source. Throws RangeError beyond `limit` bytes. */
export async function readAll(source: ByteSource, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let chunk = await source.read(); chunk !== undefined; chunk = await source.read()) {
    size += chunk.byteLength;
    if (size > limit) {
      source.cancel();
      throw new RangeError(`input exceeds ${limit} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
