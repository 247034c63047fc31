import { type AccessMode, graphAccess } from '../../spoke/graphs/access.ts';
import { documents } from './documents.ts';

export interface AccessOptions {
  readonly mode: AccessMode;
  readonly user?: string;
  /** `namespace/name` */
  readonly serviceAccount?: string;
}

/** Prints the roles that an engine of graphs needs on a cluster of someone else. */
export function showAccess({ mode, user, serviceAccount }: AccessOptions): number {
  const [namespace, name] = serviceAccount?.split('/') ?? [];
  if ((user === undefined) === (serviceAccount === undefined))
    throw new Error('exactly one of --user and --service-account says whose rights they are');
  if (serviceAccount !== undefined && (!namespace || !name))
    throw new Error(`${serviceAccount}: found no namespace/name`);
  const subject =
    user === undefined
      ? { kind: 'ServiceAccount', namespace, name }
      : { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user };
  process.stdout.write(documents(graphAccess(mode, subject)));
  return 0;
}
