import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/index.ts';
import { humanDuration } from '../../schema/human-duration.ts';
import { at, listAt } from '../../schema/json.ts';
import {
  age,
  type Cells,
  containersOf,
  countAt,
  hasCondition,
  labelsText,
  NONE,
  nameOf,
  orElse,
  scalarAt,
  selectorText,
  since,
  textAt,
  UNSET,
} from './cell-text.ts';

function templateOf(object: KubeObject): [string, string] {
  return containersOf(at(object, 'spec', 'template', 'spec'));
}

const deployment: Cells = (object, now) => [
  nameOf(object),
  `${countAt(object, 'status', 'readyReplicas')}/${countAt(object, 'spec', 'replicas')}`,
  countAt(object, 'status', 'updatedReplicas'),
  countAt(object, 'status', 'availableReplicas'),
  age(object, now),
  ...templateOf(object),
  selectorText(at(object, 'spec', 'selector')),
];

const replicaSet: Cells = (object, now) => [
  nameOf(object),
  countAt(object, 'spec', 'replicas'),
  countAt(object, 'status', 'replicas'),
  countAt(object, 'status', 'readyReplicas'),
  age(object, now),
  ...templateOf(object),
  selectorText(at(object, 'spec', 'selector')),
];

const replicationController: Cells = (object, now) => [
  ...replicaSet(object, now).slice(0, -1),
  labelsText(at(object, 'spec', 'selector')),
];

const daemonSet: Cells = (object, now) => [
  nameOf(object),
  countAt(object, 'status', 'desiredNumberScheduled'),
  countAt(object, 'status', 'currentNumberScheduled'),
  countAt(object, 'status', 'numberReady'),
  countAt(object, 'status', 'updatedNumberScheduled'),
  countAt(object, 'status', 'numberAvailable'),
  labelsText(at(object, 'spec', 'template', 'spec', 'nodeSelector')),
  age(object, now),
  ...templateOf(object),
  selectorText(at(object, 'spec', 'selector')),
];

const statefulSet: Cells = (object, now) => [
  nameOf(object),
  `${countAt(object, 'status', 'readyReplicas')}/${countAt(object, 'spec', 'replicas')}`,
  age(object, now),
  ...templateOf(object),
];

function jobStatus(object: KubeObject): string {
  if (hasCondition(object, 'Complete')) return 'Complete';
  if (hasCondition(object, 'Failed')) return 'Failed';
  if (object.metadata.deletionTimestamp) return 'Terminating';
  const state = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find((type) =>
    hasCondition(object, type),
  );
  return state ?? 'Running';
}

const job: Cells = (object, now) => {
  const succeeded = countAt(object, 'status', 'succeeded');
  const parallelism = countAt(object, 'spec', 'parallelism');
  const completions =
    at(object, 'spec', 'completions') === undefined
      ? `${succeeded}/1${parallelism > 1 ? ` of ${parallelism}` : ''}`
      : `${succeeded}/${countAt(object, 'spec', 'completions')}`;
  const started = parseTime(textAt(object, 'status', 'startTime'));
  const ended = parseTime(textAt(object, 'status', 'completionTime')) ?? now;
  return [
    nameOf(object),
    jobStatus(object),
    completions,
    started === undefined ? '' : humanDuration(ended - started),
    age(object, now),
    ...templateOf(object),
    selectorText(at(object, 'spec', 'selector')),
  ];
};

const cronJob: Cells = (object, now) => {
  const template = at(object, 'spec', 'jobTemplate', 'spec');
  const last = textAt(object, 'status', 'lastScheduleTime');
  return [
    nameOf(object),
    textAt(object, 'spec', 'schedule'),
    orElse(textAt(object, 'spec', 'timeZone'), NONE),
    scalarAt(object, UNSET, 'spec', 'suspend'),
    listAt(object, 'status', 'active').length,
    last === '' ? NONE : since(last, now),
    age(object, now),
    ...containersOf(at(template, 'template', 'spec')),
    selectorText(at(template, 'selector')),
  ];
};

const controllerRevision: Cells = (object, now) => {
  const owner = object.metadata.ownerReferences?.find((item) => item.controller);
  const slash = owner?.apiVersion.indexOf('/') ?? -1;
  const group = owner && slash > 0 ? `.${owner.apiVersion.slice(0, slash)}` : '';
  return [
    nameOf(object),
    owner ? `${owner.kind.toLowerCase()}${group}/${owner.name}` : NONE,
    countAt(object, 'revision'),
    age(object, now),
  ];
};

const podTemplate: Cells = (object) => [
  nameOf(object),
  ...containersOf(at(object, 'template', 'spec')),
  labelsText(at(object, 'template', 'metadata', 'labels')),
];

const disruptionBudget: Cells = (object, now) => [
  nameOf(object),
  scalarAt(object, 'N/A', 'spec', 'minAvailable'),
  scalarAt(object, 'N/A', 'spec', 'maxUnavailable'),
  countAt(object, 'status', 'disruptionsAllowed'),
  age(object, now),
];

export const WORKLOAD_CELLS: Readonly<Record<string, Cells>> = {
  'apps/controllerrevisions': controllerRevision,
  'apps/daemonsets': daemonSet,
  'apps/deployments': deployment,
  'apps/replicasets': replicaSet,
  'apps/statefulsets': statefulSet,
  'batch/cronjobs': cronJob,
  'batch/jobs': job,
  'policy/poddisruptionbudgets': disruptionBudget,
  '/podtemplates': podTemplate,
  '/replicationcontrollers': replicationController,
};
