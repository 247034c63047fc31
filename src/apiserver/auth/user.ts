/** Who asks. Kubernetes' `user.Info`. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /**
   * The logical cluster in which alone this is somebody: those who have a say there have made it up. Absent for who is known to the
   * whole server.
   */
  readonly within?: string;
}

export const MASTERS_GROUP: string = 'system:masters';
export const AUTHENTICATED_GROUP: string = 'system:authenticated';
export const UNAUTHENTICATED_GROUP: string = 'system:unauthenticated';
export const ANONYMOUS_USER: string = 'system:anonymous';

const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export function serviceAccountName(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/** The service account that a user name stands for; `undefined` when it stands for none. */
export function parseServiceAccount(user: string): { namespace: string; name: string } | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...more] = user.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  return more.length === 0 && DNS_LABEL.test(namespace) && DNS_SUBDOMAIN.test(name)
    ? { namespace, name }
    : undefined;
}

export function isMaster(user: UserInfo): boolean {
  return user.groups.includes(MASTERS_GROUP);
}
