import type { KubeObject } from '../../../kube/object.ts';
import { asJson } from '../../../kube/object.ts';
import { objectAt, stringAt } from '../../../schema/json.ts';
import { parseQuantity, quantityMillis, quantityUnits } from '../../../schema/quantity.ts';
import type { Container, Node, Pod } from '../kinds.ts';

/** What a simulated container is made from. */
export interface PodFacts {
  readonly pod: Pod;
  readonly node: Node | undefined;
  /** An object in the pod's namespace. */
  readonly find: (resource: 'configmaps' | 'secrets', name: string) => KubeObject | undefined;
}

/** All containers of a pod, whatever their sort, in the order in which messages name them. */
export function containersOf(pod: Pod): {
  containers: Container[];
  init: Container[];
  ephemeral: Container[];
} {
  return {
    containers: pod.spec.containers,
    init: pod.spec.initContainers ?? [],
    ephemeral: pod.spec.ephemeralContainers ?? [],
  };
}

/** What a `fieldRef` points at, as text. */
export function fieldValue(pod: Pod, path: string): string {
  const [, map, key] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path) ?? [];
  if (map !== undefined && key !== undefined)
    return (map === 'labels' ? pod.metadata.labels : pod.metadata.annotations)?.[key] ?? '';
  if (path === 'metadata.labels') return mapLines(pod.metadata.labels);
  if (path === 'metadata.annotations') return mapLines(pod.metadata.annotations);
  if (path === 'status.podIPs') return (pod.status?.podIPs ?? []).map(({ ip }) => ip).join(',');
  if (path === 'status.hostIPs') return (pod.status?.hostIPs ?? []).map(({ ip }) => ip).join(',');
  return stringAt(asJson(pod), ...path.split('.')) ?? '';
}

function mapLines(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}

/** What a `resourceFieldRef` points at: cores, bytes and the like in units of its divisor, rounded up. */
export function resourceValue(facts: PodFacts, container: Container, path: string, divisor: string): string {
  const [kind = '', ...rest] = path.split('.');
  const name = rest.join('.');
  const { limits, requests } = container.resources ?? {};
  const own = kind === 'limits' ? limits?.[name] : (requests?.[name] ?? limits?.[name]);
  const value = parseQuantity(
    own ?? (kind === 'limits' ? facts.node?.status?.allocatable?.[name] : '0') ?? '0',
  );
  const unit = parseQuantity(divisor === '' || divisor === '0' ? '1' : divisor);
  if (value === undefined || unit === undefined) return '0';
  if (name !== 'cpu') {
    const size = quantityUnits(unit);
    return size <= 0n ? '0' : String((quantityUnits(value) + size - 1n) / size);
  }
  const size = quantityMillis(unit);
  return size <= 0n ? '0' : String((quantityMillis(value) + size - 1n) / size);
}

/** The entries of a ConfigMap or Secret as bytes. */
export function entriesOf(object: KubeObject): Record<string, Uint8Array> {
  const json = asJson(object);
  const isSecret = object.kind === 'Secret';
  const out: Record<string, Uint8Array> = {};
  for (const [key, value] of Object.entries(objectAt(json, 'data') ?? {}))
    if (typeof value === 'string') out[key] = Buffer.from(value, isSecret ? 'base64' : 'utf8');
  for (const [key, value] of Object.entries(objectAt(json, 'binaryData') ?? {}))
    if (typeof value === 'string') out[key] = Buffer.from(value, 'base64');
  return out;
}

export function hostNameOf(pod: Pod): string {
  return (pod.spec.hostname ?? pod.metadata.name ?? '').slice(0, 63);
}
