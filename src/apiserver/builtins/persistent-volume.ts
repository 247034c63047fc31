import { asJson, type KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { dns1123Subdomain, labelSelector, oneOf, type Problems } from './field-checks.ts';
import { forbidden, IMMUTABLE, invalidValue, notSupported, required } from './field-errors.ts';
import { assign, defaultWhenEmpty, defaultWhenNull, ensureObject, strings, text } from './fields.ts';
import { defaultVolumeSource } from './pod-defaults.ts';
import { changeText, copyField } from './pod-update.ts';
import { validateNodeSelector } from './pod-validation.ts';
import { canonicalResources, notNegativeQuantity } from './resource-list.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const VOLUME_MODES = ['Block', 'Filesystem'];
const NOT_SOURCES = [
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
];

export const persistentVolumeStrategy: Strategy = strategy({
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['name'],
  fieldLabels: (volume) => ({ name: volume.metadata.name ?? '' }),
  defaults(volume) {
    const spec = ensureObject(volume, 'spec');
    defaultWhenEmpty(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    defaultWhenNull(spec, 'volumeMode', 'Filesystem');
    canonicalResources(spec, 'capacity');
    defaultVolumeSource(spec);
  },
  prepareForCreate(volume, context) {
    protect(volume, 'kubernetes.io/pv-protection', context.disabledAdmission);
    assign(volume, 'status', { phase: 'Pending', lastPhaseTransitionTime: formatTime(context.now) });
  },
  prepareForStatusUpdate: keepSpec,
  validate(volume) {
    const spec = objectAt(volume, 'spec') ?? {};
    const problems = accessModeProblems(spec, 'spec');
    const capacity = objectAt(spec, 'capacity');
    if (capacity === undefined || Object.keys(capacity).length === 0) {
      problems.push(required('spec.capacity'));
    } else if (capacity.storage === undefined || Object.keys(capacity).length > 1) {
      problems.push(notSupported('spec.capacity', capacity, ['storage']));
    } else problems.push(...sizeProblems(capacity.storage, 'spec.capacity[storage]'));
    problems.push(
      ...oneOf(spec, 'spec', 'persistentVolumeReclaimPolicy', ['Delete', 'Recycle', 'Retain']),
      ...oneOf(spec, 'spec', 'volumeMode', VOLUME_MODES),
      ...classNameProblems(spec, 'spec.storageClassName'),
    );
    const sources = Object.keys(spec).filter((key) => !NOT_SOURCES.includes(key) && isObject(spec[key]));
    if (sources.length === 0) problems.push(required('spec', 'must specify a volume type'));
    for (const extra of sources.slice(1)) {
      problems.push(forbidden(`spec.${extra}`, 'may not specify more than 1 volume type'));
    }
    const affinity = objectAt(spec, 'nodeAffinity', 'required');
    if (affinity) problems.push(...validateNodeSelector(affinity, 'spec.nodeAffinity.required'));
    return problems;
  },
  validateUpdate(volume, old) {
    const now = sourcesOf(objectAt(volume, 'spec'));
    const before = sourcesOf(objectAt(old, 'spec'));
    const problems: Problems = [];
    if (!deepEqual(now, before)) {
      problems.push(
        forbidden(
          'spec.persistentvolumesource',
          `spec.persistentvolumesource is immutable after creation\n${changeText('core.PersistentVolumeSource', before, now)}`,
        ),
      );
    }
    if (text(objectAt(volume, 'spec'), 'volumeMode') !== text(objectAt(old, 'spec'), 'volumeMode')) {
      problems.push(invalidValue('spec.volumeMode', text(objectAt(volume, 'spec'), 'volumeMode'), IMMUTABLE));
    }
    return problems;
  },
});

export const persistentVolumeClaimStrategy: Strategy = strategy({
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['name'],
  fieldLabels: (claim) => ({ name: claim.metadata.name ?? '' }),
  defaults: (claim) => defaultClaim(asJson(claim)),
  prepareForCreate(claim, context) {
    protect(claim, 'kubernetes.io/pvc-protection', context.disabledAdmission);
    mirrorDataSource(ensureObject(asJson(claim), 'spec'));
    initialStatus({ phase: 'Pending' })(claim);
  },
  prepareForUpdate: (claim) => mirrorDataSource(ensureObject(asJson(claim), 'spec')),
  prepareForStatusUpdate: keepSpec,
  validate(claim) {
    const spec = objectAt(claim, 'spec') ?? {};
    return validateClaimSpec(spec, 'spec');
  },
  validateUpdate(claim, old) {
    const now = clone(objectAt(claim, 'spec') ?? {});
    const before = clone(objectAt(old, 'spec') ?? {});
    const problems: Problems = [];
    const bound = text(objectAt(old, 'status'), 'phase') === 'Bound';
    // A claim is bound by writing the volume's name, and gets the default class late.
    if (text(before, 'volumeName') === '') copyField(before, now, 'volumeName');
    if (before.storageClassName == null) copyField(now, before, 'storageClassName');
    const sizes = [now, before].map((spec) =>
      parseQuantity(objectAt(spec, 'resources', 'requests')?.storage),
    );
    if (bound) {
      copyField(now, before, 'volumeAttributesClassName');
      const requests = objectAt(now, 'resources', 'requests');
      if (requests) copyField(requests, objectAt(before, 'resources', 'requests') ?? {}, 'storage');
    }
    if (!deepEqual(now, before)) {
      problems.push(
        forbidden(
          'spec',
          `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${changeText('core.PersistentVolumeClaimSpec', before, now)}`,
        ),
      );
    }
    const [wanted, had] = sizes;
    if (bound && wanted !== undefined && had !== undefined && wanted.nanos < had.nanos) {
      problems.push(
        forbidden('spec.resources.requests.storage', 'field can not be less than previous value'),
      );
    }
    return problems;
  },
});

export function defaultClaim(claim: JsonObject): void {
  const spec = ensureObject(claim, 'spec');
  defaultWhenNull(spec, 'volumeMode', 'Filesystem');
  const resources = ensureObject(spec, 'resources');
  canonicalResources(resources, 'requests');
  canonicalResources(resources, 'limits');
}

/** `dataSource` is the older, narrower of two names for one thing. An empty reference is none. */
function mirrorDataSource(spec: JsonObject): void {
  for (const key of ['dataSource', 'dataSourceRef']) {
    const ref = objectAt(spec, key);
    if (ref && text(ref, 'kind') === '' && text(ref, 'name') === '') delete spec[key];
  }
  if (isObject(spec.dataSource) && spec.dataSourceRef == null) {
    spec.dataSourceRef = clone(spec.dataSource);
  } else if (spec.dataSource == null && isObject(spec.dataSourceRef)) {
    if (text(spec.dataSourceRef, 'namespace') === '') spec.dataSource = clone(spec.dataSourceRef);
  }
}

export function validateClaimSpec(spec: JsonObject, path: string): Problems {
  const problems = accessModeProblems(spec, path);
  problems.push(...labelSelector(spec.selector, `${path}.selector`));
  const storage = objectAt(spec, 'resources', 'requests')?.storage;
  if (storage === undefined) problems.push(required(`${path}.resources[storage]`));
  else problems.push(...sizeProblems(storage, `${path}.resources[storage]`));
  problems.push(...classNameProblems(spec, `${path}.storageClassName`));
  problems.push(...oneOf(spec, path, 'volumeMode', VOLUME_MODES));
  for (const key of ['dataSource', 'dataSourceRef']) {
    const ref = objectAt(spec, key);
    if (ref === undefined) continue;
    for (const part of ['kind', 'name']) {
      if (text(ref, part) === '') problems.push(required(`${path}.${key}.${part}`));
    }
  }
  const source = objectAt(spec, 'dataSource');
  const reference = objectAt(spec, 'dataSourceRef');
  if (source && reference && !deepEqual(source, withoutNamespace(reference))) {
    problems.push(invalidValue(path, source, 'must match dataSourceRef'));
  }
  return problems;
}

function withoutNamespace(ref: JsonObject): JsonObject {
  const { namespace: _, ...rest } = ref;
  return rest;
}

function accessModeProblems(spec: JsonObject, path: string): Problems {
  const modes = strings(spec, 'accessModes');
  if (modes.length === 0) return [required(`${path}.accessModes`, 'at least 1 access mode is required')];
  const problems: Problems = modes
    .filter((mode) => !ACCESS_MODES.includes(mode))
    .map((mode) => notSupported(`${path}.accessModes`, mode, ACCESS_MODES));
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    problems.push(forbidden(`${path}.accessModes`, 'may not use ReadWriteOncePod with other access modes'));
  }
  return problems;
}

function sizeProblems(value: unknown, path: string): Problems {
  const problems = notNegativeQuantity(value, path);
  if (problems.length > 0) return problems;
  return parseQuantity(value)?.nanos === 0n ? [invalidValue(path, '0', 'must be greater than zero')] : [];
}

function classNameProblems(spec: JsonObject, path: string): Problems {
  const name = text(spec, 'storageClassName');
  return name === '' ? [] : dns1123Subdomain(name, path);
}

/** Keeps volumes and claims in use from vanishing; a controller takes the finalizer away. */
function protect(object: KubeObject, finalizer: string, disabled: ReadonlySet<string> | undefined): void {
  if (disabled?.has('StorageObjectInUseProtection')) return;
  const finalizers = object.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
}

function sourcesOf(spec: JsonObject | undefined): JsonObject {
  const rest = { ...spec };
  for (const key of NOT_SOURCES) delete rest[key];
  return rest;
}
