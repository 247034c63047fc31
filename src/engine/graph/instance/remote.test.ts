import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.ts';
import { type RemoteMarks, remoteObject, seenRemote } from './remote.ts';
import { LABELS } from './words.ts';

const marks: RemoteMarks = {
  setId: 'applyset-x-v1',
  nodeId: 'webServer',
  labels: { [LABELS.partOf]: 'applyset-x-v1', [LABELS.nodeId]: 'webServer' },
  annotations: { 'internal.kro.run/apply-order': '2' },
};

function written(cluster: string, name = 'one', more: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', annotations: { 'atoll.dev/target-cluster': cluster, ...more } },
  };
}

function made(object: KubeObject): KubeObject {
  const result = remoteObject(object, marks, () => undefined);
  if (!('object' in result)) throw new Error(JSON.stringify(result.reason));
  return result.object;
}

describe('an object on another cluster', () => {
  it('is wrapped with the marks of its instance, of which it gets none that makes it a member elsewhere', () => {
    const remote = made(written(' a ', 'one', { note: 'x' }));
    expect(remote.metadata.labels).toEqual(marks.labels);
    expect(remote.metadata.namespace).toBeUndefined();
    expect(remote['spec']).toEqual({
      cluster: 'a',
      object: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: 'one',
          namespace: 'default',
          labels: { [LABELS.nodeId]: 'webServer' },
          annotations: { note: 'x' },
        },
      },
    });
  });

  it('has a name of its own on each cluster, the same every time', () => {
    const names = [written('a'), written('b'), written('a', 'two'), written('a')].map(
      (object) => made(object).metadata.name ?? '',
    );
    expect(new Set(names).size).toBe(3);
    expect(names[3]).toBe(names[0]);
    expect(names[0]).toMatch(/^webserver-[0-9a-f]{16}$/);
  });

  it('is none without a cluster', () => {
    const result = remoteObject(written(''), marks, () => undefined);
    expect(result).toMatchObject({ reason: { kind: 'Failed', path: 'target.cluster.name' } });
  });

  it('is seen with its status once its cluster has this generation of it, and as it was sent when looking ahead', () => {
    const remote = {
      ...made(written('a')),
      status: { observedGeneration: 1, state: 'Applied', status: { up: true } },
    };
    remote.metadata.generation = 1;
    expect(seenRemote(remote, false)).toMatchObject({ object: { kind: 'ConfigMap', status: { up: true } } });
    remote.metadata.generation = 2;
    expect(seenRemote(remote, false)).toMatchObject({
      failed: false,
      reason: { kind: 'Remote', cluster: 'a', message: 'it was not told to its cluster yet' },
    });
    expect(seenRemote(remote, true)).toHaveProperty('object');
  });

  it('is believed no longer where its cluster is out of sight, and has failed where the cluster says so', () => {
    const remote = made(written('a'));
    remote.metadata.generation = 1;
    const at = (state: string): KubeObject => ({
      ...remote,
      status: { observedGeneration: 1, state, message: 'why', status: { up: true } },
    });
    expect(seenRemote(at('Stale'), false)).toMatchObject({ failed: false, reason: { message: 'why' } });
    expect(seenRemote(at('Failed'), false)).toMatchObject({ failed: true, reason: { message: 'why' } });
  });
});
