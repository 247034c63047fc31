import { compileAffinity, saysWhich } from './cluster-match.ts';
import { type ClusterSet, emptySet, has } from './cluster-set.ts';
import { createFleetIndex, type FleetIndex } from './fleet-index.ts';
import type { ClusterAffinity, ClusterFacts } from './placement.ts';

/** What somebody lets be placed: clusters, whatever placements ask for. */
export interface AllowPolicy {
  readonly name: string;
  readonly clusters: ClusterAffinity;
}

export interface CompiledAllow {
  readonly name: string;
  readonly issues: readonly string[];
  set(fleet: FleetIndex): ClusterSet;
}

/** A policy that cannot be understood allows nothing. */
export function compileAllow({ name, clusters }: AllowPolicy): CompiledAllow {
  const issues: string[] = [];
  const match = compileAffinity(clusters, 'clusters', issues);
  if (!saysWhich(clusters)) issues.push('clusters: it names no cluster');
  return { name, issues, set: (fleet) => (issues.length > 0 ? emptySet(fleet.size) : match.set(fleet)) };
}

/** Whether a policy means a cluster, for whoever asks about one only. */
export function allows(policy: CompiledAllow, cluster: ClusterFacts): boolean {
  return has(policy.set(createFleetIndex([cluster])), 0);
}
