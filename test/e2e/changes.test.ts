import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { must } from './harness/command.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { waitReady } from './harness/manifests.ts';
import { until } from './harness/until.ts';

/** What nobody may read who has no right to read Secrets. */
const SECRET = 'correct-horse-battery-staple';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(2);
  await fleet.kubectl('hub', 'apply', '-n', 'shop', '-f', join(inject('checkout'), 'examples', 'shop'));
  await fleet.kubectl('hub', 'apply', '-f', join(inject('checkout'), 'examples', 'shop-propagation.yaml'));
  await waitReady(fleet, 'shop', 'shop');
}, 120_000);
afterAll(() => fleet?.stop());

async function image(context: string): Promise<string> {
  const path = 'jsonpath={.spec.template.spec.containers[0].image}';
  return fleet.kubectl(context, 'get', 'deploy', 'cart', '-n', 'shop', '-o', path);
}

/** A change of one service, in a file of its own. */
function change(name: string, to: string): string {
  const text = readFileSync(join(inject('checkout'), 'examples', 'shop', '12-cart.yaml'), 'utf8');
  const file = join(inject('temporaryRoot'), name);
  writeFileSync(file, text.replace(/image: registry\.example\.com\/shop\/cart:.*/, `image: ${to}`));
  return file;
}

function hashIn(text: string): string {
  return /^Plan ([0-9a-f]{12})\./m.exec(text)?.[1] ?? '';
}

/** `atoll apply --plan` says what moved, and writes nothing. */
async function refused(hash: string, moved: string): Promise<void> {
  const outcome = await fleet.atoll(['apply', '--plan', hash]);
  expect(outcome).toMatchObject({ code: 1 });
  expect(outcome.stderr).toContain(`plan ${hash} is not carried out, since something moved: `);
  expect(outcome.stderr).toContain(moved);
  expect(outcome.stderr).toContain('Nothing was written');
}

describeFleet('a change that is planned', () => {
  it('is shown for every cluster, written nowhere, and then carried out as it was shown', async () => {
    const before = await image('hub');
    const file = change('cart-2.yaml', 'registry.example.com/shop/cart:2.0.0');
    const plan = await fleet.atoll(['plan', '-n', 'shop', '-f', file]);
    expect(plan).toMatchObject({ code: 1 });
    expect(plan.stdout).toMatch(/^spoke-1, spoke-2:\n {2}~ Deployment shop\/cart/m);
    expect(plan.stdout).toContain('2 of 2 clusters (100 %)');
    for (const context of ['hub', 'spoke-1', 'spoke-2']) expect(await image(context)).toBe(before);
    await fleet.mustAtoll('apply', '--plan', hashIn(plan.stdout));
    for (const spoke of ['spoke-1', 'spoke-2'])
      await until(`the new image on ${spoke}`, async () => (await image(spoke)).endsWith(':2.0.0'));
    // Nothing is left to be done.
    expect(await fleet.atoll(['plan', '-n', 'shop', '-f', file])).toMatchObject({ code: 0 });
  });

  it('is refused when something moved meanwhile, and nothing is written', async () => {
    const file = change('cart-3.yaml', 'registry.example.com/shop/cart:3.0.0');
    const hash = hashIn((await fleet.atoll(['plan', '-n', 'shop', '-f', file])).stdout);
    expect(hash).not.toBe('');
    await fleet.kubectl(
      'hub',
      'set',
      'image',
      'deploy/cart',
      '-n',
      'shop',
      '*=registry.example.com/shop/cart:2.5.0',
    );
    await refused(hash, 'the hub has something else');
    const again = hashIn((await fleet.atoll(['plan', '-n', 'shop', '-f', file])).stdout);
    expect(again).not.toBe(hash);
    change('cart-3.yaml', 'registry.example.com/shop/cart:3.1.0');
    await refused(again, 'what is asked for is something else');
    expect(await image('hub')).toMatch(/:2\.5\.0$/);
  });
});

describeFleet('what a cluster is to have', () => {
  it('is shown with the differences of that cluster, and without values of Secrets', async () => {
    const table = await fleet.mustAtoll('desired', 'spoke-2', '-n', 'shop', '--kind', 'Deployment');
    expect(table).toMatch(/^shop +Deployment +web +Propagation shop\/shop/m);
    const yaml = (spoke: string, kind: string): Promise<string> =>
      fleet.mustAtoll('desired', spoke, '-n', 'shop', '--kind', kind, '-o', 'yaml');
    expect(await yaml('spoke-2', 'Deployment')).toContain('image: registry.example.com/shop/web:1.5.0-rc.1');
    expect(await yaml('spoke-1', 'Deployment')).toContain('image: registry.example.com/shop/web:1.4.0');
    const secrets = await yaml('spoke-1', 'Secret');
    expect(secrets).toContain('name: shop-credentials');
    for (const value of await shopSecrets()) expect(secrets).not.toContain(value);
  });
});

describeFleet('what a cluster has already', () => {
  it('comes under the care of the hub as it is, and stays when it is given back', async () => {
    await fleet.kubectl('spoke-1', 'create', 'namespace', 'old');
    await fleet.kubectl(
      'spoke-1',
      'create',
      'deployment',
      'ledger',
      '--image=registry.example.com/ledger:7',
      '-n',
      'old',
    );
    await fleet.kubectl('spoke-1', 'rollout', 'status', 'deploy/ledger', '-n', 'old', '--timeout=20s');
    const uid = ['get', 'deploy/ledger', '-n', 'old', '-o', 'jsonpath={.metadata.uid}'];
    const before = await fleet.kubectl('spoke-1', ...uid);
    const pods = ['get', 'pods', '-n', 'old', '-o', 'name'];
    const running = await fleet.kubectl('spoke-1', ...pods);
    const words = ['promote', 'deploy/ledger', '-n', 'old', '--cluster', 'spoke-1'];
    const shown = await fleet.atoll(words);
    expect(shown).toMatchObject({ code: 1 });
    expect(shown.stdout).toContain('Nothing was written');
    expect((await fleet.tryKubectl('hub', ['get', 'ns', 'old'])).code).toBe(1);

    const made = await fleet.mustAtoll(...words, '--yes');
    const name = /Propagation old\/(\S+)/.exec(made)?.[1] ?? '';
    await waitReady(fleet, 'old', name);
    expect(await fleet.kubectl('spoke-1', ...uid)).toBe(before);
    expect(await fleet.kubectl('spoke-1', ...pods)).toBe(running);
    await fleet.kubectl(
      'hub',
      'set',
      'image',
      'deploy/ledger',
      '*=registry.example.com/ledger:8',
      '-n',
      'old',
    );
    await fleet.kubectl('hub', 'rollout', 'status', 'deploy/ledger', '-n', 'old', '--timeout=30s');
    expect(
      await fleet.kubectl('spoke-1', 'get', 'deploy/ledger', '-n', 'old', '-o', 'jsonpath={..image}'),
    ).toContain('ledger:8');

    await fleet.kubectl('hub', 'delete', 'propagation', name, '-n', 'old', '--timeout=30s');
    expect(await fleet.kubectl('spoke-1', ...uid)).toBe(before);
  });
});

describeFleet('what is given to others', () => {
  it('a snapshot holds no value of a Secret, however it is packed', async () => {
    // Where values of Secrets can be: the object, an override of it, a federated one, a template of a graph.
    await fleet.kubectl(
      'hub',
      'create',
      'secret',
      'generic',
      'door',
      '-n',
      'shop',
      `--from-literal=code=${SECRET}`,
    );
    await fleet.apply(
      'hub',
      `apiVersion: atoll.dev/v1alpha1
kind: Propagation
metadata: {name: door, namespace: shop}
spec:
  revisionHistoryLimit: 3
  resourceSelectors: [{apiVersion: v1, kind: Secret, name: door}]
  placement: {clusterSelector: {}}
  overrides:
  - clusterNames: [spoke-2]
    patch: [{op: add, path: /data/more, value: ${Buffer.from(`${SECRET}-2`).toString('base64')}}]
`,
    );
    await waitReady(fleet, 'shop', 'door');
    expect(
      Buffer.from(
        await fleet.kubectl('spoke-2', 'get', 'secret', 'door', '-n', 'shop', '-o', 'jsonpath={.data.more}'),
        'base64',
      ).toString(),
    ).toBe(`${SECRET}-2`);
    await fleet.mustAtoll('enable', 'namespaces', 'secrets');
    await fleet.mustAtoll('federate', 'namespace', 'shop');
    await fleet.apply(
      'hub',
      `apiVersion: types.kubefed.io/v1beta1
kind: FederatedSecret
metadata: {name: gate, namespace: shop}
spec:
  template: {data: {code: ${Buffer.from(SECRET).toString('base64')}}}
  placement: {clusterSelector: {}}
  overrides:
  - clusterName: spoke-1
    clusterOverrides: [{path: /data/code, value: ${Buffer.from(`${SECRET}-3`).toString('base64')}}]
`,
    );
    await until(
      'it on spoke-1',
      async () => (await fleet.tryKubectl('spoke-1', ['get', 'secret', 'gate', '-n', 'shop'])).code === 0,
    );
    const file = join(inject('temporaryRoot'), 'snapshot.tar.gz');
    expect(await fleet.mustAtoll('snapshot', '-f', file)).toContain('It holds no values of Secrets');
    const listed = await must('tar', ['-tzf', file]);
    for (const path of [
      'hub/propagations.atoll.dev.json',
      'hub/intentrevisions.atoll.dev.json',
      'hub/federatedsecrets.types.kubefed.io.json',
      'spokes/spoke-2/dispatches.atoll.dev.json',
      'logs/hub.log',
    ])
      expect(listed).toContain(path);
    const text = gunzipSync(readFileSync(file)).toString('latin1');
    const packed = [...text.matchAll(/H4sI[A-Za-z0-9+/]+=*/g)].map(([match]) =>
      gunzipSync(Buffer.from(match, 'base64')).toString('latin1'),
    );
    const values = [SECRET, `${SECRET}-2`, `${SECRET}-3`];
    for (const value of [
      ...values,
      ...values.map((item) => Buffer.from(item).toString('base64')),
      ...(await shopSecrets()),
    ])
      for (const found of [text, ...packed]) expect(found.includes(value), value).toBe(false);
  });

  it('metrics are for whoever may get them', async () => {
    const server = (
      await fleet.kubectl('hub', 'config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}')
    ).trim();
    const ask = ['get', '--raw', '/metrics'];
    expect(await statusOf(`${server}/metrics`)).toBe(401);
    expect(await statusOf(`${server}/metrics`, 'nobody')).toBe(401);
    const metrics = await fleet.kubectl('hub', ...ask);
    expect(metrics).toMatch(/^spokecluster_clusters\{connection="Connected"\} 2$/m);
    expect(metrics).toMatch(/^atoll_apiserver_requests_total\{/m);
    expect((await fleet.tryKubectl('hub', ['--as=somebody', ...ask])).text).toContain('Forbidden');
    await fleet.kubectl(
      'hub',
      'create',
      'clusterrole',
      'metrics',
      '--verb=get',
      '--non-resource-url=/metrics',
    );
    await fleet.kubectl(
      'hub',
      'create',
      'clusterrolebinding',
      'metrics',
      '--clusterrole=metrics',
      '--user=somebody',
    );
    expect(await fleet.kubectl('hub', '--as=somebody', ...ask)).toContain('spokecluster_clusters');
  });
});

/** The values of the shop's Secret, as they are stored. */
async function shopSecrets(): Promise<string[]> {
  const data = await fleet.kubectl(
    'hub',
    'get',
    'secret',
    'shop-credentials',
    '-n',
    'shop',
    '-o',
    'jsonpath={.data}',
  );
  const stored = Object.values(JSON.parse(data) as Record<string, string>);
  return [...stored, ...stored.map((value) => Buffer.from(value, 'base64').toString())];
}

/** How a server answers somebody without a certificate. */
function statusOf(url: string, token?: string): Promise<number | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}
