import { BrokenPipe } from '../../streams/byte-pipe.ts';
import { FileError, normalizePath } from './file-system.ts';
import { complain, OverBudget, type Process, type Program, print } from './process.ts';

const PATHS = /^(?:\/usr)?(?:\/local)?\/s?bin\/([^/]+)$/;
/** What a shell tells of a program whose reader has gone. */
const BROKEN_PIPE_CODE = 141;

/**
 * The program that a command names: one of those that are simulated, by name or by its usual path, or a script among the
 * container's files.
 */
export function findProgram(process: Process): Program | undefined {
  const { machine, name } = process;
  const known = PATHS.exec(name)?.[1] ?? (name.includes('/') ? undefined : name);
  const program = known === undefined ? undefined : machine.programs.get(known);
  if (program !== undefined || !name.includes('/')) return program;
  const path = normalizePath(name, process.directory);
  if (!machine.files.has(path)) return undefined;
  const node = machine.files.find(path);
  if (node.kind === 'directory')
    return (own) => complain({ ...own, name: 'sh' }, `${name}: Is a directory`, 126);
  if ((node.mode & 0o111) === 0)
    return (own) => complain({ ...own, name: 'sh' }, `${name}: Permission denied`, 126);
  const shell = machine.programs.get('sh');
  return shell && ((own) => shell({ ...own, name: 'sh', args: [path, ...own.args] }));
}

/** Runs it, and makes an exit code of what it may fail with. Rejects with the reason of a signal, and as a shell's `exit` does. */
export async function runProgram(
  process: Process,
  otherwise: { missing: () => Promise<number> },
): Promise<number> {
  await process.budget.step(process.signal);
  const program = findProgram(process);
  if (program === undefined) return otherwise.missing();
  try {
    return await program(process);
  } catch (error) {
    process.signal.throwIfAborted();
    if (error instanceof BrokenPipe) return BROKEN_PIPE_CODE;
    if (error instanceof OverBudget) throw error;
    if (error instanceof FileError || error instanceof RangeError) return complain(process, error.message);
    throw error;
  }
}

/** What container runtimes say where there is no such program. */
export async function reportMissing(process: Process): Promise<number> {
  const why = process.name.includes('/') ? 'no such file or directory' : 'executable file not found in $PATH';
  const stat = process.name.includes('/') ? `stat ${process.name}` : `exec: ${JSON.stringify(process.name)}`;
  await print(
    process.stderr,
    `OCI runtime exec failed: exec failed: unable to start container process: ${stat}: ${why}: unknown\r\n`,
  );
  return 127;
}
