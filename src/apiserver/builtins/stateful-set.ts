import type { KubeObject } from '../../kube/object.ts';
import { deepEqual, isObject, type JsonObject, objectAt, stringAt } from '../../schema/json.ts';
import { validateDns1123Label } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import { isSoundSelector, matchesTemplate, selectorProblems } from './deployment.ts';
import { notNegative, oneOf, type Problems } from './field-checks.ts';
import { forbidden, invalidAs, invalidValue, required } from './field-errors.ts';
import { defaultWhenEmpty, defaultWhenNull, ensureObject, objectsOf, text } from './fields.ts';
import { goDump } from './go-dump.ts';
import { claimSpecWarnings, defaultClaim } from './persistent-volume.ts';
import { defaultPodTemplate } from './pod-defaults.ts';
import { validateTemplate } from './pod-validation.ts';
import { withTemplateWarnings } from './pod-warnings.ts';
import { collisionCountKept, replicaStatusProblems } from './replica-status.ts';

/** What messages say may change. */
const NAMED_CHANGEABLE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];
const CHANGEABLE = [...NAMED_CHANGEABLE, 'revisionHistoryLimit'];

export const statefulSetStrategy: Strategy = strategy({
  warnings: withTemplateWarnings(claimWarnings),
  generation: 'spec',
  resetFields: statusResetFields('spec'),
  // Pods carry the set's name in a label and a host name.
  validateName: validateDns1123Label,
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    defaultWhenEmpty(spec, 'podManagementPolicy', 'OrderedReady');
    const update = ensureObject(spec, 'updateStrategy');
    if (text(update, 'type') === '') {
      update.type = 'RollingUpdate';
      ensureObject(update, 'rollingUpdate');
    }
    const rolling = objectAt(update, 'rollingUpdate');
    if (update.type === 'RollingUpdate' && rolling) defaultWhenNull(rolling, 'partition', 0);
    const retention = ensureObject(spec, 'persistentVolumeClaimRetentionPolicy');
    defaultWhenEmpty(retention, 'whenDeleted', 'Retain');
    defaultWhenEmpty(retention, 'whenScaled', 'Retain');
    defaultWhenNull(spec, 'replicas', 1);
    defaultWhenNull(spec, 'revisionHistoryLimit', 10);
    defaultPodTemplate(spec);
    for (const claim of objectsOf(spec, 'volumeClaimTemplates')) {
      claim.apiVersion = 'v1';
      claim.kind = 'PersistentVolumeClaim';
      defaultClaim(claim);
      defaultWhenEmpty(ensureObject(claim, 'status'), 'phase', 'Pending');
    }
  },
  prepareForCreate: initialStatus({ replicas: 0, availableReplicas: 0 }),
  prepareForStatusUpdate: keepSpec,
  validateStatusUpdate: (object, old) => [
    ...replicaStatusProblems(
      object,
      ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
      'status.readyReplicas',
    ),
    ...collisionCountKept(object, old),
  ],
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    const management = text(spec, 'podManagementPolicy');
    if (management !== 'OrderedReady' && management !== 'Parallel') {
      problems.push(
        invalidValue('spec.podManagementPolicy', management, "must be 'OrderedReady' or 'Parallel'"),
      );
    }
    problems.push(...updateProblems(objectAt(spec, 'updateStrategy') ?? {}));
    const retention = objectAt(spec, 'persistentVolumeClaimRetentionPolicy');
    const policies = ['Retain', 'Delete'];
    problems.push(
      ...oneOf(retention, 'spec.persistentVolumeClaimRetentionPolicy', 'whenDeleted', policies),
      ...oneOf(retention, 'spec.persistentVolumeClaimRetentionPolicy', 'whenScaled', policies),
      ...notNegative(spec, 'spec', 'replicas', 'minReadySeconds'),
      ...notNegative(objectAt(spec, 'ordinals'), 'spec.ordinals', 'start'),
      ...selectorProblems(spec, 'statefulset', ''),
    );
    if (isSoundSelector(spec)) {
      problems.push(
        ...validateTemplate(objectAt(spec, 'template'), 'spec.template', {
          kind: 'StatefulSet',
          claims: objectsOf(spec, 'volumeClaimTemplates').map(
            (claim) => stringAt(claim, 'metadata', 'name') ?? '',
          ),
          matches: matchesTemplate(spec),
        }),
      );
    }
    return problems;
  },
  validateUpdate(object, old) {
    const same = deepEqual(fixedPart(objectAt(object, 'spec')), fixedPart(objectAt(old, 'spec')));
    if (same) return [];
    const names = NAMED_CHANGEABLE.map((name) => `'${name}'`);
    return [
      forbidden(
        'spec',
        `updates to statefulset spec for fields other than ${names.slice(0, -1).join(', ')} and ${names.at(-1)} are forbidden`,
      ),
    ];
  },
});

function claimWarnings(object: KubeObject): string[] {
  return objectsOf(objectAt(object, 'spec'), 'volumeClaimTemplates').flatMap((claim, index) =>
    claimSpecWarnings(objectAt(claim, 'spec'), `spec.volumeClaimTemplates[${index}]`),
  );
}

function fixedPart(spec: JsonObject | undefined): JsonObject {
  const rest = { ...spec };
  for (const key of CHANGEABLE) delete rest[key];
  return rest;
}

function updateProblems(update: JsonObject): Problems {
  const path = 'spec.updateStrategy';
  const type = text(update, 'type');
  const rolling = update.rollingUpdate;
  if (type === 'OnDelete') {
    return isObject(rolling)
      ? [
          invalidAs(
            `${path}.rollingUpdate`,
            goDump('apps.RollingUpdateStatefulSetStrategy', rolling),
            "only allowed for updateStrategy 'RollingUpdate'",
          ),
        ]
      : [];
  }
  if (type === '') return [required(path)];
  if (type !== 'RollingUpdate')
    return [
      invalidAs(
        path,
        goDump('apps.StatefulSetUpdateStrategy', update),
        "must be 'RollingUpdate' or 'OnDelete'",
      ),
    ];
  return isObject(rolling) ? notNegative(rolling, `${path}.rollingUpdate`, 'partition') : [];
}
