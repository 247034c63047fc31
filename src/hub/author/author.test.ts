import { describe, expect, it } from 'vitest';
import type { Author, Intent } from '../../engine/intent.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import { failure } from '../../kube/status-error.ts';
import { virtualRuntime } from '../../runtime/runtime.ts';
import { installPolicies, type PoliciesInForce } from '../policies/index.ts';
import { type Authorized, authorize, type ReadingRights, readingRights } from './index.ts';

const ann: Author = { username: 'ann', groups: ['team'] };
const stamped: PoliciesInForce = { authors: 'stamped' };

function object(kind: string, name: string): KubeObject {
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'shop' } };
}

function intent(author: Author | undefined, ...objects: KubeObject[]): Intent {
  const source = {
    apiVersion: 'v',
    kind: 'Propagation',
    namespace: 'shop',
    name: 'p',
    uid: 'u',
    generation: 1,
  };
  const rest = { source, objects, placement: {}, overrides: [], suspend: false, deletionBudget: '50%' };
  return author ? { ...rest, author } : rest;
}

/** A client that answers reviews by `allowed`, and counts them. */
function reviewer(allowed: (asked: { resource: string; namespace: string; name?: string }) => boolean): {
  client: Client;
  asked: string[];
} {
  const asked: string[] = [];
  const client = {
    resourceFor: async (apiVersion: string, kind: string): Promise<ResourceId> => ({
      group: '',
      version: apiVersion,
      kind,
      resource: `${kind.toLowerCase()}s`,
      namespaced: true,
    }),
    create: async (_resource: ResourceId, review: KubeObject) => {
      const { user, resourceAttributes } = review['spec'] as {
        user: string;
        resourceAttributes: { resource: string; namespace: string; name?: string };
      };
      const { resource, namespace, name = '*' } = resourceAttributes;
      asked.push(`${user} ${resource} ${namespace}/${name}`);
      return { ...review, status: { allowed: allowed(resourceAttributes) } };
    },
  } as unknown as Client;
  return { client, asked };
}

const text = (result: Authorized): string =>
  `${result.intent?.objects.map(({ metadata }) => metadata.name).join() ?? 'held'} ${result.problem?.reason ?? ''}`;

describe('what an author may read at the hub', () => {
  it('is asked for a kind in a namespace at once, by name where that is refused, and remembered', async () => {
    const { clock } = virtualRuntime(1);
    const { client, asked } = reviewer(({ resource, name }) => resource === 'configmaps' || name === 'mine');
    const rights = readingRights(client, clock);
    const objects = [
      object('ConfigMap', 'a'),
      object('ConfigMap', 'b'),
      object('Secret', 'mine'),
      object('Secret', 'x'),
    ];
    const refs = objects.map(refOf);
    expect([...(await rights.unreadable(ann, refs))]).toEqual([refKey(refOf(object('Secret', 'x')))]);
    expect(asked).toEqual([
      'ann configmaps shop/*',
      'ann secrets shop/*',
      'ann secrets shop/mine',
      'ann secrets shop/x',
    ]);
    await rights.unreadable(ann, refs);
    expect(asked).toHaveLength(4);
    await rights.unreadable({ username: 'bob' }, refs.slice(0, 1));
    expect(asked.at(-1)).toBe('bob configmaps shop/*');
  });

  it('is not asked without end', async () => {
    const { clock } = virtualRuntime(1);
    const { client, asked } = reviewer(() => false);
    const refs = Array.from({ length: 2_000 }, (_, i) => refOf(object('Secret', `s${i}`)));
    expect((await readingRights(client, clock).unreadable(ann, refs)).size).toBe(2_000);
    expect(asked.length).toBeLessThanOrEqual(501);
  });
});

describe('an intent', () => {
  const only = (...readable: string[]): ReadingRights => ({
    unreadable: async (_author, refs) =>
      new Set(refs.filter(({ name }) => !readable.includes(name)).map(refKey)),
  });
  const never = (): boolean => false;

  it('brings along what its author may read, and leaves out the rest', async () => {
    const wish = intent(ann, object('ConfigMap', 'a'), object('Secret', 'key'));
    expect(text(await authorize(wish, stamped, only('a', 'key'), never))).toBe('a,key ');
    expect(text(await authorize(wish, stamped, only('a'), never))).toBe('a AuthorNotAllowed');
  });

  it('is held where something was sent before that its author may not read any more', async () => {
    const wish = intent(ann, object('ConfigMap', 'a'), object('Secret', 'key'));
    const result = await authorize(wish, stamped, only('a'), ({ name }) => name === 'key');
    expect(text(result)).toBe('held AuthorNotAllowed');
    expect(result.problem?.message).toContain('Nothing is changed on the spokes meanwhile');
  });

  it('without a known author is held', async () => {
    expect(
      text(await authorize(intent(undefined, object('ConfigMap', 'a')), stamped, only('a'), never)),
    ).toBe('held AuthorUnknown');
    const unguarded: PoliciesInForce = { authors: 'unknown', problem: 'nobody checks' };
    expect(text(await authorize(intent(ann, object('ConfigMap', 'a')), unguarded, only('a'), never))).toBe(
      'held AuthorUnknown',
    );
  });

  it('is held while the hub cannot ask', async () => {
    const rights: ReadingRights = {
      unreadable: () => Promise.reject(failure(403, 'Forbidden', 'subjectaccessreviews is forbidden')),
    };
    const result = await authorize(intent(ann, object('ConfigMap', 'a')), stamped, rights, never);
    expect(text(result)).toBe('held AuthorNotChecked');
  });
});

describe('the policies of a hub', () => {
  /** A server that serves these kinds of policies, in these versions. */
  function server(served: readonly string[], forbidden = false): { client: Client; applied: string[] } {
    const applied: string[] = [];
    const client = {
      resourceFor: async (apiVersion: string, kind: string) => {
        if (!served.includes(`${apiVersion.split('/')[1]} ${kind.replace(/Binding$/, '')}`))
          throw failure(404, 'NoKindMatch', `no ${kind} in ${apiVersion}`);
        return {};
      },
      get: async () => {
        throw failure(404, 'NotFound', 'there are no policies yet');
      },
      apply: async (_resource: unknown, written: KubeObject) => {
        if (forbidden) throw failure(403, 'Forbidden', 'you may not');
        applied.push(`${written.kind} ${written.metadata.name}`);
        return written;
      },
    } as unknown as Client;
    return { client, applied };
  }
  const { log } = virtualRuntime(1);
  const checks = 'v1 ValidatingAdmissionPolicy';

  it('write authors down where they can, and have them checked where they cannot', async () => {
    for (const version of ['v1', 'v1beta1']) {
      const { client, applied } = server([checks, `${version} MutatingAdmissionPolicy`]);
      expect((await installPolicies(client, log)).authors).toBe('stamped');
      expect(applied).toContain('MutatingAdmissionPolicy atoll.dev-author');
      expect(applied.every((name) => name.includes(' atoll.dev-'))).toBe(true);
    }
    expect((await installPolicies(server([checks]).client, log)).authors).toBe('checked');
  });

  it('that are not there, or not allowed, let no author be believed', async () => {
    expect((await installPolicies(server([]).client, log)).authors).toBe('unknown');
    expect((await installPolicies(server([checks], true).client, log)).authors).toBe('unknown');
  });
});
