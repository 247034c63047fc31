import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { minorOf, type Release } from './release.ts';

/** The last minor version that knew none of {@link LATER}. */
const UNTIL = 32;

/** Fields that built-in kinds have got since, by the definition that they are in. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  'io.k8s.api.apps.v1.DeploymentStatus': ['terminatingReplicas'],
  'io.k8s.api.apps.v1.ReplicaSetStatus': ['terminatingReplicas'],
  'io.k8s.api.autoscaling.v2.HPAScalingRules': ['tolerance'],
  'io.k8s.api.core.v1.Container': ['restartPolicyRules'],
  'io.k8s.api.core.v1.ContainerStatus': ['stopSignal'],
  'io.k8s.api.core.v1.EnvVarSource': ['fileKeyRef'],
  'io.k8s.api.core.v1.EphemeralContainer': ['restartPolicyRules'],
  'io.k8s.api.core.v1.Lifecycle': ['stopSignal'],
  'io.k8s.api.core.v1.NodeStatus': ['declaredFeatures'],
  'io.k8s.api.core.v1.NodeSystemInfo': ['swap'],
  'io.k8s.api.core.v1.PodCondition': ['observedGeneration'],
  'io.k8s.api.core.v1.PodSpec': ['hostnameOverride', 'schedulingGroup'],
  'io.k8s.api.core.v1.PodStatus': [
    'allocatedResources',
    'extendedResourceClaimStatus',
    'nodeAllocatableResourceClaimStatuses',
    'observedGeneration',
    'resources',
  ],
  'io.k8s.api.core.v1.ResourceHealth': ['message'],
  'io.k8s.api.core.v1.VolumeMountStatus': ['volumeStatus'],
  'io.k8s.api.core.v1.VolumeProjection': ['podCertificate'],
  'io.k8s.api.discovery.v1.EndpointHints': ['forNodes'],
  'io.k8s.api.storage.v1.CSIDriverSpec': [
    'nodeAllocatableUpdatePeriodSeconds',
    'preventPodSchedulingIfMissing',
    'serviceAccountTokenInSecrets',
  ],
  'io.k8s.api.storage.v1.VolumeError': ['errorCode'],
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition': [
    'observedGeneration',
  ],
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus': [
    'observedGeneration',
  ],
  'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta': ['shardInfo'],
  'io.k8s.apimachinery.pkg.version.Info': [
    'emulationMajor',
    'emulationMinor',
    'minCompatibilityMajor',
    'minCompatibilityMinor',
  ],
};

/** Whether a release lacks fields that the newest one has. */
export function lacksFields(release: Release): boolean {
  return minorOf(release) <= UNTIL;
}

/** Definitions without the fields that came later, which are unknown then. Owns what it is given. */
export function withoutLaterFields(
  definitions: Record<string, OpenApiSchema>,
): Record<string, OpenApiSchema> {
  for (const [name, fields] of Object.entries(LATER)) {
    const properties = definitions[name]?.properties;
    if (properties) for (const field of fields) delete properties[field];
  }
  return definitions;
}
