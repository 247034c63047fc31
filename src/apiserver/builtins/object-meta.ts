import type { KubeObject, ObjectMeta, OwnerReference } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import {
  validateAnnotations,
  validateDns1123Label,
  validateLabels,
  validateQualifiedName,
} from '../../schema/names.ts';
import { NOT_NEGATIVE, type Problems } from './field-checks.ts';
import {
  forbidden,
  goStrings,
  IMMUTABLE,
  invalidAs,
  invalidEach,
  invalidValue,
  required,
  tooLong,
} from './field-errors.ts';
import { goDump } from './go-dump.ts';

const STANDARD_FINALIZERS: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  /** The messages of what is wrong with a name. */
  readonly validateName: (name: string) => string[];
  /** Custom resources may carry finalizers without a domain; built-in kinds may not. */
  readonly custom?: boolean;
}

/** What must hold of a new object's metadata. */
export function validateObjectMeta(object: KubeObject, rules: ObjectMetaRules): Problems {
  const meta = object.metadata;
  return [
    ...nameProblems(meta, rules),
    ...namespaceProblems(meta, rules.namespaced),
    ...generationProblems(meta),
    ...formProblems(meta),
    ...finalizerProblems(meta.finalizers ?? [], rules.custom === true),
  ];
}

/**
 * What must hold of metadata that is updated: its form, and what an update must leave as it is. Empty server-owned
 * fields are expected to be restored from `old` before. Names were checked when the object was made.
 */
export function validateObjectMetaUpdate(object: KubeObject, old: KubeObject): Problems {
  const now = object.metadata;
  const before = old.metadata;
  const problems: Problems = [];
  if (before.deletionTimestamp !== undefined) {
    const added = (now.finalizers ?? []).filter((item) => !(before.finalizers ?? []).includes(item)).sort();
    if (added.length > 0) {
      problems.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers ${goStrings(added)}`,
        ),
      );
    }
  }
  if ((now.generation ?? 0) < (before.generation ?? 0)) {
    problems.push(invalidValue('metadata.generation', now.generation ?? 0, 'must not be decremented'));
  }
  for (const key of ['name', 'namespace', 'uid'] as const) {
    if ((now[key] ?? '') !== (before[key] ?? '')) {
      problems.push(invalidValue(`metadata.${key}`, now[key] ?? '', IMMUTABLE));
    }
  }
  for (const key of ['creationTimestamp', 'deletionTimestamp'] as const) {
    if ((now[key] ?? '') !== (before[key] ?? '')) {
      problems.push(invalidAs(`metadata.${key}`, timeText(now[key]), IMMUTABLE));
    }
  }
  if (!deepEqual(now.deletionGracePeriodSeconds ?? null, before.deletionGracePeriodSeconds ?? null)) {
    problems.push(
      invalidValue('metadata.deletionGracePeriodSeconds', now.deletionGracePeriodSeconds ?? null, IMMUTABLE),
    );
  }
  problems.push(...formProblems(now));
  return problems;
}

/** The form of metadata that is updated, which may be looked at more often than the update itself. */
export function validateObjectMetaForm(
  object: KubeObject,
  old: KubeObject,
  custom: boolean = false,
): Problems {
  const { finalizers = [] } = object.metadata;
  const problems = formProblems(object.metadata);
  if (!deepEqual(finalizers, old.metadata.finalizers ?? []))
    problems.push(...finalizerProblems(finalizers, custom));
  return problems;
}

function formProblems(meta: ObjectMeta): Problems {
  return [
    ...validateLabels(meta.labels ?? {}, 'metadata.labels'),
    ...validateAnnotations(meta.annotations ?? {}, 'metadata.annotations'),
    ...ownerProblems(meta.ownerReferences ?? []),
    ...managerProblems(meta),
  ];
}

const MAX_MANAGER = 128;
const MAX_SUBRESOURCE = 256;

function managerProblems({ managedFields = [] }: ObjectMeta): Problems {
  const problems: Problems = [];
  for (const [index, { manager = '', subresource = '' }] of managedFields.entries()) {
    const path = `metadata.managedFields[${index}]`;
    if (Buffer.byteLength(manager) > MAX_MANAGER) problems.push(tooLong(`${path}.manager`, MAX_MANAGER));
    if (Buffer.byteLength(subresource) > MAX_SUBRESOURCE)
      problems.push(tooLong(`${path}.subresource`, MAX_SUBRESOURCE));
  }
  return problems;
}

function generationProblems(meta: ObjectMeta): Problems {
  const generation = meta.generation ?? 0;
  return generation < 0 ? [invalidValue('metadata.generation', generation, NOT_NEGATIVE)] : [];
}

function nameProblems(meta: ObjectMeta, rules: ObjectMetaRules): Problems {
  const problems: Problems = [];
  if (meta.generateName) {
    // A prefix may end in a dash, which the generated suffix follows.
    const probe = meta.generateName.endsWith('-') ? `${meta.generateName.slice(0, -1)}a` : meta.generateName;
    problems.push(...invalidEach('metadata.generateName', meta.generateName, rules.validateName(probe)));
  }
  if (meta.name) problems.push(...invalidEach('metadata.name', meta.name, rules.validateName(meta.name)));
  else problems.push(required('metadata.name', 'name or generateName is required'));
  return problems;
}

function namespaceProblems(meta: ObjectMeta, namespaced: boolean): Problems {
  if (!namespaced) return meta.namespace ? [forbidden('metadata.namespace', 'not allowed on this type')] : [];
  if (!meta.namespace) return [required('metadata.namespace')];
  return invalidEach('metadata.namespace', meta.namespace, validateDns1123Label(meta.namespace));
}

function ownerProblems(owners: readonly OwnerReference[]): Problems {
  const path = 'metadata.ownerReferences';
  const problems: Problems = [];
  let controller: OwnerReference | undefined;
  for (const owner of owners) {
    const parts = (owner.apiVersion ?? '').split('/');
    const version = parts.length > 2 ? '' : (parts.at(-1) ?? '');
    if (version === '') {
      problems.push(invalidValue(`${path}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty'));
    }
    for (const key of ['kind', 'name', 'uid'] as const) {
      if (!owner[key])
        problems.push(invalidValue(`${path}.${key}`, owner[key] ?? '', `${key} must not be empty`));
    }
    if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
      problems.push(
        invalidAs(
          path,
          goDump('v1.OwnerReference', owner),
          '/v1, Kind=Event is disallowed from being an owner',
        ),
      );
    }
    if (owner.controller !== true) continue;
    if (controller === undefined) controller = owner;
    else {
      problems.push(
        invalidAs(
          path,
          goDump('[]v1.OwnerReference', owners),
          `Only one reference can have Controller set to true. Found "true" in references for ${controller.kind}/${controller.name} and ${owner.kind}/${owner.name}`,
        ),
      );
    }
  }
  return problems;
}

function finalizerProblems(finalizers: readonly string[], custom: boolean): Problems {
  const path = 'metadata.finalizers';
  const problems: Problems = [];
  for (const [index, finalizer] of finalizers.entries()) {
    problems.push(...invalidEach(path, finalizer, validateQualifiedName(finalizer)));
    if (!custom && !finalizer.includes('/') && !STANDARD_FINALIZERS.includes(finalizer)) {
      problems.push(
        invalidValue(
          `${path}[${index}]`,
          finalizer,
          'name is neither a standard finalizer name nor is it fully qualified',
        ),
      );
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    problems.push(
      invalidValue(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'),
    );
  }
  return problems;
}

/** How messages print a time: `2020-01-01 00:00:00 +0000 UTC`. */
function timeText(time: string | null | undefined): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(time ?? '');
  return match ? `${match[1]} ${match[2]} +0000 UTC` : '"null"';
}
