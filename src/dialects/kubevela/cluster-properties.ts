import type { KubeObject } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';

/** On a property or claim that is not for the hub. */
const SPOKE_ONLY_LABEL = 'open-cluster-management.io/spoke-only';
const MAX_CUSTOM = 20;
/** A cluster must not fill its hub: what is beyond is left out. */
const MAX_RESERVED = 500;
const MAX_VALUE_LENGTH = 1024;

/**
 * What a cluster says of itself, in `ClusterProperty` objects (about.k8s.io) and `ClusterClaim` objects
 * (cluster.open-cluster-management.io), for placement. A property goes before a claim of its name. Names that are reserved all
 * pass; of the others the first 20 in name order.
 */
export function clusterPropertiesOf(
  properties: readonly KubeObject[],
  claims: readonly KubeObject[],
): Record<string, string> {
  const values = new Map<string, string>();
  for (const { metadata, ...object } of [...claims, ...properties]) {
    const value = stringAt(object, 'spec', 'value');
    const spokeOnly = metadata.labels?.[SPOKE_ONLY_LABEL] !== undefined;
    if (value === undefined || value.length > MAX_VALUE_LENGTH || spokeOnly) continue;
    values.set(metadata.name ?? '', value);
  }
  const names = [...values.keys()].sort();
  const told = [
    ...names.filter(isReserved).slice(0, MAX_RESERVED),
    ...names.filter((name) => !isReserved(name)).slice(0, MAX_CUSTOM),
  ];
  return Object.fromEntries(told.sort().map((name) => [name, values.get(name) ?? '']));
}

function isReserved(name: string): boolean {
  return (
    name === 'id.k8s.io' ||
    name === 'cluster.clusterset.k8s.io' ||
    name.endsWith('.open-cluster-management.io')
  );
}
