import { normalizePath } from './file-system.ts';
import { complain, type Process, print } from './process.ts';
import { findProgram, runProgram } from './run-program.ts';
import { ShellExit, type ShellState, setVariable } from './shell-state.ts';

/** A command that changes the shell itself. */
type Builtin = (process: Process, state: ShellState) => Promise<number>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function numberOf(text: string | undefined, otherwise: number): number {
  const number = Number(text ?? otherwise);
  return Number.isInteger(number) ? number & 0xff : 2;
}

async function changeDirectory(process: Process, state: ShellState): Promise<number> {
  const asked = process.args[0] ?? state.variables.get('HOME') ?? '/';
  const path = asked === '-' ? (state.variables.get('OLDPWD') ?? state.directory) : asked;
  const full = normalizePath(path, state.directory);
  const { files } = process.machine;
  if (!files.has(full)) return complain(process, `can't cd to ${path}: No such file or directory`, 2);
  if (files.find(full).kind !== 'directory')
    return complain(process, `can't cd to ${path}: Not a directory`, 2);
  setVariable(state, 'OLDPWD', state.directory);
  setVariable(state, 'PWD', full);
  state.directory = full;
  return 0;
}

async function exportVariables(process: Process, state: ShellState): Promise<number> {
  for (const argument of process.args) {
    const [, name = argument, value] = /^([^=]+)=([\s\S]*)$/.exec(argument) ?? [];
    if (!NAME.test(name)) return complain(process, `${argument}: bad variable name`, 2);
    if (value !== undefined) setVariable(state, name, value);
    state.exported.add(name);
  }
  return 0;
}

async function readVariables(process: Process, state: ShellState): Promise<number> {
  const names = process.args.filter((argument) => !argument.startsWith('-'));
  const line = await process.stdin.readLine();
  const words = (line ?? '')
    .replace(/\n$/, '')
    .split(/[ \t]+/)
    .filter((word) => word !== '');
  for (const [index, name] of (names.length === 0 ? ['REPLY'] : names).entries())
    setVariable(
      state,
      name,
      index === names.length - 1 || names.length === 0 ? words.slice(index).join(' ') : (words[index] ?? ''),
    );
  return line === undefined ? 1 : 0;
}

async function whereIs(process: Process): Promise<number> {
  let code = 0;
  for (const name of process.args.filter((argument) => !argument.startsWith('-'))) {
    if (Object.hasOwn(BUILTINS, name)) await print(process.stdout, `${name}\n`);
    else if (findProgram({ ...process, name }))
      await print(process.stdout, `${name.includes('/') ? name : `/bin/${name}`}\n`);
    else code = 127;
  }
  return code;
}

export const BUILTINS: Readonly<Record<string, Builtin>> = {
  ':': () => Promise.resolve(0),
  cd: changeDirectory,
  pwd: async (process, state) => {
    await print(process.stdout, `${state.directory}\n`);
    return 0;
  },
  exit: (process, state) => Promise.reject(new ShellExit(numberOf(process.args[0], state.lastCode))),
  export: exportVariables,
  unset: async (process, state) => {
    for (const name of process.args) {
      state.variables.delete(name);
      state.exported.delete(name);
    }
    return 0;
  },
  read: readVariables,
  shift: async (process, state) => {
    const [name = 'sh', ...rest] = state.parameters;
    state.parameters = [name, ...rest.slice(numberOf(process.args[0], 1))];
    return 0;
  },
  // Options change how a script fails, which scripts for simulated containers can do without.
  set: () => Promise.resolve(0),
  exec: async (process) => {
    const [name, ...args] = process.args;
    if (name === undefined) return 0;
    const code = await runProgram(
      { ...process, name, args },
      { missing: () => complain(process, `${name}: not found`, 127) },
    );
    throw new ShellExit(code);
  },
  command: async (process) => {
    if (process.args[0]?.startsWith('-')) return whereIs(process);
    const [name, ...args] = process.args;
    if (name === undefined) return 0;
    return runProgram(
      { ...process, name, args },
      { missing: () => complain({ ...process, name: 'sh' }, `${name}: not found`, 127) },
    );
  },
  type: whereIs,
};
