import { asJson } from '../../kube/object.ts';
import { deepEqual, isObject, objectAt } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { dns1123Subdomain, immutable, labelSelector, oneOf, type Problems } from './field-checks.ts';
import {
  duplicate,
  forbidden,
  IMMUTABLE,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from './field-errors.ts';
import { defaultWhenNull, ensureObject, integer, objectsOf, strings, text } from './fields.ts';
import { canonicalField, notNegativeQuantity } from './resource-list.ts';

const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer'];
const GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType'];
const LIFECYCLES = ['Persistent', 'Ephemeral'];
const TOKEN_SECONDS = { least: 600, most: 2 ** 32 };

export const storageClassStrategy: Strategy = strategy({
  returnsDeleted: true,
  defaults(object) {
    const json = asJson(object);
    defaultWhenNull(json, 'reclaimPolicy', 'Delete');
    defaultWhenNull(json, 'volumeBindingMode', 'Immediate');
  },
  validate(object) {
    const json = asJson(object);
    const problems: Problems = [];
    const provisioner = text(json, 'provisioner');
    if (provisioner === '') problems.push(required('provisioner'));
    else {
      problems.push(
        ...invalidEach('provisioner', provisioner, validateQualifiedName(provisioner.toLowerCase())),
      );
    }
    problems.push(
      ...oneOf(json, '', 'reclaimPolicy', ['Delete', 'Retain']),
      ...oneOf(json, '', 'volumeBindingMode', BINDING_MODES),
    );
    for (const [index, term] of objectsOf(json, 'allowedTopologies').entries()) {
      for (const [i, expression] of objectsOf(term, 'matchLabelExpressions').entries()) {
        const at = `allowedTopologies[${index}].matchLabelExpressions[${i}]`;
        if (strings(expression, 'values').length === 0) problems.push(required(`${at}.values`));
        const key = text(expression, 'key');
        problems.push(...invalidEach(`${at}.key`, key, validateQualifiedName(key)));
      }
    }
    return problems;
  },
  validateUpdate(object, old) {
    const now = asJson(object);
    const before = asJson(old);
    const problems: Problems = [];
    for (const key of ['parameters', 'provisioner', 'reclaimPolicy']) {
      if (!deepEqual(now[key] ?? null, before[key] ?? null)) {
        problems.push(forbidden(key, `updates to ${key} are forbidden.`));
      }
    }
    return [...problems, ...immutable(now, before, '', 'volumeBindingMode')];
  },
});

export const csiDriverStrategy: Strategy = strategy({
  generation: 'spec-on-update',
  allowUnconditionalUpdate: false,
  returnsDeleted: true,
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenNull(spec, 'attachRequired', true);
    defaultWhenNull(spec, 'podInfoOnMount', false);
    defaultWhenNull(spec, 'storageCapacity', false);
    defaultWhenNull(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
    if (strings(spec, 'volumeLifecycleModes').length === 0) spec.volumeLifecycleModes = ['Persistent'];
    defaultWhenNull(spec, 'requiresRepublish', false);
    defaultWhenNull(spec, 'seLinuxMount', false);
  },
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems = oneOf(spec, 'spec', 'fsGroupPolicy', GROUP_POLICIES);
    for (const mode of strings(spec, 'volumeLifecycleModes')) {
      if (!LIFECYCLES.includes(mode))
        problems.push(notSupported('spec.volumeLifecycleModes', mode, LIFECYCLES));
    }
    const audiences = new Set<string>();
    for (const [index, request] of objectsOf(spec, 'tokenRequests').entries()) {
      const at = `spec.tokenRequests[${index}]`;
      const audience = text(request, 'audience');
      if (audiences.has(audience)) problems.push(duplicate(`${at}.audience`, audience));
      audiences.add(audience);
      const seconds = integer(request, 'expirationSeconds');
      if (seconds === undefined) continue;
      const path = `${at}.expirationSeconds`;
      if (seconds < TOKEN_SECONDS.least) {
        problems.push(invalidValue(path, seconds, 'may not specify a duration less than 10 minutes'));
      }
      if (seconds > TOKEN_SECONDS.most) {
        problems.push(invalidValue(path, seconds, 'may not specify a duration larger than 2^32 seconds'));
      }
    }
    return problems;
  },
  validateUpdate(object, old) {
    const now = objectAt(object, 'spec') ?? {};
    const before = objectAt(old, 'spec') ?? {};
    const problems = immutable(now, before, 'spec', 'volumeLifecycleModes');
    if (now.attachRequired !== before.attachRequired) {
      problems.push(invalidValue('spec.attachedRequired', now.attachRequired, IMMUTABLE));
    }
    return problems;
  },
});

export const csiNodeStrategy: Strategy = strategy({
  allowUnconditionalUpdate: false,
  returnsDeleted: true,
  validate(object) {
    const problems: Problems = [];
    const names = new Set<string>();
    for (const [index, driver] of objectsOf(objectAt(object, 'spec'), 'drivers').entries()) {
      const at = `spec.drivers[${index}]`;
      const name = text(driver, 'name');
      problems.push(...driverName(name, `${at}.name`));
      if (names.has(name)) problems.push(duplicate(`${at}.name`, name));
      names.add(name);
      if (text(driver, 'nodeID') === '') problems.push(required(`${at}.nodeID`));
    }
    return problems;
  },
});

export const csiStorageCapacityStrategy: Strategy = strategy({
  allowUnconditionalUpdate: false,
  defaults(object) {
    canonicalField(asJson(object), 'capacity');
    canonicalField(asJson(object), 'maximumVolumeSize');
  },
  validate(object) {
    const json = asJson(object);
    const problems = dns1123Subdomain(text(json, 'storageClassName'), 'storageClassName');
    problems.push(...labelSelector(json.nodeTopology, 'nodeTopology'));
    for (const key of ['capacity', 'maximumVolumeSize']) {
      if (json[key] !== undefined && json[key] !== null)
        problems.push(...notNegativeQuantity(json[key], key));
    }
    return problems;
  },
  validateUpdate: (object, old) =>
    immutable(asJson(object), asJson(old), '', 'nodeTopology', 'storageClassName'),
});

export const volumeAttachmentStrategy: Strategy = strategy({
  allowUnconditionalUpdate: false,
  returnsDeleted: true,
  resetFields: statusResetFields('spec', 'metadata'),
  prepareForCreate: initialStatus({ attached: false }),
  prepareForStatusUpdate: keepSpec,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    const attacher = text(spec, 'attacher');
    if (attacher === '') problems.push(required('spec.attacher'));
    problems.push(...driverName(attacher, 'spec.attacher'));
    problems.push(...dns1123Subdomain(text(spec, 'nodeName'), 'spec.nodeName'));
    const source = objectAt(spec, 'source') ?? {};
    const inline = isObject(source.inlineVolumeSpec);
    const named = text(source, 'persistentVolumeName') !== '';
    if (inline === named) {
      const text = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
      problems.push(inline ? forbidden('spec.source', text) : required('spec.source', text));
    }
    return problems;
  },
  validateUpdate: (object, old) =>
    deepEqual(object.spec, old.spec) ? [] : [invalidValue('spec', object.spec, IMMUTABLE)],
});

export const volumeAttributesClassStrategy: Strategy = strategy({
  returnsDeleted: true,
  validate: (object) => {
    const name = text(asJson(object), 'driverName');
    return name === '' ? [required('driverName')] : driverName(name, 'driverName');
  },
  validateUpdate(object, old) {
    const now = asJson(object);
    const before = asJson(old);
    return ['driverName', 'parameters']
      .filter((key) => !deepEqual(now[key] ?? null, before[key] ?? null))
      .map((key) => forbidden(key, `updates to ${key} are forbidden.`));
  },
});

function driverName(name: string, path: string): Problems {
  const problems: Problems = name === '' ? [required(path)] : [];
  if (name.length > 63) problems.push(invalidValue(path, name, 'must be no more than 63 characters'));
  return [...problems, ...dns1123Subdomain(name.toLowerCase(), path)];
}
