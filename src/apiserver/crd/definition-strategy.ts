import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import type { Strategy } from '../resource.ts';
import { approvalOf } from './api-approval.ts';
import { asDefinition, CLEANUP_FINALIZER, conditionOf, type Definition, setCondition } from './definition.ts';
import {
  validateDefinition,
  validateDefinitionStatus,
  validateDefinitionUpdate,
} from './definition-validation.ts';
import { completeNames, decideNames } from './names.ts';

/**
 * How definitions behave: what separate controllers of other servers do after a write (accept names, establish) is decided
 * in a write of its own that follows before the first one is answered. So a definition is served from then on, though the
 * answer shows it as it was made.
 */
export function definitionStrategy(base: Strategy): Strategy {
  return {
    ...base,
    generation: 'spec',
    plainDeletion: true,
    allowUnconditionalUpdate: false,
    defaults(object: KubeObject): void {
      base.defaults?.(object);
      const definition = asDefinition(object);
      if (definition.spec?.names) completeNames(definition.spec.names);
      if (definition.spec) definition.spec.conversion ??= { strategy: 'None' };
      if (definition.spec?.preserveUnknownFields === false) delete definition.spec.preserveUnknownFields;
      for (const version of definition.spec?.versions ?? []) {
        const { subresources } = version;
        if (subresources && Object.keys(subresources).length === 0) delete version.subresources;
      }
      // Objects are stored in some version, whatever a client says.
      const storage = definition.spec?.versions?.find((version) => version.storage)?.name;
      if (storage !== undefined && definition.status?.storedVersions?.length === 0)
        definition.status.storedVersions = [storage];
    },
    prepareForCreate(object): void {
      delete object.status;
    },
    prepareForDelete(object, { now }): void {
      if (object.metadata.deletionTimestamp !== undefined) return;
      const definition = asDefinition(object);
      const finalizers = definition.metadata.finalizers ?? [];
      if (!finalizers.includes(CLEANUP_FINALIZER))
        definition.metadata.finalizers = [...finalizers, CLEANUP_FINALIZER];
      setCondition(
        definition,
        'Terminating',
        'True',
        'InstanceDeletionPending',
        'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
        formatTime(now),
      );
    },
    validate: (object) => validateDefinition(asDefinition(object)),
    validateUpdate: (object, old) => validateDefinitionUpdate(asDefinition(object), asDefinition(old)),
    validateStatusUpdate: (object) => validateDefinitionStatus(asDefinition(object)),
    allocate(object, old): void {
      const definition = asDefinition(object);
      if (!definition.spec) return; // validation refuses it
      if (old === undefined) {
        const storage = definition.spec.versions?.find((version) => version.storage)?.name;
        definition.status = {
          acceptedNames: {},
          ...(storage === undefined ? {} : { storedVersions: [storage] }),
        };
        return;
      }
      keepStorageVersion(definition);
    },
  };
}

/**
 * What the controllers of other servers do after a write: decides on names among all definitions of the cluster, and on
 * whether the definition is served. Changes its status.
 */
export function decideOnDefinition(object: KubeObject, all: readonly KubeObject[], now: number): void {
  const definition = asDefinition(object);
  establish(definition, all.map(asDefinition), formatTime(now));
}

/** Notes the version in which objects are stored from now on. */
function keepStorageVersion(definition: Definition): void {
  const storage = definition.spec.versions?.find((version) => version.storage)?.name;
  const stored = definition.status?.storedVersions ?? [];
  if (storage !== undefined && !stored.includes(storage))
    definition.status = { ...definition.status, storedVersions: [...stored, storage] };
}

/** Writes into status whether the group's owners approved; whether the definition may be established. */
function approve(definition: Definition, now: string): boolean {
  const { state, message } = approvalOf(definition);
  if (state === 'not needed') return true;
  const [status, reason] = APPROVAL_CONDITION[state];
  setCondition(definition, 'KubernetesAPIApprovalPolicyConformant', status, reason, message, now);
  return state === 'approved' || state === 'unapproved';
}

const APPROVAL_CONDITION = {
  missing: ['False', 'MissingAnnotation'],
  unapproved: ['False', 'UnapprovedAnnotation'],
  approved: ['True', 'ApprovedAnnotation'],
  invalid: ['False', 'InvalidAnnotation'],
} as const;

/** Writes into status which names were accepted and whether the definition is served. */
function establish(definition: Definition, others: readonly Definition[], now: string): void {
  const approved = approve(definition, now);
  const { accepted, conflict } = decideNames(definition, others);
  definition.status ??= {};
  definition.status.acceptedNames = accepted;
  if (conflict) setCondition(definition, 'NamesAccepted', 'False', conflict.reason, conflict.message, now);
  else setCondition(definition, 'NamesAccepted', 'True', 'NoConflicts', 'no conflicts found', now);
  if (conditionOf(definition, 'Established')?.status !== 'True') {
    if (conflict || !approved)
      setCondition(definition, 'Established', 'False', 'NotAccepted', 'not all names are accepted', now);
    else
      setCondition(
        definition,
        'Established',
        'True',
        'InitialNamesAccepted',
        'the initial names have been accepted',
        now,
      );
  }
  keepStorageVersion(definition);
}
