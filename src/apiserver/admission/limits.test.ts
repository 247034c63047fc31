import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Answer, startServer } from '../server.fixture.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const PODS = `${NAMESPACE}/pods`;

const pod = (name: string, resources: object = {}, more: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', resources }], ...more },
});
const quota = (name: string, hard: object, more: object = {}): object => ({
  metadata: { name },
  spec: { hard, ...more },
});
const refusal = ({ status, body }: Answer): unknown[] => [status, body.message];

describe('LimitRanger', () => {
  it('[V55] gives containers what they do not ask for, and says so', async () => {
    const { post } = await startServer({ controllers: false });
    await post(`${NAMESPACE}/limitranges`, {
      metadata: { name: 'l' },
      spec: {
        limits: [
          { type: 'Container', default: { cpu: '1', memory: '1Gi' }, defaultRequest: { cpu: '100m' } },
        ],
      },
    });
    const { body } = await post(PODS, pod('p', { limits: { memory: '2Gi' } }));
    expect(body.spec.containers[0].resources).toEqual({
      limits: { cpu: '1', memory: '2Gi' },
      requests: { cpu: '100m', memory: '2Gi' },
    });
    expect(body.metadata.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu request for container c; cpu limit for container c',
    });
  });

  it('[V55] holds containers, pods and claims to their bounds', async () => {
    const { post } = await startServer({ controllers: false });
    await post(`${NAMESPACE}/limitranges`, {
      metadata: { name: 'l' },
      spec: {
        limits: [
          {
            type: 'Container',
            min: { memory: '64Mi' },
            max: { memory: '1Gi' },
            maxLimitRequestRatio: { memory: '2' },
            default: { memory: '128Mi' },
          },
          { type: 'Pod', max: { cpu: '2' } },
          { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '10Gi' } },
        ],
      },
    });
    const said = async (resources: object): Promise<unknown> => {
      const { status, body } = await post(PODS, pod('p', resources));
      expect([status, body.reason]).toEqual([403, 'Forbidden']);
      return body.message.replace('pods "p" is forbidden: ', '');
    };
    const cpu = { cpu: '1' };
    expect(await said({ limits: { ...cpu, memory: '2Gi' } })).toBe(
      '[maximum memory usage per Container is 1Gi, but limit is 2Gi]'.slice(1, -1),
    );
    expect(await said({ limits: { ...cpu, memory: '32Mi' } })).toBe(
      'minimum memory usage per Container is 64Mi, but request is 32Mi',
    );
    expect(await said({ limits: { ...cpu, memory: '512Mi' }, requests: { memory: '128Mi' } })).toBe(
      'memory max limit to request ratio per Container is 2, but provided ratio is 4.000000',
    );
    expect(await said({ limits: { cpu: '3' } })).toBe('maximum cpu usage per Pod is 2, but limit is 3');
    expect(await said({})).toBe('maximum cpu usage per Pod is 2.  No limit is specified');
    expect((await post(PODS, pod('p', { limits: cpu }))).status).toBe(201);
    const claim = (storage: string): object => ({
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
    });
    const path = `${NAMESPACE}/persistentvolumeclaims`;
    expect(refusal(await post(path, claim('20Gi')))).toEqual([
      403,
      'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 20Gi',
    ]);
    expect((await post(path, claim('5Gi')))?.status).toBe(201);
  });
});

describe('ResourceQuota', () => {
  it('[V55] counts objects, and frees what is deleted', async () => {
    const server = await startServer({ disableAdmissionPlugins: ['ServiceAccount'] });
    await server.post(
      `${NAMESPACE}/resourcequotas`,
      quota('q', { 'count/deployments.apps': '1', pods: '2' }),
    );
    expect((await server.get(`${NAMESPACE}/resourcequotas/q`)).body.status).toEqual({
      hard: { 'count/deployments.apps': '1', pods: '2' },
      used: { 'count/deployments.apps': '0', pods: '0' },
    });
    for (const name of ['a', 'b']) expect((await server.post(PODS, pod(name))).status).toBe(201);
    expect(refusal(await server.post(PODS, pod('c')))).toEqual([
      403,
      'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    ]);
    expect((await server.get(`${NAMESPACE}/resourcequotas/q`)).body.status.used.pods).toBe('2');
    await server.delete(`${PODS}/a`, { gracePeriodSeconds: 0 });
    expect((await server.get(`${NAMESPACE}/resourcequotas/q`)).body.status.used.pods).toBe('1');
    expect((await server.post(PODS, pod('c'))).status).toBe(201);
    // What is over is there, but uses nothing.
    await server.call(
      'PATCH',
      `${PODS}/c/status`,
      { status: { phase: 'Succeeded' } },
      {
        'content-type': 'application/merge-patch+json',
      },
    );
    expect((await server.post(PODS, pod('d'))).status).toBe(201);
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const deployment = (name: string): object => ({
      metadata: { name },
      spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
    });
    const path = '/apis/apps/v1/namespaces/default/deployments';
    expect((await server.post(path, deployment('x'))).status).toBe(201);
    expect(refusal(await server.post(path, deployment('y')))).toEqual([
      403,
      'deployments.apps "y" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1',
    ]);
  });

  it('[V55] lets only one of two that come at once take the last slot', async () => {
    const server = await startServer({});
    await server.post(`${NAMESPACE}/resourcequotas`, quota('q', { secrets: '3' }));
    const create = (name: string): Promise<Answer> =>
      server.post(`${NAMESPACE}/secrets`, { metadata: { name } });
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(create));
    const there = (await server.get(`${NAMESPACE}/secrets`)).body.items.length;
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(3);
    expect(there).toBe(3);
    // A failed creation and a rehearsed one give back what they took.
    await server.delete(`${NAMESPACE}/secrets/a`);
    expect((await server.post(`${NAMESPACE}/secrets?dryRun=All`, { metadata: { name: 'z' } })).status).toBe(
      201,
    );
    expect((await create('b')).status).toBe(409);
    expect((await create('z')).status).toBe(201);
  });

  it('[V55] charges writes that webhooks have held up when they go through', async () => {
    let answer: () => void = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const server = await startServer({
      callWebhook: async (_target, body) => {
        await answered;
        const { request } = JSON.parse(Buffer.from(body).toString());
        const review = {
          kind: 'AdmissionReview',
          apiVersion: 'admission.k8s.io/v1',
          response: { uid: request.uid, allowed: true },
        };
        return { status: 200, body: Buffer.from(JSON.stringify(review)) };
      },
    });
    await server.post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      metadata: { name: 'slow' },
      webhooks: [
        {
          name: 'slow.example.com',
          clientConfig: { url: 'https://slow.example.com' },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] }],
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
        },
      ],
    });
    await server.post(`${NAMESPACE}/resourcequotas`, quota('q', { secrets: '1' }));
    const creations = ['a', 'b'].map((name) =>
      server.admin({
        method: 'POST',
        path: `${NAMESPACE}/secrets`,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ metadata: { name } })),
      }),
    );
    await server.runtime.clock.settle();
    answer();
    await server.runtime.clock.settle();
    expect((await Promise.all(creations)).map(({ status }) => status).sort()).toEqual([201, 403]);
  });

  it('[V55] adds up what pods ask for, and wants to know', async () => {
    const server = await startServer({});
    await server.post(
      `${NAMESPACE}/resourcequotas`,
      quota('q', { 'requests.cpu': '1', 'limits.memory': '1Gi', 'requests.example.com/gpu': '1' }),
    );
    expect(refusal(await server.post(PODS, pod('p', { requests: { cpu: '1' } })))).toEqual([
      403,
      'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c',
    ]);
    const modest = { requests: { cpu: '600m' }, limits: { memory: '512Mi' } };
    expect((await server.post(PODS, pod('p', modest))).status).toBe(201);
    expect(refusal(await server.post(PODS, pod('o', modest)))).toEqual([
      403,
      'pods "o" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1',
    ]);
    const gpus = {
      requests: { cpu: '1m', 'example.com/gpu': '2' },
      limits: { memory: '1Mi', 'example.com/gpu': '2' },
    };
    expect((await server.post(PODS, pod('g', gpus))).body.message).toContain('requests.example.com/gpu=2');
  });

  it('[V55] follows changes of services and claims', async () => {
    const server = await startServer({});
    await server.post(
      `${NAMESPACE}/resourcequotas`,
      quota('q', {
        'services.nodeports': '1',
        'requests.storage': '10Gi',
        'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      }),
    );
    const path = `${NAMESPACE}/services`;
    const service = (name: string, type: string): object => ({
      metadata: { name },
      spec: { type, ports: [{ port: 80 }] },
    });
    expect((await server.post(path, service('a', 'NodePort'))).status).toBe(201);
    expect((await server.post(path, service('b', 'ClusterIP'))).status).toBe(201);
    expect(refusal(await server.merge(`${path}/b`, { spec: { type: 'NodePort' } }))).toEqual([
      403,
      'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1',
    ]);
    const claims = `${NAMESPACE}/persistentvolumeclaims`;
    const claim = (name: string): object => ({
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'gold',
        resources: { requests: { storage: '4Gi' } },
      },
    });
    expect((await server.post(claims, claim('c'))).status).toBe(201);
    expect((await server.post(claims, claim('d'))).status).toBe(403);
    expect((await server.get(`${NAMESPACE}/resourcequotas/q`)).body.status.used).toEqual({
      'services.nodeports': '1',
      'requests.storage': '4Gi',
      'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
    });
  });

  it('[V55] agrees with a recount, whatever happens at the same time', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.oneof(
      fc.record({ do: fc.constant('create' as const), name, cpu: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ do: fc.constant('finish' as const), name }),
      fc.record({ do: fc.constant('delete' as const), name }),
      fc.record({ do: fc.constant('quota' as const), pods: fc.integer({ min: 1, max: 4 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 6 }), async (turns) => {
        const server = await startServer({ disableAdmissionPlugins: ['ServiceAccount'] });
        const path = `${NAMESPACE}/resourcequotas`;
        let most = 3;
        await server.post(path, quota('q', { pods: '3', 'requests.cpu': '20m' }));
        for (const turn of turns) {
          await Promise.all(
            turn.map((step): Promise<Answer> => {
              if (step.do === 'create')
                return server.post(PODS, pod(step.name, { requests: { cpu: `${step.cpu}m` } }));
              if (step.do === 'finish')
                return server.call(
                  'PATCH',
                  `${PODS}/${step.name}/status`,
                  { status: { phase: 'Failed' } },
                  {
                    'content-type': 'application/merge-patch+json',
                  },
                );
              if (step.do === 'delete')
                return server.delete(`${PODS}/${step.name}`, { gracePeriodSeconds: 0 });
              most = Math.max(most, step.pods);
              return server.merge(`${path}/q`, { spec: { hard: { pods: String(step.pods) } } });
            }),
          );
          const items: {
            status?: { phase?: string };
            spec: { containers: { resources: { requests: { cpu: string } } }[] };
          }[] = (await server.get(PODS)).body.items;
          const running = items.filter(({ status }) => status?.phase !== 'Failed');
          const cpu = running.reduce(
            (sum, { spec }) => sum + Number.parseInt(spec.containers[0]?.resources.requests.cpu ?? '0', 10),
            0,
          );
          const { used } = (await server.get(`${path}/q`)).body.status;
          expect(used).toEqual({ pods: String(running.length), 'requests.cpu': cpu === 0 ? '0' : `${cpu}m` });
          expect(running.length).toBeLessThanOrEqual(most);
          expect(cpu).toBeLessThanOrEqual(20);
        }
        await server.server.close();
      }),
      { numRuns: 25, seed: 7 },
    );
  });

  it('[V55] with scopes are about some pods only, and changes of them count at once', async () => {
    const server = await startServer({ disableAdmissionPlugins: ['ServiceAccount'] });
    const path = `${NAMESPACE}/resourcequotas`;
    await server.post(path, quota('best', { pods: '1' }, { scopes: ['BestEffort'] }));
    await server.post(
      path,
      quota(
        'high',
        { pods: '0' },
        {
          scopeSelector: {
            matchExpressions: [
              { scopeName: 'PriorityClass', operator: 'In', values: ['system-cluster-critical'] },
            ],
          },
        },
      ),
    );
    expect((await server.post(PODS, pod('a'))).status).toBe(201);
    expect((await server.post(PODS, pod('b'))).body.message).toContain('exceeded quota: best');
    expect((await server.post(PODS, pod('b', { requests: { cpu: '1' } }))).status).toBe(201);
    const high = { priorityClassName: 'system-cluster-critical' };
    expect((await server.post(PODS, pod('c', { requests: { cpu: '1' } }, high))).body.message).toContain(
      'exceeded quota: high',
    );
    await server.merge(`${path}/best`, { spec: { hard: { pods: '2' } } });
    expect((await server.get(`${path}/best`)).body.status).toEqual({
      hard: { pods: '2' },
      used: { pods: '1' },
    });
    expect((await server.post(PODS, pod('d'))).status).toBe(201);
    await server.delete(`${path}/best`);
    expect((await server.post(PODS, pod('e'))).status).toBe(201);
  });
});
