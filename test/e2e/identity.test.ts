import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { signingRequest } from '../../src/kube/signing-request.ts';
import type { Outcome } from './harness/command.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(1);
});
afterAll(() => fleet?.stop());

const SPOKE = 'spoke-1';

/** kubectl as a user of the kubeconfig other than the administrator. */
function as(user: string, args: readonly string[], binary?: string): Promise<Outcome> {
  return fleet.tryKubectl(SPOKE, ['--user', user, ...args], binary === undefined ? {} : { binary });
}

/** A user who comes with a certificate that was asked for, approved and signed. Resolves when kubectl can use it. */
async function certified(user: string, binary: string): Promise<void> {
  const { key, request } = signingRequest({ commonName: user, organizations: ['dev'] });
  await fleet.create(SPOKE, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: user },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
  });
  const approved = await fleet.tryKubectl(SPOKE, ['certificate', 'approve', user], { binary });
  expect(approved.code, approved.text).toBe(0);
  let certificate = '';
  await until(`the certificate of ${user}`, async () => {
    certificate = await fleet.kubectl(SPOKE, 'get', 'csr', user, '-o', 'jsonpath={.status.certificate}');
    return certificate !== '';
  });
  const files = { cert: `${fleet.directory}.${user}.crt`, key: `${fleet.directory}.${user}.key` };
  writeFileSync(files.cert, Buffer.from(certificate, 'base64'));
  writeFileSync(files.key, key, { mode: 0o600 });
  const flags = [`--client-certificate=${files.cert}`, `--client-key=${files.key}`];
  await fleet.kubectl(SPOKE, 'config', 'set-credentials', user, ...flags);
}

const RECONCILED = (verbs: string): string => `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [${verbs}]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
`;

describeFleet('who kubectl is', () => {
  it('[V58] is a service account with a token that it created, until the account goes', async () => {
    await fleet.kubectl(SPOKE, 'create', 'serviceaccount', 'bot');
    const token = (await fleet.kubectl(SPOKE, 'create', 'token', 'bot', '--duration', '10m')).trim();
    await fleet.kubectl(SPOKE, 'config', 'set-credentials', 'bot', `--token=${token}`);
    const me = await as('bot', ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']);
    expect(me.stdout).toBe('system:serviceaccount:default:bot');
    expect((await as('bot', ['get', 'pods'])).text).toContain(
      'User "system:serviceaccount:default:bot" cannot list resource "pods"',
    );
    await fleet.kubectl(
      SPOKE,
      'create',
      'rolebinding',
      'bot',
      '--clusterrole=view',
      '--serviceaccount=default:bot',
    );
    expect((await as('bot', ['get', 'pods'])).code).toBe(0);
    expect((await as('bot', ['auth', 'can-i', 'delete', 'pods'])).stdout.trim()).toBe('no');
    await fleet.kubectl(SPOKE, 'delete', 'serviceaccount', 'bot');
    expect((await as('bot', ['get', 'pods'])).text).toContain('Unauthorized');
  });

  for (const { path, version } of inject('kubectls'))
    it(`[V63] [V65] is a user with an approved certificate, who grants no more than they hold (${version})`, async () => {
      const user = `jane-${version.replace('.', '-')}`;
      await certified(user, path);
      const admin = (...args: string[]) => fleet.kubectl(SPOKE, ...args);
      await admin(
        'create',
        'role',
        `grants-${user}`,
        '--verb=get,create,update,patch',
        '--resource=roles,rolebindings',
      );
      await admin('create', 'rolebinding', `grants-${user}`, `--role=grants-${user}`, `--user=${user}`);
      const list = await as(user, ['auth', 'can-i', '--list'], path);
      expect(list.stdout).toMatch(/roles\.rbac\.authorization\.k8s\.io .*\[get create update patch\]/);

      const greedy = await as(
        user,
        ['create', 'role', `x-${user}`, '--verb=get', '--resource=secrets'],
        path,
      );
      expect(greedy.text).toContain('is attempting to grant RBAC permissions not currently held:');
      expect(greedy.text).toContain('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}');
      const own = ['create', 'role', `y-${user}`, '--verb=get', '--resource=roles'];
      expect((await as(user, own, path)).code).toBe(0);

      const reconcile = (verbs: string, args: readonly string[] = []) =>
        fleet.tryKubectl(SPOKE, [...args, 'auth', 'reconcile', '-f', '-'], {
          binary: path,
          input: RECONCILED(verbs),
        });
      expect((await reconcile('get, watch, delete', ['--user', user])).text).toContain('attempting to grant');
      expect((await reconcile('get')).text).toContain('role.rbac.authorization.k8s.io/reader reconciled');
      expect((await reconcile(`get, list`)).code).toBe(0);
      expect((await as(user, ['get', 'configmaps'], path)).code).toBe(0);
      await admin('delete', 'role,rolebinding', 'reader');
    });

  it('[V66] sees every API of the server available', async () => {
    const lines = (await fleet.kubectl(SPOKE, 'get', 'apiservices', '--no-headers')).trim().split('\n');
    expect(lines.length).toBeGreaterThan(20);
    for (const line of lines) expect(line).toMatch(/ Local +True /);
  });
});
