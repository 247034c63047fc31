import { asJson } from '../../kube/object.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone, isObject, type JsonObject, objectAt, stringAt } from '../../schema/json.ts';
import type { Strategy, StrategyContext } from '../resource.ts';
import { profileAnnotationWarnings, syncAppArmor } from './app-armor.ts';
import { keepSpec, statusResetFields, strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import { forbidden } from './field-errors.ts';
import {
  assign,
  defaultWhenEmpty,
  defaultWhenNull,
  ensureObject,
  integer,
  objectsOf,
  text,
} from './fields.ts';
import { POD_ADMISSION } from './pod-admission.ts';
import { allContainers, defaultPodOnly, defaultPodSpec, defaultPodTemplate } from './pod-defaults.ts';
import { hostnameWarnings } from './pod-name-warnings.ts';
import { podStatusProblems, settleAddresses } from './pod-status.ts';
import { validatePodSpecUpdate } from './pod-update.ts';
import { ephemeralProblems, validatePodSpec, validatePodTemplate } from './pod-validation.ts';
import { podSpecWarnings } from './pod-warnings.ts';
import { isZeroQuantity } from './resource-list.ts';

const GRACE_SECONDS = 30;
const NAME_WARNINGS = hostnameWarnings("the Pod's hostname");
const TOLERATIONS = 'DefaultTolerationSeconds';

export const podStrategy: Strategy = strategy({
  warnings: (pod, old) =>
    old === undefined
      ? [
          ...NAME_WARNINGS(pod, undefined),
          ...podSpecWarnings(objectAt(pod, 'spec'), 'spec'),
          ...profileAnnotationWarnings(
            pod.metadata.annotations ?? {},
            objectAt(pod, 'spec'),
            'metadata',
            false,
          ),
        ]
      : [],
  returnsDeleted: true,
  resetFields: statusResetFields('spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'),
  fieldLabelNames: [
    'spec.nodeName',
    'spec.host',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.podIPs',
    'status.nominatedNodeName',
  ],
  defaults(pod) {
    const spec = ensureObject(pod, 'spec');
    defaultPodSpec(spec);
    defaultPodOnly(spec);
    const status = objectAt(pod, 'status');
    if (status !== undefined) settleAddresses(status);
  },
  prepareForCreate(pod, context) {
    const spec = ensureObject(pod, 'spec');
    admit(spec, context);
    syncAppArmor(pod, context.warn ?? (() => {}));
    // As soon as it can: a time that is over before it begins means nothing else.
    if ((integer(spec, 'terminationGracePeriodSeconds') ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
    const status: JsonObject = { phase: 'Pending', qosClass: qosClassOf(spec) };
    if (objectsOf(spec, 'schedulingGates').length > 0) {
      status.conditions = [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'SchedulingGated',
          message: 'Scheduling is blocked due to non-empty scheduling gates',
          lastTransitionTime: formatTime(context.now),
        },
      ];
    }
    assign(pod, 'status', status);
  },
  prepareForUpdate(pod, old, context) {
    const spec = ensureObject(pod, 'spec');
    // Tolerations that a patch replaced come back; what was decided once stays where the client leaves it out.
    if (!context.disabledAdmission?.has(TOLERATIONS)) POD_ADMISSION[TOLERATIONS]?.(spec);
    const before = objectAt(old, 'spec');
    for (const key of ['priority', 'preemptionPolicy']) {
      const value = before?.[key];
      if (value !== undefined && value !== null) defaultWhenNull(spec, key, value);
    }
  },
  prepareForStatusUpdate(pod, old) {
    keepSpec(pod, old);
    assign(pod.metadata as unknown as JsonObject, 'deletionTimestamp', old.metadata.deletionTimestamp);
    assign(pod.metadata as unknown as JsonObject, 'ownerReferences', clone(old.metadata.ownerReferences));
    const qosClass = stringAt(old, 'status', 'qosClass');
    if (qosClass !== undefined && isObject(pod.status)) defaultWhenEmpty(pod.status, 'qosClass', qosClass);
  },
  validateStatusUpdate: podStatusProblems,
  // Nothing but the containers is the writer's; not even who has written them is kept.
  prepareForSubresource(subresource, pod, old) {
    if (subresource !== 'ephemeralcontainers') return;
    const given = objectAt(pod, 'spec')?.ephemeralContainers;
    const kept = clone(old);
    Object.assign(pod, kept);
    pod.metadata = kept.metadata;
    assign(ensureObject(pod, 'spec'), 'ephemeralContainers', given);
  },
  validateSubresourceUpdate: (subresource, pod, old) =>
    subresource === 'ephemeralcontainers'
      ? ephemeralProblems(objectAt(pod, 'spec') ?? {}, objectAt(old, 'spec') ?? {})
      : undefined,
  validate: (pod) => validatePodSpec(objectAt(pod, 'spec') ?? {}, 'spec'),
  validateUpdate: (pod, old) =>
    validatePodSpecUpdate(objectAt(pod, 'spec') ?? {}, objectAt(old, 'spec') ?? {}),
  validateCreate(pod) {
    const spec = objectAt(pod, 'spec');
    return [
      ...(objectsOf(spec, 'ephemeralContainers').length > 0
        ? [forbidden('spec.ephemeralContainers', 'cannot be set on create')]
        : []),
      ...(objectsOf(spec, 'schedulingGates').length > 0 && text(spec, 'nodeName') !== ''
        ? [forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared')]
        : []),
      ...(text(spec, 'serviceAccountName') === '' ? tokenProblems(spec) : []),
    ];
  },
  gracePeriod(pod, asked) {
    const phase = stringAt(pod, 'status', 'phase');
    if (!stringAt(pod, 'spec', 'nodeName') || phase === 'Succeeded' || phase === 'Failed') return 0;
    const seconds = asked ?? integer(objectAt(pod, 'spec'), 'terminationGracePeriodSeconds') ?? GRACE_SECONDS;
    return seconds < 0 ? 1 : seconds;
  },
  fieldLabels(pod) {
    const spec = objectAt(pod, 'spec');
    const status = objectAt(pod, 'status');
    const ips = objectsOf(status, 'podIPs').map((item) => text(item, 'ip'));
    return {
      'spec.nodeName': text(spec, 'nodeName'),
      'spec.host': text(spec, 'nodeName'),
      'spec.restartPolicy': text(spec, 'restartPolicy'),
      'spec.schedulerName': text(spec, 'schedulerName'),
      'spec.serviceAccountName': text(spec, 'serviceAccountName'),
      'spec.hostNetwork': String(spec?.hostNetwork === true),
      'status.phase': text(status, 'phase'),
      'status.podIP': text(status, 'podIP') || (ips[0] ?? ''),
      // Asked for by this name, none is found.
      'status.podIPs': '',
      'status.nominatedNodeName': text(status, 'nominatedNodeName'),
    };
  },
});

/** `PodTemplate` (v1): a template alone. */
export const podTemplateStrategy: Strategy = strategy({
  returnsDeleted: true,
  generation: 'all-but-metadata',
  defaults: (object) => defaultPodTemplate(asJson(object)),
  validate: (object) => validatePodTemplate(objectAt(object, 'template'), 'template'),
});

function admit(spec: JsonObject, context: StrategyContext): void {
  for (const name in POD_ADMISSION) if (!context.disabledAdmission?.has(name)) POD_ADMISSION[name]?.(spec);
}

/** How the pod ranks when a node runs short: by whether its containers limit and request cpu and memory. */
export function qosClassOf(spec: JsonObject): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  let some = false;
  let guaranteed = true;
  for (const container of allContainers({ ...spec, ephemeralContainers: [] })) {
    const limits = objectAt(container, 'resources', 'limits');
    const requests = objectAt(container, 'resources', 'requests');
    for (const name of ['cpu', 'memory']) {
      const limit = setQuantity(limits, name);
      const request = setQuantity(requests, name);
      if (limit !== undefined || request !== undefined) some = true;
      if (limit === undefined || (request !== undefined && request !== limit)) guaranteed = false;
    }
  }
  if (!some) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** Quantities are canonical after defaulting, so that equal ones have equal text. */
function setQuantity(list: JsonObject | undefined, name: string): string | undefined {
  const value = list?.[name];
  return typeof value === 'string' && !isZeroQuantity(value) ? value : undefined;
}

/** A token is somebody's. */
function tokenProblems(spec: JsonObject | undefined): Problems {
  return objectsOf(spec, 'volumes').flatMap((volume, index) =>
    objectsOf(objectAt(volume, 'projected'), 'sources').flatMap((source, i) =>
      objectAt(source, 'serviceAccountToken') === undefined
        ? []
        : [
            forbidden(
              `spec.volumes[${index}].projected.sources[${i}].serviceAccountToken`,
              'must not be specified when serviceAccountName is not set',
            ),
          ],
    ),
  );
}
