import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { type PathElement, parseElement } from './field-path.ts';
import { type FieldSet, LEAF, setNode, sortedChildren } from './field-set.ts';

/** Deeper sets are refused: no object that the server accepts is nested as deep. */
const maxDepth = 256;

/**
 * Reads FieldsV1: an object whose keys are path elements; `{}` is a path of the set, `"."` in a node with others says
 * that the node's own path is in the set. Unknown kinds of elements (`x:…`) are left out. `undefined` when it is not FieldsV1.
 */
export function decodeFieldsV1(fields: JsonValue | undefined): FieldSet | undefined {
  if (!isObject(fields)) return undefined;
  const root = decodeNode(fields, 0);
  // The root's own path is never owned.
  return root && (root.owned ? setNode(false, root.children) : root);
}

function decodeNode(fields: JsonObject, depth: number): FieldSet | undefined {
  if (depth > maxDepth) return undefined;
  let owned = false;
  let children: Map<PathElement, FieldSet> | undefined;
  for (const key in fields) {
    if (key === '.') {
      owned = true;
      continue;
    }
    const below = fields[key];
    if (below === undefined) continue;
    if (!isObject(below)) return undefined;
    const element = parseElement(key);
    if (element === undefined) {
      if (key.charAt(1) !== ':') return undefined;
      continue;
    }
    const node = decodeNode(below, depth + 1);
    if (node === undefined) return undefined;
    children ??= new Map();
    children.set(element, node);
  }
  return children === undefined ? LEAF : setNode(owned, children);
}

/** Writes FieldsV1 with keys in the order of path elements. */
export function encodeFieldsV1(set: FieldSet): JsonObject {
  const out: JsonObject = {};
  for (const [element, node] of sortedChildren(set)) out[element] = encodeNode(node);
  return out;
}

function encodeNode(set: FieldSet): JsonObject {
  if (set.children === undefined) return {};
  const out: JsonObject = {};
  if (set.owned) out['.'] = {};
  for (const [element, node] of sortedChildren(set)) out[element] = encodeNode(node);
  return out;
}
