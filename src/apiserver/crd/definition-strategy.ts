import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import type { Strategy } from '../resource.ts';
import { asDefinition, CLEANUP_FINALIZER, conditionOf, type Definition, setCondition } from './definition.ts';
import { validateDefinition, validateDefinitionUpdate } from './definition-validation.ts';
import { completeNames, decideNames } from './names.ts';

const APPROVAL = 'api-approved.kubernetes.io';

/**
 * How definitions behave: what separate controllers of other servers do after a write (accept names, establish) is decided
 * within an update, and for a new definition in a write of its own that follows before its creation is answered. So it is
 * served from then on, though the answer shows it as it was made.
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
    allocate(object, old, lookup): void {
      const definition = asDefinition(object);
      if (!definition.spec?.names?.plural) return; // validation refuses it
      if (old === undefined) {
        const storage = definition.spec.versions
          ?.filter((version) => version.storage)
          .map(({ name }) => name);
        definition.status = { acceptedNames: {}, ...(storage?.length ? { storedVersions: storage } : {}) };
        return;
      }
      establish(definition, [...lookup.all()].map(asDefinition), formatTime(lookup.now ?? 0));
    },
  };
}

function isProtectedGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

function approve(definition: Definition, now: string): boolean {
  if (!isProtectedGroup(definition.spec.group)) return true;
  const value = definition.metadata.annotations?.[APPROVAL];
  const type = 'KubernetesAPIApprovalPolicyConformant';
  if (value === undefined) {
    setCondition(
      definition,
      type,
      'False',
      'MissingAnnotation',
      `protected groups must have approval annotation ${JSON.stringify(APPROVAL)}, see https://github.com/kubernetes/enhancements/pull/1111`,
      now,
    );
    return false;
  }
  if (value.startsWith('unapproved')) {
    setCondition(
      definition,
      type,
      'False',
      'UnapprovedAnnotation',
      `not approved: ${JSON.stringify(value)}`,
      now,
    );
    return true;
  }
  if (URL.canParse(value)) {
    setCondition(definition, type, 'True', 'ApprovedAnnotation', `approved in ${value}`, now);
    return true;
  }
  setCondition(
    definition,
    type,
    'False',
    'InvalidAnnotation',
    `protected groups must have approval annotation ${JSON.stringify(APPROVAL)} with either a URL or a reason starting with "unapproved"`,
    now,
  );
  return false;
}

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
  const storage = definition.spec.versions.find((version) => version.storage)?.name;
  const stored = definition.status.storedVersions ?? [];
  if (storage !== undefined && !stored.includes(storage))
    definition.status.storedVersions = [...stored, storage];
}
