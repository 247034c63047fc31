import { describe, expect, it } from 'vitest';
import { clone, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { create, strategyOf } from './testdata/write.ts';

const CONTAINER: JsonObject = { name: 'c', image: 'i' };

/** What is wrong with an object of a kind; each case is a rule that the kind has besides those of its schema. */
const CASES: readonly (readonly [
  resource: string,
  kind: string,
  rest: JsonObject,
  problems: readonly string[],
])[] = [
  [
    'autoscaling/horizontalpodautoscalers',
    'autoscaling/v2 HorizontalPodAutoscaler',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'web' },
        maxReplicas: 3,
        metrics: [
          { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'Rate' } } },
          { type: 'External', resource: { name: 'cpu', target: { type: 'Utilization' } } },
        ],
      },
    },
    [
      'spec.metrics[0].pods.target.type: Invalid value: "Rate": must be either Utilization, Value, or AverageValue',
      'spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue',
      'spec.metrics[1].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
      'spec.metrics[1].external: Required value: must populate information for the given metric source',
    ],
  ],
  [
    'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
    'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration',
    {
      spec: {
        type: 'Limited',
        limited: {
          lendablePercent: 101,
          limitResponse: { type: 'Queue', queuing: { queues: 2, handSize: 3 } },
        },
      },
    },
    [
      'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
      'spec.limited.limitResponse.queuing.handSize: Invalid value: 3: should not be greater than queues (2)',
    ],
  ],
  [
    'flowcontrol.apiserver.k8s.io/flowschemas',
    'flowcontrol.apiserver.k8s.io/v1 FlowSchema',
    {
      spec: {
        priorityLevelConfiguration: { name: 'low' },
        matchingPrecedence: 1,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: '*' }, group: { name: 'g' } }],
            nonResourceRules: [{ verbs: ['look'], nonResourceURLs: ['healthz'] }],
          },
        ],
      },
    },
    [
      "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
      "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      'spec.rules[0].nonResourceRules[0].verbs: Unsupported value: []string{"look"}: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
      'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "healthz": must start with slash',
    ],
  ],
  [
    'persistentvolumes',
    'v1 PersistentVolume',
    {
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '0' },
        local: { path: '' },
        csi: { driver: 'd' },
      },
    },
    [
      'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
      'spec.csi: Forbidden: may not specify more than 1 volume type',
      'spec.local.path: Required value',
      'spec.nodeAffinity: Required value: Local volume requires node affinity',
    ],
  ],
  [
    'networking.k8s.io/ingressclasses',
    'networking.k8s.io/v1 IngressClass',
    { spec: { controller: 'a.b/c', parameters: { name: 'n', scope: 'World' } } },
    [
      'spec.parameters.kind: Required value: kind is required',
      'spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"',
    ],
  ],
  [
    'storage.k8s.io/csinodes',
    'storage.k8s.io/v1 CSINode',
    {
      spec: {
        drivers: [{ name: 'd', nodeID: 'n', topologyKeys: ['zone', 'zone'], allocatable: { count: -1 } }],
      },
    },
    [
      'spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0',
      'spec.drivers[0]: Duplicate value: "zone"',
    ],
  ],
  [
    'batch/cronjobs',
    'batch/v1 CronJob',
    {
      spec: {
        schedule: '@every 1x',
        timeZone: 'europe/vienna',
        jobTemplate: { spec: { template: { spec: { containers: [CONTAINER], restartPolicy: 'Never' } } } },
      },
    },
    [
      'spec.schedule: Invalid value: "@every 1x": failed to parse duration @every 1x: time: unknown unit "x" in duration "1x"',
      'spec.timeZone: Invalid value: "europe/vienna": unknown time zone europe/vienna',
    ],
  ],
  [
    'networking.k8s.io/ingressclasses',
    'networking.k8s.io/v1 IngressClass',
    { spec: { controller: 'a.b/' } },
    ['spec.controller: Invalid value: "a.b/": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'persistentvolumes',
    'v1 PersistentVolume',
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        cinder: { volumeID: 'v', secretRef: { name: 's' } },
      },
    },
    ['spec.cinder.secretRef.namespace: Required value'],
  ],
  [
    'storage.k8s.io/volumeattachments',
    'storage.k8s.io/v1 VolumeAttachment',
    {
      spec: {
        attacher: 'a.b',
        nodeName: 'n',
        source: {
          inlineVolumeSpec: {
            accessModes: ['ReadWriteOnce'],
            csi: { driver: 'a.b', volumeHandle: 'h' },
            volumeMode: 'Block',
            persistentVolumeReclaimPolicy: 'Delete',
          },
        },
      },
    },
    [
      'spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes',
      'spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes',
    ],
  ],
  [
    'storage.k8s.io/storageclasses',
    'storage.k8s.io/v1 StorageClass',
    {
      provisioner: 'p',
      allowedTopologies: [
        { matchLabelExpressions: [{ key: 'a', values: ['x', 'y'] }] },
        { matchLabelExpressions: [{ key: 'a', values: ['y', 'x'] }] },
      ],
    },
    ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
  ],
  [
    'resourcequotas',
    'v1 ResourceQuota',
    { spec: { hard: { configmaps: '1', 'x.y/z': '1.5' }, scopes: ['Terminating'] } },
    [
      'spec.hard[x.y/z]: Invalid value: resource.Quantity{i:resource.int64Amount{value:15, scale:-1}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"", Format:"DecimalSI"}: must be an integer',
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating"}: unsupported scope applied to resource',
    ],
  ],
  [
    'nodes',
    'v1 Node',
    {
      metadata: {
        name: 'a',
        annotations: { 'scheduler.alpha.kubernetes.io/preferAvoidPods': '{"preferAvoidPods":[{}]}' },
      },
    },
    ['metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value'],
  ],
  [
    'services',
    'v1 Service',
    { spec: { ports: [{ port: 80 }], ipFamilies: ['IPv4', 'IPv6', 'IPv4'] } },
    ['spec.ipFamilies[2]: Duplicate value: "IPv4"'],
  ],
];

describe('rules of kinds', () => {
  it.each(CASES)('[V40] %s', (resource, kind, rest, problems) => {
    const [apiVersion = '', name = ''] = kind.split(' ');
    const object = { apiVersion, kind: name, metadata: { name: 'a' }, ...clone(rest) };
    expect([...create(resource, object).errors].sort()).toEqual([...problems].sort());
  });
});

function pod(spec: JsonObject): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'shop' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  };
}

describe('rules of pods', () => {
  const of = (spec: JsonObject): readonly string[] => create('pods', pod(spec)).errors;

  it('[V40] keep mounts and devices apart, and pages with what they are of', () => {
    const container = {
      ...CONTAINER,
      volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional' }],
      volumeDevices: [{ name: 'v', devicePath: '/a' }],
      resources: { limits: { 'hugepages-2Mi': '2Mi' } },
    };
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
    const at = 'spec.containers[0]';
    expect([...of({ containers: [container], volumes })].sort()).toEqual([
      `${at}.resources: Forbidden: HugePages require cpu or memory`,
      `${at}.volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts`,
      `${at}.volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts`,
      `${at}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
      `${at}.volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices`,
      `${at}.volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices`,
    ]);
  });

  it.each<[string, JsonValue, readonly string[]]>([
    [
      'emptyDir',
      { sizeLimit: '-1' },
      ['.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity'],
    ],
    [
      'iscsi',
      { targetPortal: 'h', iqn: 'x', lun: 256 },
      [
        '.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
        '.lun: Invalid value: 256: must be between 0 and 255, inclusive',
      ],
    ],
    ['fc', {}, ['.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both']],
    ['csi', { driver: 'd', nodePublishSecretRef: {} }, ['.nodePublishSecretRef.name: Required value']],
    [
      'downwardAPI',
      { items: [{ path: 'f' }] },
      [': Required value: one of fieldRef and resourceFieldRef is required'],
    ],
    [
      'ephemeral',
      {
        volumeClaimTemplate: {
          metadata: { name: 'x' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
        },
      },
      ['.volumeClaimTemplate.metadata.name: Forbidden: cannot be set'],
    ],
  ])('[V40] volumes of %s', (kind, source, problems) => {
    expect(of({ volumes: [{ name: 'v', [kind]: source }] })).toEqual(
      problems.map((problem) => `spec.volumes[0].${kind}${problem}`),
    );
  });

  it('[V40] tell two sources of a volume apart by their order', () => {
    expect(of({ volumes: [{ name: 'v', projected: {}, configMap: { name: 'c' } }] })).toEqual([
      'spec.volumes[0].projected: Forbidden: may not specify more than 1 volume type',
    ]);
  });

  it('[V40] where pods go', () => {
    const term = { topologyKey: '', labelSelector: { matchLabels: { a: 'b' } }, matchLabelKeys: ['a'] };
    expect(
      of({
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 },
        ],
      }),
    ).toEqual([
      expect.stringContaining('topologyKey: Invalid value: "": name part must be non-empty'),
      expect.stringContaining('topologyKey: Invalid value: "": name part must consist of'),
      'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty',
      'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector',
      'spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
    ]);
  });

  it('[V40] what containers may see and do', () => {
    const container = {
      name: 'c',
      image: 'i',
      env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }],
      lifecycle: { preStop: { sleep: { seconds: 60 } } },
      securityContext: { seccompProfile: { type: 'Loose' } },
      readinessProbe: { exec: { command: ['a'] }, terminationGracePeriodSeconds: 3 },
    };
    const problems = of({ containers: [container] });
    expect(problems.map((problem) => problem.replace('spec.containers[0].', ''))).toEqual([
      'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      'lifecycle.preStop.sleep: Invalid value: 60: must be non-negative and less than terminationGracePeriodSeconds (30)',
      'readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for readinessProbes',
      'securityContext.seccompProfile.type: Unsupported value: "Loose": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ]);
  });
});

describe('rules of pods that newer releases have eased', () => {
  it('[V40] let names to search have underscores, hooks sleep for no time, and containers restart as they like', () => {
    const errors = (searches: string[], seconds: number, restartPolicy: string): readonly string[] =>
      create(
        'pods',
        pod({
          dnsConfig: { searches },
          containers: [
            { name: 'c', image: 'i', restartPolicy, lifecycle: { preStop: { sleep: { seconds } } } },
          ],
        }),
      ).errors;
    expect(errors(['_sip._tcp.a.b.', '.'], 0, 'Never')).toEqual([]);
    expect(errors(['a b'], -1, 'Sometimes')).toHaveLength(3);
  });
});

describe('rules of templates', () => {
  it('[V40] let a selector say a key once that pods take from themselves', () => {
    const errors = (selector: JsonObject): readonly string[] => {
      const term = { topologyKey: 'zone', labelSelector: selector, matchLabelKeys: ['a'] };
      const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
      const labels = { a: 'b' };
      return create('apps/deployments', {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { affinity, containers: [{ name: 'c', image: 'i' }] } },
        },
      }).errors;
    };
    const matchLabels = { a: 'b' };
    expect(errors({ matchLabels })).toEqual([]);
    expect(errors({ matchLabels, matchExpressions: [{ key: 'a', operator: 'Exists' }] })).toEqual([
      expect.stringContaining('exists in both matchLabelKeys and labelSelector'),
    ]);
  });
});

describe('rules of events', () => {
  const of = (apiVersion: string, rest: JsonObject): readonly string[] =>
    create(apiVersion === 'v1' ? 'events' : 'events.k8s.io/events', {
      apiVersion,
      kind: 'Event',
      metadata: { name: 'e', namespace: 'default' },
      ...rest,
    }).errors;
  const told = { reportingInstance: 'i', action: 'a', reason: 'r', eventTime: '2024-01-01T00:00:00.000000Z' };

  it('[V40] ask no more of the older API than they ever did', () => {
    expect(of('v1', { involvedObject: {}, message: 'm' })).toEqual([]);
    expect(
      of('v1', {
        ...told,
        involvedObject: { kind: 'Pod', namespace: 'shop' },
        reportingComponent: 'c',
        firstTimestamp: '2024-01-01T00:00:00Z',
        count: 2,
        series: { count: 1 },
        type: 'Odd',
      }),
    ).toEqual([]);
    expect(of('v1', { involvedObject: {}, eventTime: told.eventTime })).toContain(
      'reportingController: Required value',
    );
  });

  it('[V40] ask the newer API for its own fields', () => {
    expect(
      of('events.k8s.io/v1', {
        ...told,
        regarding: {},
        reportingController: 'c',
        type: 'Odd',
        deprecatedCount: 1,
        series: { count: 1 },
      }),
    ).toEqual([
      'count: Invalid value: "": needs to be unset',
      'series.count: Invalid value: "": should be at least 2',
      'series.lastObservedTime: Required value',
      'type: Invalid value: "": has invalid value: Odd',
    ]);
    expect(of('events.k8s.io/v1', { regarding: {}, type: 'Normal' })).toEqual(['eventTime: Required value']);
  });
});

describe('updates of kinds that check the object and the change', () => {
  it('[V40] tell each cause twice', () => {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'r', namespace: 'shop' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    };
    const old = create('rbac.authorization.k8s.io/roles', clone(role)).object;
    const next = { ...clone(old), rules: [{ apiGroups: [''], resources: ['pods'], verbs: [] }] };
    const errors = strategyOf('rbac.authorization.k8s.io/roles').validateUpdate?.(next, old) ?? [];
    expect(errors.map(({ path }) => path)).toEqual(['rules[0].verbs', 'rules[0].verbs']);
  });
});

describe('rules of long lists', () => {
  const MANY = 1500;

  it('tell of topologies that are alike, and no more than anybody reads', () => {
    const of = (terms: JsonValue[]): string[] =>
      (
        strategyOf('storage.k8s.io/storageclasses').validate?.(
          create('storage.k8s.io/storageclasses', {
            apiVersion: 'storage.k8s.io/v1',
            kind: 'StorageClass',
            metadata: { name: 's' },
            provisioner: 'example.com/p',
            allowedTopologies: terms,
          }).object,
        ) ?? []
      ).map(({ type, path }) => `${type} ${path}`);
    const zone = (...values: string[]): JsonObject => ({ matchLabelExpressions: [{ key: 'zone', values }] });
    expect(of([zone('a', 'b'), zone('c'), zone('b', 'a')])).toEqual([
      'Duplicate allowedTopologies[2].matchLabelExpressions',
    ]);
    expect(of([zone('a'), {}])).toEqual(['Duplicate allowedTopologies[1].matchLabelExpressions']);
    expect(of(Array.from({ length: MANY }, () => ({})))).toHaveLength(1000);
  });

  it('tell of indexes that are both done and given up', () => {
    const strategy = strategyOf('batch/jobs');
    const job = (status: JsonObject): ReturnType<typeof create>['object'] => ({
      ...create('batch/jobs', {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'j', namespace: 'shop' },
        spec: {
          completions: 2 * MANY,
          parallelism: 1,
          completionMode: 'Indexed',
          backoffLimitPerIndex: 1,
          template: { spec: { restartPolicy: 'Never', containers: [CONTAINER] } },
        },
      }).object,
      status: { startTime: '2024-01-01T00:00:00Z', ...status },
    });
    const overlap = (completedIndexes: string, failedIndexes: string): string[] =>
      (strategy.validateStatusUpdate?.(job({ completedIndexes, failedIndexes }), job({})) ?? [])
        .map(({ detail }) => detail)
        .filter((detail) => detail.includes('overlap'));
    expect(overlap('0,2-5,9', '1,6-8')).toEqual([]);
    expect(overlap('0,2-5,9', '1,4-8,9')).toEqual(['failedIndexes and completedIndexes overlap at index: 4']);
    const every = (first: number): string => Array.from({ length: MANY }, (_, i) => 2 * i + first).join(',');
    expect(overlap(every(0), every(1))).toEqual([]);
  });

  it('tell of addresses and ports that are there twice', () => {
    const node = create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }).object;
    const addresses = Array.from({ length: MANY }, (_, i) => ({
      type: 'Hostname',
      address: `h${i % (MANY - 1)}`,
    }));
    const errors = strategyOf('nodes').validateStatusUpdate?.({ ...node, status: { addresses } }, node) ?? [];
    expect(errors.map(({ path }) => path)).toEqual([`status.addresses[${MANY - 1}]`]);
    const ports = Array.from({ length: MANY }, (_, i) => ({ containerPort: 1 + (i % (MANY - 1)) }));
    const warnings =
      strategyOf('pods').warnings?.(
        create('pods', pod({ containers: [{ ...CONTAINER, ports }] })).object,
        undefined,
      ) ?? [];
    expect(warnings).toEqual([
      `spec.containers[0].ports[${MANY - 1}]: duplicate port definition with spec.containers[0].ports[0]`,
    ]);
  });

  it('take an address with a zone for a load balancer, which nothing is said of', () => {
    const object = create('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', namespace: 'shop' },
      spec: { type: 'LoadBalancer', loadBalancerIP: 'fe80::1%eth0', ports: [{ port: 80 }] },
    }).object;
    expect(strategyOf('services').warnings?.(object, undefined)).toEqual([]);
  });

  it('know time zones by their spelling', () => {
    const errors = (timeZone: string): readonly string[] =>
      create('batch/cronjobs', {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { name: 'c', namespace: 'shop' },
        spec: {
          schedule: '0 0 * * *',
          timeZone,
          jobTemplate: {
            spec: { template: { spec: { restartPolicy: 'Never', containers: [CONTAINER] } } },
          },
        },
      }).errors;
    for (const zone of ['UTC', 'Etc/UTC', 'Europe/Berlin', 'America/Port-au-Prince', 'US/Pacific'])
      expect([zone, errors(zone)]).toEqual([zone, []]);
    for (const zone of ['EUROPE/BERLIN', 'utc', 'Mars/Base'])
      expect([zone, errors(zone).length]).toEqual([zone, 1]);
  });
});
