import { asJson } from '../../kube/object.ts';
import {
  canonicalJson,
  deepEqual,
  isObject,
  type JsonObject,
  objectAt,
  stringsAt,
} from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpecAndMetadata, statusResetFields, strategy } from './base-strategy.ts';
import {
  dns1123Subdomain,
  immutable,
  immutableText,
  labelSelector,
  notNegative,
  oneOf,
  type Problems,
  selectorText,
} from './field-checks.ts';
import {
  duplicate,
  forbidden,
  IMMUTABLE,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from './field-errors.ts';
import { defaultWhenNull, ensureObject, integer, objectsOf, strings, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { canonicalField, notNegativeQuantity } from './resource-list.ts';
import { driverName } from './volume-sources.ts';
import { volumeSpecProblems } from './volume-spec.ts';

const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer'];
const GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType'];
const LIFECYCLES = ['Persistent', 'Ephemeral'];
const NODE_ID_LIMIT = 256;
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
        ...invalidEach(
          'provisioner',
          provisioner.toLowerCase(),
          validateQualifiedName(provisioner.toLowerCase()),
        ),
      );
    }
    problems.push(
      ...(json.reclaimPolicy === '' ? [] : oneOf(json, '', 'reclaimPolicy', ['Delete', 'Retain'])),
      ...oneOf(json, '', 'volumeBindingMode', BINDING_MODES),
    );
    problems.push(...parameterProblems(stringsAt(json, 'parameters')));
    const terms = objectsOf(json, 'allowedTopologies');
    const told = new Map<string, number>();
    for (const [index, term] of terms.entries()) {
      const keys = new Set<string>();
      for (const [i, expression] of objectsOf(term, 'matchLabelExpressions').entries()) {
        const at = `allowedTopologies[${index}].matchLabelExpressions[${i}]`;
        const values = strings(expression, 'values');
        if (values.length === 0) problems.push(required(`${at}.values`));
        for (const [k, value] of values.entries()) {
          if (values.indexOf(value) < k) problems.push(duplicate(`${at}.values[${k}]`, value));
        }
        const key = text(expression, 'key');
        if (keys.has(key)) problems.push(duplicate(`${at}.key`, key));
        keys.add(key);
        problems.push(...invalidEach(`${at}.key`, key, validateQualifiedName(key)));
      }
      // A term that says nothing is like each that has not been looked at.
      const said = canonicalJson(valuesByKey(term));
      const before = told.get(said) ?? 0;
      told.set(said, before + 1);
      const same = before + (said === '{}' ? terms.length - index : 0);
      for (let i = 0; i < same && problems.length < PROBLEMS_LIMIT; i++)
        problems.push(duplicate(`allowedTopologies[${index}].matchLabelExpressions`, ''));
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

/** Terms that are alike are told of pair by pair; nobody reads that many. */
const PROBLEMS_LIMIT = 1000;
const PARAMETERS_LIMIT = 512;
const PARAMETERS_BYTES = 256 * 1024;

function parameterProblems(parameters: Readonly<Record<string, string>>): Problems {
  const entries = Object.entries(parameters);
  if (entries.length > PARAMETERS_LIMIT) return [tooLong('parameters', PARAMETERS_LIMIT)];
  const problems: Problems = Object.hasOwn(parameters, '')
    ? [invalidValue('parameters', '', 'field can not be empty.')]
    : [];
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (bytes > PARAMETERS_BYTES) problems.push(tooLong('parameters', PARAMETERS_BYTES));
  return problems;
}

/** What a term of topologies asks for. */
function valuesByKey(term: JsonObject): JsonObject {
  const values: JsonObject = {};
  for (const expression of objectsOf(term, 'matchLabelExpressions'))
    values[text(expression, 'key')] = [...new Set(strings(expression, 'values'))].sort();
  return values;
}

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
      if (audiences.has(audience)) {
        problems.push(duplicate(`${at}.audience`, audience));
        continue;
      }
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
    const modes = strings(now, 'volumeLifecycleModes');
    const problems: Problems = deepEqual(modes, strings(before, 'volumeLifecycleModes'))
      ? []
      : [
          invalidAs(
            'spec.volumeLifecycleModes',
            `[]storage.VolumeLifecycleMode{${modes.map((mode) => JSON.stringify(mode)).join(', ')}}`,
            IMMUTABLE,
          ),
        ];
    if (now.attachRequired !== before.attachRequired) {
      problems.push(invalidValue('spec.attachedRequired', now.attachRequired, IMMUTABLE));
    }
    return problems;
  },
});

export const csiNodeStrategy: Strategy = strategy({
  validateTwice: true,
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
      const nodeId = text(driver, 'nodeID');
      if (nodeId === '') problems.push(required(`${at}.nodeID`));
      else if (nodeId.length > NODE_ID_LIMIT) {
        problems.push(invalidValue(`${at}.nodeID`, nodeId, `must be ${NODE_ID_LIMIT} characters or less`));
      }
      problems.push(...notNegative(objectAt(driver, 'allocatable'), `${at}.allocatable`, 'count'));
      const keys = new Set<string>();
      for (const key of strings(driver, 'topologyKeys')) {
        if (key === '') problems.push(required(at));
        else if (keys.has(key)) problems.push(duplicate(at, key));
        keys.add(key);
        problems.push(...invalidEach(at, key, validateQualifiedName(key)));
      }
    }
    return problems;
  },
  validateUpdate(object, old) {
    const before = objectsOf(objectAt(old, 'spec'), 'drivers');
    return objectsOf(objectAt(object, 'spec'), 'drivers')
      .filter((driver) => {
        const known = before.find((other) => other.name === driver.name);
        return known !== undefined && !deepEqual(known, driver);
      })
      .map((driver) => invalidAs('CSINodeDriver', goDump('storage.CSINodeDriver', driver), IMMUTABLE));
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
    // The size of the largest volume may be anything.
    if (json.capacity != null) problems.push(...notNegativeQuantity(json.capacity, 'capacity'));
    return problems;
  },
  validateUpdate: (object, old) => [
    ...(deepEqual(object.nodeTopology ?? null, old.nodeTopology ?? null)
      ? []
      : [invalidAs('nodeTopology', selectorText(asJson(object).nodeTopology), IMMUTABLE)]),
    ...immutableText(asJson(object), asJson(old), '', 'storageClassName'),
  ],
});

const ATTACHMENT_BYTES = 256 * 1024;
const ERROR_BYTES = 1024;

export const volumeAttachmentStrategy: Strategy = strategy({
  validateTwice: true,
  allowUnconditionalUpdate: false,
  returnsDeleted: true,
  resetFields: statusResetFields('spec', 'metadata'),
  prepareForCreate: initialStatus({ attached: false }),
  prepareForStatusUpdate: keepSpecAndMetadata,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    const attacher = text(spec, 'attacher');
    if (attacher === '') problems.push(required('spec.attacher'));
    problems.push(...driverName(attacher, 'spec.attacher'));
    problems.push(...dns1123Subdomain(text(spec, 'nodeName'), 'spec.nodeName'));
    const source = objectAt(spec, 'source') ?? {};
    const inline = isObject(source.inlineVolumeSpec);
    const given = source.persistentVolumeName !== undefined;
    const volume = text(source, 'persistentVolumeName');
    if (inline === given) {
      const text = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
      problems.push(inline ? forbidden('spec.source', text) : required('spec.source', text));
    } else if (given) {
      const path = 'spec.source.persistentVolumeName';
      if (volume === '') problems.push(required(path, 'must specify non empty persistentVolumeName'));
      problems.push(...dns1123Subdomain(volume, path));
    } else {
      problems.push(
        ...volumeSpecProblems(
          objectAt(source, 'inlineVolumeSpec') ?? {},
          'spec.source.inlineVolumeSpec',
          true,
        ),
      );
    }
    const status = objectAt(object, 'status');
    const metadata = stringsAt(status, 'attachmentMetadata');
    const bytes = Object.entries(metadata).reduce(
      (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
      0,
    );
    if (bytes > ATTACHMENT_BYTES) problems.push(tooLong('status.attachmentMetadata', ATTACHMENT_BYTES));
    for (const key of ['attachError', 'detachError']) {
      // The limit that messages name is that of the metadata.
      if (Buffer.byteLength(text(objectAt(status, key), 'message')) > ERROR_BYTES)
        problems.push(tooLong(`status.${key}.message`, ATTACHMENT_BYTES));
    }
    return problems;
  },
  validateUpdate: (object, old) =>
    deepEqual(object.spec, old.spec)
      ? []
      : [invalidAs('spec', goDump('storage.VolumeAttachmentSpec', object.spec), IMMUTABLE)],
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
