import { compareElements, type FieldPath, type PathElement } from './field-path.ts';

/**
 * A set of paths as a tree. A node is `owned` when its own path is in the set; a path may be in the set and have paths
 * below it. Sets are values: operations share what they do not change and return the same object when nothing changes.
 * No node below the root is empty.
 */
export interface FieldSet {
  readonly owned: boolean;
  readonly children: ReadonlyMap<PathElement, FieldSet> | undefined;
}

export const EMPTY_SET: FieldSet = { owned: false, children: undefined };
export const LEAF: FieldSet = { owned: true, children: undefined };

export function isEmptySet(set: FieldSet): boolean {
  return !set.owned && set.children === undefined;
}

/** A node from its parts; leaves and empty nodes are shared. */
export function setNode(owned: boolean, children: ReadonlyMap<PathElement, FieldSet> | undefined): FieldSet {
  if (children === undefined || children.size === 0) return owned ? LEAF : EMPTY_SET;
  return { owned, children };
}

/** The same node with its own path in the set. */
export function ownedNode(set: FieldSet): FieldSet {
  return set.owned ? set : setNode(true, set.children);
}

/** The set of these paths. */
export function setOf(...paths: FieldPath[]): FieldSet {
  let set = EMPTY_SET;
  for (const path of paths) {
    // The root's own path is never owned.
    if (path.length === 0) continue;
    set = union(
      set,
      path.reduceRight((below, element) => setNode(false, new Map([[element, below]])), LEAF),
    );
  }
  return set;
}

export function hasPath(set: FieldSet, path: FieldPath): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node.children?.get(element);
    if (node === undefined) return false;
  }
  return node.owned;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  let children = a.children;
  if (b.children !== undefined) {
    if (children === undefined) children = b.children;
    else {
      let merged: Map<PathElement, FieldSet> | undefined;
      for (const [element, right] of b.children) {
        const left = children.get(element);
        const both = left === undefined ? right : union(left, right);
        if (both !== left) {
          merged ??= new Map(children);
          merged.set(element, both);
        }
      }
      children = merged ?? children;
    }
  }
  const owned = a.owned || b.owned;
  return owned === a.owned && children === a.children ? a : setNode(owned, children);
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  let children: Map<PathElement, FieldSet> | undefined;
  if (a.children !== undefined && b.children !== undefined) {
    const [small, large] = a.children.size <= b.children.size ? [a, b] : [b, a];
    for (const [element, node] of small.children ?? []) {
      const other = large.children?.get(element);
      if (other === undefined) continue;
      const both = intersection(node, other);
      if (isEmptySet(both)) continue;
      children ??= new Map();
      children.set(element, both);
    }
  }
  return setNode(a.owned && b.owned, children);
}

/** The paths of `a` that are not in `b`; what lies below a removed path stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false);
}

/** The paths of `a` that are neither in `b` nor below a path of `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true);
}

function subtract(a: FieldSet, b: FieldSet, recursive: boolean): FieldSet {
  if (isEmptySet(b)) return a;
  if (recursive && b.owned) return EMPTY_SET;
  let children = a.children;
  if (children !== undefined && b.children !== undefined) {
    let left: Map<PathElement, FieldSet> | undefined;
    for (const [element, other] of b.children) {
      const node = children.get(element);
      if (node === undefined) continue;
      const rest = subtract(node, other, recursive);
      if (rest === node) continue;
      left ??= new Map(children);
      if (isEmptySet(rest)) left.delete(element);
      else left.set(element, rest);
    }
    children = left ?? children;
  }
  const owned = a.owned && !b.owned;
  return owned === a.owned && children === a.children ? a : setNode(owned, children);
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.owned !== b.owned || a.children?.size !== b.children?.size) return false;
  for (const [element, node] of a.children ?? []) {
    const other = b.children?.get(element);
    if (other === undefined || !equalSets(node, other)) return false;
  }
  return true;
}

/** True when every path of `a` is in `b`, and so is every node on the way that `a` has. */
export function isSubset(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.owned && !b.owned) return false;
  for (const [element, node] of a.children ?? []) {
    const other = b.children?.get(element);
    if (other === undefined || !isSubset(node, other)) return false;
  }
  return true;
}

/** The nodes right below, in the order of FieldsV1. */
export function sortedChildren(set: FieldSet): [PathElement, FieldSet][] {
  return set.children === undefined ? [] : [...set.children].sort((a, b) => compareElements(a[0], b[0]));
}

/** Every path of the set in order: of each node its members first, then what lies below them. */
export function* pathsOf(set: FieldSet, prefix: FieldPath = []): Generator<FieldPath> {
  const children = sortedChildren(set);
  for (const [element, node] of children) if (node.owned) yield [...prefix, element];
  for (const [element, node] of children) yield* pathsOf(node, [...prefix, element]);
}
