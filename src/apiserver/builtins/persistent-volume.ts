import { posix } from 'node:path';
import { asJson, type KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import {
  accessModeProblems,
  capacityProblems,
  claimStatusProblems,
  classNameProblems,
  VOLUME_MODES,
  validateClaimSpec,
} from './claim-validation.ts';
import { dns1123Label, dns1123Subdomain, immutableText, oneOf, type Problems } from './field-checks.ts';
import { forbidden, IMMUTABLE, invalidAs, notSupportedAs, required } from './field-errors.ts';
import { assign, defaultWhenEmpty, defaultWhenNull, ensureObject, text } from './fields.ts';
import { goDump, quantityDump } from './go-dump.ts';
import { defaultVolumeSource } from './pod-defaults.ts';
import { changeText, copyField } from './pod-update.ts';
import { validateNodeSelector } from './pod-validation.ts';
import { canonicalResources } from './resource-list.ts';
import {
  driverName,
  SOURCES as SHARED_SOURCES,
  type SourceCheck,
  validateSources,
} from './volume-sources.ts';

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
  warnings: (volume) =>
    text(objectAt(volume, 'spec'), 'persistentVolumeReclaimPolicy') === 'Recycle' ? [RECYCLE_WARNING] : [],
  validate(volume) {
    const spec = objectAt(volume, 'spec') ?? {};
    const problems = accessModeProblems(spec, 'spec');
    const capacity = objectAt(spec, 'capacity');
    const names = Object.keys(capacity ?? {});
    if (names.length === 0) problems.push(required('spec.capacity'));
    if (capacity?.storage === undefined || names.length > 1) {
      problems.push(notSupportedAs('spec.capacity', amountsText(capacity), ['storage']));
    }
    for (const name of names) problems.push(...capacityProblems(capacity?.[name], `spec.capacity[${name}]`));
    problems.push(
      ...oneOf(spec, 'spec', 'persistentVolumeReclaimPolicy', ['Delete', 'Recycle', 'Retain']),
      ...oneOf(spec, 'spec', 'volumeMode', VOLUME_MODES),
      ...classNameProblems(spec, 'spec.storageClassName'),
    );
    problems.push(...validateSources(spec, 'spec', OTHERS, SOURCES));
    if (text(spec, 'persistentVolumeReclaimPolicy') === 'Recycle' && isRoot(objectAt(spec, 'hostPath')))
      problems.push(
        forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"),
      );
    const affinity = objectAt(spec, 'nodeAffinity');
    const terms = objectAt(affinity, 'required');
    if (terms) problems.push(...validateNodeSelector(terms, 'spec.nodeAffinity.required'));
    else if (affinity) {
      problems.push(required('spec.nodeAffinity.required', 'must specify required node constraints'));
    } else if (isObject(spec.local)) {
      problems.push(required('spec.nodeAffinity', 'Local volume requires node affinity'));
    }
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

export const persistentVolumeClaimStrategy: Strategy = strategy({
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  defaults: (claim) => defaultClaim(asJson(claim)),
  prepareForCreate(claim, context) {
    protect(claim, 'kubernetes.io/pvc-protection', context.disabledAdmission);
    mirrorDataSource(ensureObject(asJson(claim), 'spec'));
    initialStatus({ phase: 'Pending' })(claim);
  },
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

/** `dataSource` is the older, narrower of two names for one thing: it takes claims and snapshots only. */
function mirrorDataSource(spec: JsonObject): void {
  const source = objectAt(spec, 'dataSource');
  if (source && !CLAIMS_AND_SNAPSHOTS.includes(`${text(source, 'apiGroup')}/${text(source, 'kind')}`))
    delete spec.dataSource;
  const reference = objectAt(spec, 'dataSourceRef');
  if (reference && (text(reference, 'namespace') !== '' || isEmptyReference(reference)))
    delete spec.dataSourceRef;
  if (isObject(spec.dataSource) && spec.dataSourceRef == null) {
    spec.dataSourceRef = clone(spec.dataSource);
  } else if (spec.dataSource == null && isObject(spec.dataSourceRef)) {
    if (text(spec.dataSourceRef, 'namespace') === '') spec.dataSource = clone(spec.dataSourceRef);
  }
}

/** Amounts as messages show them once somebody has asked for their texts. */
function amountsText(amounts: JsonObject | undefined): string {
  if (amounts === undefined) return goDump('core.ResourceList', undefined);
  const texts = Object.keys(amounts)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${quantityDump(amounts[name], String(amounts[name]))}`);
  return `core.ResourceList{${texts.join(', ')}}`;
}

function isRoot(hostPath: JsonObject | undefined): boolean {
  return hostPath !== undefined && posix.normalize(text(hostPath, 'path')) === '/';
}

const CLAIMS_AND_SNAPSHOTS: readonly string[] = [
  '/PersistentVolumeClaim',
  'snapshot.storage.k8s.io/VolumeSnapshot',
];

function isEmptyReference(reference: JsonObject): boolean {
  return text(reference, 'kind') === '' && text(reference, 'name') === '';
}

const OTHERS: ReadonlySet<string> = new Set(NOT_SOURCES);

/** Sources of a volume that differ from those of pods: they name secrets with their namespaces. */
const SOURCES: Readonly<Record<string, SourceCheck>> = {
  // What does not even begin like such a name is told of in fewer words.
  iscsi: (source, path) =>
    (SHARED_SOURCES.iscsi?.(source, path) ?? []).map((problem) =>
      problem.path === `${path}.iqn` &&
      !/^(iqn|eui|naa)/.test(text(source, 'iqn')) &&
      problem.type === 'Invalid'
        ? { ...problem, detail: 'must be valid format' }
        : problem,
    ),
  csi(source, path) {
    const problems = driverName(text(source, 'driver'), `${path}.driver`);
    if (text(source, 'volumeHandle') === '') problems.push(required(`${path}.volumeHandle`));
    for (const key of [
      'controllerPublishSecretRef',
      'controllerExpandSecretRef',
      'nodeStageSecretRef',
      'nodePublishSecretRef',
      'nodeExpandSecretRef',
    ]) {
      const ref = objectAt(source, key);
      if (ref === undefined) continue;
      const at = `${path}.${key}`;
      const name = text(ref, 'name');
      const namespace = text(ref, 'namespace');
      problems.push(...(name === '' ? [required(`${at}.name`)] : dns1123Subdomain(name, `${at}.name`)));
      problems.push(
        ...(namespace === '' ? [required(`${at}.namespace`)] : dns1123Label(namespace, `${at}.namespace`)),
      );
    }
    return problems;
  },
};

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
