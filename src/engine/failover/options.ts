/** What becomes of a copy that is moved away from a cluster. */
export type PurgeMode = 'Gracefully' | 'Directly' | 'Never';

/** When copies move to other clusters by themselves. Nothing of it happens unless it is asked for. */
export interface FailoverOptions {
  /** When a cluster is lost or tainted. */
  readonly cluster?: {
    /** Of taints that say that a cluster is unreachable or not ready, where no toleration means them. 300 s by default. */
    readonly tolerationSeconds?: number;
    readonly tolerations?: readonly FailoverToleration[];
    readonly purge?: PurgeMode;
  };
  /** When the copy in a cluster is not healthy while the cluster is seen. */
  readonly application?: {
    /** 300 s by default. */
    readonly tolerationSeconds?: number;
    readonly purge?: PurgeMode;
  };
  /** Gracefully: after so long the old copy goes where a new one was placed, healthy or not. 600 s by default. */
  readonly graceSeconds?: number;
  /** Clusters whose copies are given up that are kept there (`Never`, or before the new one is healthy). */
  readonly release?: readonly string[];
  readonly statePreservation?: readonly StateRule[];
  /** Go back when the cluster has been well for so long, one at a time in the fleet. */
  readonly failBack?: { readonly stabilisationSeconds?: number };
}

export interface FailoverToleration {
  readonly key?: string;
  readonly operator?: 'Exists' | 'Equal';
  readonly value?: string;
  /** For ever, where it is left out. */
  readonly seconds?: number;
}

/** A value of the status of the old copy that the new copy gets as a label. */
export interface StateRule {
  readonly label: string;
  /** Below `.status`, such as `{.jobStatus.savepoint}`. */
  readonly jsonPath: string;
}

/** How many copies may be moved, in the whole fleet: when much seems to be lost at once, it is mostly the view that is. */
export interface FailoverRate {
  /** 0.5 by default; 0 means one in half an hour. */
  readonly perSecond?: number;
  /** 1 by default. */
  readonly burst?: number;
}

export interface ClusterTaint {
  readonly key: string;
  readonly value?: string;
  /** `NoExecute` alone moves what is there. */
  readonly effect: string;
}

export const UNREACHABLE_TAINT = 'atoll.dev/unreachable';
export const NOT_READY_TAINT = 'atoll.dev/not-ready';
const TOLERATED_S = 300;

/** Whether a copy is to be left as long as there is no other. */
export function isGraceful({ cluster, application }: FailoverOptions): boolean {
  return [cluster, application].some(
    (part) => part !== undefined && (part.purge ?? 'Gracefully') === 'Gracefully',
  );
}

/** How long a taint is tolerated, in seconds; without end where a toleration without seconds means it. */
export function toleratedSeconds({ cluster }: FailoverOptions, taint: ClusterTaint): number {
  if (cluster === undefined || taint.effect !== 'NoExecute') return Number.POSITIVE_INFINITY;
  const fitting = (cluster.tolerations ?? []).filter(({ key, operator = 'Equal', value = '' }) => {
    if (key !== undefined && key !== taint.key) return false;
    return operator === 'Exists' || (key !== undefined && value === (taint.value ?? ''));
  });
  if (fitting.length > 0)
    return Math.min(...fitting.map(({ seconds = Number.POSITIVE_INFINITY }) => seconds));
  const builtIn = taint.key === UNREACHABLE_TAINT || taint.key === NOT_READY_TAINT;
  return builtIn ? (cluster.tolerationSeconds ?? TOLERATED_S) : 0;
}
