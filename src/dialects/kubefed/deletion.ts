import type { DeletionOptions } from '../../engine/intent.ts';
import { isObject, type JsonObject } from '../../schema/json.ts';

/** On a federated object: `"true"` lets its objects stay on the clusters when it is deleted. */
export const ORPHAN_ANNOTATION = 'kubefed.io/orphan';
/** On a federated object: JSON of the options with which its objects are deleted. */
export const DELETE_OPTION_ANNOTATION = 'kubefed.io/deleteoption';

const POLICIES = ['Background', 'Foreground', 'Orphan'] as const;
/** What an API server would heed. Left out, it would be deleted otherwise than was asked for. */
const UNSUPPORTED = ['preconditions', 'dryRun', 'orphanDependents'] as const;
const MAX_TEXT = 4096;

/** Whether objects on clusters stay when the federated object goes. */
export function isOrphaned(annotations: Readonly<Record<string, string>> = {}): boolean {
  return annotations[ORPHAN_ANNOTATION] === 'true';
}

/** How objects on clusters are deleted, or why what the annotation says is not taken. */
export function deletionOptionsOf(annotations: Readonly<Record<string, string>> = {}): {
  readonly options?: DeletionOptions;
  readonly problem?: string;
} {
  const text = annotations[DELETE_OPTION_ANNOTATION];
  if (text === undefined || text === '') return {};
  const problem = (what: string): { problem: string } => ({
    problem: `annotation ${DELETE_OPTION_ANNOTATION}: ${what}`,
  });
  if (text.length > MAX_TEXT) return problem(`longer than ${MAX_TEXT} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return problem('it is not JSON');
  }
  if (value === null) return {};
  if (!isObject(value)) return problem('it is not an object');
  const given = withoutNulls(value);
  const { propagationPolicy, gracePeriodSeconds } = given;
  const unsupported = UNSUPPORTED.find((option) => given[option] !== undefined);
  if (unsupported !== undefined)
    return problem(`${unsupported} is not supported: there are propagationPolicy and gracePeriodSeconds`);
  const policy = POLICIES.find((known) => known === propagationPolicy);
  if (propagationPolicy !== undefined && policy === undefined)
    return problem(`propagationPolicy must be one of ${POLICIES.join(', ')}`);
  const seconds =
    typeof gracePeriodSeconds === 'number' && Number.isInteger(gracePeriodSeconds) && gracePeriodSeconds >= 0;
  if (gracePeriodSeconds !== undefined && !seconds)
    return problem('gracePeriodSeconds must be a whole number that is not negative');
  const options: DeletionOptions = {
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
    ...(seconds ? { gracePeriodSeconds: Number(gracePeriodSeconds) } : {}),
  };
  return Object.keys(options).length === 0 ? {} : { options };
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}
