import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { asObject, type KubeObject } from '../../kube/object.ts';
import { isObject, stringAt } from '../../schema/json.ts';
import { parseManifests } from '../../schema/yaml-body.ts';

/** An object of a manifest and where it stands. */
export interface Manifest {
  readonly object: KubeObject;
  /** `shop/web.yaml:12`. */
  readonly at: string;
}

/** Manifests that cannot be used; one line a mistake, each beginning with file and line. */
export class ManifestError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ManifestError';
  }
}

const MANIFEST_NAME = /\.(ya?ml|json)$/i;
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** Reads files, directories and `-` (standard input) as kubectl does. Throws {@link ManifestError} that names every mistake. */
export function readManifestFiles(names: readonly string[], recursive: boolean): Manifest[] {
  const manifests: Manifest[] = [];
  const problems: string[] = [];
  for (const name of names) {
    for (const path of name === '-' ? ['-'] : pathsOf(name, recursive, true)) {
      const label = path === '-' ? 'standard input' : path;
      const found = manifestsIn(readText(path, label), label);
      manifests.push(...found.manifests);
      problems.push(...found.problems);
    }
  }
  if (problems.length > 0) throw new ManifestError(problems);
  if (manifests.length === 0) throw new ManifestError([`${names.join(', ')}: there is no object in it`]);
  return manifests;
}

/** The objects of one text, and what is wrong in it. */
export function manifestsIn(text: string, label: string): { manifests: Manifest[]; problems: string[] } {
  const { objects, lines, errors } = parseManifests(text, { maxBytes: MAX_FILE_BYTES });
  const manifests: Manifest[] = [];
  const problems = errors.map(
    ({ line, message }) => `${label}:${line}: ${message.replace(/^line \d+(, column \d+)?: /, '')}`,
  );
  objects.forEach((value, index) => {
    const at = `${label}:${lines[index] ?? 1}`;
    if (!isObject(value['metadata']) || !stringAt(value, 'metadata', 'name'))
      problems.push(`${at}: ${stringAt(value, 'kind') ?? 'object'} has no metadata.name`);
    else manifests.push({ object: asObject(value), at });
  });
  return { manifests, problems };
}

function pathsOf(path: string, recursive: boolean, named: boolean): string[] {
  if (/^https?:\/\//.test(path)) throw new ManifestError([`${path}: URLs are not read; download it first`]);
  const entry = statSync(path, { throwIfNoEntry: false });
  if (entry === undefined) throw new ManifestError([`${path}: there is no such file or directory`]);
  if (!entry.isDirectory()) return named || MANIFEST_NAME.test(path) ? [path] : [];
  const inside = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return inside.flatMap((item) => {
    const child = join(path, item.name);
    if (item.isDirectory()) return recursive ? pathsOf(child, recursive, false) : [];
    return pathsOf(child, recursive, false);
  });
}

function readText(path: string, label: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new Error(`${label} cannot be read`, { cause: error });
  }
}
