import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, listAt, objectAt, stringAt } from '../../schema/json.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  type Quantity,
  quantitiesOf,
} from '../../schema/quantity.ts';
import type { AdmissionRequest } from '../rest/scope.ts';
import { namespacePrefix } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';

type Amounts = ReadonlyMap<string, Quantity>;

/** Gives containers the requests and limits that the namespace's LimitRanges say, and holds pods and claims to them. */
export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  mutate(request): void {
    const { object } = request;
    if (object === undefined || kindOf(request) !== 'pods') return;
    for (const limits of limitsOf(request)) setDefaults(object, limits);
  },
  validate(request): void {
    const { object, scope, name } = request;
    const kind = kindOf(request);
    if (object === undefined || kind === undefined) return;
    for (const limits of limitsOf(request)) {
      const problems = kind === 'pods' ? podProblems(object, limits) : claimProblems(object, limits);
      if (problems.length === 0) continue;
      const text = problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
      throw forbiddenStatus('', scope.resource.resource, name, text);
    }
  },
};

/** What is limited: new pods, whose containers stay as they are, and claims at any time. */
function kindOf({ operation, scope }: AdmissionRequest): 'pods' | 'claims' | undefined {
  const { resource, subresource } = scope;
  if (resource.group !== '' || subresource !== undefined || operation === 'DELETE') return undefined;
  if (resource.resource === 'pods') return operation === 'CREATE' ? 'pods' : undefined;
  return resource.resource === 'persistentvolumeclaims' ? 'claims' : undefined;
}

/** `spec.limits` of each LimitRange of the namespace, in the order of their names. */
function limitsOf({ scope, object }: AdmissionRequest): JsonObject[][] {
  const namespace = object?.metadata.namespace ?? scope.namespace;
  return scope.server.store
    .list(namespacePrefix('', 'limitranges', scope.cluster, namespace))
    .records.map((record) => listAt(record.object, 'spec', 'limits').filter(isObject));
}

function setDefaults(pod: KubeObject, limits: readonly JsonObject[]): void {
  const defaults = { limits: {} as JsonObject, requests: {} as JsonObject };
  for (const limit of limits) {
    if (limit.type !== 'Container') continue;
    Object.assign(defaults.limits, objectAt(limit, 'default'));
    Object.assign(defaults.requests, objectAt(limit, 'defaultRequest'));
  }
  const notes: string[] = [];
  for (const [list, what] of [
    ['containers', 'container'],
    ['initContainers', 'init container'],
  ] as const) {
    for (const container of listAt(pod, 'spec', list).filter(isObject)) {
      for (const key of ['requests', 'limits'] as const) {
        const added = addMissing(container, key, defaults[key]);
        if (added.length > 0)
          notes.push(
            `${added.join(', ')} ${key.slice(0, -1)} for ${what} ${stringAt(container, 'name') ?? ''}`,
          );
      }
    }
  }
  if (notes.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
}

/** Adds to a container's `requests` or `limits` what it has none of; the names, sorted. */
function addMissing(container: JsonObject, key: 'requests' | 'limits', defaults: JsonObject): string[] {
  const present = objectAt(container, 'resources', key) ?? {};
  const missing = Object.keys(defaults)
    .filter((name) => !(name in present))
    .sort();
  if (missing.length === 0) return missing;
  const resources = isObject(container.resources) ? container.resources : {};
  const amounts: JsonObject = { ...present };
  for (const name of missing) amounts[name] = defaults[name];
  resources[key] = amounts;
  container.resources = resources;
  return missing;
}

function podProblems(pod: KubeObject, limits: readonly JsonObject[]): string[] {
  const containers = listAt(pod, 'spec', 'containers').map(demandOf);
  const starters = listAt(pod, 'spec', 'initContainers').map(demandOf);
  return limits.flatMap((limit) => {
    if (limit.type === 'Container')
      return [...containers, ...starters].flatMap((demand) => demandProblems(limit, demand));
    if (limit.type !== 'Pod') return [];
    const whole: Demand = {
      requests: largest(total(containers, 'requests'), starters, 'requests'),
      limits: largest(total(containers, 'limits'), starters, 'limits'),
    };
    return demandProblems(limit, whole);
  });
}

interface Demand {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

function demandOf(container: unknown): Demand {
  return {
    requests: quantitiesOf(objectAt(container, 'resources', 'requests')),
    limits: quantitiesOf(objectAt(container, 'resources', 'limits')),
  };
}

/** Of the amounts that every container has: a pod in which one is without a limit has none. */
function total(demands: readonly Demand[], key: keyof Demand): Map<string, Quantity> {
  const sums = new Map<string, Quantity>();
  for (const [name] of demands[0]?.[key] ?? []) {
    const amounts = demands.map((demand) => demand[key].get(name));
    if (amounts.some((amount) => amount === undefined)) continue;
    const known = amounts.filter((amount) => amount !== undefined);
    sums.set(name, known.reduce(addQuantities));
  }
  return sums;
}

/** Init containers run one at a time, so only the largest counts beside the sum of the others. */
function largest(sums: Map<string, Quantity>, starters: readonly Demand[], key: keyof Demand): Amounts {
  for (const starter of starters)
    for (const [name, amount] of starter[key]) {
      const sum = sums.get(name);
      if (sum && compareQuantities(amount, sum) > 0) sums.set(name, amount);
    }
  return sums;
}

function demandProblems(limit: JsonObject, { requests, limits }: Demand): string[] {
  const type = stringAt(limit, 'type') ?? '';
  const problems: string[] = [];
  for (const [name, least] of quantitiesOf(objectAt(limit, 'min'))) {
    const rule = `minimum ${name} usage per ${type} is ${formatQuantity(least)}`;
    const asked = requests.get(name);
    const most = limits.get(name);
    if (!asked) problems.push(`${rule}.  No request is specified`);
    else if (compareQuantities(asked, least) < 0)
      problems.push(`${rule}, but request is ${formatQuantity(asked)}`);
    else if (most && compareQuantities(most, least) < 0)
      problems.push(`${rule}, but limit is ${formatQuantity(most)}`);
  }
  for (const [name, highest] of quantitiesOf(objectAt(limit, 'max'))) {
    const rule = `maximum ${name} usage per ${type} is ${formatQuantity(highest)}`;
    const asked = requests.get(name);
    const most = limits.get(name);
    if (!most) problems.push(`${rule}.  No limit is specified`);
    else if (compareQuantities(most, highest) > 0)
      problems.push(`${rule}, but limit is ${formatQuantity(most)}`);
    else if (asked && compareQuantities(asked, highest) > 0)
      problems.push(`${rule}, but request is ${formatQuantity(asked)}`);
  }
  for (const [name, ratio] of quantitiesOf(objectAt(limit, 'maxLimitRequestRatio'))) {
    const rule = `${name} max limit to request ratio per ${type} is ${formatQuantity(ratio)}`;
    const asked = requests.get(name);
    const most = limits.get(name);
    if (!asked || asked.nanos === 0n) problems.push(`${rule}, but no request is specified or request is 0`);
    else if (!most || most.nanos === 0n) problems.push(`${rule}, but no limit is specified or limit is 0`);
    else if (most.nanos * 1_000_000_000n > ratio.nanos * asked.nanos)
      problems.push(
        `${rule}, but provided ratio is ${(Number(most.nanos) / Number(asked.nanos)).toFixed(6)}`,
      );
  }
  return problems;
}

function claimProblems(claim: KubeObject, limits: readonly JsonObject[]): string[] {
  const requests = quantitiesOf(objectAt(claim, 'spec', 'resources', 'requests'));
  const problems: string[] = [];
  for (const limit of limits) {
    const type = stringAt(limit, 'type') ?? '';
    if (type !== 'PersistentVolumeClaim') continue;
    for (const [key, word, sign] of [
      ['min', 'minimum', -1],
      ['max', 'maximum', 1],
    ] as const) {
      for (const [name, bound] of quantitiesOf(objectAt(limit, key))) {
        const rule = `${word} ${name} usage per ${type} is ${formatQuantity(bound)}`;
        const asked = requests.get(name);
        if (!asked) problems.push(`${rule}.  No request is specified`);
        else if (Math.sign(compareQuantities(asked, bound)) === sign)
          problems.push(`${rule}, but request is ${formatQuantity(asked)}`);
      }
    }
  }
  return problems;
}
