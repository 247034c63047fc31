import type { Strategy } from '../resource.ts';
import {
  mutatingAdmissionPolicyBindingStrategy,
  mutatingAdmissionPolicyStrategy,
  validatingAdmissionPolicyBindingStrategy,
  validatingAdmissionPolicyStrategy,
} from './admission-policy.ts';
import { apiServiceStrategy, customResourceDefinitionStrategy } from './api-extension.ts';
import { horizontalPodAutoscalerStrategy, horizontalPodAutoscalerV1Strategy } from './autoscaling.ts';
import { statusResetFields, strategy } from './base-strategy.ts';
import { configMapStrategy } from './config-map.ts';
import { controllerRevisionStrategy } from './controller-revision.ts';
import { cronJobStrategy } from './cron-job.ts';
import { csrStrategy } from './csr.ts';
import { daemonSetStrategy } from './daemon-set.ts';
import { deploymentStrategy } from './deployment.ts';
import { endpointSliceStrategy, endpointsStrategy } from './endpoints.ts';
import { eventStrategy, newEventStrategy } from './events.ts';
import { flowSchemaStrategy, priorityLevelConfigurationStrategy } from './flow-control.ts';
import { jobStrategy } from './job.ts';
import { leaseStrategy } from './lease.ts';
import { namespaceStrategy } from './namespace.ts';
import {
  ingressClassStrategy,
  ingressStrategy,
  ipAddressStrategy,
  networkPolicyStrategy,
  serviceCidrStrategy,
} from './networking.ts';
import { nodeStrategy } from './node.ts';
import { persistentVolumeClaimStrategy, persistentVolumeStrategy } from './persistent-volume.ts';
import { podStrategy, podTemplateStrategy } from './pod.ts';
import { podDisruptionBudgetStrategy } from './policy.ts';
import { priorityClassStrategy } from './priority-class.ts';
import { limitRangeStrategy, resourceQuotaStrategy } from './quota.ts';
import {
  clusterRoleBindingStrategy,
  clusterRoleStrategy,
  roleBindingStrategy,
  roleStrategy,
} from './rbac.ts';
import { replicaSetStrategy, replicationControllerStrategy } from './replica-set.ts';
import { runtimeClassStrategy } from './runtime-class.ts';
import { secretStrategy } from './secret.ts';
import { serviceStrategy } from './service.ts';
import { serviceAccountStrategy } from './service-account.ts';
import { statefulSetStrategy } from './stateful-set.ts';
import {
  csiDriverStrategy,
  csiNodeStrategy,
  csiStorageCapacityStrategy,
  storageClassStrategy,
  volumeAttachmentStrategy,
  volumeAttributesClassStrategy,
} from './storage.ts';
import { mutatingWebhookConfigurationStrategy, validatingWebhookConfigurationStrategy } from './webhook.ts';

const STRATEGIES: ReadonlyMap<string, Strategy> = new Map(
  Object.entries({
    configmaps: configMapStrategy,
    endpoints: endpointsStrategy,
    events: eventStrategy,
    limitranges: limitRangeStrategy,
    namespaces: namespaceStrategy,
    nodes: nodeStrategy,
    persistentvolumeclaims: persistentVolumeClaimStrategy,
    persistentvolumes: persistentVolumeStrategy,
    pods: podStrategy,
    podtemplates: podTemplateStrategy,
    replicationcontrollers: replicationControllerStrategy,
    resourcequotas: resourceQuotaStrategy,
    secrets: secretStrategy,
    serviceaccounts: serviceAccountStrategy,
    services: serviceStrategy,
    'apps/controllerrevisions': controllerRevisionStrategy,
    'apps/daemonsets': daemonSetStrategy,
    'apps/deployments': deploymentStrategy,
    'apps/replicasets': replicaSetStrategy,
    'apps/statefulsets': statefulSetStrategy,
    'batch/cronjobs': cronJobStrategy,
    'batch/jobs': jobStrategy,
    'autoscaling/horizontalpodautoscalers': horizontalPodAutoscalerStrategy,
    'policy/poddisruptionbudgets': podDisruptionBudgetStrategy,
    'events.k8s.io/events': newEventStrategy,
    'coordination.k8s.io/leases': leaseStrategy,
    'coordination.k8s.io/leasecandidates': strategy({
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: false,
    }),
    'certificates.k8s.io/certificatesigningrequests': csrStrategy,
    'certificates.k8s.io/clustertrustbundles': strategy({ allowUnconditionalUpdate: false }),
    'discovery.k8s.io/endpointslices': endpointSliceStrategy,
    'networking.k8s.io/ingresses': ingressStrategy,
    'networking.k8s.io/ingressclasses': ingressClassStrategy,
    'networking.k8s.io/ipaddresses': ipAddressStrategy,
    'networking.k8s.io/networkpolicies': networkPolicyStrategy,
    'networking.k8s.io/servicecidrs': serviceCidrStrategy,
    'node.k8s.io/runtimeclasses': runtimeClassStrategy,
    'rbac.authorization.k8s.io/clusterrolebindings': clusterRoleBindingStrategy,
    'rbac.authorization.k8s.io/clusterroles': clusterRoleStrategy,
    'rbac.authorization.k8s.io/rolebindings': roleBindingStrategy,
    'rbac.authorization.k8s.io/roles': roleStrategy,
    'scheduling.k8s.io/priorityclasses': priorityClassStrategy,
    'storage.k8s.io/csidrivers': csiDriverStrategy,
    'storage.k8s.io/csinodes': csiNodeStrategy,
    'storage.k8s.io/csistoragecapacities': csiStorageCapacityStrategy,
    'storage.k8s.io/storageclasses': storageClassStrategy,
    'storage.k8s.io/volumeattachments': volumeAttachmentStrategy,
    'storage.k8s.io/volumeattributesclasses': volumeAttributesClassStrategy,
    'flowcontrol.apiserver.k8s.io/flowschemas': flowSchemaStrategy,
    'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': priorityLevelConfigurationStrategy,
    'admissionregistration.k8s.io/mutatingadmissionpolicies': mutatingAdmissionPolicyStrategy,
    'admissionregistration.k8s.io/mutatingadmissionpolicybindings': mutatingAdmissionPolicyBindingStrategy,
    'admissionregistration.k8s.io/mutatingwebhookconfigurations': mutatingWebhookConfigurationStrategy,
    'admissionregistration.k8s.io/validatingadmissionpolicies': validatingAdmissionPolicyStrategy,
    'admissionregistration.k8s.io/validatingadmissionpolicybindings':
      validatingAdmissionPolicyBindingStrategy,
    'admissionregistration.k8s.io/validatingwebhookconfigurations': validatingWebhookConfigurationStrategy,
    'apiextensions.k8s.io/customresourcedefinitions': customResourceDefinitionStrategy,
    'apiregistration.k8s.io/apiservices': apiServiceStrategy,
  }),
);

/** `group/resource`, or the resource alone for the core group, of all that have rules of their own. */
export const STRATEGY_NAMES: readonly string[] = [...STRATEGIES.keys()];

/** Kinds without rules of their own; `resource.k8s.io` answers deletes with the object and counts spec changes. */
const PLAIN: Strategy = strategy({ resetFields: statusResetFields('spec') });
const DYNAMIC_RESOURCE: Strategy = strategy({
  generation: 'spec',
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
});

/** How objects of a built-in resource behave. Never throws: unknown resources get the behaviour of most kinds. */
export function strategyFor(group: string, resource: string, version?: string): Strategy {
  if (version === 'v1' && group === 'autoscaling' && resource === 'horizontalpodautoscalers')
    return horizontalPodAutoscalerV1Strategy;
  const found = STRATEGIES.get(group === '' ? resource : `${group}/${resource}`);
  if (found !== undefined) return found;
  return group === 'resource.k8s.io' ? DYNAMIC_RESOURCE : PLAIN;
}
