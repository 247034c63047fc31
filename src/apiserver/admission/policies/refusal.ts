import { failure, type StatusError } from '../../../kube/status-error.ts';
import { forbiddenStatus } from '../refusal.ts';

const CODES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
};

/** A refusal with the code of its reason, which is told as its cause as well. */
export function policyRefusal(
  { group, resource }: { readonly group: string; readonly resource: string },
  name: string,
  reason: string,
  why: string,
): StatusError {
  const { status } = forbiddenStatus(group, resource, name, why);
  return failure(CODES[reason] ?? 422, reason, status.message ?? why, {
    ...status.details,
    causes: [{ message: why }],
  });
}
