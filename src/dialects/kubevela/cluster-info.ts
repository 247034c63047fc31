import type { KubeObject } from '../../kube/object.ts';
import { numberAt, stringAt, stringsAt } from '../../schema/json.ts';
import { formatQuantity, parseQuantity, sumQuantities } from '../../schema/quantity.ts';
import type { ClusterInfo } from './types.ts';

/**
 * Facts of a cluster from its version and its nodes (spec chapter 2.2, step 6). `region` is what the credential knows;
 * nodes are asked otherwise.
 */
export function clusterInfoOf(
  gitVersion: string,
  nodes: readonly KubeObject[],
  region?: string,
): ClusterInfo {
  const capacity = summed(nodes, 'capacity');
  const allocatable = summed(nodes, 'allocatable');
  const zones = [
    ...new Set(
      nodes.map((node) => stringAt(node, 'metadata', 'labels', 'topology.kubernetes.io/zone') ?? ''),
    ),
  ]
    .filter((zone) => zone !== '')
    .sort();
  return {
    kubernetesVersion: gitVersion,
    platform: nodes.map(platformOf).find((platform) => platform !== undefined) ?? 'unknown',
    region:
      region ??
      nodes
        .map((node) => node.metadata.labels?.['topology.kubernetes.io/region'])
        .find((value) => value !== undefined) ??
      'N/A',
    ...(zones.length === 0 ? {} : { zones }),
    nodeCount: nodes.length,
    totalCPU: capacity['cpu'] ?? '0',
    totalMemory: capacity['memory'] ?? '0',
    ...(Object.keys(capacity).length === 0 ? {} : { capacity }),
    ...(Object.keys(allocatable).length === 0 ? {} : { allocatable }),
  };
}

/**
 * Facts as the engine of a cluster states them in its Cluster object, made there as above. They are a stranger's: what is no
 * such fact is left out. `undefined` where it states none.
 */
export function statedInfoOf(stated: ClusterInfo | undefined): ClusterInfo | undefined {
  const kubernetesVersion = word(stated, 'kubernetesVersion');
  const nodeCount = numberAt(stated, 'nodeCount');
  if (kubernetesVersion === undefined || nodeCount === undefined) return undefined;
  if (!Number.isSafeInteger(nodeCount) || nodeCount < 0) return undefined;
  const zones = Array.isArray(stated?.zones) ? stated.zones.filter(isWord).slice(0, MAX_ZONES) : [];
  const [capacity, allocatable] = [amounts(stated, 'capacity'), amounts(stated, 'allocatable')];
  return {
    kubernetesVersion,
    platform: word(stated, 'platform') ?? 'unknown',
    region: word(stated, 'region') ?? 'N/A',
    ...(zones.length === 0 ? {} : { zones }),
    nodeCount,
    totalCPU: amount(stated?.totalCPU) ?? '0',
    totalMemory: amount(stated?.totalMemory) ?? '0',
    ...(capacity === undefined ? {} : { capacity }),
    ...(allocatable === undefined ? {} : { allocatable }),
  };
}

const MAX_ZONES = 100;
const MAX_WORD = 253;

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_WORD;
}

function word(stated: unknown, field: string): string | undefined {
  const value = stringAt(stated, field);
  return isWord(value) ? value : undefined;
}

/** Placement and expressions reckon with it. */
function amount(value: unknown): string | undefined {
  return isWord(value) && parseQuantity(value) !== undefined ? value : undefined;
}

function amounts(stated: unknown, field: string): Record<string, string> | undefined {
  const entries = Object.entries(stringsAt(stated, field))
    .filter(([name, value]) => isWord(name) && amount(value) !== undefined)
    .slice(0, MAX_RESOURCES);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Nodes may offer whatever devices they like; a cluster must not fill its hub with them. */
const MAX_RESOURCES = 50;

/** The sum over nodes, by resource. */
function summed(nodes: readonly KubeObject[], what: 'capacity' | 'allocatable'): Record<string, string> {
  const amounts = new Map<string, string[]>();
  for (const node of nodes)
    for (const [resource, amount] of Object.entries(stringsAt(node, 'status', what)))
      amounts.set(resource, [...(amounts.get(resource) ?? []), amount]);
  const names = [...amounts.keys()].sort().slice(0, MAX_RESOURCES);
  return Object.fromEntries(
    names.map((name) => [name, formatQuantity(sumQuantities(amounts.get(name) ?? []))]),
  );
}

/** The flavour of a cluster as its nodes show it; the first node that says something decides. */
function platformOf(node: KubeObject): string | undefined {
  const labels = stringsAt(node, 'metadata', 'labels');
  const hasPrefix = (prefix: string): boolean => Object.keys(labels).some((key) => key.startsWith(prefix));
  const osImage = stringAt(node, 'status', 'nodeInfo', 'osImage') ?? '';
  if (hasPrefix('eks.amazonaws.com/')) return 'eks';
  if (hasPrefix('cloud.google.com/gke-')) return 'gke';
  if (hasPrefix('kubernetes.azure.com/')) return 'aks';
  if (labels['node.kubernetes.io/instance-type'] === 'k3s' || osImage.startsWith('K3s')) return 'k3s';
  if ((node.metadata.name ?? '').includes('kind')) return 'kind';
  if (osImage.startsWith('Atoll')) return 'atoll';
  return undefined;
}
