import { describe, expect, it } from 'vitest';
import { parseRequestInfo } from './request-info.ts';

/** method, path → verb, group, version, namespace, resource, subresource, name */
const RESOURCES: readonly (readonly [string, string, readonly string[]])[] = [
  ['GET', '/api/v1/pods', ['list', '', 'v1', '', 'pods', '', '']],
  ['HEAD', '/api/v1/namespaces/shop/pods/a', ['get', '', 'v1', 'shop', 'pods', '', 'a']],
  ['GET', '/api/v1/namespaces', ['list', '', 'v1', '', 'namespaces', '', '']],
  ['GET', '/api/v1/namespaces/shop', ['get', '', 'v1', 'shop', 'namespaces', '', 'shop']],
  ['PUT', '/api/v1/namespaces/shop/finalize', ['update', '', 'v1', 'shop', 'namespaces', 'finalize', 'shop']],
  ['PATCH', '/api/v1/namespaces/shop/status', ['patch', '', 'v1', 'shop', 'namespaces', 'status', 'shop']],
  ['POST', '/api/v1/namespaces/shop/pods', ['create', '', 'v1', 'shop', 'pods', '', '']],
  ['POST', '/api/v1/namespaces/shop/pods/a/eviction', ['create', '', 'v1', 'shop', 'pods', 'eviction', 'a']],
  ['DELETE', '/api/v1/namespaces/shop/pods', ['deletecollection', '', 'v1', 'shop', 'pods', '', '']],
  [
    'DELETE',
    '/apis/apps/v1/namespaces/shop/deployments/a',
    ['delete', 'apps', 'v1', 'shop', 'deployments', '', 'a'],
  ],
  ['GET', '/apis/apps/v1/deployments?watch=true', ['watch', 'apps', 'v1', '', 'deployments', '', '']],
  ['GET', '/apis/apps/v1/deployments?watch=1', ['watch', 'apps', 'v1', '', 'deployments', '', '']],
  ['GET', '/apis/apps/v1/deployments?watch=false', ['list', 'apps', 'v1', '', 'deployments', '', '']],
  ['GET', '/apis/apps/v1/deployments?watch=0', ['list', 'apps', 'v1', '', 'deployments', '', '']],
  ['GET', '/api/v1/watch/pods', ['watch', '', 'v1', '', 'pods', '', '']],
  ['GET', '/api/v1/watch/namespaces/shop/pods/a', ['watch', '', 'v1', 'shop', 'pods', '', 'a']],
  ['GET', '/api/v1/proxy/namespaces/shop/pods/a/x', ['proxy', '', 'v1', 'shop', 'pods', '', 'a']],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Da', ['list', '', 'v1', '', 'pods', '', 'a']],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3D%3Da,x%3Dy', ['list', '', 'v1', '', 'pods', '', 'a']],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name!%3Da', ['list', '', 'v1', '', 'pods', '', '']],
  [
    'DELETE',
    '/api/v1/pods?fieldSelector=metadata.name%3Da',
    ['deletecollection', '', 'v1', '', 'pods', '', ''],
  ],
  ['GET', '/api/v1/nodes/n%2Fx', ['get', '', 'v1', '', 'nodes', 'x', 'n']],
  ['GET', '/api/v1/namespaces//pods', ['list', '', 'v1', '', 'pods', '', '']],
  // Where nothing is between two slashes, what comes after keeps its place.
  ['GET', '/api/v1/nodes/n/proxy/a//b', ['get', '', 'v1', '', 'nodes', 'proxy', 'n']],
  [
    'POST',
    '/api/v1/namespaces/a/serviceaccounts/s/token//',
    ['create', '', 'v1', 'a', 'serviceaccounts', 'token', 's'],
  ],
  ['GET', '/apis/example.com/v1//widgets', ['get', 'example.com', 'v1', '', '', '', 'widgets']],
  ['GET', '/api/v1/', ['', '', '', '', '', '', '']],
];

describe('request info', () => {
  it.each(RESOURCES.slice(0, -1))('[V1] reads %s %s', (method, path, expected) => {
    const info = parseRequestInfo(method, path);
    const { verb, group, version, namespace, resource, subresource, name } = info;
    expect([verb, group, version, namespace, resource, subresource, name]).toEqual(expected);
    expect(info.isResourceRequest).toBe(true);
  });

  it.each([
    '/',
    '/api',
    '/apis',
    '/api/v1',
    '/api/v1/',
    '/apis/apps',
    '/apis/apps/v1',
    '/version',
    '/openapi/v3',
    '/livez',
  ])('[V1] knows that %s is no resource', (path) => {
    expect(parseRequestInfo('GET', path)).toMatchObject({
      isResourceRequest: false,
      verb: 'get',
      cluster: 'root',
    });
  });

  it('[V76] reads the logical cluster from the prefix', () => {
    expect(parseRequestInfo('GET', '/clusters/one/api/v1/pods?x=1')).toMatchObject({
      cluster: 'one',
      resource: 'pods',
      path: '/api/v1/pods',
    });
    expect(parseRequestInfo('GET', '/clusters/root:org:team/version')).toMatchObject({
      cluster: 'root:org:team',
      path: '/version',
    });
    expect(parseRequestInfo('GET', '/clusters/one')).toMatchObject({ cluster: 'one', path: '/' });
    for (const name of ['..', 'A', 'x_y', '%2e%2e', '-a', 'a%2Fb'])
      expect(() => parseRequestInfo('GET', `/clusters/${name}/api`)).toThrow('invalid logical cluster name');
    expect(() => parseRequestInfo('GET', '/api/v1/pods/%zz')).toThrow('invalid URL escape');
  });
});
