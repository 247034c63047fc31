import type { ByteSink } from '../../streams/byte-pipe.ts';
import type { Input } from './process.ts';

/** What a shell remembers. */
export interface ShellState {
  readonly variables: Map<string, string>;
  readonly exported: Set<string>;
  /** `$0`, `$1` … */
  parameters: readonly string[];
  directory: string;
  lastCode: number;
}

/** Where the commands of a shell read and write. */
export interface ShellIo {
  readonly stdin: Input;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
  readonly signal: AbortSignal;
}

/** Thrown by `exit`. */
export class ShellExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.name = 'ShellExit';
    this.code = code;
  }
}

/** Thrown where a command cannot run as it stands; the shell goes on. */
export class CommandFailure extends Error {}

/** Characters that words may come to, and all variables. */
export const MAX_EXPANSION: number = 1024 * 1024;
const MAX_VARIABLES = 4 * 1024 * 1024;
const MAX_UNCOUNTED = 256;

/** Throws {@link CommandFailure} where a shell would remember too much. */
export function setVariable({ variables }: ShellState, name: string, value: string): void {
  if (value.length > MAX_UNCOUNTED) {
    let size = value.length;
    for (const present of variables.values()) size += present.length;
    if (size > MAX_VARIABLES) throw new CommandFailure(`${name}: out of memory`);
  }
  variables.set(name, value);
}
