import type { KubeObject } from '../kube/object.ts';
import { isObject, type JsonObject } from '../schema/json.ts';

export const FLOW_CONTROL_GROUP = 'flowcontrol.apiserver.k8s.io';
const API_VERSION = `${FLOW_CONTROL_GROUP}/v1`;

/** Whom the specs of these objects are by, as in other servers. */
export const FLOW_PRODUCER = 'api-priority-and-fairness-config-producer-v1';
/** Who says whether the priority level of a flow schema is there. */
export const FLOW_CONSUMER = 'api-priority-and-fairness-config-consumer-v1';

/** Priority levels and flow schemas as Kubernetes has them from the beginning; `exempt` and `catch-all` are mandatory. */
export function flowControlObjects(): KubeObject[] {
  return [...PRIORITY_LEVELS.map(priorityLevel), ...FLOW_SCHEMAS.map(flowSchema)];
}

/** The spec that an object of one of these names has for ever: without them requests would have nowhere to go. */
export function mandatorySpec(
  kind: 'FlowSchema' | 'PriorityLevelConfiguration',
  name: string,
): JsonObject | undefined {
  if (!MANDATORY.has(name)) return undefined;
  const object = flowControlObjects().find((one) => one.kind === kind && one.metadata.name === name);
  return isObject(object?.spec) ? object.spec : undefined;
}

const MANDATORY: ReadonlySet<string> = new Set(['exempt', 'catch-all']);

interface Level {
  readonly name: string;
  readonly shares: number;
  readonly lendable: number;
  /** Queues and hand size; `undefined` refuses instead of queueing. */
  readonly queues?: readonly [number, number];
  readonly exempt?: true;
}

const PRIORITY_LEVELS: readonly Level[] = [
  { name: 'exempt', shares: 0, lendable: 0, exempt: true },
  { name: 'catch-all', shares: 5, lendable: 0 },
  { name: 'system', shares: 30, lendable: 33, queues: [64, 6] },
  { name: 'node-high', shares: 40, lendable: 25, queues: [64, 6] },
  { name: 'leader-election', shares: 10, lendable: 0, queues: [16, 4] },
  { name: 'workload-high', shares: 40, lendable: 50, queues: [128, 6] },
  { name: 'workload-low', shares: 100, lendable: 90, queues: [128, 6] },
  { name: 'global-default', shares: 20, lendable: 50, queues: [128, 6] },
];

function metadataOf(name: string): KubeObject['metadata'] {
  return { name, generation: 1, annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' } };
}

function priorityLevel({ name, shares, lendable, queues, exempt }: Level): KubeObject {
  const nominal = { nominalConcurrencyShares: shares, lendablePercent: lendable };
  const limitResponse: JsonObject =
    queues === undefined
      ? { type: 'Reject' }
      : { type: 'Queue', queuing: { queues: queues[0], handSize: queues[1], queueLengthLimit: 50 } };
  return {
    apiVersion: API_VERSION,
    kind: 'PriorityLevelConfiguration',
    metadata: metadataOf(name),
    spec: exempt
      ? { type: 'Exempt', exempt: nominal }
      : { type: 'Limited', limited: { ...nominal, limitResponse } },
    status: {},
  };
}

interface Schema {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly rules: readonly JsonObject[];
}

const user = (name: string): JsonObject => ({ kind: 'User', user: { name } });
const group = (name: string): JsonObject => ({ kind: 'Group', group: { name } });
const account = (name: string): JsonObject => ({
  kind: 'ServiceAccount',
  serviceAccount: { name, namespace: 'kube-system' },
});

/** Rules over resources: of one namespace, or with `cluster` of none and all. */
function resources(
  verbs: string[],
  apiGroups: string[],
  names: string[],
  namespaces: string[],
  clusterScope: boolean = false,
): JsonObject {
  return {
    verbs,
    apiGroups,
    resources: names,
    ...(clusterScope ? { clusterScope } : {}),
    ...(namespaces.length > 0 ? { namespaces } : {}),
  };
}

const ANY: JsonObject = resources(['*'], ['*'], ['*'], ['*'], true);
const ANY_PATH: JsonObject = { verbs: ['*'], nonResourceURLs: ['*'] };
const LEASES: JsonObject = resources(['get', 'create', 'update'], ['coordination.k8s.io'], ['leases'], ['*']);
const EVERYBODY: JsonObject[] = [group('system:unauthenticated'), group('system:authenticated')];

const everything = (...subjects: JsonObject[]): JsonObject[] => [
  { subjects, resourceRules: [ANY], nonResourceRules: [ANY_PATH] },
];

const FLOW_SCHEMAS: readonly Schema[] = [
  { name: 'exempt', level: 'exempt', precedence: 1, rules: everything(group('system:masters')) },
  {
    name: 'probes',
    level: 'exempt',
    precedence: 2,
    rules: [
      {
        subjects: EVERYBODY,
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
      },
    ],
  },
  {
    name: 'system-leader-election',
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    rules: [
      {
        subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler'), account('*')],
        resourceRules: [LEASES],
      },
    ],
  },
  {
    name: 'endpoint-controller',
    level: 'workload-high',
    precedence: 150,
    by: 'ByUser',
    rules: [
      {
        subjects: [
          user('system:kube-controller-manager'),
          account('endpoint-controller'),
          account('endpointslicemirroring-controller'),
        ],
        resourceRules: [resources(['get', 'create', 'update'], [''], ['endpoints'], ['*'])],
      },
    ],
  },
  {
    name: 'workload-leader-election',
    level: 'leader-election',
    precedence: 200,
    by: 'ByUser',
    rules: [
      {
        subjects: [account('*')],
        resourceRules: [
          resources(['get', 'create', 'update'], [''], ['endpoints', 'configmaps'], ['*']),
          LEASES,
        ],
      },
    ],
  },
  {
    name: 'system-node-high',
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    rules: [
      {
        subjects: [group('system:nodes')],
        resourceRules: [
          resources(['*'], [''], ['nodes', 'nodes/status'], ['*'], true),
          resources(['*'], ['coordination.k8s.io'], ['leases'], ['*']),
        ],
      },
    ],
  },
  {
    name: 'system-nodes',
    level: 'system',
    precedence: 500,
    by: 'ByUser',
    rules: everything(group('system:nodes')),
  },
  {
    name: 'kube-controller-manager',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rules: everything(user('system:kube-controller-manager')),
  },
  {
    name: 'kube-scheduler',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rules: everything(user('system:kube-scheduler')),
  },
  {
    name: 'kube-system-service-accounts',
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    rules: everything(account('*')),
  },
  {
    name: 'service-accounts',
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    rules: everything(group('system:serviceaccounts')),
  },
  {
    name: 'global-default',
    level: 'global-default',
    precedence: 9900,
    by: 'ByUser',
    rules: everything(...EVERYBODY),
  },
  {
    name: 'catch-all',
    level: 'catch-all',
    precedence: 10_000,
    by: 'ByUser',
    rules: everything(...EVERYBODY),
  },
];

function flowSchema({ name, level, precedence, by, rules }: Schema): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: 'FlowSchema',
    metadata: { ...metadataOf(name), managedFields: [DANGLING_OWNER] },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
      rules: [...rules],
    },
    status: {
      conditions: [
        {
          type: 'Dangling',
          status: 'False',
          lastTransitionTime: '',
          reason: 'Found',
          message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} and it exists`,
        },
      ],
    },
  };
}

/** Who says whether a flow schema leads anywhere. */
const DANGLING_OWNER: NonNullable<KubeObject['metadata']['managedFields']>[number] = {
  manager: FLOW_CONSUMER,
  operation: 'Apply',
  apiVersion: API_VERSION,
  fieldsType: 'FieldsV1',
  fieldsV1: {
    'f:status': {
      'f:conditions': {
        'k:{"type":"Dangling"}': {
          '.': {},
          'f:lastTransitionTime': {},
          'f:message': {},
          'f:reason': {},
          'f:status': {},
          'f:type': {},
        },
      },
    },
  },
  subresource: 'status',
};
