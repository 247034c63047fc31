import { FileError, normalizePath } from '../file-system.ts';
import { complain, OverBudget, type Process, type Program, print } from '../process.ts';
import { INTERRUPTED_CODE, type Shell, shellOf } from '../shell.ts';
import { CommandFailure, ShellExit, type ShellIo } from '../shell-state.ts';
import { parseScript, ShellSyntaxError } from '../shell-syntax.ts';

const SYNTAX_CODE = 2;

/** `sh`, `sh -c <script> [name args…]`, `sh <file> [args…]`; interactive on a terminal, else a script from its input. */
export const sh: Program = async (process) => {
  const args = [...process.args];
  let script: string | undefined;
  let interactive = process.terminal !== undefined;
  while (args[0]?.startsWith('-') && args[0] !== '-') {
    const option = args.shift() ?? '';
    if (option === '--') break;
    if (option.startsWith('--')) continue; // such as --login, --norc
    if (option.includes('i')) interactive = true;
    if (option.includes('c')) {
      script = args.shift();
      if (script === undefined) return complain(process, '-c requires an argument', SYNTAX_CODE);
      break;
    }
  }
  const io: ShellIo = process;
  try {
    if (script !== undefined)
      return await shellOf(process, [args[0] ?? process.name, ...args.slice(1)]).run(script, io);
    if (args[0] !== undefined && args[0] !== '-') {
      const path = normalizePath(args[0], process.directory);
      const text = Buffer.from(process.machine.files.read(path)).toString('utf8');
      return await shellOf(process, args).run(text, io);
    }
    return await converse(process, interactive);
  } catch (error) {
    if (error instanceof ShellExit) return error.code;
    if (error instanceof ShellSyntaxError) return complain(process, error.message, SYNTAX_CODE);
    if (error instanceof CommandFailure) return complain(process, error.message);
    if (error instanceof FileError)
      return complain(process, `can't open '${args[0]}': ${error.message}`, SYNTAX_CODE);
    throw error;
  }
};

/** Line after line, as they come. */
async function converse(process: Process, interactive: boolean): Promise<number> {
  const { stdin, terminal } = process;
  const shell = shellOf(process, [process.name]);
  let text = '';
  // Between commands, Ctrl-C does no more than begin a new line.
  if (terminal !== undefined) terminal.onInterrupt = undefined;
  for (;;) {
    if (interactive) await print(process.stderr, text === '' ? `${shell.state.directory} # ` : '> ');
    const line = await stdin.readLine();
    process.signal.throwIfAborted();
    if (line === undefined) {
      if (interactive) await print(process.stderr, '\n');
      if (text !== '' && !interactive) await complain(process, 'syntax error: unexpected end of file');
      return text === '' || interactive ? shell.state.lastCode : SYNTAX_CODE;
    }
    text += line;
    if (text.endsWith('\\\n')) continue;
    try {
      if (isIncomplete(text)) continue;
      shell.state.lastCode = await runLine(shell, text, process, terminal !== undefined);
    } catch (error) {
      if (!(error instanceof ShellSyntaxError)) throw error;
      shell.state.lastCode = await complain(process, error.message, SYNTAX_CODE);
      if (!interactive) return SYNTAX_CODE;
    }
    text = '';
  }
}

function isIncomplete(text: string): boolean {
  try {
    parseScript(text);
    return false;
  } catch (error) {
    if (error instanceof ShellSyntaxError && error.incomplete) return true;
    throw error;
  }
}

/** On a terminal, Ctrl-C ends the command and not the shell. */
async function runLine(shell: Shell, text: string, process: Process, onTerminal: boolean): Promise<number> {
  if (!onTerminal || process.terminal === undefined) return shell.run(text, process);
  const { terminal } = process;
  const interrupt = new AbortController();
  const before = terminal.onInterrupt;
  terminal.onInterrupt = () => interrupt.abort(new Error('interrupted'));
  try {
    const signal = AbortSignal.any([process.signal, interrupt.signal]);
    const code = await shell.run(text, { ...ioOf(process), signal });
    return interrupt.signal.aborted ? INTERRUPTED_CODE : code;
  } catch (error) {
    if (process.signal.aborted || !interrupt.signal.aborted) throw error;
    if (error instanceof ShellExit || error instanceof OverBudget) throw error;
    return INTERRUPTED_CODE;
  } finally {
    terminal.onInterrupt = before;
  }
}

function ioOf({ stdin, stdout, stderr, signal }: Process): ShellIo {
  return { stdin, stdout, stderr, signal };
}
