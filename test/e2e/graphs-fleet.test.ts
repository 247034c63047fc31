// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { isAlive } from '../../src/runtime/index.ts';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(2);
}, 120_000);
afterAll(() => fleet?.stop());

const own = join(inject('checkout'), 'examples');
const examples = join(inject('checkout'), '..', 'shared', 'data', 'kro-examples');
const folders = existsSync(examples) ? readdirSync(examples) : [];
if (folders.length === 0) process.stderr.write(`SKIPPED: the examples of kro are not at ${examples}\n`);

function active(context: string, instance: string): Promise<string> {
  return fleet.kubectl(context, 'wait', instance, '--for=jsonpath={.status.state}=ACTIVE', '--timeout=40s');
}

async function distributed(definition: string): Promise<void> {
  await fleet.kubectl('hub', 'wait', definition, '--for=condition=Distributed', '--timeout=30s');
}

async function field(context: string, object: string, path: string): Promise<string> {
  return (await fleet.tryKubectl(context, ['get', object, '-o', `jsonpath={${path}}`])).stdout;
}

async function isThere(context: string, object: string): Promise<boolean> {
  return (await fleet.tryKubectl(context, ['get', object])).code === 0;
}

function site(name: string, replicas: number): string {
  return `apiVersion: kro.run/v1alpha1\nkind: Site\nmetadata: {name: ${name}}\nspec: {replicas: ${replicas}}\n`;
}

describeFleet('a graph of the hub on its clusters', () => {
  it('[R173] is served by all of them after one command, and an instance comes to life where it is made', async () => {
    const began = performance.now();
    await fleet.kubectl('hub', 'apply', '-f', join(own, 'graph.yaml'));
    await distributed('rgd/site');
    expect(await field('hub', 'rgd/site', '.status.conditions[?(@.type=="Distributed")].message')).toBe(
      '2 of 2 clusters are ready; revision 1',
    );
    await fleet.kubectl('spoke-1', 'apply', '-f', join(own, 'graph-instance.yaml'));
    await active('spoke-1', 'site/blog');
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    process.stderr.write(`from the definition at the hub to an instance on a spoke: ${seconds} s\n`);
    expect(await field('spoke-1', 'site/blog', '.status.address')).toBe('blog.default.svc');
    expect(await field('spoke-1', 'deployment/blog', '.status.availableReplicas')).toBe('3');
    for (const elsewhere of ['hub', 'spoke-2'])
      expect(await isThere(elsewhere, 'deployment/blog')).toBe(false);
  });

  it('with the hub killed: instances are made, changed, repaired and deleted, also by an engine that was killed', async () => {
    const hub = fleet.pid('hub');
    await fleet.kill('hub');
    await fleet.apply('spoke-2', site('news', 1));
    await active('spoke-2', 'site/news');
    const uid = await field('spoke-1', 'deployment/blog', '.metadata.uid');
    await fleet.kubectl('spoke-1', 'delete', 'deployment/blog', '--timeout=20s');
    await until('the deployment made again', async () => {
      const now = await field('spoke-1', 'deployment/blog', '.metadata.uid');
      return now !== '' && now !== uid;
    });
    await fleet.kubectl('spoke-1', 'scale', 'deployment/blog', '--replicas=7');
    await until(
      'drift undone',
      async () => (await field('spoke-1', 'deployment/blog', '.spec.replicas')) === '3',
    );
    await active('spoke-1', 'site/blog');
    await fleet.kill('spoke-2');
    await fleet.mustAtoll('start', 'spoke-2');
    await fleet.apply('spoke-2', site('shortlived', 1));
    await active('spoke-2', 'site/shortlived');
    await fleet.kubectl('spoke-2', 'delete', 'site/shortlived', '--timeout=30s');
    expect(await isThere('spoke-2', 'deployment/shortlived')).toBe(false);
    expect(isAlive(hub)).toBe(false);
    await fleet.mustAtoll('start', 'hub');
    await distributed('rgd/site');
    expect(await field('spoke-1', 'site/blog', '.status.state')).toBe('ACTIVE');
    // The way of a new revision is open again.
    await fleet.kubectl(
      'hub',
      'patch',
      'rgd/site',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/spec/resources/0/template/metadata/labels","value":{"tier":"web"}}]',
    );
    await until(
      'the new revision',
      async () => (await field('spoke-2', 'deployment/news', '.metadata.labels.tier')) === 'web',
    );
  });
});

/** A kind whose status somebody on its cluster writes: who signs certificates there. */
const CERTS = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Cert, plural: certs, singular: cert, listKind: CertList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {host: {type: string}}}
          status: {type: object, properties: {key: {type: string}}}
`;

const certificate = (id: string, cluster: string): string => `
  - id: ${id}
    target: {cluster: {name: ${cluster}}}
    readyWhen: ['\${${id}.status.key != ""}']
    template:
      apiVersion: example.com/v1
      kind: Cert
      metadata: {name: "\${schema.metadata.name}"}
      spec: {host: ${cluster}.example.com}`;
const gateway = (id: string, cluster: string, trusted: string): string => `
  - id: ${id}
    target: {cluster: {name: ${cluster}}}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "\${schema.metadata.name}-gateway"}
      data: {trusts: "\${${trusted}.status.key}"}`;

const MESH = `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: mesh}
spec:
  schema: {apiVersion: v1alpha1, kind: Mesh, spec: {}}
  resources:${certificate('certA', 'spoke-1')}${certificate('certB', 'spoke-2')}${gateway('gatewayA', 'spoke-1', 'certB')}${gateway('gatewayB', 'spoke-2', 'certA')}
  - id: link
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "\${schema.metadata.name}-link"}
      data: {between: "\${gatewayA.metadata.name}/\${gatewayB.metadata.name}"}
`;

describeFleet('a graph over two clusters', () => {
  const hold = (context: string, object: string, finalizers: string): Promise<string> =>
    fleet.kubectl(
      context,
      'patch',
      object,
      '--type=merge',
      '-p',
      `{"metadata":{"finalizers":${finalizers}}}`,
    );
  const sign = (context: string, key: string): Promise<string> =>
    fleet.kubectl(
      context,
      'patch',
      'cert/one',
      '--subresource=status',
      '--type=merge',
      '-p',
      `{"status":{"key":"${key}"}}`,
    );
  const leaving = async (context: string, object: string): Promise<boolean> =>
    (await field(context, object, '.metadata.deletionTimestamp')) !== '';

  it('[R156] exchanges certificates both ways, makes the link last, and is taken down in reverse', async () => {
    for (const context of ['hub', 'spoke-1', 'spoke-2']) await fleet.apply(context, CERTS);
    await fleet.apply('hub', MESH);
    await fleet.kubectl('hub', 'wait', 'rgd/mesh', '--for=condition=Ready', '--timeout=30s');
    await fleet.apply('hub', 'apiVersion: kro.run/v1alpha1\nkind: Mesh\nmetadata: {name: one}\nspec: {}\n');
    for (const context of ['spoke-1', 'spoke-2'])
      await until(`a certificate asked for on ${context}`, () => isThere(context, 'cert/one'), {
        withinMs: 30_000,
      });
    await sign('spoke-1', 'key-of-1');
    await until(
      'what spoke-1 signed on spoke-2',
      async () => (await field('spoke-2', 'configmap/one-gateway', '.data.trusts')) === 'key-of-1',
      { withinMs: 30_000 },
    );
    // The other half is not there, so neither are what trusts it and the link.
    expect(await isThere('spoke-1', 'configmap/one-gateway')).toBe(false);
    expect(await isThere('hub', 'configmap/one-link')).toBe(false);
    await sign('spoke-2', 'key-of-2');
    await active('hub', 'mesh/one');
    expect(await field('spoke-1', 'configmap/one-gateway', '.data.trusts')).toBe('key-of-2');
    expect(await field('hub', 'configmap/one-link', '.data.between')).toBe('one-gateway/one-gateway');

    // Somebody holds each step, so that nothing about the order is luck.
    await hold('hub', 'configmap/one-link', '["example.com/hold"]');
    await hold('spoke-2', 'configmap/one-gateway', '["example.com/hold"]');
    await fleet.kubectl('hub', 'delete', 'mesh/one', '--wait=false');
    await until('the link leaving', () => leaving('hub', 'configmap/one-link'), { withinMs: 30_000 });
    expect(await leaving('spoke-2', 'configmap/one-gateway')).toBe(false);
    expect(await leaving('spoke-1', 'configmap/one-gateway')).toBe(false);
    await hold('hub', 'configmap/one-link', 'null');
    await until('the gateway leaving', () => leaving('spoke-2', 'configmap/one-gateway'), {
      withinMs: 30_000,
    });
    // The certificate of spoke-1 is what that gateway is made of.
    expect(await isThere('spoke-1', 'cert/one')).toBe(true);
    expect(await leaving('spoke-1', 'cert/one')).toBe(false);
    await hold('spoke-2', 'configmap/one-gateway', 'null');
    await fleet.kubectl('hub', 'wait', 'mesh/one', '--for=delete', '--timeout=40s');
    for (const [context, object] of [
      ['hub', 'configmap/one-link'],
      ['spoke-1', 'configmap/one-gateway'],
      ['spoke-2', 'configmap/one-gateway'],
      ['spoke-1', 'cert/one'],
      ['spoke-2', 'cert/one'],
    ] as const)
      expect(await isThere(context, object), `${object} on ${context}`).toBe(false);
    expect(await fleet.kubectl('hub', 'get', 'remoteobjects', '-A', '-o', 'name')).toBe('');
  });
});

describeFleet("kro's examples", () => {
  it.each(folders)('%s is defined at the hub and runs on a spoke to ACTIVE', async (folder) => {
    const files = readdirSync(join(examples, folder)).toSorted();
    const apply = async (context: string, file: string | undefined): Promise<string> =>
      (await fleet.kubectl(context, 'apply', '-o', 'name', '-f', join(examples, folder, file ?? ''))).trim();
    const definition = await apply(
      'hub',
      files.find((file) => !file.includes('instance')),
    );
    await distributed(definition);
    const instance = await apply(
      'spoke-2',
      files.find((file) => file.includes('instance')),
    );
    await active('spoke-2', instance);
    await fleet.kubectl('spoke-2', 'delete', instance, '--timeout=40s');
    await fleet.kubectl('hub', 'delete', definition, '--timeout=40s');
    await until(`${definition} gone from the spoke`, async () => !(await isThere('spoke-2', definition)));
  });
});
