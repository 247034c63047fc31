import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { systemRuntime } from '../../runtime/runtime.ts';
import { manifestsIn } from '../diff/manifest-files.ts';
import { type GraphOptions, rightGraphs } from './load.ts';
import { openRegistry, parseReference } from './registry.ts';

export interface PushOptions extends GraphOptions {
  readonly plainHttp?: boolean;
}

/** Puts the definitions of files in a registry, if they are right, and prints their digest. */
export async function pushGraphs(reference: string, options: PushOptions): Promise<number> {
  rightGraphs(options);
  const text = options.filename.map((path) => readFileSync(path === '-' ? 0 : path, 'utf8')).join('---\n');
  const digest = await openRegistry({
    clock: systemRuntime().clock,
    plainHttp: options.plainHttp === true,
  }).push(parseReference(reference), text);
  process.stdout.write(`${digest}\n`);
  return 0;
}

export interface PullOptions {
  /** Where to write; the standard output by default. */
  readonly output?: string;
  /** Whether a file that is there may be written over. */
  readonly force?: boolean;
  readonly plainHttp?: boolean;
}

/** Gets definitions from a registry. */
export async function pullGraphs(reference: string, options: PullOptions): Promise<number> {
  const { output } = options;
  if (output !== undefined && options.force !== true && existsSync(output))
    throw new Error(`${output} is there already; --force writes over it`);
  const { text, digest } = await openRegistry({
    clock: systemRuntime().clock,
    plainHttp: options.plainHttp === true,
  }).pull(parseReference(reference));
  const { problems } = manifestsIn(text, reference);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  if (output === undefined) process.stdout.write(text);
  else writeFileSync(output, text);
  process.stderr.write(`${digest}\n`);
  return 0;
}
