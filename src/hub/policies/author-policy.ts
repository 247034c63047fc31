import { CLUSTER_PROPAGATION, PROPAGATION } from '../../dialects/propagation/kinds.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ROLLOUT_ACTION } from '../rollouts/kinds.ts';
import { whatIsWritten } from './match-constraints.ts';

/** Kinds with an author in `spec.author`. */
const AUTHORED = [PROPAGATION, CLUSTER_PROPAGATION, ROLLOUT_ACTION];
const NAME = 'atoll.dev-author';
const GROUP = 'admissionregistration.k8s.io';

/** Whoever changes the spec is the author. What only touches labels, finalizers or the status is not. */
const CHANGES = { name: 'spec-changes', expression: 'oldObject == null || object.spec != oldObject.spec' };
const AUTHOR =
  "{'username': dyn(request.userInfo.username), 'groups': dyn(has(request.userInfo.groups) ? request.userInfo.groups : [])}";

const matchConstraints = whatIsWritten(
  [...new Set(AUTHORED.map(({ group }) => group))],
  AUTHORED.map(({ plural }) => plural),
);

/** Writes the author into what is written: the API server knows who it is, the object cannot. */
export function authorStamp(version: string): KubeObject[] {
  const apiVersion = `${GROUP}/${version}`;
  return [
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: NAME },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        matchConstraints,
        matchConditions: [CHANGES],
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: `[JSONPatch{op: 'add', path: '/spec/author', value: ${AUTHOR}}]` },
          },
        ],
      },
    },
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: NAME },
      spec: { policyName: NAME },
    },
  ];
}

/** Refuses the name of somebody else. Where nothing stamps the author they have to write themselves down. */
export function authorCheck(): KubeObject[] {
  const apiVersion = `${GROUP}/v1`;
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: NAME },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints,
        matchConditions: [CHANGES],
        validations: [
          {
            expression:
              'has(object.spec.author) && has(object.spec.author.username) && object.spec.author.username == request.userInfo.username',
            messageExpression:
              "'spec.author.username must be ' + request.userInfo.username + ', who writes the spec'",
            reason: 'Forbidden',
          },
          {
            expression:
              '!has(object.spec.author) || !has(object.spec.author.groups) || (has(request.userInfo.groups) && object.spec.author.groups.all(group, group in request.userInfo.groups))',
            messageExpression:
              "'spec.author.groups may hold groups of ' + request.userInfo.username + ' only, who writes the spec'",
            reason: 'Forbidden',
          },
        ],
      },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: NAME },
      spec: { policyName: NAME, validationActions: ['Deny'] },
    },
  ];
}
