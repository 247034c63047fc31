import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ApiServerProcess, startApiServerProcess } from './harness/api-server.ts';
import { type Outcome, run } from './harness/command.ts';

const found = JSON.parse(
  execFileSync(process.execPath, [join(inject('checkout'), 'scripts', 'helm.mjs')], { encoding: 'utf8' }),
) as { path?: string; why?: string };
if (found.path === undefined)
  process.stderr.write(`\n!! No helm: ${found.why}. The tests with charts are SKIPPED.\n\n`);

let server: ApiServerProcess;
let folder: string;
let chart: string;
beforeAll(async () => {
  if (found.path === undefined) return;
  server = await startApiServerProcess({ memory: true });
  folder = join(server.directory, '..');
  mkdirSync(join(folder, 'home'), { recursive: true });
  chart = join(folder, 'shop');
  await helm('create', chart);
  // Simulated containers run for ever unless they are told to end.
  const test = join(chart, 'templates', 'tests', 'test-connection.yaml');
  writeFileSync(
    test,
    readFileSync(test, 'utf8').replace(
      '"helm.sh/hook": test',
      '"helm.sh/hook": test\n    "sim.atoll.dev/exit-code": "{{ .Values.testExitCode }}"\n    "sim.atoll.dev/run-for": 200ms',
    ),
  );
  appendFileSync(join(chart, 'values.yaml'), '\ntestExitCode: 0\n');
});
afterAll(() => server?.stop());

function attempt(...args: string[]): Promise<Outcome> {
  return run(found.path ?? 'helm', args, {
    env: { KUBECONFIG: server.kubeconfig, HOME: join(folder, 'home'), HELM_NAMESPACE: 'default' },
  });
}

/** What helm prints; it must succeed. */
async function helm(...args: string[]): Promise<string> {
  const outcome = await attempt(...args);
  if (outcome.code !== 0)
    throw new Error(`helm ${args.join(' ')} failed with ${outcome.code}:\n${outcome.text}`);
  return outcome.stdout;
}

async function read(path: string): Promise<Record<string, never>> {
  const response = await server.handler()({ method: 'GET', path, headers: {} });
  const chunks: Uint8Array[] = [];
  if (response.body instanceof Uint8Array) chunks.push(response.body);
  else for await (const chunk of response.body) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

const deployment = (name: string): Promise<Record<string, never>> =>
  read(`/apis/apps/v1/namespaces/default/deployments/${name}`);

describe.skipIf(found.path === undefined)('helm', () => {
  it('installs a chart, and waits until it is ready', async () => {
    const text = await helm('install', 'web', chart, '--wait', '--timeout', '40s', '--set', 'replicaCount=2');
    expect(text).toMatch(/^STATUS: deployed$/m);
    expect(await deployment('web-shop')).toMatchObject({ status: { readyReplicas: 2 } });
    expect(JSON.parse(await helm('list', '-o', 'json'))).toMatchObject([
      { name: 'web', status: 'deployed', revision: '1' },
    ]);
    expect(await helm('status', 'web', '--show-resources')).toMatch(/v1\/Deployment.*web-shop/s);
    expect(await helm('get', 'manifest', 'web')).toContain('kind: ServiceAccount');
  });

  it('upgrades, tells the history, and rolls back', async () => {
    await helm(
      'upgrade',
      'web',
      chart,
      '--set',
      'image.tag=2,autoscaling.enabled=true',
      '--wait',
      '--timeout',
      '40s',
    );
    expect(await deployment('web-shop')).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'nginx:2' }] } } },
    });
    expect(
      await read('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web-shop'),
    ).toMatchObject({
      kind: 'HorizontalPodAutoscaler',
    });
    await helm('rollback', 'web', '1', '--wait', '--timeout', '40s');
    const image = (await deployment('web-shop')) as unknown as {
      spec: { template: { spec: { containers: { image: string }[] } } };
    };
    expect(image.spec.template.spec.containers[0]?.image).not.toBe('nginx:2');
    expect(
      await read('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web-shop'),
    ).toMatchObject({
      code: 404,
    });
    expect(
      (
        JSON.parse(await helm('history', 'web', '-o', 'json')) as { status: string; description: string }[]
      ).map(({ status, description }) => `${status}: ${description}`),
    ).toEqual(['superseded: Install complete', 'superseded: Upgrade complete', 'deployed: Rollback to 1']);
  });

  it('runs the test hook, and says when it fails', async () => {
    expect(await helm('test', 'web', '--timeout', '30s')).toMatch(/^Phase: +Succeeded$/m);
    await helm('upgrade', 'web', chart, '--set', 'testExitCode=3');
    const failed = await attempt('test', 'web', '--timeout', '30s');
    expect(failed.code).toBe(1);
    expect(failed.text).toMatch(/web-shop-test-connection failed/);
  });

  it('an atomic upgrade that cannot get ready is undone, an atomic installation leaves nothing', async () => {
    const broken = [
      '--set-string',
      'podAnnotations.sim\\.atoll\\.dev/fail=image-pull',
      '--atomic',
      '--timeout',
      '3s',
    ];
    const upgraded = await attempt('upgrade', 'web', chart, ...broken);
    expect(upgraded.code).toBe(1);
    expect(upgraded.text).toMatch(/release web failed, and has been rolled back due to atomic being set/);
    expect(JSON.parse(await helm('list', '-o', 'json'))).toMatchObject([{ name: 'web', status: 'deployed' }]);
    const installed = await attempt('install', 'other', chart, ...broken);
    expect(installed.code).toBe(1);
    expect(installed.text).toMatch(/release other failed, and has been uninstalled due to atomic being set/);
    expect(await deployment('other-shop')).toMatchObject({ code: 404 });
  });

  it('brings definitions with a chart and uses them in the same breath', async () => {
    const own = join(folder, 'own');
    for (const part of ['crds', 'templates']) mkdirSync(join(own, part), { recursive: true });
    writeFileSync(join(own, 'Chart.yaml'), 'apiVersion: v2\nname: own\nversion: 1.0.0\n');
    writeFileSync(
      join(own, 'crds', 'boats.yaml'),
      `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {crew: {type: integer, default: 2}}}}}}
`,
    );
    writeFileSync(
      join(own, 'templates', 'boat.yaml'),
      'apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: "{{ .Release.Name }}"}\nspec: {}\n',
    );
    writeFileSync(
      join(own, 'templates', 'job.yaml'),
      `apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-before"
  annotations: {"helm.sh/hook": pre-install, "helm.sh/hook-delete-policy": hook-succeeded}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: example/main}]}}}
`,
    );
    await helm('install', 'ida', own, '--wait', '--timeout', '30s');
    expect(await read('/apis/example.com/v1/namespaces/default/boats/ida')).toMatchObject({
      spec: { crew: 2 },
    });
    expect(await read('/apis/batch/v1/namespaces/default/jobs/ida-before')).toMatchObject({ code: 404 });
    expect(await helm('template', 'x', own, '--validate')).toContain('kind: Boat');
    expect(await helm('upgrade', 'ida', own, '--dry-run=server')).toContain('STATUS: pending-upgrade');
  });

  it('uninstalls', async () => {
    expect(await helm('uninstall', 'web', '--wait', '--timeout', '30s')).toContain(
      'release "web" uninstalled',
    );
    await helm('uninstall', 'ida', '--wait', '--timeout', '30s');
    expect(await helm('list', '-a', '-q')).toBe('');
    expect(await deployment('web-shop')).toMatchObject({ code: 404 });
    expect(await read('/apis/example.com/v1/namespaces/default/boats')).toMatchObject({ items: [] });
    expect(await read('/api/v1/namespaces/default/secrets?labelSelector=owner%3Dhelm')).toMatchObject({
      items: [],
    });
  });
});
