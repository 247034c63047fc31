import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endpointFromKubeconfig } from '../../src/kube/kubeconfig-endpoint.ts';
import { describeFleet, type Fleet, newFleet, startFleet } from './harness/fleet.ts';
import { propagateShop, waitReady } from './harness/manifests.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(2);
  await propagateShop(fleet);
});
afterAll(() => fleet?.stop());

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

async function condition(
  kind: string,
  namespace: string,
  name: string,
  type: string,
): Promise<Condition | undefined> {
  const object = JSON.parse(await fleet.kubectl('hub', 'get', kind, name, '-n', namespace, '-o', 'json'));
  return (object.status?.conditions as Condition[] | undefined)?.find((item) => item.type === type);
}

async function patchSpec(patch: object): Promise<void> {
  await fleet.kubectl(
    'hub',
    'patch',
    'propagation',
    'shop',
    '-n',
    'shop',
    '--type=merge',
    '-p',
    JSON.stringify({ spec: patch }),
  );
}

/** Nothing that was placed before is lost or touched on any spoke. */
async function shopIsWhole(): Promise<void> {
  for (const spoke of ['spoke-1', 'spoke-2']) {
    const list = await fleet.kubectl(
      spoke,
      'get',
      'deploy,sts,svc,cm,secret,cronjob',
      '-n',
      'shop',
      '-l',
      'part-of=shop',
      '-o',
      'name',
    );
    expect(list.trim().split('\n'), spoke).toHaveLength(13);
  }
}

async function spec(): Promise<{ overrides: unknown[]; resourceSelectors: unknown[]; placement: unknown }> {
  return JSON.parse(await fleet.kubectl('hub', 'get', 'propagation', 'shop', '-n', 'shop', '-o', 'json'))
    .spec;
}

describeFleet('a propagation that is wrong says so and loses nothing', () => {
  it('an override that points nowhere', async () => {
    const { overrides } = await spec();
    const wrong = {
      clusterNames: ['spoke-2'],
      target: { kind: 'Deployment', name: 'web' },
      patch: [{ op: 'replace', path: '/spec/template/spec/containers/7/image', value: 'x' }],
    };
    await patchSpec({ overrides: [...overrides, wrong] });
    const found = await until('the condition', async () => {
      const now = await condition('propagation', 'shop', 'shop', 'OverridesApplied');
      return now?.status === 'False' ? now : undefined;
    });
    expect(found.reason).toBe('OverrideFailed');
    expect(found.message).toContain('overrides[2]');
    expect(found.message).toContain('Deployment');
    expect(found.message).toContain('/spec/template/spec/containers/7');
    expect(found.message).toContain('spoke-2');
    await shopIsWhole();
    // The other cluster goes on: a change reaches it, and not the one whose override fails.
    await fleet.kubectl(
      'hub',
      'patch',
      'cm',
      'prices',
      '-n',
      'shop',
      '--type=merge',
      '-p',
      '{"data":{"revision":"7"}}',
    );
    const price = (spoke: string): Promise<string> =>
      fleet.kubectl(spoke, 'get', 'cm', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.revision}');
    await until('the change on spoke-1', async () => (await price('spoke-1')) === '7');
    expect(await price('spoke-2')).toBe('0');
    await patchSpec({ overrides });
    await until('the change on spoke-2', async () => (await price('spoke-2')) === '7');
    await waitReady(fleet, 'shop', 'shop');
  });

  it('an override whose target is not selected, and an image that nobody uses', async () => {
    const { overrides } = await spec();
    await patchSpec({
      overrides: [
        ...overrides,
        { target: { kind: 'Deployment', name: 'ghost' }, patch: [{ op: 'remove', path: '/spec' }] },
      ],
    });
    await until('the condition names the target', async () =>
      (await condition('propagation', 'shop', 'shop', 'OverridesApplied'))?.message.includes(
        'Deployment ghost',
      ),
    );
    await patchSpec({ overrides: [...overrides, { images: [{ name: 'nobody/uses-this', newTag: '2' }] }] });
    await until('the condition names the image', async () =>
      (await condition('propagation', 'shop', 'shop', 'OverridesApplied'))?.message.includes(
        'nobody/uses-this',
      ),
    );
    await shopIsWhole();
    await patchSpec({ overrides });
    await waitReady(fleet, 'shop', 'shop');
  });

  it('a selector that matches nothing, and one of a kind that does not exist', async () => {
    const { resourceSelectors } = await spec();
    await patchSpec({
      resourceSelectors: [
        ...resourceSelectors,
        { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { no: 'such' } } },
      ],
    });
    const empty = await until('the condition', async () => {
      const now = await condition('propagation', 'shop', 'shop', 'Selected');
      return now?.status === 'False' ? now : undefined;
    });
    expect(empty).toMatchObject({ reason: 'NothingSelected' });
    expect(empty.message).toContain('resourceSelectors[6] matches no object');
    await patchSpec({
      resourceSelectors: [...resourceSelectors, { apiVersion: 'nope.example/v1', kind: 'Gizmo' }],
    });
    const unknown = await until('the condition', async () => {
      const now = await condition('propagation', 'shop', 'shop', 'Selected');
      return now?.reason === 'KindNotServed' ? now : undefined;
    });
    expect(unknown.message).toContain('Gizmo');
    await shopIsWhole();
    await patchSpec({ resourceSelectors });
    await waitReady(fleet, 'shop', 'shop');
  });

  it('a placement that names a cluster that is not there, and a selector that is not one', async () => {
    const { placement } = await spec();
    await patchSpec({
      placement: { clusterNames: ['spoke-1', 'spoke-2', 'spoke-77'], clusterSelector: null },
    });
    const found = await until('the condition', async () => {
      const now = await condition('propagation', 'shop', 'shop', 'Placed');
      return now?.status === 'False' ? now : undefined;
    });
    expect(found).toMatchObject({ reason: 'UnknownCluster' });
    expect(found.message).toContain('spoke-77');
    await shopIsWhole();
    await patchSpec({ placement: { ...(placement as object), clusterNames: null } });
    await waitReady(fleet, 'shop', 'shop');
  });

  it('a deselection beyond the deletion budget', async () => {
    const { resourceSelectors } = await spec();
    await patchSpec({ resourceSelectors: [{ apiVersion: 'v1', kind: 'Secret', name: 'keys' }] });
    const held = await until('the condition', async () => {
      const now = await condition('propagation', 'shop', 'shop', 'Dispatched');
      return now?.status === 'False' ? now : undefined;
    });
    expect(held.message).toContain('spec.deletionBudget 50% allows');
    await shopIsWhole();
    await patchSpec({ resourceSelectors });
    await waitReady(fleet, 'shop', 'shop');
  });

  it('a kind, an operation or a field that the schema does not know', async () => {
    const head =
      'apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: odd, namespace: shop}\n';
    for (const [body, message] of [
      [
        'spec: {placement: {}}',
        /resourceSelectors.*Required value|missing required field "resourceSelectors"/,
      ],
      ['spec: {resourceSelectors: [], placement: {}}', /resourceSelectors/],
      [
        'spec: {resourceSelectors: [{kind: Pod}], placement: {}}',
        /apiVersion.*Required value|missing required field "apiVersion"/,
      ],
      [
        'spec: {resourceSelectors: [{apiVersion: v1, kind: Pod}], placement: {}, overrides: [{patch: [{op: explode, path: /}]}]}',
        /Unsupported value: "explode"/,
      ],
      [
        'spec: {resourceSelectors: [{apiVersion: v1, kind: Pod}], placement: {}, suspended: true}',
        /unknown field "(spec\.)?suspended"/,
      ],
      [
        'spec: {resourceSelectors: [{apiVersion: v1, kind: Pod}], placement: {clusterNames: all}}',
        /clusterNames/,
      ],
    ] as const) {
      const outcome = await fleet.tryKubectl('hub', ['create', '-f', '-'], { input: `${head}${body}\n` });
      expect(outcome.code, body).toBe(1);
      expect(outcome.stderr).toMatch(message);
    }
    expect((await fleet.kubectl('hub', 'get', 'propagation', '-n', 'shop', '-o', 'name')).trim()).toBe(
      'propagation.atoll.dev/shop',
    );
  });
});

describeFleet('input that is no object, or too much of one', () => {
  it('malformed YAML and malformed JSON are refused by kubectl and by the server', async () => {
    const outcome = await fleet.tryKubectl('hub', ['apply', '-f', '-'], {
      input: 'apiVersion: v1\nkind: ConfigMap\n  metadata: [',
    });
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/error.*(parsing|converting)/i);
    // kubectl checks before it sends; the server must stand on its own.
    const path = '/api/v1/namespaces/shop/configmaps';
    expect(await raw('POST', path, 'application/json', '{"kind": "ConfigMap"')).toMatchObject({
      status: 400,
      reason: 'BadRequest',
    });
    expect(await raw('POST', path, 'application/yaml', 'kind: ConfigMap\n  metadata: [')).toMatchObject({
      status: 400,
      reason: 'BadRequest',
    });
    expect(await raw('POST', path, 'text/plain', 'hello')).toMatchObject({
      status: 415,
      reason: 'UnsupportedMediaType',
    });
  });

  it('an object larger than the limit is refused by name; a body beyond it before it is read', async () => {
    const big = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'big', namespace: 'shop' },
      data: { blob: 'x'.repeat(1_600_000) },
    });
    const outcome = await fleet.tryKubectl('hub', ['create', '-f', '-'], { input: big });
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/Too long: may not be more than 1048576/);
    const huge = JSON.stringify({
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name: 'huge', namespace: 'shop', annotations: { blob: 'x'.repeat(3_200_000) } },
    });
    expect(
      await raw('POST', '/apis/atoll.dev/v1alpha1/namespaces/shop/propagations', 'application/json', huge),
    ).toMatchObject({ status: 413, reason: 'RequestEntityTooLarge' });
    // The connection that was refused its body is not the server's last.
    await shopIsWhole();
    expect((await fleet.tryKubectl('hub', ['get', 'cm', 'big', '-n', 'shop'])).code).toBe(1);
  });

  it('objects near the limit, many of them in one propagation, arrive', async () => {
    await fleet.kubectl('hub', 'create', 'namespace', 'bulk');
    for (let i = 0; i < 6; i++) {
      // Does not compress: what is sent is as large as what was written.
      const blob = Array.from({ length: 700_000 / 8 }, (_, j) =>
        ((Math.imul(j + 1, 2654435761 + i * 97) >>> 0).toString(36) + '00000000').slice(0, 8),
      ).join('');
      await fleet.create('hub', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `bulk-${i}`, namespace: 'bulk' },
        data: { blob },
      });
    }
    await fleet.apply(
      'hub',
      'apiVersion: atoll.dev/v1alpha1\nkind: Propagation\nmetadata: {name: bulk, namespace: bulk}\nspec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {clusterSelector: {}}}\n',
    );
    await waitReady(fleet, 'bulk', 'bulk');
    for (const spoke of ['spoke-1', 'spoke-2']) {
      const lengths = await fleet.kubectl(
        spoke,
        'get',
        'cm',
        '-n',
        'bulk',
        '-l',
        'atoll.dev/dispatch',
        '-o',
        'go-template={{range .items}}{{len .data.blob}} {{end}}',
      );
      expect(lengths.trim().split(' ')).toEqual(Array.from({ length: 6 }, () => '700000'));
    }
    await fleet.kubectl('hub', 'delete', 'propagation', 'bulk', '-n', 'bulk', '--timeout=20s');
  });
});

describeFleet('a spoke name that is taken', () => {
  it('a second SpokeCluster of the name in another namespace is told so, and changes nothing', async () => {
    const pretender =
      'apiVersion: core.oam.dev/v1beta1\nkind: SpokeCluster\nmetadata: {name: spoke-1, namespace: shop}\nspec: {mode: connect, credential: {type: tunnel, tunnel: {}}}\n';
    await fleet.apply('hub', pretender);
    const found = await until('the condition', () =>
      condition('spokecluster', 'shop', 'spoke-1', 'Registered'),
    );
    expect(found).toMatchObject({ status: 'False', reason: 'NameTaken' });
    expect(found.message).toContain('namespace default');
    await fleet.kubectl('hub', 'delete', 'spokecluster', 'spoke-1', '-n', 'shop', '--timeout=10s');
    expect(await condition('spokecluster', 'default', 'spoke-1', 'Connected')).toMatchObject({
      status: 'True',
    });
    await shopIsWhole();
    await waitReady(fleet, 'shop', 'shop');
  });

  it('a second process that dials with the same identity is refused while the first is connected', async () => {
    // A copy of the spoke's directory: its key and its certificate too.
    const twin = newFleet();
    const members = JSON.parse(readFileSync(join(fleet.directory, 'fleet.json'), 'utf8')).members as {
      name: string;
    }[];
    const copy = members
      .filter((member) => member.name === 'spoke-1')
      .map((member) => ({ ...member, port: 0 }));
    mkdirSync(join(twin.directory, 'run'), { recursive: true });
    mkdirSync(join(twin.directory, 'log'));
    writeFileSync(join(twin.directory, 'fleet.json'), JSON.stringify({ version: 1, members: copy }));
    for (const part of ['link', 'join.json'])
      cpSync(join(fleet.directory, 'spoke-1', part), join(twin.directory, 'spoke-1', part), {
        recursive: true,
      });
    try {
      await twin.mustAtoll('start', 'spoke-1');
      await until('the refusal in the log of the twin', () => twin.log('spoke-1').includes('NameTaken'));
      expect(twin.log('spoke-1')).toMatch(/the name \\"spoke-1\\" is taken/);
      expect(await condition('spokecluster', 'default', 'spoke-1', 'Connected')).toMatchObject({
        status: 'True',
      });
      await fleet.kubectl(
        'hub',
        'patch',
        'cm',
        'prices',
        '-n',
        'shop',
        '--type=merge',
        '-p',
        '{"data":{"revision":"to-the-first"}}',
      );
      await until(
        'the change on the first',
        async () =>
          (await fleet.kubectl(
            'spoke-1',
            'get',
            'cm',
            'prices',
            '-n',
            'shop',
            '-o',
            'jsonpath={.data.revision}',
          )) === 'to-the-first',
      );
    } finally {
      await twin.stop();
      rmSync(twin.directory, { recursive: true });
    }
  });
});

interface Answer {
  status: number;
  reason: string | undefined;
}

/** A request that no client of ours would send. */
function raw(method: string, path: string, contentType: string, body: string): Promise<Answer> {
  const endpoint = endpointFromKubeconfig(readFileSync(fleet.kubeconfig, 'utf8'), {
    stored: false,
    context: 'hub',
  });
  return new Promise((resolve, reject) => {
    let answered = false;
    const call = request(
      `${endpoint.url}${path}`,
      {
        method,
        ca: endpoint.ca,
        cert: endpoint.clientCertificate,
        key: endpoint.clientKey,
        headers: { 'content-type': contentType },
      },
      (response) => {
        answered = true;
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const status = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { reason?: string };
          resolve({ status: response.statusCode ?? 0, reason: status.reason });
        });
      },
    );
    // A server that refuses a body may close before all of it is sent.
    call.on('error', (error) => {
      if (!answered) reject(error);
    });
    call.end(body);
  });
}
