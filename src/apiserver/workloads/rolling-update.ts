import { scaledValue } from '../../schema/int-or-percent.ts';
import type { Deployment } from './kinds.ts';

/** What the arithmetic of a rolling update knows of one ReplicaSet. */
export interface Counted {
  /** Asked for. */
  readonly replicas: number;
  readonly available: number;
}

export interface Bounds {
  readonly surge: number;
  readonly unavailable: number;
}

/** `maxSurge` rounds up, `maxUnavailable` down; both zero would stand still, so one may then be unavailable. */
export function rollingBounds(deployment: Deployment): Bounds {
  const replicas = deployment.spec.replicas ?? 1;
  if (deployment.spec.strategy?.type === 'Recreate') return { surge: 0, unavailable: 0 };
  const rolling = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(rolling.maxSurge ?? '25%', replicas, 'up') ?? 0;
  const unavailable = scaledValue(rolling.maxUnavailable ?? '25%', replicas, 'down') ?? 0;
  return surge === 0 && unavailable === 0
    ? { surge: 0, unavailable: 1 }
    : { surge, unavailable: Math.min(unavailable, replicas) };
}

/** How many replicas the new ReplicaSet is to have now. */
export function newReplicas(wanted: number, bounds: Bounds, fresh: Counted, old: readonly Counted[]): number {
  if (fresh.replicas >= wanted) return wanted;
  const total = old.reduce((sum, each) => sum + each.replicas, fresh.replicas);
  const room = wanted + bounds.surge - total;
  return room <= 0 ? fresh.replicas : fresh.replicas + Math.min(room, wanted - fresh.replicas);
}

/**
 * How many replicas each old ReplicaSet (oldest first) is to have now: those that are not available go first, then as
 * many as may be unavailable.
 */
export function oldReplicas(
  wanted: number,
  bounds: Bounds,
  fresh: Counted,
  old: readonly Counted[],
): number[] {
  const out = old.map((each) => each.replicas);
  const total = out.reduce((sum, each) => sum + each, fresh.replicas);
  const minAvailable = wanted - bounds.unavailable;
  let allowed = total - minAvailable - Math.max(0, fresh.replicas - fresh.available);
  if (allowed <= 0) return out;
  for (const [index, each] of old.entries()) {
    const unhealthy = Math.min(allowed, Math.max(0, each.replicas - each.available));
    out[index] = each.replicas - unhealthy;
    allowed -= unhealthy;
  }
  const available = old.reduce((sum, each) => sum + each.available, fresh.available);
  let spare = available - minAvailable;
  for (const [index] of old.entries()) {
    if (spare <= 0) break;
    const down = Math.min(spare, out[index] ?? 0);
    out[index] = (out[index] ?? 0) - down;
    spare -= down;
  }
  return out;
}

/**
 * The replicas of ReplicaSets (newest first) when a Deployment is scaled in the middle of a rollout: each keeps its share;
 * what rounding leaves goes to the largest.
 */
export function proportional(sizes: readonly number[], allowed: number): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) return sizes.map((_, index) => (index === 0 ? allowed : 0));
  const out = sizes.map((size) => Math.floor((size * allowed) / total));
  let left = allowed - out.reduce((sum, size) => sum + size, 0);
  const largestFirst = sizes
    .map((size, index) => ({ size, index }))
    .sort((a, b) => b.size - a.size || a.index - b.index);
  for (const { index, size } of largestFirst) {
    if (left <= 0) break;
    if (size === 0) continue;
    out[index] = (out[index] ?? 0) + 1;
    left -= 1;
  }
  return out;
}
