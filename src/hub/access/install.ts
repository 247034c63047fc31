import { ACCESS_GRANT } from '../../engine/access/index.ts';
import type { Client } from '../../kube/client.ts';
import { installKinds } from '../../kube/custom-resource.ts';
import { keepApplied, keepGranted, NotKept } from '../../kube/keep-applied.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { whatIsWritten } from '../policies/match-constraints.ts';

const POLICY = 'atoll.dev-access-grants';
const ADMISSION = 'admissionregistration.k8s.io/v1';
const MAY_APPROVE =
  "authorizer.group('atoll.dev').resource('accessgrants').name(object.metadata.name).check('approve').allowed()";

/**
 * The names in a grant are those of the people who wrote them: no object says by itself who wrote it, so the API server is
 * made to check. Whoever approves holds the verb `approve` on `accessgrants`, also for a grant of their own.
 */
export function grantPolicy(): KubeObject[] {
  return [
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: POLICY },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: whatIsWritten(['atoll.dev'], ['accessgrants']),
        variables: [
          {
            name: 'before',
            expression:
              "oldObject == null || !has(oldObject.spec.approvedBy) ? '' : oldObject.spec.approvedBy",
          },
          { name: 'after', expression: "has(object.spec.approvedBy) ? object.spec.approvedBy : ''" },
        ],
        validations: [
          {
            expression:
              "request.operation != 'CREATE' || object.spec.requestedBy == request.userInfo.username",
            messageExpression:
              "'spec.requestedBy must be ' + request.userInfo.username + ', who makes the grant'",
            reason: 'Forbidden',
          },
          {
            expression: 'variables.before == variables.after || variables.after == request.userInfo.username',
            messageExpression: "'spec.approvedBy must be ' + request.userInfo.username + ', who approves'",
            reason: 'Forbidden',
          },
          {
            expression: `variables.before == variables.after || ${MAY_APPROVE}`,
            messageExpression:
              "request.userInfo.username + ' may not approve: that takes the verb approve on accessgrants.atoll.dev'",
            reason: 'Forbidden',
          },
        ],
      },
    },
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: POLICY },
      spec: { policyName: POLICY, validationActions: ['Deny'] },
    },
  ];
}

/** Roles for people at the hub, bound to nobody. */
export function accessRoles(): KubeObject[] {
  const role = (
    name: string,
    ...rules: { resources: string[]; verbs: string[]; apiGroups: string[] }[]
  ): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `atoll:${name}` },
    rules,
  });
  const proxy = (...verbs: string[]): { resources: string[]; verbs: string[]; apiGroups: string[] } => ({
    apiGroups: ['core.oam.dev'],
    resources: ['spokeclusters/proxy'],
    verbs,
  });
  const grants = (...verbs: string[]): { resources: string[]; verbs: string[]; apiGroups: string[] } => ({
    apiGroups: ['atoll.dev'],
    resources: ['accessgrants'],
    verbs,
  });
  return [
    role('spoke-viewer', proxy('get')),
    role('spoke-user', proxy('get', 'create'), grants('get', 'list', 'watch', 'create')),
    role('grant-approver', grants('get', 'list', 'watch', 'update', 'patch', 'delete', 'approve')),
  ];
}

/**
 * Serves AccessGrants at the hub, guarded before the first can be made. Resolves to why there can be none: an API server
 * without admission policies would take anybody's word for an approval. A role for people that may not be changed is told to
 * `onRefused`, and left as it is.
 */
export async function installGrants(
  clock: Clock,
  client: Client,
  onRefused: (refused: NotKept) => void,
): Promise<{ readonly problem?: string }> {
  try {
    for (const object of grantPolicy()) await keepApplied(client, object, 'atoll');
  } catch (error) {
    if (!hasCode(error, 404) && !hasCode(error, 403)) throw error;
    const why = error instanceof StatusError ? error.message : '';
    return {
      problem: `grants need ValidatingAdmissionPolicies, which cannot be had at the hub's API server (Kubernetes has them since 1.30): ${why}`,
    };
  }
  for (const role of accessRoles()) {
    try {
      await keepGranted(client, role, 'atoll');
    } catch (error) {
      if (!(error instanceof NotKept)) throw error;
      onRefused(error);
    }
  }
  await installKinds(clock, client, [ACCESS_GRANT]);
  return {};
}
