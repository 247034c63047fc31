import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, type JsonObject, objectAt } from '../../schema/json.ts';
import { formatQuantity, parseQuantity } from '../../schema/quantity.ts';
import { dns1123Subdomain, labelSelector, oneOf, type Problems } from './field-checks.ts';
import {
  forbidden,
  invalidAs,
  invalidValue,
  notSupported,
  notSupportedAs,
  required,
} from './field-errors.ts';
import { strings, text } from './fields.ts';
import { notNegativeQuantity } from './resource-list.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES: readonly string[] = ['Block', 'Filesystem'];

/** What a claim asks for, of its own or of the claim that a pod has made for it. */
export function validateClaimSpec(spec: JsonObject, path: string): Problems {
  const problems = accessModeProblems(spec, path, 'at least 1 access mode is required');
  problems.push(...labelSelector(spec.selector, `${path}.selector`));
  const storage = objectAt(spec, 'resources', 'requests')?.storage;
  if (storage === undefined) problems.push(required(`${path}.resources[storage]`));
  else problems.push(...sizeProblems(storage, `${path}.resources[storage]`));
  problems.push(...classNameProblems(spec, `${path}.storageClassName`));
  problems.push(...oneOf(spec, path, 'volumeMode', VOLUME_MODES));
  for (const key of ['dataSource', 'dataSourceRef']) {
    const ref = objectAt(spec, key);
    if (ref === undefined) continue;
    for (const part of ['name', 'kind']) {
      if (text(ref, part) === '') problems.push(required(`${path}.${key}.${part}`));
    }
    const group = text(ref, 'apiGroup');
    if (group !== '') problems.push(...dns1123Subdomain(group, `${path}.${key}.apiGroup`));
    else if (text(ref, 'kind') !== 'PersistentVolumeClaim') {
      const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
      problems.push(invalidValue(`${path}.${key}`, text(ref, 'kind'), detail));
    }
  }
  const source = objectAt(spec, 'dataSource');
  const reference = objectAt(spec, 'dataSourceRef');
  if (source && reference && !deepEqual(source, withoutNamespace(reference))) {
    // What messages show is the path, of all things.
    const shown = `field.Path{name:"dataSource", index:"", parent:(*field.Path)(0xc000000000)}`;
    problems.push(invalidAs(path, shown, 'must match dataSourceRef'));
  }
  return problems;
}

const RESIZE_STATES: readonly string[] = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

/** What must hold of the status of a claim that somebody writes. */
export function claimStatusProblems(claim: KubeObject): Problems {
  const status = objectAt(claim, 'status');
  const problems: Problems = [];
  for (const key of ['capacity', 'allocatedResources']) {
    const amounts = objectAt(status, key) ?? {};
    for (const name of Object.keys(amounts))
      problems.push(...basicAmountProblems(amounts[name], `status.${key}[${name}]`));
  }
  const at = 'status.allocatedResourceStatus';
  const states = objectAt(status, 'allocatedResourceStatuses') ?? {};
  for (const name of Object.keys(states)) {
    if (name !== 'storage') problems.push(notSupported(at, name, ['storage']));
    // Messages show the resource, of all things.
    if (!RESIZE_STATES.includes(text(states, name))) problems.push(notSupportedAs(at, name, RESIZE_STATES));
  }
  return problems;
}

function withoutNamespace(ref: JsonObject): JsonObject {
  const { namespace: _, ...rest } = ref;
  return rest;
}

export function accessModeProblems(spec: JsonObject, path: string, detail = ''): Problems {
  const modes = strings(spec, 'accessModes');
  if (modes.length === 0) return [required(`${path}.accessModes`, detail)];
  const problems: Problems = modes
    .filter((mode) => !ACCESS_MODES.includes(mode))
    .map((mode) => notSupported(`${path}.accessModes`, mode, ACCESS_MODES));
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    problems.push(forbidden(`${path}.accessModes`, 'may not use ReadWriteOncePod with other access modes'));
  }
  return problems;
}

function sizeProblems(value: unknown, path: string): Problems {
  const quantity = parseQuantity(value);
  if (quantity === undefined) return notNegativeQuantity(value, path);
  return quantity.nanos <= 0n
    ? [invalidValue(path, formatQuantity(quantity), 'must be greater than zero')]
    : [];
}

export function capacityProblems(value: unknown, path: string): Problems {
  return [...basicAmountProblems(value, path), ...sizeProblems(value, path)];
}

function basicAmountProblems(value: unknown, path: string): Problems {
  return notNegativeQuantity(value, path).map((problem) => ({
    ...problem,
    ...(parseQuantity(value) === undefined
      ? {}
      : { valueText: String(value), detail: 'must be a valid resource quantity' }),
  }));
}

export function classNameProblems(spec: JsonObject, path: string): Problems {
  const name = text(spec, 'storageClassName');
  return name === '' ? [] : dns1123Subdomain(name, path);
}
