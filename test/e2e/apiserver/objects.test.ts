import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import {
  type ApiServerProcess,
  type Kubectl,
  kubectlOf,
  startApiServerProcess,
} from '../harness/api-server.ts';
import { describeFleet } from '../harness/fleet.ts';

/** One kubectl takes its steps one after the other, beside those of the other versions. */
const IN_TURN = { concurrent: false };

let server: ApiServerProcess;
beforeAll(async () => {
  server = await startApiServerProcess({ memory: true, flags: ['--controllers', 'core'] });
});
afterAll(() => server?.stop());

const map = (name: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {of: test}}\ndata: ${data}\n`;
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "example/web:1", ports: [{containerPort: 80}]}
      - {name: log, image: "example/log:1"}
`;

for (const binary of inject('kubectls')) {
  describeFleet.concurrent(`kubectl ${binary.version} with objects`, () => {
    let kubectl: Kubectl;
    beforeAll(async () => {
      kubectl = kubectlOf(server, binary, 'objects');
      await kubectl.run('create', 'namespace', kubectl.namespace);
    });

    it(
      '[V89] creates by command what lies in common groups, and refuses what is there',
      IN_TURN,
      async () => {
        const { run, attempt, field } = kubectl;
        expect(await run('create', 'configmap', 'settings', '--from-literal=a=1')).toBe(
          'configmap/settings created\n',
        );
        expect(await attempt(['create', 'configmap', 'settings'])).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/configmaps "settings" already exists\n$/),
        });
        await run('create', 'secret', 'generic', 'key', '--from-literal=password=s3cret');
        expect(await field('secret/key', '.data.password')).toBe(Buffer.from('s3cret').toString('base64'));
        await run(
          'create',
          'secret',
          'docker-registry',
          'pull',
          '--docker-server=r.example',
          '--docker-username=u',
          '--docker-password=p',
        );
        expect(await field('secret/pull', '.type')).toBe('kubernetes.io/dockerconfigjson');
        await run('create', 'quota', 'few', '--hard=configmaps=10');
        await run('create', 'role', 'reader', '--verb=get,list', '--resource=pods,deployments.apps');
        await run('create', 'rolebinding', 'readers', '--role=reader', '--user=ann');
        expect(JSON.parse(await run('get', 'role', 'reader', '-o', 'json')).rules).toEqual([
          { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
          { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] },
        ]);
        await run('create', 'priorityclass', `high-${kubectl.namespace}`, '--value=1000');
        await run('create', 'ingress', 'door', '--rule=example.com/*=web:80').catch((error: unknown) => {
          if (binary.version !== '1.20') throw error; // It has the older API of ingresses beside it.
        });
        await run('create', 'job', 'once', '--image=example/once:1');
        await run('create', 'cronjob', 'hourly', '--image=example/hourly:1', '--schedule=0 * * * *').catch(
          (error: unknown) => {
            if (binary.version !== '1.20') throw error; // It creates them in batch/v1beta1.
          },
        );
        expect(await attempt(['create', 'configmap', 'Not_A_Name'])).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(
            'metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain',
          ),
        });
      },
    );

    it('[V89] gets in every output', IN_TURN, async () => {
      const { run, attempt, feed } = kubectl;
      await feed(map('red', '{colour: red, size: "2"}'), 'create');
      await feed(map('blue', '{colour: blue}'), 'create');
      expect(await run('get', 'cm', '-l', 'of=test')).toMatch(
        /^NAME +DATA +AGE\nblue +1 +\d+s\nred +2 +\d+s\n$/,
      );
      expect(await run('get', 'cm', '-l', 'of in (test)', '--show-labels', '--no-headers')).toMatch(
        /^blue .* of=test\nred .* of=test\n$/,
      );
      expect(await run('get', 'cm', '-L', 'of', 'red')).toMatch(/AGE +OF\nred .* test\n$/);
      expect(await run('get', 'cm/red', 'cm/blue', '-o', 'name')).toBe('configmap/red\nconfigmap/blue\n');
      expect(
        await run(
          'get',
          'cm',
          '-A',
          '--field-selector',
          `metadata.name=red,metadata.namespace=${kubectl.namespace}`,
          '--no-headers',
        ),
      ).toMatch(new RegExp(`^${kubectl.namespace} +red `));
      expect(await run('get', 'cm', 'red', '-o', 'go-template={{.data.colour}}')).toBe('red');
      expect(
        await run('get', 'cm', '-l', 'of=test', '-o', 'custom-columns=N:.metadata.name,C:.data.colour'),
      ).toBe('N      C\nblue   blue\nred    red\n');
      expect(
        await run(
          'get',
          'cm',
          '-l',
          'of=test',
          '--sort-by=.metadata.creationTimestamp',
          '-o',
          'jsonpath={range .items[*]}{.metadata.name} {end}',
        ),
      ).toMatch(/^(red blue|blue red) $/);
      expect(await run('get', 'cm', 'red', '-o', 'yaml')).toMatch(
        /^apiVersion: v1\ndata:\n {2}colour: red\n {2}size: "2"\nkind: ConfigMap\nmetadata:\n/,
      );
      expect(
        await run('get', 'cm', 'red', '-o', 'yaml', '--show-managed-fields=true').catch(
          () => 'managedFields',
        ),
      ).toContain('managedFields');
      const list = JSON.parse(await run('get', 'cm,secret', '-o', 'json'));
      expect(list).toMatchObject({ kind: 'List', apiVersion: 'v1' });
      expect(await run('get', 'cm', '--chunk-size=1', '-l', 'of=test', '-o', 'name')).toBe(
        'configmap/blue\nconfigmap/red\n',
      );
      expect(await run('get', 'nothings').catch((error: Error) => error.message)).toContain(
        'doesn\'t have a resource type "nothings"',
      );
      expect(await attempt(['get', 'cm', 'none', '--ignore-not-found'])).toMatchObject({ code: 0, text: '' });
      expect(
        (
          await attempt([
            'get',
            'secret',
            '--field-selector=type=kubernetes.io/dockerconfigjson',
            '-o',
            'name',
          ])
        ).stdout,
      ).toBe('secret/pull\n');
    });

    it('[V89] replaces and edits, and stops where somebody else wrote', IN_TURN, async () => {
      const { run, feed, attempt, field } = kubectl;
      const stale = await run('get', 'cm', 'red', '-o', 'json');
      expect(await feed(map('red', '{colour: crimson}'), 'replace')).toBe('configmap/red replaced\n');
      expect(await field('cm/red', '.data')).toMatch(/^(\{"colour":"crimson"\}|map\[colour:crimson\])$/);
      const refused = await attempt(['replace', '-f', '-'], { input: stale });
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain(
        'the object has been modified; please apply your changes to the latest version',
      );
      const uid = await field('cm/red', '.metadata.uid');
      expect(await feed(map('red', '{colour: scarlet}'), 'replace', '--force', '--grace-period=0')).toContain(
        'configmap/red replaced',
      );
      expect(await field('cm/red', '.metadata.uid')).not.toBe(uid);
      expect(
        await attempt(['edit', 'cm/red'], { env: { KUBE_EDITOR: 'sed -i s/scarlet/pink/' } }),
      ).toMatchObject({
        code: 0,
        stdout: 'configmap/red edited\n',
      });
      expect(await field('cm/red', '.data.colour')).toBe('pink');
      const idle = await attempt(['edit', 'cm/red'], { env: { KUBE_EDITOR: 'true' } });
      expect(idle.text).toContain('cancelled, no changes made');
    });

    it('[V89] patches in three ways', IN_TURN, async () => {
      const { run, feed, attempt, field } = kubectl;
      await feed(DEPLOYMENT, 'create');
      const images = (): Promise<string> => field('deploy/web', '.spec.template.spec.containers[*].image');
      const patch = (type: string, body: object): Promise<string> =>
        run('patch', 'deploy/web', `--type=${type}`, '-p', JSON.stringify(body));
      expect(
        await patch('strategic', {
          spec: { template: { spec: { containers: [{ name: 'log', image: 'example/log:2' }] } } },
        }),
      ).toBe('deployment.apps/web patched\n');
      expect(await images()).toBe('example/web:1 example/log:2');
      expect(await patch('strategic', { spec: { replicas: 1 } })).toBe(
        'deployment.apps/web patched (no change)\n',
      );
      await patch('json', [
        { op: 'test', path: '/spec/template/spec/containers/0/name', value: 'web' },
        { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'example/web:2' },
      ] as unknown as object);
      expect(await images()).toBe('example/web:2 example/log:2');
      const failed = await attempt([
        'patch',
        'deploy/web',
        '--type=json',
        '-p',
        '[{"op":"test","path":"/spec/replicas","value":7}]',
      ]);
      expect(failed.code).toBe(1);
      await patch('merge', {
        spec: { template: { spec: { containers: [{ name: 'only', image: 'example/only:1' }] } } },
      });
      expect(await images()).toBe('example/only:1');
      const wrong = await attempt(['patch', 'deploy/web', '--type=merge', '-p', '{"spec":{"replicas":-1}}']);
      expect(wrong.stderr).toContain('The Deployment "web" is invalid: spec.replicas: Invalid value: -1');
    });

    it('[V89] labels, annotates, and scales what it may', IN_TURN, async () => {
      const { run, attempt } = kubectl;
      expect(await run('label', 'cm', '-l', 'of=test', 'tier=gold')).toBe(
        'configmap/blue labeled\nconfigmap/red labeled\n',
      );
      expect(await run('label', 'cm', 'red', 'tier-')).toMatch(/^configmap\/red (un)?labeled\n$/);
      expect(await attempt(['label', 'cm', 'red', 'tier=not ok'])).toMatchObject({ code: 1 });
      const again = await attempt(['label', 'cm', 'blue', 'tier=silver']);
      expect(again.code).toBe(1);
      expect(again.stderr).toMatch(/already has a value \(gold\), and --overwrite is false/);
      expect(await attempt(['label', 'cm', 'blue', 'tier=tin', '--resource-version=1'])).toMatchObject({
        code: 1,
      });
      expect(await run('annotate', 'cm', '--all', 'seen=yes')).toContain('configmap/blue annotate');
    });

    it('[V28 V89] applies on the client, then on the server, and lists its managers', IN_TURN, async () => {
      const { run, feed, attempt } = kubectl;
      expect(await feed(map('app', '{a: "1", b: "2"}'), 'apply')).toBe('configmap/app created\n');
      expect(await feed(map('app', '{a: "1"}'), 'apply')).toBe('configmap/app configured\n');
      expect(await run('apply', 'view-last-applied', 'cm/app', '-o', 'json')).toContain('"a": "1"');
      expect(await attempt(['diff', '-f', '-'], { input: map('app', '{a: "2"}') })).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^- {2}a: "1"\n\+ {2}a: "2"$/m),
      });
      expect(
        await feed(map('app', '{a: "3"}'), 'apply', '--server-side', '--dry-run=server', '--force-conflicts'),
      ).toBe('configmap/app serverside-applied (server dry run)\n');
      expect(await feed(map('app', '{a: "3"}'), 'apply', '--server-side', '--force-conflicts')).toContain(
        'configmap/app serverside-applied\n',
      );
      const managed = JSON.parse(
        await run('get', '--raw', `/api/v1/namespaces/${kubectl.namespace}/configmaps/app`),
      ) as {
        metadata: { managedFields: { manager: string; operation: string }[] };
      };
      expect(
        await attempt(['diff', '--server-side', '-f', '-'], { input: map('app', '{a: "3"}') }),
      ).toMatchObject({ code: 0 });
      expect(
        managed.metadata.managedFields.map(({ manager, operation }) => `${manager} ${operation}`),
      ).toContain('kubectl Apply');
      expect(await feed(map('dry', '{}'), 'create', '--dry-run=server')).toBe(
        'configmap/dry created (server dry run)\n',
      );
      expect((await attempt(['get', 'cm', 'dry'])).code).toBe(1);
    });

    it('[V89] applies a kustomization, and prunes what left the set', IN_TURN, async () => {
      const { run, feed } = kubectl;
      const folder = join(server.directory, '..', `kustomize-${binary.version}`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'map.yaml'), map('layered', '{a: "1"}'));
      writeFileSync(join(folder, 'deploy.yaml'), DEPLOYMENT.replace('name: web}', 'name: kust}'));
      writeFileSync(
        join(folder, 'kustomization.yaml'),
        `namePrefix: k-\nnamespace: ${kubectl.namespace}\ncommonLabels: {set: one}\nresources: [map.yaml, deploy.yaml]\nimages: [{name: example/web, newTag: "9"}]\nconfigMapGenerator: [{name: made, literals: [x=y]}]\n`,
      );
      expect(await run('apply', '-k', folder)).toMatch(
        /^configmap\/k-layered created\nconfigmap\/k-made-\w+ created\ndeployment\.apps\/k-kust created\n$/,
      );
      expect(await kubectl.field('deploy/k-kust', '.spec.template.spec.containers[0].image')).toBe(
        'example/web:9',
      );
      expect(await run('delete', '-k', folder)).toContain('k-layered" deleted');

      const all = [map('p1', '{a: b}'), map('p2', '{a: b}')].map((text) =>
        text.replace('of: test', 'set: pruned'),
      );
      await feed(all.join('---\n'), 'apply');
      const allow = Number(binary.version.split('.')[1]) >= 27 ? '--prune-allowlist' : '--prune-whitelist';
      expect(
        await feed(all[0] ?? '', 'apply', '--prune', '-l', 'set=pruned', `${allow}=core/v1/ConfigMap`),
      ).toBe('configmap/p1 unchanged\nconfigmap/p2 pruned\n');
    });

    it('[V89] deletes one, by label, and waits for what holds on', IN_TURN, async () => {
      const { run, attempt, feed } = kubectl;
      expect(await run('delete', 'cm', 'app')).toMatch(/^configmap "app" deleted/);
      expect(await attempt(['delete', 'cm', 'app'])).toMatchObject({
        code: 1,
        stderr: 'Error from server (NotFound): configmaps "app" not found\n',
      });
      await feed(map('held', '{}').replace('{name', '{finalizers: [example.com/hold], name'), 'create');
      await run('delete', 'cm', 'held', '--wait=false');
      expect(await kubectl.field('cm/held', '.metadata.deletionTimestamp')).toMatch(/^\d{4}-/);
      const waiting = run('wait', 'cm/held', '--for=delete', '--timeout=20s');
      await run('patch', 'cm', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
      // It may be gone before an old kubectl looks, which is a mistake to it.
      await waiting.catch((error: Error) =>
        expect(error.message).toMatch(/NotFound|no matching resources found/),
      );
      expect(await run('delete', 'cm', '-l', 'of=test')).toMatch(/"blue" deleted.*\n.*"red" deleted/);
      await run('delete', 'namespace', kubectl.namespace, '--timeout=20s');
    });
  });
}
