import { describe, expect, it } from 'vitest';
import { asObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import { inRelease } from './release-rules.ts';
import { strategyFor } from './strategy-for.ts';

function holding(spec: JsonObject): ReturnType<typeof asObject> {
  return asObject({ apiVersion: 'v1', kind: 'K', metadata: { name: 'a' }, spec });
}

function of(minor: number, group: string, resource: string): ReturnType<typeof strategyFor> {
  return inRelease(minor, group, resource, strategyFor(group, resource));
}

describe('older releases', () => {
  it('take no field that they have switched off, unless it is there', () => {
    const claim = holding({ volumeAttributesClassName: 'v' });
    of(32, '', 'persistentvolumeclaims').prepareForUpdate?.(claim, claim, { now: 0, user: '' });
    expect(claim.spec).toMatchObject({ volumeAttributesClassName: 'v' });
    of(32, '', 'persistentvolumeclaims').prepareForUpdate?.(claim, holding({}), { now: 0, user: '' });
    expect(claim.spec).toEqual({});
  });

  it('have nothing of pods that came later', () => {
    const pod = holding({
      hostUsers: false,
      containers: [{ name: 'c', image: 'i', resources: { claims: [{ name: 'x' }] } }],
    });
    of(32, '', 'pods').prepareForCreate?.(pod, { now: 0, user: '' });
    expect(pod.spec).not.toHaveProperty('hostUsers');
    expect(pod.spec).toMatchObject({ containers: [{ resources: {} }] });
    const lease = holding({ strategy: 'OldestEmulationVersion', holderIdentity: 'h' });
    of(32, 'coordination.k8s.io', 'leases').prepareForCreate?.(lease, { now: 0, user: '' });
    expect(lease.spec).toEqual({ holderIdentity: 'h' });
  });

  it('refuse what newer ones allow, in their words', () => {
    const messages = (minor: number): string[] =>
      (
        of(minor, 'apps', 'statefulsets').validateUpdate?.(
          holding({ revisionHistoryLimit: 2 }),
          holding({}),
        ) ?? []
      )
        .filter(({ path }) => path === 'spec')
        .map(({ type }) => type);
    expect(messages(32)).toEqual(['Forbidden']);
    expect(messages(33)).toEqual([]);
    const claim = (storage: string): ReturnType<typeof holding> =>
      holding({ accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } });
    const shrunk = (minor: number): string[] =>
      (of(minor, '', 'persistentvolumeclaims').validateUpdate?.(claim('1Gi'), claim('2Gi')) ?? [])
        .filter(({ path }) => path.startsWith('spec.resources'))
        .map(({ detail }) => detail);
    expect(shrunk(31)).toEqual(['field can not be less than previous value']);
    expect(shrunk(32)).toEqual([]);
    const restarting = holding({ containers: [{ name: 'c', image: 'i', restartPolicy: 'Always' }] });
    const paths = (minor: number): string[] =>
      (of(minor, '', 'pods').validate?.(restarting) ?? []).map(({ path }) => path);
    expect(paths(34)).toContain('spec.containers[0].restartPolicy');
    expect(paths(35)).not.toContain('spec.containers[0].restartPolicy');
  });
});
