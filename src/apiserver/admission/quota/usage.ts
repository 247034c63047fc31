import { asJson, type KubeObject } from '../../../kube/object.ts';
import { at, isObject, type JsonObject, listAt, objectAt, stringAt } from '../../../schema/json.ts';
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from '../../../schema/quantity.ts';

/** Amounts by the names that quotas have for them: `pods`, `requests.cpu`, `count/deployments.apps`. */
export type Usage = ReadonlyMap<string, Quantity>;

/** Kinds that quotas may name without `count/`. */
const PLAIN: ReadonlySet<string> = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);

function units(count: number): Quantity {
  return { nanos: BigInt(count) * 1_000_000_000n, format: 'DecimalSI' };
}

function add(usage: Map<string, Quantity>, name: string, amount: Quantity): void {
  const present = usage.get(name);
  usage.set(name, present ? addQuantities(present, amount) : amount);
}

/** What an object takes of quotas. */
export function usageOf(group: string, resource: string, object: KubeObject): Usage {
  const usage = new Map<string, Quantity>();
  add(usage, group === '' ? `count/${resource}` : `count/${resource}.${group}`, units(1));
  if (group !== '' || !PLAIN.has(resource)) return usage;
  if (resource === 'pods') {
    if (isRunning(object)) addPod(usage, object);
    return usage;
  }
  add(usage, resource, units(1));
  if (resource === 'services') addService(usage, object);
  if (resource === 'persistentvolumeclaims') addClaim(usage, object);
  return usage;
}

/** Pods that are over use nothing, though they are still there. */
function isRunning(pod: KubeObject): boolean {
  const phase = stringAt(pod, 'status', 'phase');
  return phase !== 'Succeeded' && phase !== 'Failed';
}

/** How requests of a pod are named in quotas: cpu, memory and ephemeral storage have a short name too. */
const SHORT: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

function addPod(usage: Map<string, Quantity>, pod: KubeObject): void {
  add(usage, 'pods', units(1));
  for (const [name, amount] of podAmounts(pod, 'requests')) {
    add(usage, `requests.${name}`, amount);
    if (SHORT.has(name) || name.startsWith('hugepages-')) add(usage, name, amount);
  }
  for (const [name, amount] of podAmounts(pod, 'limits')) {
    if (SHORT.has(name)) add(usage, `limits.${name}`, amount);
  }
}

/** What a pod needs at most at any time: its containers, or an init container beside those that keep running. */
function podAmounts(pod: KubeObject, key: 'requests' | 'limits'): Map<string, Quantity> {
  const sum = new Map<string, Quantity>();
  const amountsOf = (container: unknown): [string, Quantity][] =>
    quantities(objectAt(container, 'resources', key));
  for (const container of listAt(pod, 'spec', 'containers'))
    for (const [name, amount] of amountsOf(container)) add(sum, name, amount);
  const kept = new Map<string, Quantity>();
  const peaks = new Map<string, Quantity>();
  for (const container of listAt(pod, 'spec', 'initContainers')) {
    const stays = at(container, 'restartPolicy') === 'Always';
    for (const [name, amount] of amountsOf(container)) {
      if (stays) add(kept, name, amount);
      const beside = kept.get(name);
      const peak =
        stays || !beside ? (stays ? (kept.get(name) ?? amount) : amount) : addQuantities(amount, beside);
      const highest = peaks.get(name);
      if (!highest || compareQuantities(peak, highest) > 0) peaks.set(name, peak);
    }
  }
  for (const [name, amount] of kept) add(sum, name, amount);
  for (const [name, peak] of peaks) {
    const present = sum.get(name);
    if (!present || compareQuantities(peak, present) > 0) sum.set(name, peak);
  }
  for (const [name, amount] of quantities(objectAt(pod, 'spec', 'overhead')))
    if (key === 'requests' || sum.has(name)) add(sum, name, amount);
  return sum;
}

function quantities(list: JsonObject | undefined): [string, Quantity][] {
  const found: [string, Quantity][] = [];
  for (const name in list) {
    const quantity = parseQuantity(list[name]);
    if (quantity) found.push([name, quantity]);
  }
  return found;
}

function addService(usage: Map<string, Quantity>, service: KubeObject): void {
  const type = stringAt(service, 'spec', 'type');
  const ports = listAt(service, 'spec', 'ports');
  if (type === 'LoadBalancer') add(usage, 'services.loadbalancers', units(1));
  const isAllocating = at(service, 'spec', 'allocateLoadBalancerNodePorts') !== false;
  const nodePorts =
    type === 'NodePort' || (type === 'LoadBalancer' && isAllocating)
      ? ports.length
      : type === 'LoadBalancer'
        ? ports.filter((port) => (at(port, 'nodePort') ?? 0) !== 0).length
        : 0;
  if (nodePorts > 0) add(usage, 'services.nodeports', units(nodePorts));
}

function addClaim(usage: Map<string, Quantity>, claim: KubeObject): void {
  const className =
    claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
    stringAt(claim, 'spec', 'storageClassName') ??
    '';
  const prefix = `${className}.storageclass.storage.k8s.io/`;
  if (className !== '') add(usage, `${prefix}persistentvolumeclaims`, units(1));
  const storage = parseQuantity(at(claim, 'spec', 'resources', 'requests', 'storage'));
  if (!storage) return;
  add(usage, 'requests.storage', storage);
  if (className !== '') add(usage, `${prefix}requests.storage`, storage);
}

/** Amounts of which each container must say how much it wants, where a quota bounds them. */
const EXPLICIT: ReadonlySet<string> = new Set([
  'cpu',
  'memory',
  'requests.cpu',
  'requests.memory',
  'limits.cpu',
  'limits.memory',
]);

/** What containers of a pod leave open that a quota with `hard` amounts needs to know. */
export function unspecified(pod: KubeObject, hard: Iterable<string>): string | undefined {
  const spec = asJson(pod).spec;
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')].filter(isObject);
  const texts: string[] = [];
  for (const name of [...hard].filter((candidate) => EXPLICIT.has(candidate)).sort()) {
    const [kind, key] = name.startsWith('limits.')
      ? ['limits', name.slice(7)]
      : ['requests', name.replace(/^requests\./, '')];
    const without = containers
      .filter((container) => at(container, 'resources', kind, key) === undefined)
      .map((container) => stringAt(container, 'name') ?? '');
    if (without.length > 0) texts.push(`${name} for: ${[...new Set(without)].sort().join(',')}`);
  }
  return texts.length === 0 ? undefined : `must specify ${texts.join('; ')}`;
}
