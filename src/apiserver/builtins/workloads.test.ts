import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from '../../schema/json.ts';
import { create, strategyOf, update } from './testdata/write.ts';

const TEMPLATE = {
  metadata: { labels: { app: 'cart' } },
  spec: { containers: [{ name: 'web', image: 'shop/cart:1' }] },
};
const SELECTOR = { matchLabels: { app: 'cart' } };

function workload(kind: string, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'cart' },
    spec: { selector: clone(SELECTOR), template: clone(TEMPLATE), ...spec },
  };
}

const deployments = 'apps/deployments';

describe('deployments', () => {
  it('[V39] get the defaults of a real server', () => {
    const { object, errors } = create(deployments, workload('Deployment'));
    expect(errors).toEqual([]);
    expect(object).toMatchObject({
      spec: {
        replicas: 1,
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
      },
      status: {},
    });
    const template = (object.spec as JsonObject).template as { spec: JsonObject };
    expect(Object.keys(template.spec).sort()).toEqual([
      'containers',
      'dnsPolicy',
      'restartPolicy',
      'schedulerName',
      'securityContext',
      'terminationGracePeriodSeconds',
    ]);
  });

  it('[V39] stay as they are when they are defaulted again', () => {
    const { object } = create(deployments, workload('Deployment', { replicas: 0 }));
    const again = clone(object);
    strategyOf(deployments).defaults?.(again);
    expect(again).toEqual(object);
  });

  it('need a selector that their template satisfies and keeps', () => {
    const mismatch =
      'spec.template.metadata.labels: Invalid value: map[string]string{"app":"cart"}: `selector` does not match template `labels`';
    expect(
      create(deployments, workload('Deployment', { selector: { matchLabels: { app: 'x' } } })).errors,
    ).toEqual([mismatch]);
    const { selector: _, ...none } = workload('Deployment').spec as JsonObject;
    expect(create(deployments, { ...workload('Deployment'), spec: none }).errors).toEqual([
      'spec.selector: Required value',
      mismatch,
    ]);
    expect(create(deployments, workload('Deployment', { selector: {} })).errors).toEqual([
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment',
    ]);
    const old = create(deployments, workload('Deployment')).object;
    const wider = workload('Deployment', {
      selector: { matchLabels: { app: 'cart', tier: 'a' } },
      template: { ...TEMPLATE, metadata: { labels: { app: 'cart', tier: 'a' } } },
    });
    expect(update(deployments, wider, old).errors).toEqual([
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"cart", "tier":"a"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    ]);
  });

  it('refuse numbers and strategies that cannot work', () => {
    expect(
      create(
        deployments,
        workload('Deployment', {
          replicas: -1,
          minReadySeconds: 10,
          progressDeadlineSeconds: 5,
          strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } },
        }),
      ).errors,
    ).toEqual([
      'spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds',
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"0%"}: may not be 0 when `maxSurge` is 0',
    ]);
    const recreate = { type: 'Recreate', rollingUpdate: { maxSurge: 1 } };
    expect(create(deployments, workload('Deployment', { strategy: recreate })).errors).toEqual([
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ]);
  });

  it('[V13] count changes of spec and annotations, not of labels', () => {
    const old = create(deployments, workload('Deployment')).object;
    expect(update(deployments, clone(old), old).object.metadata.generation).toBe(1);
    const next = clone(old);
    next.metadata.labels = { tier: 'front' };
    expect(update(deployments, next, old).object.metadata.generation).toBe(1);
    next.metadata.annotations = { note: 'x' };
    expect(update(deployments, next, old).object.metadata.generation).toBe(2);
  });

  it('keep spec and labels in writes of the status', () => {
    const old = create(deployments, workload('Deployment')).object;
    const next = { ...clone(old), spec: { replicas: 9 } };
    next.metadata.labels = { a: 'b' };
    next.metadata.annotations = { a: 'b' };
    strategyOf(deployments).prepareForStatusUpdate?.(next, old, { now: 0, user: '' });
    expect(next.spec).toEqual(old.spec);
    expect(next.metadata.labels).toBeUndefined();
    expect(next.metadata.annotations).toEqual({ a: 'b' });
    expect(strategyOf(deployments).resetFields).toEqual({
      main: { 'f:status': {} },
      status: { 'f:spec': {}, 'f:metadata': { 'f:labels': {} } },
    });
  });
});

describe('other workloads of apps/v1', () => {
  it('[V39] get the defaults of a real server', () => {
    expect(create('apps/replicasets', workload('ReplicaSet')).object).toMatchObject({
      spec: { replicas: 1 },
      status: { replicas: 0 },
    });
    const claim = {
      metadata: { name: 'd' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
    };
    expect(
      create(
        'apps/statefulsets',
        workload('StatefulSet', { serviceName: 's', volumeClaimTemplates: [claim] }),
      ),
    ).toMatchObject({
      errors: [],
      object: {
        spec: {
          replicas: 1,
          revisionHistoryLimit: 10,
          podManagementPolicy: 'OrderedReady',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
          volumeClaimTemplates: [
            {
              apiVersion: 'v1',
              kind: 'PersistentVolumeClaim',
              spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } } },
              status: { phase: 'Pending' },
            },
          ],
        },
        status: { replicas: 0, availableReplicas: 0 },
      },
    });
    expect(create('apps/daemonsets', workload('DaemonSet')).object).toMatchObject({
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
      spec: {
        revisionHistoryLimit: 10,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      },
    });
  });

  it('count template changes of daemon sets in their annotation', () => {
    const old = create('apps/daemonsets', workload('DaemonSet')).object;
    const next = workload('DaemonSet', {
      template: { ...TEMPLATE, spec: { ...TEMPLATE.spec, hostPID: true } },
    });
    const changed = update('apps/daemonsets', next, old);
    expect(changed.errors).toEqual([]);
    expect(changed.object.metadata.annotations).toEqual({ 'deprecated.daemonset.template.generation': '2' });
  });

  it('restart always', () => {
    const template = {
      ...TEMPLATE,
      spec: { ...TEMPLATE.spec, restartPolicy: 'Never', activeDeadlineSeconds: 5 },
    };
    for (const [name, kind] of [
      ['apps/daemonsets', 'DaemonSet'],
      ['apps/statefulsets', 'StatefulSet'],
      ['apps/replicasets', 'ReplicaSet'],
    ] as const) {
      expect(create(name, workload(kind, { template })).errors).toEqual([
        `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${kind} is not Supported`,
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      ]);
    }
  });

  it('fix most of a stateful set when it is made', () => {
    const old = create('apps/statefulsets', workload('StatefulSet', { serviceName: 'a' })).object;
    expect(
      update('apps/statefulsets', workload('StatefulSet', { serviceName: 'a', replicas: 3 }), old).errors,
    ).toEqual([]);
    expect(update('apps/statefulsets', workload('StatefulSet', { serviceName: 'b' }), old).errors).toEqual([
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ]);
  });
});

describe('jobs', () => {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] } };
  const job = (spec: JsonObject = {}): JsonObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'sum' },
    spec: { template: clone(template), ...spec },
  });

  it('[V39] get their defaults, a selector and labels', () => {
    const { object, errors } = create('batch/jobs', job());
    expect(errors).toEqual([]);
    const labels = {
      'batch.kubernetes.io/controller-uid': 'uid-1',
      'batch.kubernetes.io/job-name': 'sum',
      'controller-uid': 'uid-1',
      'job-name': 'sum',
    };
    expect(object).toMatchObject({
      metadata: { labels },
      spec: {
        backoffLimit: 6,
        completionMode: 'NonIndexed',
        completions: 1,
        parallelism: 1,
        manualSelector: false,
        podReplacementPolicy: 'TerminatingOrFailed',
        suspend: false,
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'uid-1' } },
        template: { metadata: { labels } },
      },
    });
    expect(create('batch/jobs', job({ parallelism: 3 })).object.spec).not.toHaveProperty('completions');
  });

  it('need a restart policy that ends', () => {
    const always = { spec: { ...template.spec, restartPolicy: 'Always' } };
    expect(create('batch/jobs', job({ template: always })).errors).toEqual([
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ]);
  });

  it('keep what they run', () => {
    const old = create('batch/jobs', job()).object;
    const next = clone(old);
    (next.spec as JsonObject).completions = 4;
    (next.spec as JsonObject).parallelism = 2;
    expect(update('batch/jobs', next, old).errors).toEqual([
      'spec.completions: Invalid value: 4: field is immutable',
    ]);
    const other = clone(old);
    ((other.spec as JsonObject).template as { spec: { containers: JsonObject[] } }).spec
      .containers[0]!.image = 'x:2';
    expect(update('batch/jobs', other, old).errors[0]).toMatch(
      /^spec\.template: Invalid value: .*: field is immutable$/,
    );
  });

  it('[V14] leave their pods behind unless the caller says otherwise', () => {
    expect(strategyOf('batch/jobs').defaultPropagation).toBe('Orphan');
    expect(strategyOf('batch/cronjobs').defaultPropagation).toBe('Background');
  });

  it.each([
    ['*/5 * * * *', []],
    ['0 9-17/2 1,15 jan-mar MON', []],
    ['@daily', []],
    ['@every 1h30m', []],
    ['* * * *', ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]']],
    ['61 * * * *', ['spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61']],
    ['', ['spec.schedule: Required value']],
  ])('take the schedule %j of a cron job as it deserves', (schedule, expected) => {
    const cron = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'nightly' },
      spec: { schedule, jobTemplate: { spec: { template } } },
    };
    const { object, errors } = create('batch/cronjobs', cron);
    expect(errors).toEqual(expected);
    expect(object.spec).toMatchObject({
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
    expect((object.spec as { jobTemplate: { spec: JsonObject } }).jobTemplate.spec).not.toHaveProperty(
      'backoffLimit',
    );
  });
});

describe('stateful sets', () => {
  it('have pods that are checked only when they are made', () => {
    const template = clone(TEMPLATE) as unknown as JsonObject;
    const spec = template.spec as JsonObject;
    spec.containers = [
      { name: 'store', image: 'redis:7', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    ];
    const claims = [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ];
    const sets = 'apps/statefulsets';
    const mounted = { template, serviceName: 'store', volumeClaimTemplates: claims };
    expect(create(sets, workload('StatefulSet', mounted)).errors).toEqual([]);
    expect(create(sets, workload('StatefulSet', { template, serviceName: 'store' })).errors).toEqual([]);
  });
});
