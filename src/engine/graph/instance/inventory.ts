import { createHash } from 'node:crypto';
import { type KubeObject, type ObjectRef, parseApiVersion, refKey } from '../../../kube/object.ts';
import { stringAt } from '../../../schema/json.ts';
import { applySetId } from './owner.ts';
import { ANNOTATIONS, LABELS } from './words.ts';

/** Where the objects of an instance may be: enough to find them all by label. Sorted. */
export interface Inventory {
  /** `Deployment.apps`, `ConfigMap`. */
  readonly groupKinds: readonly string[];
  /** Besides the instance's own. */
  readonly namespaces: readonly string[];
  /** Objects of others that the instance adds fields to. Absent where there are none. */
  readonly contributions?: readonly Contribution[];
}

export interface Contribution {
  readonly ref: ObjectRef;
  /** Of the node, so that it is taken back in its turn. */
  readonly wave: number;
  /** The node, where it has a field manager of its own. */
  readonly node?: string;
  readonly subresource?: 'status';
}

/** Tells apart what several nodes add to one object. */
export function contributionKey({ ref, node }: Pick<Contribution, 'ref' | 'node'>): string {
  return node === undefined ? refKey(ref) : `${refKey(ref)}\n${node}`;
}

export const EMPTY_INVENTORY: Inventory = { groupKinds: [], namespaces: [] };

export function groupKindOf({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  const { group } = parseApiVersion(apiVersion);
  return group === '' ? kind : `${kind}.${group}`;
}

/** The inventory of some objects of an instance. */
export function inventoryOf(
  refs: Iterable<ObjectRef>,
  instance: KubeObject,
  contributions: readonly Contribution[] = [],
): Inventory {
  const groupKinds = new Set<string>();
  const namespaces = new Set<string>();
  for (const ref of refs) {
    groupKinds.add(groupKindOf(ref));
    if (ref.namespace !== '' && ref.namespace !== (instance.metadata.namespace ?? ''))
      namespaces.add(ref.namespace);
  }
  return {
    groupKinds: [...groupKinds].sort(),
    namespaces: [...namespaces].sort(),
    ...withContributions(contributions),
  };
}

/** Each object once, sorted; nothing where there is none. */
function withContributions(all: readonly Contribution[]): Pick<Inventory, 'contributions'> {
  if (all.length === 0) return {};
  const byKey = new Map(all.map((item) => [contributionKey(item), item]));
  const keys = [...byKey.keys()].sort();
  return { contributions: keys.flatMap((key) => byKey.get(key) ?? []) };
}

/** What is written before anything is made: all that was and all that will be. */
export function unionInventory(a: Inventory, b: Inventory): Inventory {
  return {
    groupKinds: [...new Set([...a.groupKinds, ...b.groupKinds])].sort(),
    namespaces: [...new Set([...a.namespaces, ...b.namespaces])].sort(),
    ...withContributions([...(a.contributions ?? []), ...(b.contributions ?? [])]),
  };
}

/** Whether all of `b` is in `a`. */
export function covers(a: Inventory, b: Inventory): boolean {
  const contributions = new Set((b.contributions && a.contributions)?.map(contributionKey));
  return (
    b.groupKinds.every((item) => a.groupKinds.includes(item)) &&
    b.namespaces.every((item) => a.namespaces.includes(item)) &&
    (b.contributions ?? []).every((wanted) => contributions.has(contributionKey(wanted)))
  );
}

/** Labels and annotations that hold the inventory on its instance. */
export function inventoryMarks(
  instance: KubeObject,
  inventory: Inventory,
  version: string,
): { readonly labels: Record<string, string>; readonly annotations: Record<string, string> } {
  const id = applySetId(instance);
  return {
    labels: { [LABELS.setId]: id },
    annotations: {
      [ANNOTATIONS.tooling]: `kro/${version}`,
      [ANNOTATIONS.groupKinds]: inventory.groupKinds.join(','),
      [ANNOTATIONS.namespaces]: inventory.namespaces.join(','),
      ...(inventory.contributions && {
        [ANNOTATIONS.contributions]: contributionsText(inventory.contributions),
      }),
      [ANNOTATIONS.inventoryHash]: hashOf(id, inventory),
    },
  };
}

function contributionsText(contributions: readonly Contribution[]): string {
  return JSON.stringify(
    contributions.map(({ ref, wave, node, subresource }) => [
      ...[ref.apiVersion, ref.kind, ref.namespace, ref.name, wave],
      ...(node === undefined ? [] : [node]),
      ...(subresource === undefined ? [] : [subresource]),
    ]),
  );
}

/** `undefined` where it is not as it was written. */
function contributionsIn(text: string): Contribution[] | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!Array.isArray(read)) return undefined;
  const found = (read as readonly unknown[]).flatMap((item): Contribution[] => {
    const [apiVersion, kind, namespace, name, wave, node, subresource] = Array.isArray(item)
      ? (item as unknown[])
      : [];
    return typeof apiVersion === 'string' &&
      typeof kind === 'string' &&
      typeof namespace === 'string' &&
      typeof name === 'string' &&
      typeof wave === 'number' &&
      (node === undefined || typeof node === 'string') &&
      (subresource === undefined || subresource === 'status')
      ? [
          {
            ref: { apiVersion, kind, namespace, name },
            wave,
            ...(node !== undefined && { node }),
            ...(subresource !== undefined && { subresource }),
          },
        ]
      : [];
  });
  return found.length === read.length ? found : undefined;
}

/** As kro has it, so that instances may change hands; what is added to others' objects is ours alone. */
function hashOf(id: string, { groupKinds, namespaces, contributions }: Inventory): string {
  const text = [
    id,
    groupKinds.join(','),
    namespaces.join(','),
    ...(contributions ? [contributionsText(contributions)] : []),
  ].join('\0');
  return `sha256:${createHash('sha256').update(text).digest('base64url')}`;
}

export type InventoryReading =
  /** There is none yet. */
  | { readonly kind: 'None' }
  | {
      readonly kind: 'Read';
      readonly inventory: Inventory;
      /** Written before there were hashes; to be written anew. */
      readonly unsigned?: true;
    }
  /** What is there cannot be believed; nothing may be deleted by it. */
  | { readonly kind: 'Invalid'; readonly problem: string };

/**
 * Reads the inventory of an instance. Where there is a hash it must be right. Instances that an early kro made have none: all else must
 * be there then, as kro wrote it.
 */
export function readInventory(instance: KubeObject): InventoryReading {
  const annotation = (name: string): string | undefined =>
    stringAt(instance, 'metadata', 'annotations', name);
  const kinds = annotation(ANNOTATIONS.groupKinds);
  const namespaces = annotation(ANNOTATIONS.namespaces);
  const hash = annotation(ANNOTATIONS.inventoryHash);
  const id = stringAt(instance, 'metadata', 'labels', LABELS.setId);
  if (kinds === undefined && namespaces === undefined && hash === undefined) return { kind: 'None' };
  const invalid = (problem: string): InventoryReading => ({ kind: 'Invalid', problem });
  const missing = [
    [ANNOTATIONS.groupKinds, kinds],
    [ANNOTATIONS.inventoryHash, hash ?? (namespaces === undefined ? undefined : '')],
  ].find(([, value]) => value === undefined);
  if (missing) return invalid(`the annotation ${missing[0]} is missing`);
  if (id !== applySetId(instance)) return invalid(`the label ${LABELS.setId} is not that of this instance`);
  const written = annotation(ANNOTATIONS.contributions);
  const contributions = written === undefined ? undefined : contributionsIn(written);
  if (written !== undefined && contributions === undefined)
    return invalid(`the annotation ${ANNOTATIONS.contributions} is not as the engine wrote it`);
  const inventory: Inventory = {
    groupKinds: listOf(kinds),
    namespaces: listOf(namespaces),
    ...(contributions && { contributions }),
  };
  if (hash === undefined)
    return contributions
      ? invalid(`the annotation ${ANNOTATIONS.inventoryHash} is missing`)
      : { kind: 'Read', inventory, unsigned: true };
  if (hash !== hashOf(id, inventory))
    return invalid(
      `the annotation ${ANNOTATIONS.inventoryHash} does not match; the inventory was changed by hand`,
    );
  return { kind: 'Read', inventory };
}

function listOf(text: string | undefined): string[] {
  return (text ?? '').split(',').filter((item) => item !== '');
}
