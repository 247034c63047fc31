import { describe, expect, it } from 'vitest';
import type { ObjectQuery } from '../../engine/graph/index.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import { createInterests } from './interest.ts';

const map = (name: string, namespace: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
});
const query = (namespace: string, matchLabels: Record<string, string>): ObjectQuery => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace,
  selector: { matchLabels },
});
const keyOf = (object: KubeObject): string => refKey(refOf(object));

describe('[R95] a change concerns', () => {
  it('those who look at the object by its name, and nobody else', () => {
    const interests = createInterests();
    interests.addRef('one', keyOf(map('a', 'x')));
    interests.addRef('two', keyOf(map('a', 'y')));
    interests.addRef('three', keyOf(map('a', 'x')));
    expect([...interests.of({ type: 'added', object: map('a', 'x') })].sort()).toEqual(['one', 'three']);
    expect([...interests.of({ type: 'deleted', object: map('a', 'y') })]).toEqual(['two']);
    expect([...interests.of({ type: 'added', object: map('b', 'x') })]).toEqual([]);
    const secret = { ...map('a', 'x'), kind: 'Secret' };
    expect([...interests.of({ type: 'added', object: secret })]).toEqual([]);
  });

  it('those whose selector it matches, in one namespace or in all', () => {
    const interests = createInterests();
    interests.addQuery('here', query('x', { app: 'web' }));
    interests.addQuery('everywhere', query('', { app: 'web' }));
    interests.addQuery('all', query('', {}));
    const concerned = (object: KubeObject): string[] => [...interests.of({ type: 'added', object })].sort();
    expect(concerned(map('a', 'x', { app: 'web' }))).toEqual(['all', 'everywhere', 'here']);
    expect(concerned(map('a', 'y', { app: 'web' }))).toEqual(['all', 'everywhere']);
    expect(concerned(map('a', 'x', { app: 'db' }))).toEqual(['all']);
  });

  it('those whose selector it matched before: a label that is lost is a change as well', () => {
    const interests = createInterests();
    interests.addQuery('web', query('', { app: 'web' }));
    interests.addQuery('db', query('', { app: 'db' }));
    const change = {
      type: 'updated' as const,
      object: map('a', 'x', { app: 'db' }),
      previous: map('a', 'x', { app: 'web' }),
    };
    expect([...interests.of(change)].sort()).toEqual(['db', 'web']);
    const other = { ...change, object: map('a', 'x'), previous: map('a', 'x') };
    expect([...interests.of(other)]).toEqual([]);
  });

  it('only what a pass looked at, once it is done; until then also what the one before looked at', () => {
    const interests = createInterests();
    const [old, young] = [map('old', 'x'), map('young', 'x')];
    interests.addRef('one', keyOf(old));
    interests.addQuery('one', query('x', { app: 'web' }));
    interests.addRef('one', keyOf(young));
    const concerned = (object: KubeObject): number => interests.of({ type: 'added', object }).size;
    expect([old, young].map(concerned)).toEqual([1, 1]);
    interests.set('one', { refs: new Set([keyOf(young)]), queries: [] });
    expect([old, young, map('c', 'x', { app: 'web' })].map(concerned)).toEqual([0, 1, 0]);
    interests.set('one', undefined);
    expect([old, young].map(concerned)).toEqual([0, 0]);
  });
});
