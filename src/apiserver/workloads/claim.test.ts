import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { claim } from './claim.ts';
import type { Mirror } from './mirror.ts';

const owner: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { namespace: 'shop', name: 'web', uid: 'u1' },
};
const orphan: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name: 'web-1', uid: 'p1', labels: { app: 'web' } },
};

async function adopted(stands: boolean): Promise<string[]> {
  const patched: string[] = [];
  const pods = {
    ownedBy: (uid: string) => (uid === '' ? [orphan] : []),
    async patch(object: KubeObject) {
      patched.push(object.metadata.name ?? '');
      return object;
    },
    caughtUp: async () => {},
  } as unknown as Mirror<KubeObject>;
  await claim(pods, { stands: async () => stands }, owner, { matchLabels: { app: 'web' } });
  return patched;
}

it('adopts what nobody manages', async () => {
  expect(await adopted(true)).toEqual(['web-1']);
});

it('adopts nothing for an owner that was deleted, and its objects orphaned, before its copy tells', async () => {
  expect(await adopted(false)).toEqual([]);
});
