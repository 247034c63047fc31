import { asJson, type KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { claimStatusProblems, validateClaimSpec } from './claim-validation.ts';
import { immutableText, type Problems } from './field-checks.ts';
import { forbidden, IMMUTABLE, invalidAs } from './field-errors.ts';
import { assign, defaultWhenEmpty, defaultWhenNull, ensureObject, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { defaultVolumeSource } from './pod-defaults.ts';
import { changeText, copyField } from './pod-update.ts';
import { amountWarnings, deprecatedSourceWarnings } from './pod-warnings.ts';
import { canonicalResources } from './resource-list.ts';
import { NOT_SOURCES, volumeSpecProblems } from './volume-spec.ts';

const RECYCLE_WARNING =
  'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';

export const persistentVolumeStrategy: Strategy = strategy({
  validateTwice: true,
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
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
  prepareForStatusUpdate(volume, old, context) {
    keepSpec(volume, old);
    const status = ensureObject(volume, 'status');
    const before = objectAt(old, 'status');
    const time = status.lastPhaseTransitionTime ?? null;
    if (text(status, 'phase') === text(before, 'phase')) return;
    if (time === null || time === before?.lastPhaseTransitionTime)
      status.lastPhaseTransitionTime = formatTime(context.now);
  },
  validateStatusUpdate: () => [],
  warnings,
  validate: (volume) => volumeSpecProblems(objectAt(volume, 'spec') ?? {}, 'spec'),
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
    problems.push(...immutableText(objectAt(volume, 'spec'), objectAt(old, 'spec'), '', 'volumeMode'));
    const affinity = objectAt(volume, 'spec', 'nodeAffinity');
    const had = objectAt(old, 'spec', 'nodeAffinity');
    if (had !== undefined && !deepEqual(affinity ?? null, had)) {
      problems.push(
        invalidAs(
          'nodeAffinity',
          affinity === undefined ? '"null"' : goDump('core.VolumeNodeAffinity', affinity),
          `${IMMUTABLE}, except for updating from beta label to GA`,
        ),
      );
    }
    return problems;
  },
});

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const MOUNT_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';
/** Annotations that have become fields: what they are called now, and since when. */
const OLD_ANNOTATIONS: readonly (readonly [key: string, since: string, field: string])[] = [
  [CLASS_ANNOTATION, 'v1.8', 'storageClassName'],
  [MOUNT_ANNOTATION, 'v1.31', 'mountOptions'],
];

function annotationWarnings(object: KubeObject, old: typeof OLD_ANNOTATIONS): string[] {
  const annotations = object.metadata.annotations ?? {};
  return old
    .filter(([key]) => annotations[key] !== undefined)
    .map(
      ([key, since, field]) =>
        `metadata.annotations[${key}]: deprecated since ${since}; use "${field}" attribute instead`,
    );
}

export function claimSpecWarnings(spec: JsonObject | undefined, path: string): string[] {
  return amountWarnings(spec, path, ['requests', 'limits']);
}

function warnings(volume: KubeObject): string[] {
  const spec = objectAt(volume, 'spec') ?? {};
  return [
    ...annotationWarnings(volume, OLD_ANNOTATIONS),
    ...(text(spec, 'persistentVolumeReclaimPolicy') === 'Recycle' ? [RECYCLE_WARNING] : []),
    ...deprecatedSourceWarnings(spec, 'spec'),
  ];
}

export const persistentVolumeClaimStrategy: Strategy = strategy({
  validateTwice: true,
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  defaults: (claim) => defaultClaim(asJson(claim)),
  prepareForCreate(claim, context) {
    protect(claim, 'kubernetes.io/pvc-protection', context.disabledAdmission);
    mirrorDataSource(ensureObject(asJson(claim), 'spec'));
    initialStatus({ phase: 'Pending' })(claim);
  },
  warnings: (claim) => [
    ...annotationWarnings(claim, OLD_ANNOTATIONS.slice(0, 1)),
    ...claimSpecWarnings(objectAt(claim, 'spec'), 'spec'),
  ],
  prepareForUpdate: (claim) => mirrorDataSource(ensureObject(asJson(claim), 'spec')),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: claimStatusProblems,
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
    problems.push(...immutableText(objectAt(claim, 'spec'), objectAt(old, 'spec'), '', 'volumeMode'));
    const [wanted, had] = sizes;
    // Who has asked for too much may ask for less, but not for less than there is already.
    const least = parseQuantity(objectAt(old, 'status', 'capacity')?.storage)?.nanos ?? 0n;
    const less = wanted?.nanos ?? 0n;
    if (had !== undefined && less < had.nanos && less <= least) {
      problems.push(
        forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'),
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

/** `dataSource` is the older, narrower of two names for one thing: it takes claims and snapshots only. */
function mirrorDataSource(spec: JsonObject): void {
  const source = objectAt(spec, 'dataSource');
  if (source && !CLAIMS_AND_SNAPSHOTS.includes(`${text(source, 'apiGroup')}/${text(source, 'kind')}`))
    delete spec.dataSource;
  const reference = objectAt(spec, 'dataSourceRef');
  if (reference && text(reference, 'namespace') !== '') delete spec.dataSourceRef;
  if (isObject(spec.dataSource) && spec.dataSourceRef == null) {
    spec.dataSourceRef = clone(spec.dataSource);
  } else if (spec.dataSource == null && isObject(spec.dataSourceRef)) {
    if (text(spec.dataSourceRef, 'namespace') === '') spec.dataSource = clone(spec.dataSourceRef);
  }
}

const CLAIMS_AND_SNAPSHOTS: readonly string[] = [
  '/PersistentVolumeClaim',
  'snapshot.storage.k8s.io/VolumeSnapshot',
];

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
