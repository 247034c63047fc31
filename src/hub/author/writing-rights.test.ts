import { describe, expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { type KubeObject, type ObjectRef, refKey } from '../../kube/object.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { writingRights } from './index.ts';

const RBAC = 'rbac.authorization.k8s.io/v1';
const role: ObjectRef = { apiVersion: RBAC, kind: 'Role', namespace: 'shop', name: 'r' };
const binding: ObjectRef = { apiVersion: RBAC, kind: 'RoleBinding', namespace: 'shop', name: 'b' };
const map: ObjectRef = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'm' };
const all = [role, binding, map];

/** What somebody may not change who has some verbs on some resources. */
async function refused(...rules: readonly string[]): Promise<string[]> {
  const client = {
    async resourceFor(apiVersion: string, kind: string) {
      const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
      const namespaced = !kind.startsWith('Cluster');
      return { group, version, resource: `${kind.toLowerCase()}s`, kind, namespaced };
    },
    async create(_resource: unknown, question: KubeObject) {
      const { verb, resource } = (
        question['spec'] as { resourceAttributes: { verb: string; resource: string } }
      ).resourceAttributes;
      return {
        ...question,
        status: { allowed: rules.includes(`${verb} ${resource}`) || rules.includes('*') },
      };
    },
  } as unknown as Client;
  const rights = writingRights(client, virtualRuntime(1).clock);
  const out = await rights.unwritable({ username: 'ann' }, all);
  return all.filter((ref) => out.has(refKey(ref))).map(({ kind }) => kind);
}

describe('what somebody may change by a policy', () => {
  it('are no rights that they do not hold: an API server lets nobody write such roles and bindings', async () => {
    const update = ['update roles', 'update rolebindings', 'update configmaps'];
    expect(await refused(...update)).toEqual(['Role', 'RoleBinding']);
    expect(await refused(...update, 'escalate roles')).toEqual(['RoleBinding']);
    expect(await refused(...update, 'bind clusterroles')).toEqual(['Role']);
    expect(await refused(...update, 'escalate roles', 'bind clusterroles')).toEqual([]);
    expect(await refused('escalate roles', 'bind clusterroles')).toEqual([
      'Role',
      'RoleBinding',
      'ConfigMap',
    ]);
    expect(await refused('*')).toEqual([]);
  });
});
