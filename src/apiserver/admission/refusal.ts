import { failure, qualifiedResource, type StatusError } from '../../kube/status-error.ts';

/** 403 in the form that admission and authorization share. */
export function forbiddenStatus(group: string, resource: string, name: string, why: string): StatusError {
  const what = qualifiedResource(group, resource);
  const message =
    name === '' ? `${what} is forbidden: ${why}` : `${what} ${JSON.stringify(name)} is forbidden: ${why}`;
  return failure(403, 'Forbidden', message, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}
