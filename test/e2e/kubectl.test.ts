import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { endpointFromKubeconfig } from '../../src/kube/kubeconfig-endpoint.ts';
import type { CommandOptions, Outcome } from './harness/command.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import type { KubectlBinary } from './harness/kubectl-binaries.ts';
import { until, within } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(1);
});
afterAll(() => fleet?.stop());

const SETTINGS = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: red, size: "1"}
`;
const WEB = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "registry.example/web:1"}]
`;

/** One kubectl, working in a namespace of its own on the spoke, where workloads come alive. */
function worker(binary: KubectlBinary) {
  const namespace = `v${binary.version.replace('.', '-')}`;
  const attempt = (args: readonly string[], options: CommandOptions = {}): Promise<Outcome> =>
    fleet.tryKubectl('spoke-1', ['-n', namespace, ...args], { binary: binary.path, ...options });
  const kubectl = async (...args: string[]): Promise<string> => must(args, await attempt(args));
  const must = (args: readonly string[], outcome: Outcome): string => {
    if (outcome.code !== 0)
      throw new Error(
        `kubectl ${binary.version} ${args.join(' ')} failed with ${outcome.code}:\n${outcome.text}`,
      );
    return outcome.stdout;
  };
  const apply = async (input: string, ...args: string[]): Promise<string> => {
    const all = ['apply', '-f', '-', ...args];
    return must(all, await attempt(all, { input }));
  };
  return { namespace, attempt, kubectl, apply };
}

/** The lines that a `kubectl get -w` prints, as they come. */
function watchLines(
  binary: string,
  args: readonly string[],
): { line(fits: (line: string) => boolean): Promise<string>; stop(): Promise<void> } {
  const child = spawn(binary, ['--context', 'spoke-1', ...args], {
    env: { ...process.env, KUBECONFIG: fleet.kubeconfig, HOME: `${fleet.directory}.home` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let notice = (): void => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      notice();
    });
  }
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  return {
    line(fits): Promise<string> {
      const found = new Promise<string>((resolve) => {
        notice = () => {
          const line = text.split('\n').find(fits);
          if (line !== undefined) resolve(line);
        };
        notice();
      });
      return within('a line of kubectl get -w', 10_000, found).catch((error: unknown) => {
        throw new Error(`it printed:\n${text}`, { cause: error });
      });
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

// What every API server can do is in apiserver/: here is what kubectl sees of a fleet.
for (const binary of inject('kubectls')) {
  describeFleet(`kubectl ${binary.version}`, () => {
    const { namespace, attempt, kubectl, apply } = worker(binary);
    beforeAll(async () => {
      await kubectl('create', 'namespace', namespace);
    });

    it('applies: created, then unchanged, then configured', async () => {
      expect(await apply(SETTINGS)).toBe('configmap/settings created\n');
      expect(await apply(SETTINGS)).toBe('configmap/settings unchanged\n');
      expect(await apply(SETTINGS.replace('red', 'blue').replace(', size: "1"', ''))).toBe(
        'configmap/settings configured\n',
      );
      expect(await kubectl('get', 'cm', 'settings', '-o', 'jsonpath={.data}')).toBe('{"colour":"blue"}');
      expect(await apply(WEB)).toBe('deployment.apps/web created\n');
      expect(await apply(WEB)).toBe('deployment.apps/web unchanged\n');
    });

    it('gets: table, wide, yaml, json, name, jsonpath, selector, all', async () => {
      await kubectl('rollout', 'status', 'deployment/web', '--timeout=20s');
      expect(await kubectl('get', 'deploy')).toMatch(
        /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +1\/1 +1 +1 +\d+s\n$/,
      );
      expect(await kubectl('get', 'deploy', '-o', 'wide')).toMatch(
        /CONTAINERS +IMAGES +SELECTOR\nweb .*registry\.example\/web:1 +app=web\n$/,
      );
      expect(await kubectl('get', 'cm', 'settings', '-o', 'yaml')).toMatch(
        /^apiVersion: v1\ndata:\n {2}colour: blue\nkind: ConfigMap\n/,
      );
      expect(JSON.parse(await kubectl('get', 'deploy', 'web', '-o', 'json'))).toMatchObject({
        kind: 'Deployment',
        spec: { replicas: 1 },
        status: { readyReplicas: 1 },
      });
      expect(await kubectl('get', 'deploy,cm', '-l', 'app=web', '-o', 'name')).toBe('deployment.apps/web\n');
      expect(await kubectl('get', 'po', '-o', 'jsonpath={.items[*].status.phase}')).toBe('Running');
      expect(await kubectl('get', 'po', '-o', 'wide', '--no-headers')).toMatch(
        /^web-\S+ +1\/1 +Running +0 +\S+ +\d+\.\d+\.\d+\.\d+ +spoke-1-node-\d/,
      );
      expect(await kubectl('get', 'all')).toMatch(
        /pod\/web-.*deployment\.apps\/web.*replicaset\.apps\/web-/s,
      );
      expect(await kubectl('get', 'nodes')).toMatch(/^NAME +STATUS +ROLES +AGE +VERSION\n/);
      const missing = await attempt(['get', 'cm', 'absent']);
      expect(missing).toMatchObject({
        code: 1,
        stderr: 'Error from server (NotFound): configmaps "absent" not found\n',
      });
    });

    it('watches: a change is printed', async () => {
      const watching = watchLines(binary.path, ['-n', namespace, 'get', 'deploy', 'web', '-w']);
      try {
        await watching.line((line) => /^web +1\/1/.test(line));
        await kubectl('scale', 'deployment', 'web', '--replicas=2');
        await watching.line((line) => /^web +2\/2/.test(line));
      } finally {
        await watching.stop();
      }
      expect(await kubectl('get', 'deploy', 'web', '-o', 'jsonpath={.spec.replicas}')).toBe('2');
    });

    it('waits for a condition, and for a deletion', async () => {
      expect(await kubectl('wait', 'deploy/web', '--for=condition=Available', '--timeout=20s')).toBe(
        'deployment.apps/web condition met\n',
      );
      const late = await attempt(['wait', 'deploy/web', '--for=condition=NoSuchThing', '--timeout=1s']);
      expect(late.code).toBe(1);
      expect(late.stderr).toContain('timed out waiting for the condition');
      await kubectl('create', 'configmap', 'short-lived');
      let gone: Promise<string> | undefined;
      // It says so when it watches: an old kubectl fails where the object is gone before it looks.
      const waited = await attempt(
        ['wait', 'configmap/short-lived', '--for=delete', '--timeout=20s', '-v=6'],
        {
          onOutput: (text) => {
            if (text.includes('watch=true')) gone ??= kubectl('delete', 'configmap', 'short-lived');
          },
        },
      );
      await gone;
      expect(waited.stdout).toBe('configmap/short-lived condition met\n');
    });

    it('explains built-in and own kinds', async () => {
      expect(await kubectl('explain', 'deployment.spec.replicas')).toMatch(/FIELD: +replicas.*integer/s);
      expect(await kubectl('explain', 'pod.spec.containers', '--recursive')).toMatch(/livenessProbe/);
      expect(await kubectl('explain', 'spokecluster.spec')).toMatch(/credential/);
      const explained = await fleet.tryKubectl('hub', ['explain', 'propagation.spec.resourceSelectors'], {
        binary: binary.path,
      });
      expect(explained.stdout).toMatch(/resourceSelectors.*labelSelector/s);
    });

    it('refuses a field that does not exist, with its path', async () => {
      const typo = WEB.replace('name: web, labels', 'name: typo, labels').replace(
        'replicas: 1',
        'replicsa: 1',
      );
      const created = await attempt(['create', '-f', '-'], { input: typo });
      expect(created.code).toBe(1);
      expect(created.stderr).toMatch(/unknown field "(spec\.)?replicsa"/);
      const wrongType = await attempt(['create', '-f', '-'], {
        input: WEB.replace('name: web, labels', 'name: typo, labels').replace(
          'replicas: 1',
          'replicas: many',
        ),
      });
      expect(wrongType.code).toBe(1);
      expect(wrongType.stderr).toMatch(/replicas/);
      expect((await attempt(['get', 'deploy', 'typo'])).code).toBe(1);
      const own =
        'apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: odd}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret}], placement: {}, nonsense: 1}\n';
      const outcome = await attempt(['create', '-f', '-'], { input: own });
      expect(outcome.code).toBe(1);
      expect(outcome.stderr).toMatch(/unknown field "(spec\.)?nonsense"/);
    });

    it('lists what the server knows', async () => {
      const resources = await kubectl('api-resources');
      expect(resources).toMatch(/^deployments +deploy +apps\/v1 +true +Deployment$/m);
      expect(resources).toMatch(/^spokeclusters +spc +core\.oam\.dev\/v1beta1 +true +SpokeCluster$/m);
      expect(await kubectl('api-versions')).toMatch(/^atoll\.dev\/v1alpha1$/m);
      expect(await kubectl('version', '-o', 'json')).toContain('+atoll');
      expect(await kubectl('auth', 'can-i', 'delete', 'pods')).toBe('yes\n');
    });

    it('describes, creates and replaces by command, exposes, deletes', async () => {
      expect(await kubectl('describe', 'deployment', 'web')).toMatch(
        /Replicas: +\d+ desired.*OldReplicaSets:.*/s,
      );
      expect(await kubectl('describe', 'pods')).toMatch(/Status: +Running/);
      expect(await kubectl('describe', 'node', 'spoke-1-node-1')).toMatch(/Capacity:/);
      await kubectl('create', 'secret', 'generic', 'key', '--from-literal=a=b');
      await kubectl('expose', 'deployment', 'web', '--port=80');
      expect(await kubectl('get', 'svc', 'web', '--no-headers')).toMatch(
        /^web +ClusterIP +\d+\.\d+\.\d+\.\d+ +<none> +80\/TCP/,
      );
      expect(await kubectl('delete', 'deployment', 'web', '--timeout=20s')).toMatch(
        /^deployment\.apps "web" deleted/,
      );
      await until('its pods gone', async () => (await kubectl('get', 'po,rs', '-o', 'name')) === '');
    });

    it('autoscales, counts disruption budgets, and looks into pods', async () => {
      await apply(WEB.replaceAll('web', 'busy').replace('replicas: 1', 'replicas: 2'));
      await kubectl('rollout', 'status', 'deployment/busy', '--timeout=30s');
      await kubectl('autoscale', 'deployment', 'busy', '--min=1', '--max=4', '--cpu-percent=60');
      expect(await kubectl('get', 'hpa', 'busy', '--no-headers')).toMatch(/^busy +Deployment\/busy .*60% /);
      await apply(`apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: busy}
spec: {minAvailable: 1, selector: {matchLabels: {app: busy}}}
`);
      await until('the budget is counted', async () =>
        /^busy +1 +N\/A +1 /.test(
          await kubectl('get', 'poddisruptionbudgets.v1.policy', 'busy', '--no-headers'),
        ),
      );
      const node = (
        await kubectl('get', 'pods', '-l', 'app=busy', '-o', 'jsonpath={.items[0].spec.nodeName}')
      ).trim();
      await kubectl('cordon', node);
      await kubectl('uncordon', node);
      expect(await kubectl('auth', 'can-i', '--list')).toContain('*.*');
      expect(await kubectl('exec', 'deployment/busy', '--', 'hostname')).toMatch(/^busy-/);
      expect(await kubectl('top', 'pod', '--no-headers')).toMatch(/^busy-\S+ +\d+m +\d+Mi/m);
      await kubectl('delete', 'deployment/busy', 'hpa/busy', 'poddisruptionbudgets.v1.policy/busy');
    });

    it('works with the kinds of the hub', async () => {
      const hub = async (...args: string[]): Promise<string> => {
        const outcome = await fleet.tryKubectl('hub', args, { binary: binary.path });
        expect(outcome, outcome.text).toMatchObject({ code: 0 });
        return outcome.stdout;
      };
      expect(await hub('get', 'spokeclusters')).toMatch(
        /^NAME +MODE +VERSION +NODES +PLATFORM +STATUS +AGE\nspoke-1 +connect .* Connected /,
      );
      expect(await hub('get', 'spc', 'spoke-1', '-o', 'wide')).toContain('spoke-1');
      expect(await hub('describe', 'spokecluster', 'spoke-1')).toMatch(/Connection: +Connected/);
      expect(
        await hub('wait', 'spokecluster/spoke-1', '--for=condition=Connected', '--timeout=10s'),
      ).toContain('condition met');
    });

    it('deletes its namespace with everything in it', async () => {
      await kubectl('delete', 'namespace', namespace, '--timeout=30s');
      expect((await attempt(['get', 'namespace', namespace])).code).toBe(1);
      expect(await kubectl('get', 'cm', '-o', 'name')).toBe('');
    });
  });
}

describeFleet('without credentials', () => {
  it('everything but /livez, /readyz and /version answers 401', async () => {
    for (const member of ['hub', 'spoke-1']) {
      const { url, ca } = endpointFromKubeconfig(readFileSync(fleet.kubeconfig, 'utf8'), {
        stored: false,
        context: member,
      });
      const ask = (path: string, method = 'GET', headers: Record<string, string> = {}): Promise<number> =>
        new Promise((resolve, reject) => {
          const call = request(`${url}${path}`, { method, ca, headers }, (response) => {
            response.resume();
            response.on('end', () => resolve(response.statusCode ?? 0));
          });
          call.on('error', reject);
          call.end();
        });
      for (const path of ['/livez', '/readyz', '/version']) expect(await ask(path), path).toBe(200);
      const { paths } = JSON.parse(await fleet.kubectl(member, 'get', '--raw', '/openapi/v2')) as {
        paths: Record<string, unknown>;
      };
      const routes = Object.keys(paths).filter((path) => path !== '/version/' && path !== '/version');
      expect(routes.length).toBeGreaterThan(200);
      const others = [
        '/',
        '/api',
        '/apis',
        '/openapi/v2',
        '/openapi/v3',
        '/metrics',
        '/healthz',
        '/debug/pprof/',
        '/clusters/spoke-1/version',
        '/clusters/spoke-1/api',
        '/nonsense',
      ];
      for (const path of [...others, ...routes])
        expect(await ask(path.replace(/\{[^}]*\}/g, 'x')), `${member} ${path}`).toBe(401);
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])
        expect(await ask('/api/v1/namespaces/default/configmaps/x', method), method).toBe(401);
      expect(await ask('/api/v1/namespaces', 'GET', { authorization: 'Bearer nonsense' })).toBe(401);
      expect(
        await ask('/api/v1/namespaces', 'GET', {
          'x-remote-user': 'admin',
          'x-remote-group': 'system:masters',
        }),
      ).toBe(401);
      expect(
        await ask('/api/v1/namespaces', 'GET', {
          'impersonate-user': 'admin',
          'impersonate-group': 'system:masters',
        }),
      ).toBe(401);
    }
  });
});
