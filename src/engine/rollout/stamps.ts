/** What one generation of an intent's orders stands for. */
export interface Stamp {
  readonly generation: number;
  /** `''` takes everything away; {@link UNKNOWN_REVISION} was sent before anybody kept revisions. */
  readonly revision: string;
  /** Digest of all that the generation asks of the fleet: content, patches of each cluster, author. */
  readonly digest: string;
}

/** The revision of orders that take everything away. */
export const NO_REVISION = '';
/** The revision of orders whose content nobody kept. */
export const UNKNOWN_REVISION = 'unknown';

export interface Stamps {
  /** The highest generation that was ever given to anything. */
  readonly generation: number;
  /** In the order of their generations. */
  readonly stamps: readonly Stamp[];
  /** The generation that each cluster was told, also of those that have nothing any more: a spoke takes no lower one. */
  readonly given: Readonly<Record<string, number>>;
}

/** What a cluster is to have; `anew` where it is to be told so even if it was told before. */
export interface WantedContent extends Pick<Stamp, 'revision' | 'digest'> {
  readonly anew?: boolean;
}

export interface Stamped extends Stamps {
  /** Generations that came up new, lowest first. */
  readonly added: readonly Stamp[];
}

/**
 * Says under which generation each cluster is told what it is to have. A generation means one content for ever, and no cluster is
 * told a lower one than before: content that comes back to a cluster comes under a new one, while clusters that keep theirs are
 * told nothing. Clusters that are not among `wanted` keep what they were told; those that `isKnown` does not know are forgotten.
 */
export function stampOrders(
  before: Stamps,
  wanted: ReadonlyMap<string, WantedContent>,
  isKnown: (cluster: string) => boolean = () => true,
): Stamped {
  let { generation } = before;
  const added: Stamp[] = [];
  const newest = new Map<string, Stamp>();
  const byGeneration = new Map<number, Stamp>();
  for (const stamp of before.stamps) {
    newest.set(keyOf(stamp), stamp);
    byGeneration.set(stamp.generation, stamp);
  }
  const given: Record<string, number> = {};
  for (const [cluster, told] of Object.entries(before.given)) if (isKnown(cluster)) given[cluster] = told;
  for (const [cluster, { revision, digest, anew }] of [...wanted].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const told = given[cluster] ?? 0;
    const present = byGeneration.get(told);
    if (present && present.revision === revision && present.digest === digest && anew !== true) continue;
    const key = keyOf({ revision, digest });
    let stamp = newest.get(key);
    if (!stamp || stamp.generation <= told) {
      generation += 1;
      stamp = { generation, revision, digest };
      added.push(stamp);
      newest.set(key, stamp);
      byGeneration.set(generation, stamp);
    }
    given[cluster] = stamp.generation;
  }
  const inUse = new Set(Object.values(given));
  const last = Math.max(0, ...added.map((stamp) => stamp.generation), before.stamps.at(-1)?.generation ?? 0);
  const stamps = [...before.stamps, ...added].filter(
    (stamp) => inUse.has(stamp.generation) || stamp.generation === last,
  );
  return { generation, stamps, given, added };
}

function keyOf({ revision, digest }: Pick<Stamp, 'revision' | 'digest'>): string {
  return `${revision}\n${digest}`;
}
