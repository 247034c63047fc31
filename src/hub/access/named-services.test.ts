import { describe, expect, it } from 'vitest';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Request } from '../../kube/exchange.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Link } from '../../link/link.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import type { Grants } from './grants.ts';
import { spokeAccess } from './spoke-access.ts';

/** What a spoke that knows no door (the hub has its kubeconfig) was asked, where its owner names one service. */
async function asked(path: string): Promise<{ code: number; paths: string[] }> {
  const paths: string[] = [];
  const spec = { services: [{ namespace: 'shop', names: ['web:http'] }] };
  const link = {
    up: true,
    handler: async (request: Request) => {
      paths.push(request.path);
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ items: [{ spec }] })) };
    },
  } as unknown as Link;
  const access = spokeAccess(
    virtualRuntime(1),
    {
      cluster: () => ({ metadata: { name: 'a', namespace: 'default' } }) as SpokeCluster,
      names: () => ['a'],
      link: () => link,
    },
    { use: () => ({}), problem: undefined, nearest: () => undefined } as unknown as Grants,
  );
  const caller = { user: { name: 'alice', groups: [], uid: '', extra: {} }, may: async () => true };
  try {
    const { status } = await access.serve('a', { method: 'GET', path, headers: {} }, caller as never);
    return { code: status, paths: paths.slice(1) };
  } catch (error) {
    if (hasCode(error, 403)) return { code: 403, paths: paths.slice(1) };
    throw error;
  }
}

describe('a service of a spoke whose kubeconfig the hub has', () => {
  const other = '/api/v1/namespaces/shop/services/secret/proxy/';
  it.each([
    other,
    other.replace('services', '%73ervices'),
    `/clusters/root${other}`,
    `/clusters/r%6fot${other}`,
  ])('is not reached where no contract names it: %s', async (path) => {
    expect(await asked(path)).toEqual({ code: 403, paths: [] });
  });

  it.each([
    other.replace('secret/proxy/', 'web:http/proxy/../../secret/proxy/'),
    other.replace('secret/proxy/', 'web:http/proxy/%2e%2e/.%2E/secret/proxy/'),
    '/../v3/tokens',
    '/api/v1/./pods',
  ])('is not reached by a path that others may read in another way: %s', async (path) => {
    await expect(asked(path)).rejects.toMatchObject({ code: 400 });
  });

  it('is reached where one does, and those of spokes of the spoke are for them to say', async () => {
    const named = other.replace('secret', 'web:http');
    expect(await asked(named)).toEqual({ code: 200, paths: [named] });
    expect((await asked(`/clusters/eu-7${other}`)).code).toBe(200);
  });
});
