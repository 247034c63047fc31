import { expect, it } from 'vitest';
import type { DesiredObject } from '../../engine/graph/index.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import { instanceMemory } from './instance-memory.ts';

const KEY = '/ConfigMap/default/one';
const REF = refOf(live(0, ''));

function live(version: number, colour: string, more: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'one', namespace: 'default', resourceVersion: String(version) },
    data: { colour, ...more },
  };
}

function desired(colour: string): DesiredObject {
  const { metadata, ...rest } = live(0, colour);
  const { resourceVersion: _version, ...named } = metadata;
  const object = { ...rest, metadata: named };
  return { node: 'one', ref: refOf(object), object, digest: colour };
}

it('believes what was written until a watch has seen it', () => {
  const memory = instanceMemory();
  expect(refKey(refOf(live(1, 'red')))).toBe(KEY);
  memory.wrote(desired('red'), live(9, 'red'), 0);
  expect(memory.seen(KEY, undefined, 100)).toMatchObject({ metadata: { resourceVersion: '9' } });
  expect(memory.seen(KEY, live(10, 'red'), 200)).toMatchObject({ metadata: { resourceVersion: '10' } });
  expect(memory.seen(KEY, undefined, 300)).toBeNull();
});

it('takes an object for gone that no watch ever tells of', () => {
  const memory = instanceMemory();
  memory.wrote(desired('red'), live(9, 'red'), 0);
  expect(memory.due(0)).toBe(10_000);
  expect(memory.seen(KEY, undefined, 10_000)).toBeNull();
  expect(memory.due(10_000)).toBeUndefined();
});

it('tells drift from what others add', () => {
  const memory = instanceMemory();
  memory.wrote(desired('red'), live(1, 'red'), 0);
  expect(memory.applied(REF, undefined, live(2, 'red', { extra: 'x' }), 0)).toBe('red');
  expect(memory.applied(REF, undefined, live(3, 'blue'), 0)).toBeUndefined();
});

it('corrects one change at once, and slows down who fights', () => {
  const memory = instanceMemory();
  memory.wrote(desired('red'), live(1, 'red'), 0);
  const drift = (version: number, now: number): string | undefined => {
    memory.seen(KEY, live(version, 'blue'), now);
    return memory.applied(REF, undefined, live(version, 'blue'), now);
  };
  expect(drift(2, 10)).toBeUndefined();
  memory.wrote(desired('red'), live(3, 'red'), 10);
  expect(drift(4, 20)).toBeUndefined();
  memory.wrote(desired('red'), live(5, 'red'), 20);
  expect(drift(6, 30)).toBe('red');
  expect(memory.due(30)).toBe(990);
  expect(drift(6, 1_020)).toBeUndefined();
});

it('keeps apart what several nodes add to one object', () => {
  const memory = instanceMemory();
  memory.wrote({ ...desired('red'), contributedBy: 'a' }, live(1, 'red', { extra: 'x' }), 0);
  memory.wrote({ ...desired('red'), digest: 'other', contributedBy: 'b' }, live(2, 'red', { extra: 'x' }), 0);
  expect(memory.applied(REF, 'a', live(2, 'red', { extra: 'x' }), 0)).toBe('red');
  expect(memory.applied(REF, 'b', live(2, 'red', { extra: 'x' }), 0)).toBe('other');
  expect(memory.applied(REF, undefined, live(2, 'red'), 0)).toBeUndefined();
  expect(memory.told(KEY, live(2, 'red', { extra: 'x' }))).toBe(true);
  expect(memory.wroteOnly(new Set([`${KEY}\na`]))).toBe(false);
  memory.forgetOthers(new Set([`${KEY}\na`]));
  expect(memory.wroteOnly(new Set([`${KEY}\na`]))).toBe(true);
});
