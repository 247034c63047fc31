// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemRuntime } from '../../runtime/runtime.ts';
import {
  diffGraphs,
  formatGraphs,
  lintGraphs,
  previewGraphs,
  pullGraphs,
  pushGraphs,
  renderGraph,
  validateGraphs,
} from './index.ts';
import { openRegistry, parseReference } from './registry.ts';

/** A registry that keeps everything in memory, and may want a token first. */
function registry(): {
  server: Server;
  blobs: Map<string, Buffer>;
  manifests: Map<string, Buffer>;
  wants: { token: boolean; basic?: string };
} {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, Buffer>();
  const wants: { token: boolean; basic?: string } = { token: false };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const url = new URL(request.url ?? '', `http://${request.headers.host}`);
      const end = (
        status: number,
        headers: Record<string, string> = {},
        content: Buffer | string = '',
      ): void => {
        response.writeHead(status, headers);
        response.end(content);
      };
      if (url.pathname === '/token') {
        wants.basic = request.headers.authorization ?? '';
        return end(200, {}, JSON.stringify({ token: `for ${url.searchParams.get('scope')}` }));
      }
      if (wants.token && request.headers.authorization !== 'Bearer for repository:team/shop:pull,push')
        return end(401, {
          'www-authenticate': `Bearer realm="${url.origin}/token",service="s",scope="repository:team/shop:pull,push"`,
        });
      const [, kind = '', name = ''] = /^\/v2\/team\/shop\/(blobs|manifests)\/(.*)$/.exec(url.pathname) ?? [];
      if (kind === 'blobs' && request.method === 'POST')
        return end(202, { location: '/v2/team/shop/blobs/uploads/1?state=x' });
      if (kind === 'blobs' && request.method === 'PUT') {
        blobs.set(url.searchParams.get('digest') ?? '', body);
        return end(201);
      }
      if (kind === 'manifests' && request.method === 'PUT') {
        manifests.set(name, body);
        manifests.set(`sha256:${createHash('sha256').update(body).digest('hex')}`, body);
        return end(201);
      }
      const found = (kind === 'blobs' ? blobs : manifests).get(name);
      return found ? end(200, {}, found) : end(404);
    });
  });
  return { server, blobs, manifests, wants };
}

const GADGET = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`;
const SHOP = `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: shop}
spec:
  schema: {apiVersion: v1alpha1, kind: Shop, spec: {size: integer | default=1}}
  resources:
    - id: gadget
      template: {apiVersion: example.org/v1, kind: Gadget, metadata: {name: "\${schema.metadata.name}"}, spec: {size: "\${schema.spec.size}"}}
`;

const { clock } = systemRuntime();
let directory = '';
let host = '';
let out = '';
let kept: ReturnType<typeof registry>;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'atoll-registry-'));
  kept = registry();
  await new Promise<void>((resolve) => kept.server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(kept.server.address() as AddressInfo).port}`;
  out = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
});
afterEach(async () => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true, force: true });
  await new Promise((resolve) => kept.server.close(resolve));
});

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe('a registry', () => {
  it('[R104] brings definitions to where all commands work on them without a cluster, given schemas', async () => {
    const reference = `oci://${host}/team/shop:v1`;
    const schemas = [file('gadget.yaml', GADGET)];
    const source = file('shop.yaml', SHOP);
    await expect(pushGraphs(reference, { filename: [source], plainHttp: true })).rejects.toThrow(
      'is not right',
    );
    expect(await pushGraphs(reference, { filename: [source], schemas, plainHttp: true })).toBe(0);
    const digest = out.trim();
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const pulled = join(directory, 'pulled.yaml');
    expect(await pullGraphs(`oci://${host}/team/shop@${digest}`, { output: pulled, plainHttp: true })).toBe(
      0,
    );
    expect(readFileSync(pulled, 'utf8')).toBe(SHOP);
    await expect(pullGraphs(reference, { output: pulled, plainHttp: true })).rejects.toThrow('--force');
    const options = { filename: [pulled], schemas };
    const instance = file(
      'one.yaml',
      'apiVersion: kro.run/v1alpha1\nkind: Shop\nmetadata: {name: one}\nspec: {size: 3}\n',
    );
    const other = file('other.yaml', SHOP.replace('name: "${', 'name: "x-${'));
    out = '';
    expect(validateGraphs(options)).toBe(0);
    expect(renderGraph({ ...options, instance, namespace: 'default' })).toBe(0);
    expect(lintGraphs(options)).toBe(0);
    expect(formatGraphs({ filename: [pulled], check: true })).toBe(0);
    expect(diffGraphs({ ...options, from: [other] })).toBe(1);
    expect(previewGraphs({ ...options, from: [other], instance: [instance], namespace: 'default' })).toBe(1);
    expect(out).toContain('kind: Gadget');
    expect(out).toContain('- Shop one: Gadget default/x-one\n+ Shop one: Gadget default/one\n');
  });

  it('gets a token with stored credentials, where one is wanted', async () => {
    kept.wants.token = true;
    const auth = Buffer.from('me:secret').toString('base64');
    const config = file('config.json', JSON.stringify({ auths: { [host]: { auth } } }));
    const registryOf = openRegistry({ clock, plainHttp: true, config });
    const reference = parseReference(`oci://${host}/team/shop:v1`);
    await registryOf.push(reference, SHOP);
    expect(kept.wants.basic).toBe(`Basic ${auth}`);
    expect((await registryOf.pull(reference)).text).toBe(SHOP);
  });

  it('that gives other bytes, or none, is not believed', async () => {
    const client = openRegistry({ clock, plainHttp: true });
    const reference = parseReference(`oci://${host}/team/shop:v1`);
    await expect(client.pull(reference)).rejects.toThrow('(404): there is none');
    const digest = await client.push(reference, SHOP);
    for (const [key, bytes] of kept.blobs) if (bytes.length > 2) kept.blobs.set(key, Buffer.from('other'));
    await expect(client.pull(reference)).rejects.toThrow('gave other bytes');
    kept.manifests.set(digest, Buffer.from('{}'));
    await expect(client.pull({ ...reference, name: digest })).rejects.toThrow(
      'gave a manifest of the digest',
    );
    kept.manifests.set('v1', Buffer.from('{"layers": []}'));
    await expect(client.pull(reference)).rejects.toThrow('holds no definitions of graphs');
  });

  it('is named by a reference', () => {
    expect(parseReference('oci://r.example/a/b')).toEqual({
      host: 'r.example',
      repository: 'a/b',
      name: 'latest',
    });
    expect(parseReference('oci://r:5000/a:v1.2')).toEqual({ host: 'r:5000', repository: 'a', name: 'v1.2' });
    for (const bad of ['r.example/a', 'oci://r.example', 'oci://r/A', 'oci://u@r/a', 'oci://r/a:'])
      expect(() => parseReference(bad), bad).toThrow('found no reference');
  });
});
