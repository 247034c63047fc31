import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import {
  type ApiServerProcess,
  type Kubectl,
  kubectlOf,
  startApiServerProcess,
} from '../harness/api-server.ts';
import { describeFleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';

/** One kubectl takes its steps one after the other, beside those of the other versions. */
const IN_TURN = { concurrent: false };

let server: ApiServerProcess;
beforeAll(async () => {
  server = await startApiServerProcess({ memory: true });
});
afterAll(() => server?.stop());

const deployment = (name: string, replicas: number): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'example/main:1', ports: [{ containerPort: 80 }] }] },
    },
  },
});

for (const binary of inject('kubectls')) {
  describeFleet.concurrent(`kubectl ${binary.version} with workloads`, () => {
    const minor = Number(binary.version.split('.')[1]);
    let kubectl: Kubectl;
    beforeAll(async () => {
      kubectl = kubectlOf(server, binary, 'workloads');
      await kubectl.run('create', 'namespace', kubectl.namespace);
      await kubectl.feed(deployment('web', 2), 'create');
    });
    const image = (): Promise<string> =>
      kubectl.field('deploy/web', '.spec.template.spec.containers[0].image');

    it('[V83 V89] rolls out, records why, and goes back', IN_TURN, async () => {
      const { run } = kubectl;
      expect(await run('rollout', 'status', 'deploy/web', '--timeout=30s')).toContain(
        'deployment "web" successfully rolled out',
      );
      expect(await run('set', 'image', 'deploy/web', 'main=example/main:2')).toBe(
        'deployment.apps/web image updated\n',
      );
      await run('annotate', 'deploy/web', 'kubernetes.io/change-cause=second image', '--overwrite');
      await run('rollout', 'status', 'deploy/web', '--timeout=30s');
      const history = await until('the reason in the history', async () => {
        const text = await run('rollout', 'history', 'deploy/web');
        return text.includes('second image') ? text : undefined;
      });
      expect(history).toMatch(
        /^deployment\.apps\/web\s*\nREVISION +CHANGE-CAUSE\n1 +<none>\n2 +second image\n/,
      );
      expect(await run('rollout', 'history', 'deploy/web', '--revision=1')).toMatch(
        /Image:\s+example\/main:1/,
      );
      expect(await run('rollout', 'undo', 'deploy/web')).toBe('deployment.apps/web rolled back\n');
      await run('rollout', 'status', 'deploy/web', '--timeout=30s');
      expect(await image()).toBe('example/main:1');
      expect(await run('rollout', 'undo', 'deploy/web', '--to-revision=2')).toBe(
        'deployment.apps/web rolled back\n',
      );
      expect(await image()).toBe('example/main:2');
      expect(await run('rollout', 'restart', 'deploy/web')).toBe('deployment.apps/web restarted\n');
      await run('rollout', 'status', 'deploy/web', '--timeout=30s');
      expect(await kubectl.field('deploy/web', '.spec.template.metadata.annotations')).toContain(
        'kubectl.kubernetes.io/restartedAt',
      );
      expect(await run('rollout', 'pause', 'deploy/web')).toBe('deployment.apps/web paused\n');
      expect(await run('rollout', 'resume', 'deploy/web')).toBe('deployment.apps/web resumed\n');
    });

    it('[V89] scales, autoscales, sets and exposes', IN_TURN, async () => {
      const { run, attempt, field } = kubectl;
      expect(await run('scale', 'deploy/web', '--replicas=3', '--current-replicas=2')).toBe(
        'deployment.apps/web scaled\n',
      );
      const moved = await attempt(['scale', 'deploy/web', '--replicas=9', '--current-replicas=2']);
      expect(moved.code).toBe(1);
      expect(moved.stderr).toMatch(/Expected replicas to be 2, was 3/i);
      await run('wait', 'deploy/web', '--for=condition=Available', '--timeout=20s');
      expect(await run('autoscale', 'deploy', 'web', '--min=1', '--max=5', '--cpu-percent=70')).toBe(
        'horizontalpodautoscaler.autoscaling/web autoscaled\n',
      );
      await run('set', 'env', 'deploy/web', 'MODE=fast');
      expect(await run('set', 'env', 'deploy/web', '--list')).toContain('MODE=fast');
      await run('set', 'resources', 'deploy/web', '--limits=cpu=200m,memory=64Mi');
      expect(await field('deploy/web', '.spec.template.spec.containers[0].resources.limits')).toMatch(
        /200m.*64Mi/,
      );
      await run('create', 'serviceaccount', 'worker');
      await run('set', 'serviceaccount', 'deploy/web', 'worker');
      expect(await field('deploy/web', '.spec.template.spec.serviceAccountName')).toBe('worker');
      expect(await run('expose', 'deploy/web', '--port=80', '--target-port=8080')).toBe(
        'service/web exposed\n',
      );
      expect(await run('set', 'selector', 'svc/web', 'app=web')).toContain('service/web selector updated');
      await run('rollout', 'status', 'deploy/web', '--timeout=30s');
      await until('the endpoints', async () =>
        /^(\d+\.){3}\d+( |$)/.test(await field('endpoints/web', '.subsets[*].addresses[*].ip')),
      );
      expect(await run('describe', 'svc', 'web')).toMatch(/Endpoints: +\d+\.\d+\.\d+\.\d+:8080/);
      expect(await run('describe', 'deploy/web')).toMatch(/MODE: +fast/);
    });

    it('[V89] runs a pod, waits for it, and reads its events', IN_TURN, async () => {
      const { run, field } = kubectl;
      expect(
        await run('run', 'single', '--image=example/single:1', '--labels=run=single', '--port=8080'),
      ).toBe('pod/single created\n');
      expect(await run('wait', 'pod/single', '--for=condition=Ready', '--timeout=20s')).toBe(
        'pod/single condition met\n',
      );
      expect(await field('pod/single', '.status.phase')).toBe('Running');
      if (minor >= 27)
        await run('wait', 'pod/single', '--for=jsonpath={.status.phase}=Running', '--timeout=20s');
      expect(await run('describe', 'pod', 'single')).toMatch(/^Name: +single\n/);
      await kubectl.feed(
        {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: 'single.1' },
          involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'single', namespace: kubectl.namespace },
          type: 'Warning',
          reason: 'Tested',
          message: 'an event of a test',
          count: 1,
        },
        'create',
      );
      expect(
        await run(
          'get',
          'events',
          '--field-selector=involvedObject.name=single,type=Warning',
          '--no-headers',
        ),
      ).toMatch(/Warning +Tested +pod\/single +an event of a test\n$/);
      if (minor >= 27)
        expect(await run('events', '--for=pod/single', '--types=Warning')).toContain('an event of a test');
      expect(await run('delete', 'pod', 'single', '--now')).toMatch(/^pod "single" deleted/);
    });

    it('[V89] taints, cordons and drains a node', IN_TURN, async () => {
      const { run, feed, attempt } = kubectl;
      const node = `node-${kubectl.namespace}`;
      await feed(
        {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: node, labels: { 'kubernetes.io/hostname': node } },
          // Keeps away the pods of the tests beside this one.
          spec: { taints: [{ key: 'own', value: 'test', effect: 'NoSchedule' }] },
          status: {
            capacity: { cpu: '4', memory: '8Gi', pods: '110' },
            allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
            conditions: [{ type: 'Ready', status: 'True' }],
          },
        },
        'create',
      );
      expect(await run('taint', 'nodes', node, 'dedicated=test:NoSchedule')).toBe(`node/${node} tainted\n`);
      expect(await kubectl.field(`node/${node}`, '.spec.taints[?(@.key=="dedicated")].value')).toBe('test');
      expect(await run('taint', 'nodes', node, 'dedicated-')).toBe(`node/${node} untainted\n`);
      await feed(
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'loose' },
          spec: { nodeName: node, containers: [{ name: 'main', image: 'example/loose:1' }] },
        },
        'create',
      );
      expect(await run('cordon', node)).toBe(`node/${node} cordoned\n`);
      expect(await run('get', 'node', node, '--no-headers')).toMatch(/SchedulingDisabled/);
      const refused = await attempt(['drain', node]);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/cannot delete Pods ((that )?declare no controller|not managed by)/);
      const drained = await attempt(['drain', node, '--force', '--ignore-daemonsets', '--timeout=30s']);
      expect(drained, drained.text).toMatchObject({ code: 0 });
      expect(drained.text).toMatch(/evicting pod \S+loose/);
      expect((await attempt(['get', 'pod', 'loose'])).code).toBe(1);
      expect(await run('uncordon', node)).toBe(`node/${node} uncordoned\n`);
      await run('delete', 'node', node);
    });

    it('[V16 V89] deletes in the background, in the foreground, and leaves orphans', IN_TURN, async () => {
      const { run, feed, attempt } = kubectl;
      const replicaSets = async (): Promise<string> => run('get', 'rs', '-l', 'app=gone', '-o', 'name');
      const make = async (): Promise<void> => {
        await feed(deployment('gone', 1), 'create');
        await run('rollout', 'status', 'deploy/gone', '--timeout=30s');
      };
      const cascade = (mode: string): string =>
        minor >= 20 ? `--cascade=${mode}` : `--cascade=${mode !== 'orphan'}`;
      await make();
      await run('delete', 'deploy/gone', cascade('foreground'), '--timeout=20s');
      expect(await replicaSets()).toBe('');
      await make();
      await run('delete', 'deploy/gone', cascade('background'));
      await until('the replica sets gone', async () => (await replicaSets()) === '');
      await make();
      await run('delete', 'deploy/gone', cascade('orphan'));
      expect(await replicaSets()).toMatch(/^replicaset\.apps\/gone-\w+\n$/);
      expect(
        await run('get', 'rs', '-l', 'app=gone', '-o', 'jsonpath={.items[*].metadata.ownerReferences}'),
      ).toBe('');
      await run('delete', 'rs', '-l', 'app=gone');
      await run('delete', 'namespace', kubectl.namespace, '--timeout=30s');
      expect((await attempt(['get', 'namespace', kubectl.namespace])).code).toBe(1);
    });
  });
}
