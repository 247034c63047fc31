import { BrokenPipe, type ByteSink, bytePipe, discard, noBytes } from '../../streams/byte-pipe.ts';
import { FileError, normalizePath } from './file-system.ts';
import { type Input, inputOf, type Process, print, sourceOf, withoutEnd } from './process.ts';
import { runProgram } from './run-program.ts';
import { BUILTINS } from './shell-builtins.ts';
import {
  CommandFailure,
  MAX_EXPANSION,
  ShellExit,
  type ShellIo,
  type ShellState,
  setVariable,
} from './shell-state.ts';
import { type Command, type Pipeline, parseScript, type Redirect, type Script } from './shell-syntax.ts';
import { type WordExpander, wordExpander } from './shell-words.ts';

const MAX_DEPTH = 64;
export const INTERRUPTED_CODE = 130;

/** Runs scripts one after another, remembering what they set. Rejects with {@link ShellExit}, `BrokenPipe` and reasons of signals. */
export interface Shell {
  readonly state: ShellState;
  /** Resolves with the code of the last command. Throws `ShellSyntaxError`. */
  run(text: string, io: ShellIo): Promise<number>;
}

export function shellOf(process: Process, parameters: readonly string[]): Shell {
  const state: ShellState = {
    variables: new Map(process.environment),
    exported: new Set(process.environment.keys()),
    parameters,
    directory: process.directory,
    lastCode: 0,
  };
  return {
    state,
    run: (text, io) => interpreter(process, state, 0).script(parseScript(text), io),
  };
}

interface Interpreter {
  script(script: Script, io: ShellIo): Promise<number>;
  command(command: Command, io: ShellIo): Promise<number>;
}

/** `depth` is the number of shells around this one. */
function interpreter(process: Process, state: ShellState, depth: number): Interpreter {
  const { machine, budget } = process;

  async function script(body: Script, io: ShellIo): Promise<number> {
    for (const { join, pipeline: next } of body) {
      if (join === '&&' && state.lastCode !== 0) continue;
      if (join === '||' && state.lastCode === 0) continue;
      state.lastCode = await pipeline(next, io);
    }
    return state.lastCode;
  }

  async function pipeline({ negated, commands }: Pipeline, io: ShellIo): Promise<number> {
    const [only] = commands;
    const code =
      commands.length === 1 && only !== undefined ? await command(only, io) : await stages(commands, io);
    return negated ? Number(code === 0) : code;
  }

  /** Each stage is a shell of its own; the code is that of the last. */
  async function stages(commands: readonly Command[], io: ShellIo): Promise<number> {
    const codes: Promise<number>[] = [];
    let { stdin } = io;
    for (const [index, each] of commands.entries()) {
      const last = index === commands.length - 1;
      const pipe = last ? undefined : bytePipe();
      const own: ShellIo = { ...io, stdin, stdout: pipe ?? io.stdout };
      const input = index === 0 ? undefined : stdin;
      codes.push(
        subshell((inner) => inner.command(each, own)).finally(() => {
          pipe?.end();
          input?.cancel();
        }),
      );
      if (pipe) stdin = inputOf(pipe);
    }
    const outcomes = await Promise.allSettled(codes);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    const last = outcomes.at(-1);
    return last?.status === 'fulfilled' ? last.value : 1;
  }

  /** Runs in a copy of this shell: nothing that it sets stays, and its `exit` is its own. */
  async function subshell(run: (inner: Interpreter) => Promise<number>): Promise<number> {
    if (depth >= MAX_DEPTH) throw new CommandFailure('too many shells within each other');
    const copy: ShellState = {
      variables: new Map(state.variables),
      exported: new Set(state.exported),
      parameters: state.parameters,
      directory: state.directory,
      lastCode: state.lastCode,
    };
    try {
      return await run(interpreter(process, copy, depth + 1));
    } catch (error) {
      if (error instanceof ShellExit) return error.code;
      if (error instanceof BrokenPipe) return 141;
      throw error;
    }
  }

  async function command(each: Command, io: ShellIo): Promise<number> {
    await budget.step(io.signal);
    try {
      return await compound(each, await redirected(each.redirects, io));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      await print(io.stderr, `sh: ${error.message}\n`);
      return 1;
    }
  }

  async function compound(each: Command, io: ShellIo): Promise<number> {
    switch (each.kind) {
      case 'simple':
        return simple(each, io);
      case 'group':
        return each.subshell ? subshell((inner) => inner.script(each.body, io)) : script(each.body, io);
      case 'if':
        for (const { condition, body } of each.branches)
          if ((await script(condition, io)) === 0) return script(body, io);
        return each.otherwise ? script(each.otherwise, io) : 0;
      case 'while': {
        let code = 0;
        for (;;) {
          await budget.step(io.signal);
          if (((await script(each.condition, io)) === 0) === each.until) return code;
          code = await script(each.body, io);
        }
      }
      case 'for': {
        let code = 0;
        for (const value of await wordsOf(io).expand(each.words)) {
          setVariable(state, each.variable, value);
          code = await script(each.body, io);
        }
        return code;
      }
    }
  }

  async function simple(each: Command & { kind: 'simple' }, io: ShellIo): Promise<number> {
    const [name, ...args] = await wordsOf(io).expand(each.words);
    const assigned: [string, string][] = [];
    for (const [variable, value] of each.assignments)
      assigned.push([variable, await wordsOf(io).expandOne(value)]);
    if (name === undefined) {
      for (const [variable, value] of assigned) setVariable(state, variable, value);
      // The code of a substitution is that of the command.
      return each.assignments.some(([, value]) => value.some((piece) => piece.kind === 'output'))
        ? state.lastCode
        : 0;
    }
    const environment = new Map(
      [...state.variables].filter(([variable]) => state.exported.has(variable)).concat(assigned),
    );
    const child: Process = {
      ...process,
      ...io,
      name,
      args,
      environment,
      directory: state.directory,
    };
    const builtin = BUILTINS[name];
    if (builtin !== undefined && Object.hasOwn(BUILTINS, name)) return builtin(child, state);
    return runProgram(child, {
      missing: async () => {
        await print(io.stderr, `sh: ${name}: not found\n`);
        return 127;
      },
    });
  }

  async function redirected(redirects: readonly Redirect[], io: ShellIo): Promise<ShellIo> {
    if (redirects.length === 0) return io;
    const out: { -readonly [K in keyof ShellIo]: ShellIo[K] } = { ...io };
    for (const { descriptor, kind, target } of redirects) {
      const path = await wordsOf(io).expandOne(target);
      if (kind === 'duplicate') {
        const source = path === '1' ? out.stdout : path === '2' ? out.stderr : undefined;
        if (source === undefined) throw new CommandFailure(`${path}: bad file descriptor`);
        if (descriptor === 2) out.stderr = source;
        else out.stdout = source;
        continue;
      }
      const full = normalizePath(path, state.directory);
      try {
        if (kind === 'read')
          out.stdin = full === '/dev/null' ? inputOf(noBytes) : inputOf(sourceOf(machine.files.read(full)));
        else {
          const sink = outputFile(full, kind === 'append', out);
          if (descriptor === 2) out.stderr = sink;
          else out.stdout = sink;
        }
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        const what = kind === 'read' ? "can't open" : "can't create";
        throw new CommandFailure(`${what} ${path}: ${error.message}`);
      }
    }
    return out;
  }

  function outputFile(path: string, append: boolean, io: ShellIo): ByteSink {
    if (path === '/dev/null') return discard;
    if (path === '/dev/stdout') return io.stdout;
    if (path === '/dev/stderr') return io.stderr;
    const file = machine.files.open(path, append);
    return {
      write: async (chunk) => file.write(chunk),
      end: () => {},
    };
  }

  /** Fills in words; what commands in them print is taken, and what they complain of goes where `io` says. */
  function wordsOf(io: ShellIo): WordExpander {
    return wordExpander(state, machine.files, async (body) => {
      const pipe = bytePipe();
      const collected = collect(inputOf(pipe));
      const code = subshell((inner) => inner.script(body, { ...io, stdout: pipe })).finally(() => pipe.end());
      const [text, last] = await Promise.all([collected, code]);
      state.lastCode = last;
      return withoutEnd(text, '\n');
    });
  }

  return { script, command };
}

async function collect(input: Input): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let chunk = await input.read(); chunk !== undefined; chunk = await input.read()) {
    size += chunk.byteLength;
    if (size > MAX_EXPANSION) {
      input.cancel();
      throw new CommandFailure('argument list too long');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
