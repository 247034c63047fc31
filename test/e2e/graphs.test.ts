// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { describeFleet, type Fleet, startFleet } from './harness/fleet.ts';
import { until } from './harness/until.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(1);
}, 120_000);
afterAll(() => fleet?.stop());

const SPOKE = 'spoke-1';
const examples = join(inject('checkout'), '..', 'shared', 'data', 'kro-examples');
/** One asks for an address of a Service that is not in this server's network. */
const folders = existsSync(examples) ? readdirSync(examples) : [];
if (folders.length === 0) process.stderr.write(`SKIPPED: the examples of kro are not at ${examples}\n`);

const GRAPH = `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: shop}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Shop
    spec: {image: string | default=nginx, replicas: integer | default=2, page: boolean | default=true}
    status: {available: "\${web.status.availableReplicas}"}
  resources:
  - id: web
    readyWhen: ["\${web.status.availableReplicas == web.spec.replicas}"]
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "\${schema.metadata.name}"}
      spec:
        replicas: \${schema.spec.replicas}
        selector: {matchLabels: {app: "\${schema.metadata.name}"}}
        template:
          metadata: {labels: {app: "\${schema.metadata.name}"}}
          spec: {containers: [{name: web, image: "\${schema.spec.image}"}]}
  - id: page
    includeWhen: ["\${schema.spec.page}"]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "\${web.metadata.name}-page"}
      data: {replicas: "\${string(web.status.availableReplicas)}"}
`;

function shop(spec: string): string {
  return `apiVersion: kro.run/v1alpha1\nkind: Shop\nmetadata: {name: mine}\nspec: {${spec}}\n`;
}

async function field(path: string, ...what: string[]): Promise<string> {
  return fleet.kubectl(SPOKE, 'get', ...what, '-o', `jsonpath={${path}}`);
}

describeFleet('resource graphs with kubectl', () => {
  it('[R1] a definition is served and shown', async () => {
    await fleet.apply(SPOKE, GRAPH);
    await fleet.kubectl(SPOKE, 'wait', 'rgd/shop', '--for=condition=Ready', '--timeout=30s');
    const [header = '', row = ''] = (await fleet.kubectl(SPOKE, 'get', 'rgd')).split('\n');
    expect(header.split(/\s+/)).toEqual(['NAME', 'APIVERSION', 'KIND', 'STATE', 'READY', 'AGE']);
    expect(row.split(/\s+/).slice(0, 5)).toEqual(['shop', 'v1alpha1', 'Shop', 'Active', 'True']);
    const found = await fleet.kubectl(
      SPOKE,
      'get',
      'gr',
      '--field-selector',
      'spec.snapshot.name=shop',
      '-o',
      'name',
    );
    expect(found.trim()).toBe('graphrevision.internal.kro.run/shop-r00001');
  });

  it('an instance comes to life, follows its edits, and goes with all that it is made of', async () => {
    await fleet.apply(SPOKE, shop(''));
    await fleet.kubectl(SPOKE, 'wait', 'shop/mine', '--for=jsonpath={.status.state}=ACTIVE', '--timeout=40s');
    expect(await field('.data.replicas', 'configmap', 'mine-page')).toBe('2');
    await fleet.apply(SPOKE, shop('replicas: 3'));
    await until('three replicas', async () => (await field('.status.available', 'shop', 'mine')) === '3');
    await fleet.apply(SPOKE, shop('replicas: 3, page: false'));
    await until(
      'the page gone',
      async () => (await fleet.tryKubectl(SPOKE, ['get', 'configmap', 'mine-page'])).code !== 0,
    );
    await fleet.kubectl(SPOKE, 'delete', 'shop', 'mine', '--timeout=40s');
    expect((await fleet.tryKubectl(SPOKE, ['get', 'deployment', 'mine'])).code).not.toBe(0);
  });

  it('the engine may be killed while instances come and go', async () => {
    await fleet.apply(SPOKE, shop(''));
    await fleet.kill(SPOKE);
    await fleet.mustAtoll('up');
    await fleet.kubectl(SPOKE, 'wait', 'shop/mine', '--for=jsonpath={.status.state}=ACTIVE', '--timeout=40s');
    await fleet.kubectl(SPOKE, 'delete', 'shop', 'mine', '--wait=false');
    await fleet.kill(SPOKE);
    await fleet.mustAtoll('up');
    await until(
      'the instance gone',
      async () => (await fleet.tryKubectl(SPOKE, ['get', 'shop', 'mine'])).code !== 0,
    );
    const left = await fleet.kubectl(
      SPOKE,
      'get',
      'deployments,configmaps',
      '-l',
      'kro.run/owned=true',
      '-o',
      'name',
    );
    expect(left.trim()).toBe('');
  });

  it('a wrong definition says which node, where, and which expression', async () => {
    await fleet.apply(
      SPOKE,
      GRAPH.replaceAll('shop', 'bad')
        .replace('kind: Shop', 'kind: Bad')
        .replace('web.metadata.name', 'web.metadata.nam'),
    );
    await fleet.kubectl(SPOKE, 'wait', 'rgd/bad', '--for=condition=GraphAccepted=false', '--timeout=30s');
    const message = await field('.status.conditions[?(@.type=="GraphAccepted")].message', 'rgd', 'bad');
    for (const part of ['page', 'metadata.name', 'web.metadata.nam']) expect(message).toContain(part);
  });

  it.each(folders)("kro's example %s runs unmodified to ACTIVE", async (folder) => {
    const files = readdirSync(join(examples, folder)).toSorted();
    const graph = files.find((file) => !file.includes('instance')) ?? '';
    const instance = files.find((file) => file.includes('instance')) ?? '';
    const name = (
      await fleet.kubectl(SPOKE, 'apply', '-o', 'name', '-f', join(examples, folder, graph))
    ).trim();
    await fleet.kubectl(SPOKE, 'wait', name, '--for=condition=Ready', '--timeout=30s');
    const made = (
      await fleet.kubectl(SPOKE, 'apply', '-o', 'name', '-f', join(examples, folder, instance))
    ).trim();
    await fleet.kubectl(SPOKE, 'wait', made, '--for=jsonpath={.status.state}=ACTIVE', '--timeout=50s');
    await fleet.kubectl(SPOKE, 'delete', made, '--timeout=40s');
    await fleet.kubectl(SPOKE, 'delete', name, '--timeout=40s');
  });
});
