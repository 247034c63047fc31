import { describe, expect, it } from 'vitest';
import type { Handler, Request } from '../kube/exchange.ts';
import { hubDoor, hubDoorUpgrade } from './hub-door.ts';

/** A door to an API that holds some contracts, and what came through it. */
function open(contracts: readonly object[]): { door: Handler; upgrade: Handler; passed: string[] } {
  const passed: string[] = [];
  const api: Handler = async ({ path }) => {
    if (!path.startsWith('/apis/atoll.dev/')) passed.push(path);
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ items: contracts })) };
  };
  const upgrade = hubDoorUpgrade(() => api);
  return {
    door: hubDoor(() => api),
    upgrade: async (request) => (await upgrade(request)) as Awaited<ReturnType<Handler>>,
    passed,
  };
}

const contract = (spec: object): object => ({ metadata: { name: 'owner' }, spec });
const WEB = contract({ services: [{ namespace: 'shop', names: ['web:http'] }] });
const ask = (path: string): Request => ({
  method: 'GET',
  path,
  headers: { 'impersonate-user': 'hub:alice', 'impersonate-group': 'atoll:hub-users' },
});
const PROXY = '/api/v1/namespaces/shop/services/secret/proxy/';

describe('the door of a spoke', () => {
  const WAYS = [
    PROXY,
    PROXY.replace('/services/', '/%73ervices/'),
    PROXY.replace('/proxy/', '/%70roxy/x'),
    PROXY.replaceAll('/services/', '//services//'),
    `/clusters/root${PROXY}`,
    `/clusters/%72oot${PROXY}`,
    `/clusters/root${PROXY.replace('/services/', '/s%65rvices/')}`,
    `${PROXY}?path=/services/`,
    '/api/v1/namespaces/shop/services/web:http%2f/proxy',
  ];

  it.each(WAYS)('leads to no service that no contract names, however it is written: %s', async (path) => {
    for (const way of ['door', 'upgrade'] as const) {
      const opened = open([WEB]);
      expect([(await opened[way](ask(path))).status, opened.passed]).toEqual([403, []]);
    }
  });

  const AROUND = [
    `http://api.example${PROXY}`,
    `${PROXY.replace('secret', 'web:http')}../../secret/proxy/`,
    `${PROXY.replace('secret', 'web:http')}%2e%2E/.%2e/secret/proxy/`,
    '/api/v1/namespaces/shop/pods/../services/secret/proxy/',
    '',
  ];
  it.each(AROUND)('takes no path that others may read in another way: %j', async (path) => {
    for (const way of ['door', 'upgrade'] as const) {
      const opened = open([WEB]);
      expect([(await opened[way](ask(path))).status, opened.passed]).toEqual([400, []]);
    }
  });

  it('leads to those that a contract names, and to what is no service', async () => {
    const named = PROXY.replace('secret', 'web:http');
    const others = ['/api/v1/namespaces/shop/services/secret', '/api/v1/namespaces/shop/pods/%78?a=%zz'];
    for (const path of [named, named.replace('/services/', '/%73ervices/'), ...others]) {
      const opened = open([WEB]);
      expect([(await opened.door(ask(path))).status, opened.passed]).toEqual([200, [path]]);
    }
  });

  it('leaves what leads on to a spoke of this one to be judged there, and answers what cannot be read', async () => {
    const opened = open([]);
    expect((await opened.door(ask(`/clusters/eu-7${PROXY}`))).status).toBe(200);
    expect((await opened.door(ask(PROXY.replace('shop', '%zz')))).status).toBe(400);
    expect((await opened.upgrade(ask('/clusters/-%2f-/services/')))?.status).toBe(400);
  });
});
