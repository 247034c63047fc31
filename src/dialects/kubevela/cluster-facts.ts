import type { ClusterFacts } from '../../engine/intent.ts';
import { parsePlane } from '../../engine/render/cluster-patches.ts';
import type { ApiEnablement, ClusterTaint, SpokeCluster } from './types.ts';

const CLOUDS = new Set(['aws', 'azure', 'gcp']);
const PROVIDER_OF_PLATFORM: Readonly<Record<string, string>> = { eks: 'aws', aks: 'azure', gke: 'gcp' };

/** What placement may know of a cluster, from its entry in the inventory: what people said, and what the hub read last. */
export function clusterFactsOf(spoke: SpokeCluster): ClusterFacts {
  const { metadata, spec, status } = spoke;
  const { kubernetesVersion, platform, region, zones, totalCPU, totalMemory } = status?.clusterInfo ?? {};
  const { apiEnablements } = status ?? {};
  const provider = CLOUDS.has(spec.credential.type)
    ? spec.credential.type
    : PROVIDER_OF_PLATFORM[platform ?? ''];
  const fields = {
    ...(provider === undefined ? {} : { provider }),
    ...(platform === undefined ? {} : { platform }),
    ...(region === undefined ? {} : { region }),
    ...(zones === undefined ? {} : { zone: zones }),
    ...(kubernetesVersion === undefined ? {} : { version: kubernetesVersion }),
  };
  const allocatable = {
    ...(totalCPU === undefined ? {} : { cpu: totalCPU }),
    ...(totalMemory === undefined ? {} : { memory: totalMemory }),
    ...status?.clusterInfo?.allocatable,
  };
  const taints = [
    ...timed(spec.taints ?? [], status?.observedTaints ?? []),
    ...(status?.taints ?? []),
    ...(status?.policyTaints ?? []).map(({ policy: _policy, ...taint }) => taint),
  ];
  const patches = (spec.patches ?? []).map(({ plane, component, properties }, index) => ({
    name: `SpokeCluster ${metadata.namespace ?? ''}/${metadata.name ?? ''} patches[${index}]`,
    plane: parsePlane(plane, metadata.namespace ?? ''),
    component,
    properties,
  }));
  return {
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
    ...(status?.properties === undefined ? {} : { properties: status.properties }),
    ...(taints.length === 0 ? {} : { taints }),
    ...(spec.unschedulable === true ? { unschedulable: true } : {}),
    ...(Object.keys(allocatable).length === 0 ? {} : { resources: { allocatable } }),
    ...(spec.mode === 'adopt' ? { adopts: true as const } : {}),
    ...(patches.length === 0 ? {} : { patches }),
    ...(apiEnablements === undefined ? {} : { apis: { kinds: served(apiEnablements), complete: true } }),
  };
}

/** Taints with the time since which they are there, as far as that is known. */
function timed(taints: readonly ClusterTaint[], observed: readonly ClusterTaint[]): readonly ClusterTaint[] {
  return taints.map((taint) => {
    if (taint.timeAdded !== undefined) return taint;
    const { key, value, effect } = taint;
    const seen = observed.find(
      (other) => other.key === key && other.value === value && other.effect === effect,
    );
    return seen ?? taint;
  });
}

/** What a cluster serves, in the words of placement: `apps/v1/Deployment`. */
function served(enablements: readonly ApiEnablement[]): readonly string[] {
  return enablements.flatMap(({ groupVersion, kinds }) => kinds.map((kind) => `${groupVersion}/${kind}`));
}
