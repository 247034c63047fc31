import { type ObjectRef, refKey, refText } from '../../kube/object.ts';
import { canonicalJson, isObject, stringAt } from '../../schema/json.ts';

/** Why an order of these manifests is refused as a whole. */
export interface ManifestProblem {
  readonly reason:
    | 'NothingOrdered'
    | 'EmptyManifest'
    | 'NameMissing'
    | 'GeneratedName'
    | 'Duplicate'
    | 'TooLarge';
  /** Which of them, from 0; absent where it is about all. */
  readonly index?: number;
  /** Says which object, what is wrong and what to do. */
  readonly message: string;
}

/**
 * The largest object that is ordered, as JSON. API servers refuse 1.5 MiB and more, and what a cluster adds to an object (marks,
 * who owns which field, status) has to fit as well. Smaller ones are cut to parts for the way, whatever their size.
 */
export const MAX_MANIFEST_BYTES: number = 1408 * 1024;
/** Most problems that are told: the first are enough to begin with. */
const MOST = 20;

/**
 * What is wrong with the manifests of an order. A spoke takes no order that has such problems, since it could not tell one object
 * from another; a hub asks before it sends anything.
 */
export function manifestProblems(manifests: readonly unknown[]): ManifestProblem[] {
  if (manifests.length === 0)
    return [{ reason: 'NothingOrdered', message: 'it orders no object; select at least one' }];
  const problems: ManifestProblem[] = [];
  const seen = new Map<string, number>();
  for (const [index, manifest] of manifests.entries()) {
    if (problems.length === MOST) break;
    const problem = problemOf(manifest, index, seen);
    if (problem) problems.push({ ...problem, index });
  }
  return problems;
}

function problemOf(
  manifest: unknown,
  index: number,
  seen: Map<string, number>,
): Omit<ManifestProblem, 'index'> | undefined {
  const kind = stringAt(manifest, 'kind') ?? '';
  const apiVersion = stringAt(manifest, 'apiVersion') ?? '';
  if (!isObject(manifest) || kind === '' || apiVersion === '') {
    const message = `manifest ${index} is empty: it needs apiVersion, kind and metadata.name`;
    return { reason: 'EmptyManifest', message };
  }
  const namespace = stringAt(manifest, 'metadata', 'namespace') ?? '';
  const prefix = stringAt(manifest, 'metadata', 'generateName') ?? '';
  if (prefix !== '') {
    const message = `${kind} ${prefix}… (manifest ${index}) has metadata.generateName: every apply would make another one; give it a metadata.name`;
    return { reason: 'GeneratedName', message };
  }
  const name = stringAt(manifest, 'metadata', 'name') ?? '';
  if (name === '') {
    const message = `a ${kind} (manifest ${index}) has no metadata.name; give it one`;
    return { reason: 'NameMissing', message };
  }
  const ref: ObjectRef = { apiVersion, kind, namespace, name };
  const key = refKey(ref);
  const other = seen.get(key);
  if (other !== undefined) {
    const message = `${refText(ref)} is ordered twice (manifests ${other} and ${index}); leave one out`;
    return { reason: 'Duplicate', message };
  }
  seen.set(key, index);
  const bytes = Buffer.byteLength(canonicalJson(manifest));
  if (bytes <= MAX_MANIFEST_BYTES) return undefined;
  const size = (value: number): string => `${Math.ceil(value / 1024)} KiB`;
  const message = `${refText(ref)} has ${size(bytes)}, and clusters take ${size(MAX_MANIFEST_BYTES)} at the most; split it, or let it be read from elsewhere`;
  return { reason: 'TooLarge', message };
}
