import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Response } from '../../kube/exchange.ts';
import { loadCatalogue } from '../catalogue/index.ts';
import { mediaRanges } from './accept.ts';
import { createDiscovery } from './discovery.ts';
import type { DiscoveredResource } from './groups.ts';
import { compareVersions } from './priority.ts';

const DATA = new URL('../../../../shared/data/kubernetes/discovery/', import.meta.url);
const hasData = existsSync(DATA);
if (!hasData) console.warn(`SKIPPED: recorded discovery documents are not at ${DATA.pathname}`);

const AGGREGATED =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,' +
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';

function widget(version: string, changes: Partial<DiscoveredResource> = {}): DiscoveredResource {
  return {
    group: 'example.com',
    version,
    storageVersion: 'v1',
    custom: true,
    resource: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    namespaced: true,
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    shortNames: ['wd'],
    categories: [],
    subresources: [
      { name: 'status', verbs: ['get', 'patch', 'update'] },
      {
        name: 'scale',
        verbs: ['get', 'patch', 'update'],
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
      },
    ],
    ...changes,
  };
}

const builtIn = loadCatalogue().resources;
const discovery = createDiscovery([...builtIn, widget('v1beta1'), widget('v1')], '10.0.0.1:443');

function body(response: Response | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(response!.body as Uint8Array).toString('utf8'));
}
const get = (path: string, accept?: string) => body(discovery.respond(path, accept, undefined));

describe('legacy discovery', () => {
  it.skipIf(!hasData)('[V5] equals the recorded documents for every group version that is served', () => {
    const onlyBuiltIn = createDiscovery(builtIn, '10.10.10.10:8050');
    const read = (path: string) => body(onlyBuiltIn.respond(path, undefined, undefined));
    const recorded = (file: string) => JSON.parse(readFileSync(new URL(file, DATA), 'utf8'));
    const served = new Set(builtIn.map((item) => `${item.group}/${item.version}`));
    let compared = 0;
    for (const file of readdirSync(DATA)) {
      const [root, group, version] = file.replace('.json', '').split('__');
      const groupVersion = root === 'api' ? `/${group}` : `${group}/${version}`;
      if (!served.has(groupVersion)) continue;
      const path = root === 'api' ? `/api/${group}` : `/apis/${group}/${version}`;
      expect(read(path), path).toEqual(recorded(file));
      compared++;
    }
    expect(compared).toBe(served.size);
    expect(read('/api')).toEqual(recorded('api.json'));

    type Group = { name: string; versions: { groupVersion: string }[]; preferredVersion: object };
    const reduce = (group: Group): Group => ({
      ...group,
      versions: group.versions.filter((item) => served.has(item.groupVersion)),
    });
    const groups = (recorded('apis.json').groups as Group[]).map(reduce);
    expect(read('/apis')).toEqual({
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groups.filter((group) => group.versions.length > 0),
    });
    expect(read('/apis/autoscaling')).toEqual(recorded('apis__autoscaling.json'));
  });

  it('[V5] lists custom resources behind the built-in ones, the best version first', () => {
    const { groups } = get('/apis') as { groups: { name: string; preferredVersion: unknown }[] };
    expect(groups.at(-1)).toEqual({
      name: 'example.com',
      versions: [
        { groupVersion: 'example.com/v1', version: 'v1' },
        { groupVersion: 'example.com/v1beta1', version: 'v1beta1' },
      ],
      preferredVersion: { groupVersion: 'example.com/v1', version: 'v1' },
    });
    expect(get('/apis/example.com/v1beta1')).toEqual({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'example.com/v1beta1',
      resources: [
        {
          name: 'widgets',
          singularName: 'widget',
          namespaced: true,
          kind: 'Widget',
          verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
          shortNames: ['wd'],
          // base64 of the first 8 bytes of sha256("example.com/v1/Widget")
          storageVersionHash: expect.stringMatching(/^[\w+/]{11}=$/),
        },
        {
          name: 'widgets/status',
          singularName: '',
          namespaced: true,
          kind: 'Widget',
          verbs: ['get', 'patch', 'update'],
        },
        {
          name: 'widgets/scale',
          singularName: '',
          namespaced: true,
          group: 'autoscaling',
          version: 'v1',
          kind: 'Scale',
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
  });

  it('knows nothing of other paths', () => {
    for (const path of [
      '/api/v2',
      '/apis/nope',
      '/apis/apps/v2',
      '/apis/apps/v1/deployments',
      '/version',
      '/',
    ]) {
      expect(discovery.respond(path, undefined, undefined), path).toBeUndefined();
    }
    expect(discovery.respond('/apis/', undefined, undefined)?.status).toBe(200);
  });

  it('answers in YAML or refuses by Accept', () => {
    const yaml = discovery.respond('/api', 'application/yaml', undefined);
    expect(yaml?.headers['content-type']).toBe('application/yaml');
    expect(Buffer.from(yaml!.body as Uint8Array).toString()).toBe(
      'kind: APIVersions\nserverAddressByClientCIDRs:\n- clientCIDR: 0.0.0.0/0\n' +
        '  serverAddress: 10.0.0.1:443\nversions:\n- v1\n',
    );
    expect(discovery.respond('/api', 'text/html', undefined)?.status).toBe(406);
  });
});

describe('aggregated discovery', () => {
  it.skipIf(!hasData)('[V6] equals the recorded document for every group version that is served', () => {
    const served = new Set(builtIn.map((item) => `${item.group}/${item.version}`));
    type Item = { metadata: { name: string }; versions: { version: string }[] };
    const recorded = JSON.parse(readFileSync(new URL('aggregated_v2.json', DATA), 'utf8')) as {
      items: Item[];
    };
    const items = recorded.items
      .map((item) => ({
        ...item,
        versions: item.versions.filter((version) => served.has(`${item.metadata.name}/${version.version}`)),
      }))
      .filter((item) => item.versions.length > 0);
    const onlyBuiltIn = createDiscovery(builtIn, 'x:1').respond('/apis', AGGREGATED, undefined);
    expect(body(onlyBuiltIn)).toEqual({ ...recorded, items });
  });

  it('[V6] answers in the version that is asked for and says so in Content-Type', () => {
    for (const version of ['v2', 'v2beta1']) {
      const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
      for (const path of ['/api', '/apis']) {
        const response = discovery.respond(path, type, undefined);
        expect(response?.headers).toMatchObject({
          'content-type': type,
          vary: 'Accept',
          'cache-control': 'public',
        });
        expect(body(response)).toMatchObject({
          kind: 'APIGroupDiscoveryList',
          apiVersion: `apidiscovery.k8s.io/${version}`,
        });
      }
    }
    expect(get('/apis', `${AGGREGATED.replace('v=v2;', 'v=v9;').split(',')[0]},application/json`).kind).toBe(
      'APIGroupList',
    );
    expect(get('/apis/apps', AGGREGATED).kind).toBe('APIGroup');
    expect(get('/apis', 'application/json').kind).toBe('APIGroupList');
  });

  it('[V6] has it in YAML and protobuf too, and that of groups only without a slash behind', () => {
    const view = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const yaml = discovery.respond('/api', `application/yaml;${view}`, undefined);
    expect(yaml?.headers['content-type']).toBe(`application/yaml;${view}`);
    expect(Buffer.from(yaml!.body as Uint8Array).toString()).toMatch(
      /^apiVersion: apidiscovery\.k8s\.io\/v2\nitems:/,
    );
    const type = 'application/vnd.kubernetes.protobuf';
    const bytes = discovery.respond('/apis', `${type};${view},application/json`, undefined);
    expect(bytes?.headers).toMatchObject({ 'content-type': `${type};${view}`, vary: 'Accept' });
    expect(
      Buffer.from(bytes!.body as Uint8Array)
        .subarray(0, 4)
        .toString(),
    ).toBe('k8s\0');
    expect(discovery.respond('/apis/', `application/json;${view}`, undefined)?.status).toBe(406);
  });

  it('[V6] answers 304 to the ETag that it gave', () => {
    const first = discovery.respond('/apis', AGGREGATED, undefined);
    const etag = first!.headers.etag!;
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    const again = discovery.respond('/apis', AGGREGATED, etag);
    expect(again?.status).toBe(304);
    expect(again?.body).toHaveLength(0);
    expect(discovery.respond('/apis', AGGREGATED, '"other"')?.status).toBe(200);
    const changed = createDiscovery([...builtIn, widget('v1')], 'x:1').respond('/apis', AGGREGATED, etag);
    expect(changed?.status).toBe(200);
  });
});

describe('order of versions', () => {
  it('prefers stable to beta to alpha, then higher numbers, then names', () => {
    const versions = ['foo', 'v1alpha1', 'v1', 'v1beta2', 'v2beta1', 'v10', 'bar', 'v1beta10', 'v2'];
    expect(versions.sort(compareVersions)).toEqual([
      'v10',
      'v2',
      'v1',
      'v2beta1',
      'v1beta10',
      'v1beta2',
      'v1alpha1',
      'bar',
      'foo',
    ]);
  });
});

describe('Accept', () => {
  it('is read by quality, then by order', () => {
    expect(mediaRanges('a/b;q=0.1, C/d ; x = y, e/f;q=0, g/h').map((range) => range.type)).toEqual([
      'C/d',
      'g/h',
      'a/b',
      'e/f',
    ]);
    expect(mediaRanges('')).toEqual([{ type: '*/*', parameters: {} }]);
    expect(mediaRanges('a/b;q=none, *').map((range) => range.type)).toEqual(['a/b', '*/*']);
  });
});
