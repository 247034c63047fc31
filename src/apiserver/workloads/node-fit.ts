import { parseQuantity } from '../../schema/quantity.ts';
import type {
  Container,
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  Toleration,
} from './kinds.ts';
import { conditionOf } from './pod-state.ts';

/** Amounts by resource name, in base units (cores, bytes). */
export type Amounts = Map<string, number>;

export function amountsOf(quantities: Record<string, string> | undefined): Amounts {
  const out: Amounts = new Map();
  for (const name in quantities) {
    const quantity = parseQuantity(quantities[name]);
    if (quantity) out.set(name, Number(quantity.nanos) / 1e9);
  }
  return out;
}

/** What a pod asks of its node: the sum of its containers, or its largest init container; and one pod. */
export function requestsOf(spec: PodSpec): Amounts {
  const total: Amounts = new Map();
  const requests = (container: Container): Amounts => amountsOf(container.resources?.requests);
  for (const container of spec.containers)
    for (const [name, amount] of requests(container)) total.set(name, (total.get(name) ?? 0) + amount);
  for (const container of spec.initContainers ?? [])
    for (const [name, amount] of requests(container)) total.set(name, Math.max(total.get(name) ?? 0, amount));
  total.set('pods', 1);
  return total;
}

/** Adds `amounts` to a sum, or takes them off with `sign` -1. */
export function addAmounts(sum: Amounts, amounts: Amounts, sign: 1 | -1): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + sign * amount);
}

/**
 * Why a pod may not run on a node whatever else runs there, in the words of the scheduler's message; `undefined` when it
 * may.
 */
export function nodeRefusal(pod: Pod, node: Node): string | undefined {
  const tolerations = pod.spec.tolerations ?? [];
  if (conditionOf(node.status?.conditions, 'Ready')?.status !== 'True') return 'node(s) were not ready';
  if (node.spec?.unschedulable === true && !toleratesTaint(tolerations, UNSCHEDULABLE))
    return 'node(s) were unschedulable';
  if (!matchesAffinity(pod.spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  const taint = (node.spec?.taints ?? []).find(
    (each) => each.effect !== 'PreferNoSchedule' && !toleratesTaint(tolerations, each),
  );
  return taint && `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
}

/** The resources of which a node has not enough left, as `Insufficient cpu`. */
export function insufficient(requests: Amounts, node: Node, used: Amounts | undefined): string[] {
  const allocatable = amountsOf(node.status?.allocatable ?? node.status?.capacity);
  const out: string[] = [];
  for (const [name, amount] of requests) {
    if (amount <= 0) continue;
    // Sums of cores such as 0.1 are not exact in binary.
    const left = (allocatable.get(name) ?? 0) - (used?.get(name) ?? 0);
    if (amount > left + 1e-6) out.push(name === 'pods' ? 'Too many pods' : `Insufficient ${name}`);
  }
  return out;
}

/** Node selector and required node affinity. */
export function matchesAffinity(spec: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  return required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

function matchesTerm(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  const named: Record<string, string> = { 'metadata.name': node.metadata.name ?? '' };
  return (
    expressions.every((each) => matchesRequirement(each, labels[each.key])) &&
    fields.every((each) => matchesRequirement(each, named[each.key]))
  );
}

function matchesRequirement(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function toleratesTaint(
  tolerations: readonly Toleration[],
  taint: { key: string; value?: string; effect: string },
): boolean {
  return tolerations.some(
    (each) =>
      (each.effect === undefined || each.effect === '' || each.effect === taint.effect) &&
      (each.key === undefined || each.key === '' ? each.operator === 'Exists' : each.key === taint.key) &&
      (each.operator === 'Exists' || (each.value ?? '') === (taint.value ?? '')),
  );
}
