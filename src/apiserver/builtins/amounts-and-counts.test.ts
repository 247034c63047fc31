import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { startServer } from '../server.fixture.ts';
import { ROOT_CLUSTER } from '../server-options.ts';
import { objectKey } from '../store/key.ts';

const NS = '/namespaces/default';

it('amounts are written in one way, wherever they are', async () => {
  const { post } = await startServer();
  const made = await post(`/apis/autoscaling/v2${NS}/horizontalpodautoscalers`, {
    metadata: { name: 'h' },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
      maxReplicas: 3,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1024Mi' } },
        },
        {
          type: 'Object',
          object: {
            metric: { name: 'm' },
            describedObject: { kind: 'Service', name: 's' },
            target: { type: 'Value', value: 10 },
          },
        },
      ],
    },
  });
  const [resource, object] = made.body.spec.metrics;
  expect(resource.resource.target.averageValue).toBe('1Gi');
  expect(object.object.target.value).toBe('10');
});

it('what was stored when amounts were written as they came can still be changed', async () => {
  const { post, merge, get, runtime, server } = await startServer({ controllers: false });
  const pod = (sizeLimit: string) => ({
    restartPolicy: 'Never',
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', emptyDir: { sizeLimit } }],
  });
  const path = `/apis/batch/v1${NS}/jobs`;
  const spec = { template: { spec: pod('1Gi') } };
  await post(path, { metadata: { name: 'j', finalizers: ['example.com/held'] }, spec });
  const written = server.store.write(objectKey('batch', 'jobs', ROOT_CLUSTER, 'default', 'j'), (current) => {
    if (!current) throw new Error('there is no job');
    const text = JSON.stringify(current.object).replace('"1Gi"', '"1024Mi"');
    return JSON.parse(text) as KubeObject;
  });
  await runtime.clock.settle();
  await written;
  expect((await get(`${path}/j`)).text).toContain('"1024Mi"');
  const other = { spec: { template: { spec: pod('2Gi') } } };
  expect((await merge(`${path}/j`, other)).body.message).toContain('field is immutable');
  const freed = await merge(`${path}/j`, { metadata: { finalizers: null } });
  expect(freed.status).toBe(200);
  expect(freed.text).toContain('"1Gi"');
});

it('the count of collisions never falls', async () => {
  const { post, merge } = await startServer();
  const path = `/apis/apps/v1${NS}/deployments`;
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await post(path, { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } });
  await merge(`${path}/d/status`, { status: { collisionCount: 2 } });
  const less = await merge(`${path}/d/status`, { status: { collisionCount: 1 } });
  expect(less.body.message).toContain('status.collisionCount: Invalid value: 1: cannot be decremented');
  expect((await merge(`${path}/d/status`, { status: { collisionCount: 3 } })).status).toBe(200);
});

it('a Job says what it once said of having succeeded, and when it began', async () => {
  const { post, merge } = await startServer();
  const path = `/apis/batch/v1${NS}/jobs`;
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  await post(path, { metadata: { name: 'j' }, spec: { template } });
  const met = [{ type: 'SuccessCriteriaMet', status: 'True' }];
  await merge(`${path}/j/status`, { status: { startTime: '2026-01-01T00:00:00Z', conditions: met } });
  const taken = await merge(`${path}/j/status`, { status: { conditions: [] } });
  expect(taken.body.message).toContain('cannot disable the SuccessCriteriaMet=True condition');
  const moved = await merge(`${path}/j/status`, { status: { startTime: '2026-01-02T00:00:00Z' } });
  expect(moved.body.message).toContain('startTime cannot be removed for unsuspended job');
});

it('patterns of conditions get their status in Jobs, not in what CronJobs make them of', async () => {
  const { post } = await startServer();
  const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }];
  const spec = {
    podFailurePolicy: { rules },
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
  };
  const job = await post(`/apis/batch/v1${NS}/jobs`, { metadata: { name: 'j' }, spec });
  expect(job.body.spec.podFailurePolicy.rules[0].onPodConditions[0].status).toBe('True');
  const cron = await post(`/apis/batch/v1${NS}/cronjobs`, {
    metadata: { name: 'c' },
    spec: { schedule: '* * * * *', jobTemplate: { spec } },
  });
  expect(cron.body.message).toContain('onPodConditions[0].status: Required value');
});

it('a claim that asks for nothing any more asks for less than it has', async () => {
  const { post, put, get } = await startServer();
  const path = `/api/v1${NS}/persistentvolumeclaims`;
  const resources = { requests: { storage: '1Gi' } };
  await post(path, { metadata: { name: 'c' }, spec: { accessModes: ['ReadWriteOnce'], resources } });
  const { body } = await get(`${path}/c`);
  const refused = await put(`${path}/c`, { ...body, spec: { ...body.spec, resources: {} } });
  expect(refused.body.message).toContain('field can not be less than status.capacity');
});
