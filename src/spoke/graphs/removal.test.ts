import { describe, expect, it } from 'vitest';
import { ANNOTATIONS, EMPTY_INVENTORY, FINALIZER, inventoryMarks } from '../../engine/graph/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Members } from './members.ts';
import { removable, removeAll } from './removal.ts';

const instance: KubeObject = { apiVersion: 'kro.run/v1alpha1', kind: 'Shop', metadata: { name: 'one' } };

function member(name: string, wave: number, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      uid: `uid-${name}`,
      annotations: { [ANNOTATIONS.applyOrder]: String(wave) },
      ...metadata,
    },
  };
}

/** A cluster in which objects are gone when they are deleted, but for those that others hold. */
function cluster(
  objects: KubeObject[],
  held: readonly string[] = [],
): { members: Members; deleted: string[] } {
  let present = objects;
  const deleted: string[] = [];
  return {
    deleted,
    members: {
      list: async () => present,
      contributed: async () => [],
      async remove({ ref, uid }) {
        const live = present.find(({ metadata }) => metadata.name === ref.name);
        if (live?.metadata.uid !== uid) return live === undefined;
        deleted.push(ref.name);
        present = held.includes(ref.name)
          ? present.map((item) =>
              item === live ? { ...item, metadata: { ...item.metadata, deletionTimestamp: 'now' } } : item,
            )
          : present.filter((item) => item !== live);
        return true;
      },
    },
  };
}

describe('removal of an instance', () => {
  it('goes from the last wave to the first', async () => {
    const { members, deleted } = cluster([member('a', 1), member('b', 2), member('c', 3)]);
    expect(await removeAll(members, instance, EMPTY_INVENTORY)).toEqual({ kind: 'Done' });
    expect(deleted).toEqual(['c', 'b', 'a']);
  });

  it('waits for what others hold before it goes on', async () => {
    const { members, deleted } = cluster([member('a', 1), member('b', 2)], ['b']);
    const removal = await removeAll(members, instance, EMPTY_INVENTORY);
    expect(removal).toMatchObject({ kind: 'Waiting', refs: [{ name: 'b' }] });
    expect(deleted).toEqual(['b']);
  });

  it('leaves an object alone that somebody made anew meanwhile', async () => {
    const seen = member('a', 1);
    const { members, deleted } = cluster([member('a', 1, { uid: 'another' })]);
    const stale: Members = { ...members, list: async () => [seen] };
    expect(await removeAll(stale, instance, EMPTY_INVENTORY)).toEqual({ kind: 'Again' });
    expect(deleted).toEqual([]);
  });

  it('is blocked where the inventory cannot be believed', () => {
    const held = { ...instance, metadata: { ...instance.metadata, finalizers: [FINALIZER] } };
    expect(removable(instance)).toBeUndefined();
    expect(removable(held)).toMatchObject({ blocked: expect.stringContaining('deletion blocked') });
    const marked = {
      ...held,
      metadata: { ...held.metadata, ...inventoryMarks(instance, EMPTY_INVENTORY, '1') },
    };
    expect(removable(marked)).toEqual({ inventory: EMPTY_INVENTORY });
  });
});
