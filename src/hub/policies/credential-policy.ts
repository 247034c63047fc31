import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { KubeObject } from '../../kube/object.ts';
import { whatIsWritten } from './match-constraints.ts';

const NAME = 'atoll.dev-credentials';
const apiVersion = 'admissionregistration.k8s.io/v1';
const REF = 'object.spec.credential.kubeconfig.secretRef';

/** A SpokeCluster uses Secrets of its own namespace only: otherwise whoever may write one could use everybody's. */
export function credentialPolicy(): KubeObject[] {
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: NAME },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: whatIsWritten([SPOKE_CLUSTER.group], [SPOKE_CLUSTER.plural]),
        validations: [
          {
            expression: `!has(object.spec.credential) || !has(object.spec.credential.kubeconfig) || !has(${REF}) || !has(${REF}.namespace) || ${REF}.namespace == '' || ${REF}.namespace == request.namespace`,
            messageExpression:
              "'spec.credential.kubeconfig.secretRef.namespace must be ' + request.namespace + ', the namespace of the SpokeCluster'",
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
