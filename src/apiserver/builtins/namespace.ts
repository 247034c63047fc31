import type { KubeObject } from '../../kube/object.ts';
import { type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Label, validateQualifiedName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { keepField, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import { invalidEach, invalidValue } from './field-errors.ts';
import { assign, ensureObject, strings, text } from './fields.ts';

const NAME_LABEL = 'kubernetes.io/metadata.name';
const FINALIZER = 'kubernetes';
const STANDARD = [FINALIZER, 'orphan', 'foregroundDeletion'];

export const namespaceStrategy: Strategy = strategy({
  returnsDeleted: true,
  resetFields: statusResetFields('spec'),
  fieldLabelNames: ['status.phase'],
  fieldLabels: (namespace) => ({ 'status.phase': text(objectAt(namespace, 'status'), 'phase') }),
  validateName: (name) =>
    // Dots are told apart from other mistakes: they are fine in the names of most kinds.
    name.includes('.') ? ['must not contain dots'] : validateDns1123Label(name),
  defaults(namespace) {
    const { name } = namespace.metadata;
    // A name that is still to be generated gets its label when it is there.
    if (!name) return;
    namespace.metadata.labels = { ...namespace.metadata.labels, [NAME_LABEL]: name };
  },
  prepareForCreate(namespace) {
    const spec = ensureObject(namespace, 'spec');
    const finalizers = strings(spec, 'finalizers');
    if (!finalizers.includes(FINALIZER)) spec.finalizers = [...finalizers, FINALIZER];
    assign(namespace, 'status', { phase: 'Active' });
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      [NAME_LABEL]: namespace.metadata.name ?? '',
    };
  },
  // Only the finalize subresource changes finalizers.
  prepareForUpdate(namespace, old) {
    keepField(namespace, old, 'spec');
    keepField(namespace, old, 'status');
  },
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate(namespace) {
    const phase = text(objectAt(namespace, 'status'), 'phase');
    const [right, when] =
      namespace.metadata.deletionTimestamp === undefined
        ? ['Active', 'is empty']
        : ['Terminating', 'is not empty'];
    return phase === right
      ? []
      : [invalidValue('status.Phase', phase, `may only be '${right}' if \`deletionTimestamp\` ${when}`)];
  },
  prepareForDelete(namespace) {
    ensureObject(namespace, 'status').phase = 'Terminating';
  },
  // A change tells which finalizer is wrong.
  validateCreate: (namespace) => finalizerProblems(objectAt(namespace, 'spec'), () => 'spec.finalizers'),
  validateUpdate: (namespace) => [
    ...finalizerProblems(objectAt(namespace, 'spec'), (index) => `spec.finalizers[${index}]`),
    ...phaseProblems(namespace),
  ],
});

/** A namespace is going away if, and only if, its deletion has begun. */
function phaseProblems(namespace: KubeObject): Problems {
  const phase = text(objectAt(namespace, 'status'), 'phase');
  const deleting = namespace.metadata.deletionTimestamp !== undefined;
  if (deleting && phase !== 'Terminating')
    return [
      invalidValue('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    ];
  if (!deleting && phase !== '' && phase !== 'Active')
    return [invalidValue('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty")];
  return [];
}

function finalizerProblems(spec: JsonObject | undefined, pathOf: (index: number) => string): Problems {
  const problems: Problems = [];
  for (const [index, finalizer] of strings(spec, 'finalizers').entries()) {
    const at = pathOf(index);
    const messages = validateQualifiedName(finalizer);
    problems.push(...invalidEach(at, finalizer, messages));
    if (!finalizer.includes('/') && !STANDARD.includes(finalizer)) {
      problems.push(
        invalidValue(at, finalizer, 'name is neither a standard finalizer name nor is it fully qualified'),
      );
    }
  }
  return problems;
}
