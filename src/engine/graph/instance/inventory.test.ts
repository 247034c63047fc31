// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.ts';
import { compiled } from '../graph.fixture.ts';
import {
  ANNOTATIONS,
  covers,
  inventoryMarks,
  LABELS,
  pruneWaves,
  readInventory,
  stepDeletion,
  stepInstance,
} from './index.ts';
import { cluster, instance, owner } from './instance.fixture.ts';

describe('inventory', () => {
  const graph = compiled(
    'resources: [{id: a, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: other}}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}]',
  );

  it('covers what was and what will be, and shrinks only afterwards', () => {
    const one = instance({});
    const before = { groupKinds: ['Secret'], namespaces: ['old'] };
    const marks = inventoryMarks(one, before, '0');
    const marked = { ...one, metadata: { ...one.metadata, ...marks } };
    const step = stepInstance(graph, marked, cluster().observed, { owner });
    expect(step.inventory).toEqual({
      groupKinds: ['ConfigMap', 'Deployment.apps', 'Secret'],
      namespaces: ['old', 'other'],
    });
    expect(step.shrunkInventory).toEqual({
      groupKinds: ['ConfigMap', 'Deployment.apps'],
      namespaces: ['other'],
    });
    expect([covers(step.inventory, before), covers(before, step.inventory)]).toEqual([true, false]);
  });

  it('is believed only as it was written', () => {
    const one = instance({});
    const { labels, annotations } = inventoryMarks(one, { groupKinds: ['ConfigMap'], namespaces: [] }, '0');
    const read = (change: object): unknown =>
      readInventory({
        ...one,
        metadata: { ...one.metadata, labels, annotations: { ...annotations, ...change } },
      });
    expect(read({})).toEqual({ kind: 'Read', inventory: { groupKinds: ['ConfigMap'], namespaces: [] } });
    expect(read({ [ANNOTATIONS.groupKinds]: 'Secret' })).toEqual({
      kind: 'Invalid',
      problem:
        'the annotation internal.kro.run/applyset-inventory-hash does not match; the inventory was changed by hand',
    });
    expect(readInventory(one)).toEqual({ kind: 'None' });
    expect(annotations[ANNOTATIONS.inventoryHash]).toBe(
      `sha256:${createHash('sha256').update(`${labels[LABELS.setId]}\0ConfigMap\0`).digest('base64url')}`,
    );
    // Early versions of kro wrote no hash.
    const early = { groupKinds: ['ConfigMap'], namespaces: [] };
    expect(read({ [ANNOTATIONS.inventoryHash]: undefined })).toEqual({
      kind: 'Read',
      inventory: early,
      unsigned: true,
    });
    expect(read({ [ANNOTATIONS.inventoryHash]: undefined, [ANNOTATIONS.namespaces]: undefined })).toEqual({
      kind: 'Invalid',
      problem: 'the annotation internal.kro.run/applyset-inventory-hash is missing',
    });
    const copied = { ...one, metadata: { ...one.metadata, name: 'copy', labels, annotations } };
    expect(readInventory(copied)).toMatchObject({ kind: 'Invalid' });
  });
});

describe('deletion', () => {
  const member = (name: string, wave: string | undefined, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      labels: { [LABELS.nodeId]: name },
      ...(wave && { annotations: { [ANNOTATIONS.applyOrder]: wave } }),
      ...more,
    },
  });

  it('goes wave by wave from the highest, without a graph; what says no wave goes last', () => {
    const all = [member('a', '1'), member('b', '2'), member('c', '10'), member('d', undefined)];
    const order: string[][] = [];
    let left = all;
    while (left.length > 0) {
      const step = stepDeletion(left);
      order.push(step.delete.map(({ ref }) => ref.name));
      left = left.filter((object) => !step.delete.some(({ uid }) => uid === object.metadata.uid));
    }
    expect(order).toEqual([['c'], ['b'], ['a'], ['d']]);
    expect(stepDeletion([]).done).toBe(true);
  });

  it('waits until the objects of a wave are gone', () => {
    const going = member('b', '2', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(stepDeletion([member('a', '1'), going])).toMatchObject({
      delete: [],
      waiting: [{ name: 'b' }],
      done: false,
    });
  });

  it('of what is desired no longer waits until all is known', () => {
    const graph = compiled(
      'schema: {spec: {flag: boolean}}\nresources: [{id: a, includeWhen: ["${schema.spec.flag}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${a.metadata.name}b"}}}, {id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]',
    );
    const world = cluster();
    for (let round = 0; round < 3; round++)
      world.apply(stepInstance(graph, instance({ flag: true }), world.observed, { owner }));
    const stranger = member('gone', '7');
    const step = stepInstance(graph, instance({ flag: false }), world.observed, { owner });
    expect(
      pruneWaves(graph, step, [...world.all(), stranger]).map((wave) =>
        wave.map(({ ref, uid }) => [ref.name, uid]),
      ),
    ).toEqual([[['gone', 'uid-gone']], [['ab', 'uid-of-ab']], [['a', 'uid-of-a']]]);
    const waiting = stepInstance(
      graph,
      instance({ flag: true }),
      { ...world.observed, object: () => null },
      { owner },
    );
    expect(pruneWaves(graph, waiting, [stranger])).toEqual([]);
  });
});
