import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../runtime/index.ts';
import { parseManifests } from '../schema/yaml-body.ts';
import { asObject, type KubeObject } from './object.ts';

export interface Manifest {
  readonly object: KubeObject;
  /** The file, or `stdin`. */
  readonly source: string;
  /** Where its document begins, from 1. */
  readonly line: number;
}

export interface ManifestProblem {
  readonly source: string;
  /** From 1; 0 when the source could not be read at all. */
  readonly line: number;
  readonly message: string;
}

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly ManifestProblem[];
}

export interface ReadManifestsOptions {
  /** What `-` stands for. */
  stdin?: string;
  /** Whether folders below a folder are read too. */
  recursive?: boolean;
}

const EXTENSIONS = /\.(ya?ml|json)$/i;
const FILE_LIMIT = 16 * 1024 * 1024;
const MAX_FILES = 10_000;

/**
 * Reads manifests from files, folders (their YAML and JSON files, by name) and `-`, in the order given. Problems are
 * data: what can be read is there even when something else cannot.
 */
export async function readManifests(
  paths: readonly string[],
  options: ReadManifestsOptions = {},
): Promise<ReadManifests> {
  const manifests: Manifest[] = [];
  const problems: ManifestProblem[] = [];

  function take(source: string, text: string): void {
    const { objects, lines, errors } = parseManifests(text);
    for (const [index, object] of objects.entries())
      manifests.push({ object: asObject(object), source, line: lines[index] ?? 1 });
    for (const { line, message } of errors) problems.push({ source, line, message });
  }

  for (const path of paths) {
    if (path === '-') {
      take('stdin', options.stdin ?? '');
      continue;
    }
    try {
      const files = await filesOf(path, options.recursive === true);
      if (files.length === 0)
        problems.push({ source: path, line: 0, message: 'the folder holds no .yaml, .yml or .json file' });
      for (const file of files) {
        if ((await stat(file)).size > FILE_LIMIT)
          problems.push({ source: file, line: 0, message: `the file is larger than ${FILE_LIMIT} bytes` });
        else take(file, await readFile(file, 'utf8'));
      }
    } catch (error) {
      problems.push({ source: path, line: 0, message: `cannot be read: ${errorText(error)}` });
    }
  }
  return { manifests, problems };
}

async function filesOf(path: string, recursive: boolean): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive });
  const files = entries
    .filter((entry) => !entry.isDirectory() && EXTENSIONS.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (files.length > MAX_FILES) throw new RangeError(`the folder holds more than ${MAX_FILES} manifests`);
  return files;
}
