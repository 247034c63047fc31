/** Why a cluster is left out; one row a rule, in the order in which they are asked. */
export const REJECTIONS = {
  Excluded: 'it is excluded',
  ClusterNames: 'it is not among the names',
  ClusterSelector: 'its labels do not match',
  ClusterFields: 'its fields do not match',
  ClusterExpression: 'the expression does not hold',
  AnyOf: 'none of the alternatives matches',
  Group: 'it is not in the group that is used',
  Topology: 'it is in no group of the spread',
  ApiNotServed: 'it does not serve a kind',
  Cordoned: 'it takes nothing new (unschedulable)',
  Evicting: 'it is being emptied (evictAfter)',
  Taint: 'it has a taint that is not tolerated',
  WorkloadAffinity: 'its peers are elsewhere',
  WorkloadAntiAffinity: 'it has a workload that this one keeps away from',
  FailedOver: 'its copy was moved away from it',
  Plugin: 'an extension refuses it',
  NotAllowed: 'a policy does not allow it',
  Overflow: 'it is a reserve that is not needed',
  Spread: 'the spread leaves no room',
  NotPicked: 'others are better',
} as const;

export type RejectionReason = keyof typeof REJECTIONS;

/** Clusters that are left out by one rule. */
export interface Rejection {
  readonly reason: RejectionReason;
  /** What the rule asks for: `region in (eu)`. */
  readonly wants: string;
  /** What is found instead, and on which clusters. */
  readonly found: Readonly<Record<string, readonly string[]>>;
}

/**
 * The recorded answer to *where*. Plain JSON, compact however many clusters there are: names are written once, reasons once for
 * all clusters that share them. Stored, it is the `previous` of the next decision.
 */
export interface Decision {
  /** In name order. */
  readonly chosen: readonly string[];
  readonly rejected: readonly Rejection[];
  /** Names that the placement asks for and that no cluster has. */
  readonly unknown: readonly string[];
  /** The placement cannot be understood; nothing is chosen then. */
  readonly problem?: string;
  /** What the placement asks for and the fleet cannot give; what is chosen is what can stay or be had. */
  readonly shortage?: string;
  /** The affinity group that is used. */
  readonly group?: string;
  /** A better group can be used, since then; it is gone back to when it has been for long enough. */
  readonly failBack?: { readonly group: string; readonly sinceMs: number };
  /** The overflow tier of each chosen cluster, where one is above 0. */
  readonly tiers?: readonly number[];
  /** The scores of each chosen cluster, in the order of `terms`; the last is the sum. */
  readonly scores?: { readonly terms: readonly string[]; readonly of: readonly (readonly number[])[] };
  /** When time alone may change the answer. */
  readonly reconsiderAtMs?: number;
}

/** What a decision says of a cluster that it leaves out. */
export interface ClusterRejection {
  readonly reason: RejectionReason;
  readonly wants: string;
  readonly found: string;
}

export function rejectionIn(decision: Decision, cluster: string): ClusterRejection | undefined {
  for (const { reason, wants, found } of decision.rejected) {
    for (const [value, clusters] of Object.entries(found)) {
      if (clusters.includes(cluster)) return { reason, wants, found: value };
    }
  }
  return undefined;
}

/** The same in a sentence: `clusterSelector (env=prod) does not match its labels (env=test)`. */
export function rejectionText({ reason, wants, found }: ClusterRejection): string {
  if (reason === 'ClusterSelector') return `clusterSelector (${wants}) does not match its labels (${found})`;
  const asked = wants === '' ? '' : ` (${wants})`;
  return found === '' ? `${REJECTIONS[reason]}${asked}` : `${REJECTIONS[reason]}${asked}: ${found}`;
}

/** How many clusters each rule leaves out, for one line: `12 Taint, 3 ClusterSelector`. */
export function rejectionSummary(decision: Decision): string {
  const counts = new Map<RejectionReason, number>();
  for (const { reason, found } of decision.rejected) {
    let total = counts.get(reason) ?? 0;
    for (const clusters of Object.values(found)) total += clusters.length;
    counts.set(reason, total);
  }
  return [...counts].map(([reason, total]) => `${total} ${reason}`).join(', ');
}

/** Gathers clusters by rule and by what is found. */
export interface RejectionBook {
  add(reason: RejectionReason, wants: string, found: string, cluster: string): void;
  /** Many at once, by what is found. A number is a score. */
  addAll(reason: RejectionReason, wants: string, found: ReadonlyMap<string | number, string[]>): void;
  take(rejections: readonly Rejection[]): void;
  list(): readonly Rejection[];
}

const MAX_FOUND = 80;

interface Page {
  readonly reason: RejectionReason;
  readonly wants: string;
  readonly found: Map<string, string[]>;
}

export function createRejectionBook(): RejectionBook {
  const taken: Rejection[] = [];
  const pages: Page[] = [];
  let open: Page | undefined;
  const pageOf = (reason: RejectionReason, wants: string): Page => {
    // Rules write one after another, so it is nearly always the page that is open.
    if (open?.reason === reason && open.wants === wants) return open;
    open = pages.find((page) => page.reason === reason && page.wants === wants);
    if (!open) {
      open = { reason, wants, found: new Map() };
      pages.push(open);
    }
    return open;
  };
  const put = ({ found }: Page, value: string, clusters: string[]): void => {
    const key = value.length > MAX_FOUND ? value.slice(0, MAX_FOUND) : value;
    const present = found.get(key);
    if (present) present.push(...clusters);
    else found.set(key, clusters);
  };
  return {
    add: (reason, wants, found, cluster) => put(pageOf(reason, wants), found, [cluster]),
    addAll(reason, wants, found): void {
      const page = pageOf(reason, wants);
      for (const [value, clusters] of found)
        put(page, typeof value === 'number' ? `score ${value}` : value, clusters);
    },
    take: (rejections) => void taken.push(...rejections),
    list(): readonly Rejection[] {
      if (pages.length === 0) return taken;
      return taken.concat(
        pages.map(({ reason, wants, found }) => ({ reason, wants, found: Object.fromEntries(found) })),
      );
    },
  };
}
