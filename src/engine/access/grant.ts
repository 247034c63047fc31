import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/clock.ts';
import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { Grantable } from './words.ts';

export interface AccessGrantSpec {
  readonly user?: string;
  readonly group?: string;
  readonly clusters: { readonly names?: readonly string[]; readonly selector?: LabelSelector };
  readonly namespaces: readonly string[];
  readonly allow: readonly Grantable[];
  readonly reason: string;
  readonly expiresAt: string;
  readonly requestedBy: string;
  readonly approvedBy?: string;
}

export interface AccessGrantStatus {
  state?: GrantState;
  message?: string;
  uses?: number;
  lastUsedAt?: string;
  lastUse?: string;
}

export interface AccessGrant extends KubeObject {
  readonly spec: AccessGrantSpec;
  readonly status?: AccessGrantStatus;
}

export type GrantState = 'Pending' | 'Live' | 'Expired' | 'Refused';

export const LONGEST_GRANT_MS: number = 8 * 3_600_000;
/** Times in objects are whole seconds, so a grant of exactly the longest time may seem a little longer. */
const ROUNDING_MS = 1_000;

/** Something that only a grant allows. */
export interface GrantedAct {
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  readonly cluster: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  /** '' for what is in no namespace, or in all. */
  readonly namespace: string;
  readonly what: Grantable;
}

/** What a grant is worth at a time, and until when that holds. Milliseconds since the epoch. */
export function grantState(
  grant: AccessGrant,
  now: number,
): { readonly state: GrantState; readonly message: string; readonly until?: number } {
  const { spec, metadata } = grant;
  const expiresAt = parseTime(spec.expiresAt);
  const createdAt = parseTime(metadata.creationTimestamp);
  if (expiresAt === undefined || createdAt === undefined)
    return { state: 'Refused', message: 'expiresAt is no time' };
  if (expiresAt > createdAt + LONGEST_GRANT_MS + ROUNDING_MS)
    return { state: 'Refused', message: 'expiresAt is more than 8 hours after the grant was made' };
  if (metadata.deletionTimestamp !== undefined) return { state: 'Expired', message: 'it is being deleted' };
  if (now >= expiresAt) return { state: 'Expired', message: `it ended at ${spec.expiresAt}` };
  if (spec.approvedBy === undefined)
    return { state: 'Pending', message: 'nobody has approved it yet', until: expiresAt };
  return { state: 'Live', message: `approved by ${spec.approvedBy}`, until: expiresAt };
}

/** Whether a grant is about an act, live or not. */
export function grantCovers({ spec }: AccessGrant, act: GrantedAct): boolean {
  const { user, cluster, namespace, what } = act;
  if (!spec.allow.includes(what)) return false;
  const isMeant =
    (spec.user !== undefined && spec.user === user.name) ||
    (spec.group !== undefined && user.groups.includes(spec.group));
  if (!isMeant) return false;
  if (!spec.namespaces.includes('*') && (namespace === '' || !spec.namespaces.includes(namespace)))
    return false;
  const { names = [], selector } = spec.clusters;
  if (names.includes(cluster.name)) return true;
  return selector !== undefined && matchesSelector(selectorFromObject(selector).selector, cluster.labels);
}

/** The grant that allows an act now: the one that does so for longest. */
export function findGrant(
  grants: Iterable<AccessGrant>,
  act: GrantedAct,
  now: number,
): { readonly grant: AccessGrant; readonly until: number } | undefined {
  let found: { grant: AccessGrant; until: number } | undefined;
  for (const grant of grants) {
    const { state, until } = grantState(grant, now);
    if (state !== 'Live' || until === undefined || (found && found.until >= until)) continue;
    if (grantCovers(grant, act)) found = { grant, until };
  }
  return found;
}
