import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import {
  type ApiServerProcess,
  type Kubectl,
  kubectlOf,
  startApiServerProcess,
} from '../harness/api-server.ts';
import { must } from '../harness/command.ts';
import { describeFleet } from '../harness/fleet.ts';
import { until } from '../harness/until.ts';

/** One kubectl takes its steps one after the other, beside those of the other versions. */
const IN_TURN = { concurrent: false };

let server: ApiServerProcess;
beforeAll(async () => {
  server = await startApiServerProcess({
    flags: ['--controllers', 'core', '--cluster', 'space', '--admin-token', 'opensesame'],
  });
});
afterAll(() => server?.stop());

for (const binary of inject('kubectls')) {
  describeFleet.concurrent(`kubectl ${binary.version} and rights`, () => {
    const minor = Number(binary.version.split('.')[1]);
    let kubectl: Kubectl;
    beforeAll(async () => {
      kubectl = kubectlOf(server, binary, 'access');
      await kubectl.run('create', 'namespace', kubectl.namespace);
    });

    it('[V61 V64 V89] asks what it may, for itself and for others', IN_TURN, async () => {
      const { run, attempt } = kubectl;
      expect(await run('auth', 'can-i', 'delete', 'pods')).toBe('yes\n');
      expect(await run('auth', 'can-i', '--list')).toMatch(
        /^Resources +Non-Resource URLs +Resource Names +Verbs\n/,
      );
      await run('create', 'role', 'reader', '--verb=get,list', '--resource=configmaps');
      await run('create', 'rolebinding', 'ann', '--role=reader', '--user=ann');
      const list = await run('auth', 'can-i', '--list', '--as=ann');
      expect(list).toMatch(/^configmaps +\[\] +\[\] +\[get list\]$/m);
      expect(await attempt(['auth', 'can-i', 'delete', 'configmaps', '--as=ann'])).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^no/),
      });
      expect(await run('auth', 'can-i', 'list', 'configmaps', '--as=ann')).toBe('yes\n');
      expect(await run('get', 'cm', '--as=ann', '-o', 'name')).toBe('configmap/kube-root-ca.crt\n');
      const refused = await attempt(['delete', 'cm', 'kube-root-ca.crt', '--as=ann', '--as-group=readers']);
      expect(refused.stderr).toBe(
        `Error from server (Forbidden): configmaps "kube-root-ca.crt" is forbidden: User "ann" cannot delete resource "configmaps" in API group "" in the namespace "${kubectl.namespace}"\n`,
      );
      expect(await run('get', 'ns', '--as=nobody', '--as-group=system:masters', '-o', 'name')).toContain(
        'namespace/default',
      );
      await run('auth', 'reconcile', '-f', await manifest(kubectl, 'reconciled'));
      expect(await kubectl.field('role/reconciled', '.rules[0].verbs[0]')).toBe('watch');
      if (minor >= 28)
        expect(await run('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.groups}')).toContain(
          'system:masters',
        );
    });

    it('[V65 V89] makes a certificate by request and approval, and is let in with it', IN_TURN, async () => {
      const { run, attempt } = kubectl;
      const home = join(server.directory, '..');
      const name = `csr-${kubectl.namespace}`;
      const key = join(home, `${name}.key`);
      writeFileSync(
        key,
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
          type: 'pkcs8',
          format: 'pem',
        }),
      );
      const request = await must('openssl', ['req', '-new', '-key', key, '-subj', '/O=testers/CN=eve']);
      const csr = (of: string): object => ({
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: of },
        spec: {
          request: Buffer.from(request).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
        },
      });
      await kubectl.feed(csr(name), 'create');
      expect(await run('get', 'csr', name, '--no-headers')).toMatch(/Pending\n$/);
      expect(await run('certificate', 'approve', name)).toBe(
        `certificatesigningrequest.certificates.k8s.io/${name} approved\n`,
      );
      const certificate = await until('the certificate', () =>
        kubectl.field(`csr/${name}`, '.status.certificate'),
      );
      expect(await run('get', 'csr', name, '--no-headers')).toMatch(/Approved,Issued\n$/);
      const file = join(home, `${name}.crt`);
      writeFileSync(file, Buffer.from(certificate, 'base64'));
      await run('create', 'rolebinding', 'testers', '--clusterrole=view', '--group=testers');
      const asEve = [`--client-certificate=${file}`, `--client-key=${key}`];
      // A kubeconfig's own certificate would win in some versions: this one has none.
      const bare = await bareKubeconfig(kubectl);
      expect(
        (await attempt([...asEve, 'get', 'cm', '-o', 'name'], { env: { KUBECONFIG: bare } })).stdout,
      ).toBe('configmap/kube-root-ca.crt\n');
      expect((await attempt([...asEve, 'get', 'secret'], { env: { KUBECONFIG: bare } })).stderr).toContain(
        'User "eve" cannot list resource "secrets"',
      );
      await kubectl.feed(csr(`${name}-no`), 'create');
      expect(await run('certificate', 'deny', `${name}-no`)).toContain('denied');
      expect(await run('get', 'csr', `${name}-no`, '--no-headers')).toMatch(/Denied\n$/);
    });

    it(
      '[V58 V89] is let in with tokens: of a service account, and of the administrator',
      IN_TURN,
      async () => {
        const { run, attempt } = kubectl;
        await run('create', 'serviceaccount', 'robot');
        await run(
          'create',
          'rolebinding',
          'robots',
          '--clusterrole=edit',
          `--serviceaccount=${kubectl.namespace}:robot`,
        );
        const bare = await bareKubeconfig(kubectl);
        if (minor >= 27) {
          const token = (await run('create', 'token', 'robot', '--duration=20m')).trim();
          expect(token.split('.')).toHaveLength(3);
          const asRobot = (...args: string[]): ReturnType<typeof attempt> =>
            attempt([`--token=${token}`, ...args], { env: { KUBECONFIG: bare } });
          expect(await asRobot('create', 'configmap', 'of-robot')).toMatchObject({
            code: 0,
            stdout: 'configmap/of-robot created\n',
          });
          expect((await asRobot('get', 'nodes')).stderr).toContain(
            `User "system:serviceaccount:${kubectl.namespace}:robot" cannot list`,
          );
          await run('delete', 'serviceaccount', 'robot');
          expect((await asRobot('get', 'cm')).stderr).toMatch(/Unauthorized|must be logged in/);
        }
        const admin = await attempt(['--token=opensesame', 'get', 'nodes', '-o', 'name'], {
          env: { KUBECONFIG: bare },
        });
        expect(admin).toMatchObject({ code: 0 });
        expect(
          (await attempt(['--token=closesesame', 'get', 'nodes'], { env: { KUBECONFIG: bare } })).stderr,
        ).toMatch(/Unauthorized|must be logged in/);
      },
    );

    it('[V76 V89] works with the contexts that `atoll kubeconfig` prints', IN_TURN, async () => {
      const printed = await server.atoll('kubeconfig', '--dir', server.directory);
      expect(printed, printed.text).toMatchObject({ code: 0 });
      const file = join(server.directory, '..', `printed-${binary.version}`);
      writeFileSync(file, printed.stdout);
      const env = { KUBECONFIG: file };
      const map = `only-${kubectl.namespace}`;
      const inSpace = await kubectl.attempt(
        ['--context', 'space', '-n', 'default', 'create', 'configmap', map],
        { env },
      );
      expect(inSpace, inSpace.text).toMatchObject({ code: 0 });
      const contexts = await kubectl.attempt(['config', 'get-contexts', '-o', 'name'], { env });
      expect(contexts.stdout).toBe('atoll\nspace\n');
      expect(
        (await kubectl.attempt(['--context', 'space', '-n', 'default', 'get', 'cm', map], { env })).code,
      ).toBe(0);
      expect(
        (await kubectl.attempt(['--context', 'atoll', '-n', 'default', 'get', 'cm', map], { env })).code,
      ).toBe(1);
      expect((await kubectl.attempt(['cluster-info'], { env })).stdout).toContain(server.url);
    });
  });
}

/** A kubeconfig that knows the server and nobody's credentials. */
async function bareKubeconfig(kubectl: Kubectl): Promise<string> {
  const file = join(server.directory, '..', `bare-${kubectl.namespace}`);
  const config = JSON.parse(await kubectl.run('config', 'view', '--raw', '-o', 'json')) as {
    users: { user: object }[];
  };
  for (const entry of config.users) entry.user = {};
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function manifest(kubectl: Kubectl, name: string): Promise<string> {
  const file = join(server.directory, '..', `${name}-${kubectl.namespace}.json`);
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name, namespace: kubectl.namespace },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['watch'] }],
  };
  writeFileSync(file, JSON.stringify(role));
  return file;
}
