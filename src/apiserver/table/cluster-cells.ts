import type { KubeObject } from '../../kube/object.ts';
import { at, objectAt } from '../../schema/json.ts';
import {
  age,
  type Cells,
  conditionOf,
  countAt,
  NONE,
  nameOf,
  objectsAt,
  orElse,
  since,
  textAt,
  UNKNOWN,
} from './cell-text.ts';

const ROLE_PREFIX = 'node-role.kubernetes.io/';
const ROLE_LABEL = 'kubernetes.io/role';

function nodeRoles(object: KubeObject): string {
  const roles = new Set<string>();
  for (const [label, value] of Object.entries(object.metadata.labels ?? {})) {
    if (label.startsWith(ROLE_PREFIX)) roles.add(label.slice(ROLE_PREFIX.length));
    else if (label === ROLE_LABEL) roles.add(value);
  }
  roles.delete('');
  return orElse([...roles].sort().join(','), NONE);
}

function nodeAddress(object: KubeObject, type: string): string {
  const found = objectsAt(object, 'status', 'addresses').find((item) => item.type === type);
  return orElse(textAt(found, 'address'), NONE);
}

const node: Cells = (object, now) => {
  const ready = conditionOf(object, 'Ready');
  const status = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  const info = at(object, 'status', 'nodeInfo');
  return [
    nameOf(object),
    at(object, 'spec', 'unschedulable') === true ? `${status},SchedulingDisabled` : status,
    nodeRoles(object),
    age(object, now),
    textAt(info, 'kubeletVersion'),
    nodeAddress(object, 'InternalIP'),
    nodeAddress(object, 'ExternalIP'),
    orElse(textAt(info, 'osImage'), UNKNOWN),
    orElse(textAt(info, 'kernelVersion'), UNKNOWN),
    orElse(textAt(info, 'containerRuntimeVersion'), UNKNOWN),
  ];
};

const namespace: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'status', 'phase'),
  age(object, now),
];

function sizeAt(object: KubeObject, key: string): number {
  return Object.keys(objectAt(object, key) ?? {}).length;
}

const secret: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'type'),
  sizeAt(object, 'data'),
  age(object, now),
];

const configMap: Cells = (object, now) => [
  nameOf(object),
  sizeAt(object, 'data') + sizeAt(object, 'binaryData'),
  age(object, now),
];

const serviceAccount: Cells = (object, now) => [
  nameOf(object),
  objectsAt(object, 'secrets').length,
  age(object, now),
];

/** Both event APIs; newer fields are named differently in each. */
const event: Cells = (object, now) => {
  const isCore = object.apiVersion === 'v1';
  const about = at(object, isCore ? 'involvedObject' : 'regarding');
  const first = textAt(object, isCore ? 'firstTimestamp' : 'deprecatedFirstTimestamp');
  const last = textAt(object, isCore ? 'lastTimestamp' : 'deprecatedLastTimestamp');
  const eventTime = textAt(object, 'eventTime');
  const series = at(object, 'series');
  const firstSeen = first || eventTime;
  const lastSeen = series ? textAt(series, 'lastObservedTime') : last || firstSeen;
  const count = series
    ? countAt(series, 'count')
    : countAt(object, isCore ? 'count' : 'deprecatedCount') || 1;
  const source = at(object, isCore ? 'source' : 'deprecatedSource');
  const component = textAt(source, 'component') || reporter(object, 'Controller', 'Component');
  const host = textAt(source, 'host') || textAt(object, 'reportingInstance');
  return [
    since(lastSeen, now),
    textAt(object, 'type'),
    textAt(object, 'reason'),
    [textAt(about, 'kind').toLowerCase(), textAt(about, 'name')].filter((part) => part !== '').join('/'),
    textAt(about, 'fieldPath'),
    [component, host].filter((text) => text !== '').join(', '),
    textAt(object, isCore ? 'message' : 'note').trim(),
    since(firstSeen, now),
    count,
    nameOf(object),
  ];
};

function reporter(object: KubeObject, ...endings: string[]): string {
  for (const ending of endings) {
    const found = textAt(object, `reporting${ending}`);
    if (found !== '') return found;
  }
  return '';
}

const lease: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'spec', 'holderIdentity'),
  age(object, now),
];

const runtimeClass: Cells = (object, now) => [nameOf(object), textAt(object, 'handler'), age(object, now)];

const priorityClass: Cells = (object, now) => [
  nameOf(object),
  countAt(object, 'value'),
  at(object, 'globalDefault') === true,
  age(object, now),
  orElse(textAt(object, 'preemptionPolicy'), 'PreemptLowerPriority'),
];

const resourceQuota: Cells = (object, now) => {
  const hard = objectAt(object, 'status', 'hard') ?? {};
  const used = objectAt(object, 'status', 'used') ?? {};
  const requests: string[] = [];
  const limits: string[] = [];
  for (const name of Object.keys(hard).sort()) {
    const text = `${name}: ${String(used[name] ?? 0)}/${String(hard[name])}`;
    (name.startsWith('limits.') ? limits : requests).push(text);
  }
  return [nameOf(object), age(object, now), requests.join(', '), limits.join(', ')];
};

const componentStatus: Cells = (object) => {
  const healthy = objectsAt(object, 'conditions').find((item) => item.type === 'Healthy');
  return [
    nameOf(object),
    healthy?.status === 'True' ? 'Healthy' : 'Unhealthy',
    textAt(healthy, 'message'),
    textAt(healthy, 'error'),
  ];
};

const apiService: Cells = (object, now) => {
  const service = at(object, 'spec', 'service');
  const available = conditionOf(object, 'Available');
  const reason = textAt(available, 'reason');
  const status = textAt(available, 'status') || 'Unknown';
  return [
    nameOf(object),
    service ? `${textAt(service, 'namespace')}/${textAt(service, 'name')}` : 'Local',
    status === 'True' || reason === '' ? status : `${status} (${reason})`,
    age(object, now),
  ];
};

const flowSchema: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'spec', 'priorityLevelConfiguration', 'name'),
  countAt(object, 'spec', 'matchingPrecedence'),
  orElse(textAt(object, 'spec', 'distinguisherMethod', 'type'), NONE),
  age(object, now),
  orElse(textAt(conditionOf(object, 'Dangling'), 'status'), '?'),
];

const priorityLevel: Cells = (object, now) => {
  const type = textAt(object, 'spec', 'type');
  // Of one that bounds nothing there is nothing to show.
  const settings = at(object, 'spec', 'limited');
  const queuing = at(settings, 'limitResponse', 'queuing');
  const numberOf = (value: unknown, key: string): string | number =>
    typeof at(value, key) === 'number' ? countAt(value, key) : NONE;
  return [
    nameOf(object),
    type,
    numberOf(settings, 'nominalConcurrencyShares'),
    numberOf(queuing, 'queues'),
    numberOf(queuing, 'handSize'),
    numberOf(queuing, 'queueLengthLimit'),
    age(object, now),
  ];
};

export const CLUSTER_CELLS: Readonly<Record<string, Cells>> = {
  '/componentstatuses': componentStatus,
  '/configmaps': configMap,
  '/events': event,
  '/namespaces': namespace,
  '/nodes': node,
  '/resourcequotas': resourceQuota,
  '/secrets': secret,
  '/serviceaccounts': serviceAccount,
  'apiregistration.k8s.io/apiservices': apiService,
  'coordination.k8s.io/leases': lease,
  'events.k8s.io/events': event,
  'flowcontrol.apiserver.k8s.io/flowschemas': flowSchema,
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': priorityLevel,
  'node.k8s.io/runtimeclasses': runtimeClass,
  'scheduling.k8s.io/priorityclasses': priorityClass,
};
