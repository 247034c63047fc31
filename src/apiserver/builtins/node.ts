import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, type JsonObject, type JsonValue, objectAt } from '../../schema/json.ts';
import { jsonProblem } from '../../schema/json-problem.ts';
import { validateLabelValue, validateQualifiedName } from '../../schema/names.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { cidr, oneOf, type Problems } from './field-checks.ts';
import { duplicateAs, forbidden, invalidAs, invalidEach, invalidValue, required } from './field-errors.ts';
import { ensureObject, isSet, objectsOf, strings, text } from './fields.ts';
import { goDump, quantityDump } from './go-dump.ts';
import { canonicalResources, notNegativeQuantity } from './resource-list.ts';

const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';

export const nodeStrategy: Strategy = strategy({
  resetFields: statusResetFields('spec'),
  keepsStatusOnCreate: true,
  fieldLabelNames: ['spec.unschedulable'],
  fieldLabels: (node) => ({
    'spec.unschedulable': String(objectAt(node, 'spec')?.unschedulable === true),
  }),
  defaults(node) {
    const spec = objectAt(node, 'spec');
    if (spec) settleBlocks(spec);
    const status = objectAt(node, 'status');
    if (status === undefined) return;
    canonicalResources(status, 'capacity');
    canonicalResources(status, 'allocatable');
    if (status.allocatable == null && status.capacity != null) {
      status.allocatable = { ...objectAt(status, 'capacity') };
    }
  },
  // Nodes register with their status: it is what the node knows of itself, and is kept.
  prepareForCreate(node, context) {
    dropConfigSource(node, undefined);
    const spec = ensureObject(node, 'spec');
    if (!context.disabledAdmission?.has('TaintNodesByCondition')) addNotReadyTaint(spec);
    const status = ensureObject(node, 'status');
    delete status.config;
    const endpoints = ensureObject(ensureObject(status, 'daemonEndpoints'), 'kubeletEndpoint');
    endpoints.Port ??= 0;
    const info = ensureObject(status, 'nodeInfo');
    for (const key of NODE_INFO) info[key] ??= '';
  },
  prepareForUpdate: (node, old) => dropConfigSource(node, old),
  prepareForStatusUpdate(node, old) {
    keepSpec(node, old);
    const status = objectAt(node, 'status');
    if (objectAt(old, 'status')?.config == null) delete status?.config;
  },
  warnings: (node) =>
    text(objectAt(node, 'spec'), 'externalID') === ''
      ? []
      : ['spec.externalID: this field is deprecated, and is unused by Kubernetes'],
  validate: (node) => [...commonProblems(node), ...blockProblems(objectAt(node, 'spec'))],
  // What does not depend on the change is looked at twice, but for the blocks.
  validateUpdate: (node, old) => [...commonProblems(node), ...changeProblems(node, old)],
  validateStatusUpdate: (node, old) => [...commonProblems(node), ...changeProblems(node, old)],
});

function commonProblems(node: KubeObject): Problems {
  const problems = avoidedPodsProblems(node);
  const seen = new Set<string>();
  for (const [index, taint] of objectsOf(objectAt(node, 'spec'), 'taints').entries()) {
    const at = `metadata.taints[${index}]`;
    const key = text(taint, 'key');
    problems.push(...invalidEach(`${at}.key`, key, validateQualifiedName(key)));
    const value = text(taint, 'value');
    problems.push(...invalidEach(`${at}.value`, value, validateLabelValue(value)));
    const effect = text(taint, 'effect');
    if (effect === '') problems.push(required(`${at}.effect`));
    else problems.push(...oneOf(taint, at, 'effect', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']));
    const pair = `${key}/${effect}`;
    if (seen.has(pair)) {
      problems.push({
        ...duplicateAs(at, goDump('core.Taint', taint)),
        detail: 'taints must be unique by key and effect pair',
      });
    }
    seen.add(pair);
  }
  const status = objectAt(node, 'status');
  for (const key of ['capacity', 'allocatable']) {
    const amounts = objectAt(status, key) ?? {};
    for (const name in amounts) {
      problems.push(...amountProblems(name, amounts[name], `status.${key}.${name}`));
    }
  }
  return problems;
}

function blockProblems(spec: JsonObject | undefined): Problems {
  const blocks = strings(spec, 'podCIDRs');
  const problems = blocks.flatMap((block, index) => cidr(block, `spec.podCIDRs[${index}]`));
  const families = new Set(blocks.map((block) => block.includes(':')));
  if (blocks.length > 1 && (families.size < 2 || blocks.length > 2))
    problems.push(
      invalidValue('spec.podCIDRs', blocks, 'may specify no more than one CIDR for each IP family'),
    );
  return problems;
}

function changeProblems(node: KubeObject, old: KubeObject): Problems {
  const now = objectAt(node, 'spec');
  const before = objectAt(old, 'spec');
  const problems: Problems = [];
  const addresses = new Set<string>();
  for (const [index, address] of objectsOf(objectAt(node, 'status'), 'addresses').entries()) {
    const pair = JSON.stringify([address.type, address.address]);
    if (addresses.has(pair))
      problems.push(duplicateAs(`status.addresses[${index}]`, goDump('core.NodeAddress', address)));
    addresses.add(pair);
  }
  const fixed = (key: string, name: string): void => {
    if (!isSet(before?.[key]) || deepEqual(before?.[key], now?.[key])) return;
    problems.push(forbidden(`spec.${key}`, `node updates may not change ${name} except from "" to valid`));
  };
  fixed('podCIDRs', 'podCIDR');
  fixed('providerID', 'providerID');
  if (text(now, 'externalID') !== text(before, 'externalID'))
    problems.push(forbidden('spec.externalID', 'may not be updated'));
  return problems;
}

const AVOIDED_PODS = 'scheduler.alpha.kubernetes.io/preferAvoidPods';

/** Controllers whose pods a node would rather not have, in an annotation that nothing reads any more. */
function avoidedPodsProblems(node: KubeObject): Problems {
  const given = node.metadata.annotations?.[AVOIDED_PODS];
  if (given === undefined) return [];
  let value: JsonValue;
  try {
    value = JSON.parse(given) as JsonValue;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const why = jsonProblem(given) ?? error.message;
    return [invalidValue('metadata.annotations.AvoidPods', AVOIDED_PODS, why)];
  }
  return objectsOf(value, 'preferAvoidPods').flatMap((entry, index) => {
    const at = `metadata.annotations.${AVOIDED_PODS}[${index}].PodSignature`;
    const controller = objectAt(entry, 'podSignature', 'podController');
    if (controller === undefined) return [required(at)];
    return controller.controller === true
      ? []
      : [invalidValue(`${at}.PodController.Controller`, false, 'must point to a controller')];
  });
}

/** Nodes are not configured by the API any more. */
function dropConfigSource(node: KubeObject, old: KubeObject | undefined): void {
  if (objectAt(old ?? {}, 'spec')?.configSource == null) delete objectAt(node, 'spec')?.configSource;
}

/** The block of addresses of a node is the first of its blocks; where they differ, the single one is right. */
function settleBlocks(spec: JsonObject): void {
  const single = text(spec, 'podCIDR');
  const first = strings(spec, 'podCIDRs')[0] ?? '';
  if (single !== '' && single !== first) spec.podCIDRs = [single];
  else if (single === '' && first !== '') spec.podCIDR = first;
}

/** Pods and the like are counted in whole numbers. */
function amountProblems(name: string, amount: unknown, path: string): Problems {
  const problems = notNegativeQuantity(amount, path);
  const quantity = parseQuantity(amount);
  const whole = name === 'pods' || (name.includes('/') && !name.startsWith('kubernetes.io/'));
  if (whole && quantity !== undefined && quantity.nanos % 1_000_000_000n !== 0n)
    problems.push(invalidAs(path, quantityDump(amount), 'must be an integer'));
  return problems;
}

/** A node takes no pods before it has said that it is ready. */
function addNotReadyTaint(spec: JsonObject): void {
  const taints = objectsOf(spec, 'taints');
  if (
    taints.some((taint) => text(taint, 'key') === NOT_READY_TAINT && text(taint, 'effect') === 'NoSchedule')
  ) {
    return;
  }
  spec.taints = [...taints, { key: NOT_READY_TAINT, effect: 'NoSchedule' }];
}

const NODE_INFO = [
  'architecture',
  'bootID',
  'containerRuntimeVersion',
  'kernelVersion',
  'kubeProxyVersion',
  'kubeletVersion',
  'machineID',
  'operatingSystem',
  'osImage',
  'systemUUID',
];
