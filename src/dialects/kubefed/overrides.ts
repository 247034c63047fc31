import type { Override, PatchOperation } from '../../engine/intent.ts';
import { parseJsonPointer } from '../../schema/json-pointer.ts';
import type { ClusterOverride, FederatedOverride } from './types.ts';

/** Paths that say which object it is. */
const FORBIDDEN = new Set(['/metadata/namespace', '/metadata/name', '/metadata/generateName', '/kind']);

export interface CompiledFederatedOverrides {
  readonly overrides: readonly Override[];
  /** Clusters that keep what they have, because their overrides cannot be applied; with the reason. */
  readonly blocked: ReadonlyMap<string, string>;
}

/**
 * The overrides of an intent, one a cluster. A cluster whose overrides are not valid gets an operation that never holds, so
 * that it gets nothing rather than something without them. `leaveOut` drops operations on a path that is set otherwise.
 */
export function compileFederatedOverrides(
  overrides: readonly FederatedOverride[] = [],
  leaveOut?: string,
): CompiledFederatedOverrides {
  const byCluster = new Map<string, PatchOperation[]>();
  const blocked = new Map<string, string>();
  for (const { clusterName, clusterOverrides = [] } of overrides) {
    if (byCluster.has(clusterName)) {
      blocked.set(clusterName, `cluster ${clusterName} has overrides twice: put them into one entry`);
      continue;
    }
    const problem = overridesProblem(clusterOverrides);
    if (problem !== undefined) blocked.set(clusterName, problem);
    byCluster.set(clusterName, clusterOverrides.filter(({ path }) => path !== leaveOut).map(operationOf));
  }
  const compiled = [...byCluster].flatMap(([name, patch]): Override[] => {
    const message = blocked.get(name);
    if (message !== undefined)
      return [{ clusterNames: [name], patch: [{ op: 'test', path: '/kind', value: message }] }];
    return patch.length === 0 ? [] : [{ clusterNames: [name], patch }];
  });
  return { overrides: compiled, blocked };
}

/**
 * KubeFed's `replace` sets a field that is not there, too, and manifests that say no `op` rely on it: in an object that is what
 * `add` does. Items of lists are another matter, which `add` would put in between.
 */
function operationOf({ op, path, value }: ClusterOverride): PatchOperation {
  if (op === 'remove') return { op, path };
  const isItem = /\/(?:\d+|-)$/.test(path);
  return { op: op === 'add' || !isItem ? 'add' : 'replace', path, value: value ?? null };
}

function overridesProblem(overrides: readonly ClusterOverride[]): string | undefined {
  const seen = new Set<string>();
  for (const { op, path } of overrides) {
    if (op !== undefined && !['', 'add', 'remove', 'replace'].includes(op))
      return `op of an override must be add, remove or replace, not ${JSON.stringify(op)}`;
    if (path === '' || parseJsonPointer(path) === undefined)
      return `${JSON.stringify(path)} is not the path of a field, such as /spec/replicas`;
    if (FORBIDDEN.has(path)) return `${path} cannot be overridden: it says which object it is`;
    if (seen.has(path)) return `${path} is overridden twice`;
    seen.add(path);
  }
  return undefined;
}
