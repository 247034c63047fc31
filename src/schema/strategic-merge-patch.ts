import { childPath } from './field-issue.ts';
import { goValue } from './go-value.ts';
import { clone, isObject, type JsonObject, type JsonValue } from './json.ts';
import { comparable, type ElementKey, orderedAsPatched, positions } from './list-order.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { PatchError } from './patch-error.ts';
import { memberSchema, resolved } from './schema-lookup.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const ELEMENT_ORDER_MARK = '$setElementOrder';
const ELEMENT_ORDER = `${ELEMENT_ORDER_MARK}/`;
const DELETE_FROM_LIST = '$deleteFromPrimitiveList/';

type Resolve = TypeSchema['resolve'];

/**
 * Applies a strategic merge patch: a merge patch whose lists are merged too where the type says so
 * (`x-kubernetes-patch-strategy: merge`), by merge key for maps and as a union for scalars.
 *
 * Directives: `$patch` (replace, delete, merge), `$retainKeys`, `$setElementOrder/<list>`,
 * `$deleteFromPrimitiveList/<list>`. `null` deletes a key; nulls for keys that are not there are dropped. Where live value and
 * patch differ in type, the patch wins. The result shares nothing with its inputs.
 *
 * Throws {@link PatchError} with reason `Malformed` where a directive cannot be understood or an element lacks its merge key.
 */
export function applyStrategicMergePatch(live: JsonObject, patch: JsonObject, type: TypeSchema): JsonObject {
  return mergeMap(clone(live), patch, resolved(type.schema, type.resolve), type.resolve, '');
}

/** Merges into `live`, which is ours; `patch` is only read. */
function mergeMap(
  live: JsonObject,
  patch: JsonObject,
  schema: OpenApiSchema | undefined,
  resolve: Resolve,
  path: string,
): JsonObject {
  const directive = patch[DIRECTIVE];
  if (directive === 'delete') return {};
  if (directive === 'replace') return replacement(patch, path);
  // In lists it is known, though nothing comes of it; in maps not even that.
  if (directive !== undefined) throw unknownDirective(directive, patch, path);
  retainKeys(live, patch, path);

  const settled = new Set<string>();
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(ELEMENT_ORDER_MARK)) continue;
    if (!Array.isArray(patch[key])) {
      throw new PatchError('Unusable', `expected a []interface {}, but received a ${goType(patch[key])}`, {
        path: childPath(path, key),
      });
    }
    if (!key.startsWith(ELEMENT_ORDER)) continue;
    const field = key.slice(ELEMENT_ORDER.length);
    if (patch[field] === null) continue;
    const ordered = mergeInOrder(live, patch, field, schema, resolve, path);
    if (ordered) live[field] = ordered;
    settled.add(field);
  }
  for (const key of Object.keys(patch)) {
    if (key.startsWith(DELETE_FROM_LIST)) deleteFromList(live, key, patch[key], path);
  }
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === undefined || settled.has(key) || isDirective(key)) continue;
    if (value === null) {
      delete live[key];
      continue;
    }
    const merged = mergeMember(live, key, value, schema, resolve, childPath(path, key));
    if (merged === undefined) delete live[key];
    else live[key] = merged;
  }
  return live;
}

/** What a map becomes that is replaced as a whole. */
function replacement(patch: JsonObject, path: string): JsonObject {
  const { [DIRECTIVE]: _directive, ...rest } = patch;
  return withoutDirectives(rest, path) ?? {};
}

function mergeMember(
  live: JsonObject,
  key: string,
  value: JsonValue,
  schema: OpenApiSchema | undefined,
  resolve: Resolve,
  path: string,
): JsonValue | undefined {
  const before = Object.hasOwn(live, key) ? live[key] : undefined;
  if (Array.isArray(value) && Array.isArray(before)) {
    return mergeList(before, value, schema && memberSchema(schema, key, resolve), resolve, path);
  }
  if (isObject(value) && isObject(before)) {
    const member = schema && memberSchema(schema, key, resolve);
    return hasStrategy(member, 'replace')
      ? replacement(value, path)
      : mergeMap(before, value, member, resolve, path);
  }
  return withoutDirectives(value, path);
}

/** All keys that the patch sets must be listed; live keys that are not listed go. It is how a union changes its member. */
function retainKeys(live: JsonObject, patch: JsonObject, path: string): void {
  const listed = patch[RETAIN_KEYS];
  if (listed === undefined) return;
  if (!Array.isArray(listed)) throw malformed(childPath(path, RETAIN_KEYS), 'must be a list of keys');
  const keys = new Set(listed);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null || value === undefined || isDirective(key) || keys.has(key)) continue;
    throw new PatchError('Malformed', 'invalid patch format of retainKeys', { path: childPath(path, key) });
  }
  for (const key of Object.keys(live)) if (!keys.has(key)) delete live[key];
}

/** The list of `field` after the patch, in the order of its `$setElementOrder`; `undefined` where there is no list at all. */
function mergeInOrder(
  live: JsonObject,
  patch: JsonObject,
  field: string,
  schema: OpenApiSchema | undefined,
  resolve: Resolve,
  path: string,
): JsonValue[] | undefined {
  const fieldPath = childPath(path, field);
  const order = patch[ELEMENT_ORDER + field];
  if (!Array.isArray(order)) throw malformed(childPath(path, ELEMENT_ORDER + field), 'must be a list');
  const before = listOrNothing(Object.hasOwn(live, field) ? live[field] : undefined, fieldPath);
  const changes = listOrNothing(Object.hasOwn(patch, field) ? patch[field] : undefined, fieldPath);
  const member = schema && memberSchema(schema, field, resolve);
  const mergeKey = member?.['x-kubernetes-patch-merge-key'];
  if (mergeKey !== undefined) {
    for (const element of order) {
      if (!isObject(element) || element[mergeKey] === undefined) {
        throw malformed(
          childPath(path, ELEMENT_ORDER + field),
          `has an element without the merge key ${mergeKey}`,
        );
      }
    }
  }
  const keyOf = elementKey(mergeKey);
  if (changes) checkOrder(changes, order, keyOf, fieldPath);
  if (!before && !changes) return undefined;
  let merged = before ?? [];
  if (changes) {
    merged = before
      ? mergeList(before, changes, member, resolve, fieldPath)
      : listWithoutDirectives(changes, fieldPath);
  }
  return orderedAsPatched(merged, order, before ?? [], keyOf);
}

function listOrNothing(value: JsonValue | undefined, path: string): JsonValue[] | undefined {
  if (value === undefined || Array.isArray(value)) return value;
  if (value === null) return undefined;
  throw malformed(path, `is not a list, but ${ELEMENT_ORDER} is given for it`);
}

/** The order must name every element that the patch brings, in the patch's own sequence. */
function checkOrder(
  changes: readonly JsonValue[],
  order: readonly JsonValue[],
  keyOf: ElementKey,
  path: string,
): void {
  if (order.length === 0) return;
  let at = 0;
  for (const element of changes) {
    if (isObject(element) && element[DIRECTIVE] !== undefined) continue;
    const key = comparable(keyOf(element));
    while (at < order.length && comparable(keyOf(order[at] ?? null)) !== key) at++;
    if (at === order.length) {
      // In Go's words, as clients know them.
      const message = `The order in patch list:\n${goValue([...changes])}\n doesn't match ${ELEMENT_ORDER.replace(/\/$/, '')} list:\n${goValue([...order])}\n`;
      throw new PatchError('Unusable', message, { path });
    }
    at++;
  }
}

function mergeList(
  live: JsonValue[],
  patch: readonly JsonValue[],
  schema: OpenApiSchema | undefined,
  resolve: Resolve,
  path: string,
): JsonValue[] {
  // It takes the other's place as it is: what looks like a directive within is none.
  if (!hasStrategy(schema, 'merge')) return clone([...patch]);
  const maps = elementsAreMaps(live, patch, path);
  if (maps === undefined) return live;
  if (!maps) {
    const union = [...new Set([...live, ...patch])];
    return orderedAsPatched(union, patch, live, itself);
  }
  const mergeKey = schema?.['x-kubernetes-patch-merge-key'];
  if (mergeKey === undefined) throw malformed(path, 'is a list of objects without a merge key');
  return mergeMaps(live, patch as readonly JsonObject[], mergeKey, schema, resolve, path);
}

function mergeMaps(
  live: JsonValue[],
  patch: readonly JsonObject[],
  mergeKey: string,
  schema: OpenApiSchema | undefined,
  resolve: Resolve,
  path: string,
): JsonValue[] {
  const keyOf = elementKey(mergeKey);
  const items = schema?.items && resolved(schema.items, resolve);
  const deleted = new Set<unknown>();
  const changes: JsonObject[] = [];
  let replace = false;
  for (const element of patch) {
    const directive = element[DIRECTIVE];
    if (directive === 'replace') replace = true;
    else if (directive === 'delete') deleted.add(keyOrFail(element, mergeKey, path));
    else if (directive === undefined) changes.push(element);
    else if (directive === 'merge')
      throw new PatchError('Unusable', 'merging lists cannot yet be specified in the patch', { path });
    else throw unknownDirective(directive, element, path);
  }
  if (replace) return listWithoutDirectives(changes, path);
  const kept = deleted.size === 0 ? live : live.filter((element) => !deleted.has(comparable(keyOf(element))));
  const merged = [...kept];
  const found = positions(kept, keyOf);
  for (const change of changes) {
    const key = keyOrFail(change, mergeKey, path);
    const at = found.get(key);
    const before = at === undefined ? undefined : merged[at];
    if (at !== undefined && isObject(before)) {
      merged[at] = mergeMap(before, change, items, resolve, `${path}[${at}]`);
    } else {
      found.set(key, merged.length);
      merged.push(withoutDirectives(change, path) ?? {});
    }
  }
  return orderedAsPatched(merged, changes, kept, keyOf);
}

function deleteFromList(live: JsonObject, key: string, values: JsonValue | undefined, path: string): void {
  if (!Array.isArray(values)) throw malformed(childPath(path, key), 'must be a list');
  const field = key.slice(DELETE_FROM_LIST.length);
  const list = Object.hasOwn(live, field) ? live[field] : undefined;
  if (!Array.isArray(list)) return;
  const gone = new Set<JsonValue>(values);
  live[field] = list.filter((element) => !gone.has(element));
}

/** True for maps, false for scalars, `undefined` where both lists are empty. */
function elementsAreMaps(
  live: readonly JsonValue[],
  patch: readonly JsonValue[],
  path: string,
): boolean | undefined {
  let maps: boolean | undefined;
  for (const list of [live, patch]) {
    for (const element of list) {
      if (Array.isArray(element)) throw malformed(path, 'is a list of lists, which cannot be merged');
      const map = isObject(element);
      if (maps !== undefined && maps !== map)
        throw new PatchError(
          'Unusable',
          `list element types are not identical: ${goValue([[...live], [...patch]])}`,
          { path },
        );
      maps = map;
    }
  }
  return maps;
}

function hasStrategy(schema: OpenApiSchema | undefined, strategy: string): boolean {
  const text = schema?.['x-kubernetes-patch-strategy'];
  return text !== undefined && (text === strategy || text.split(',').includes(strategy));
}

const itself: ElementKey = (element) => element;

function elementKey(mergeKey: string | undefined): ElementKey {
  return mergeKey === undefined ? itself : (element) => (isObject(element) ? element[mergeKey] : undefined);
}

function keyOrFail(element: JsonObject, mergeKey: string, path: string): unknown {
  const key = element[mergeKey];
  if (key === undefined)
    throw new PatchError(
      'Unusable',
      `map: ${goMap(element)} does not contain declared merge key: ${mergeKey}`,
      { path },
    );
  return comparable(key);
}

function isDirective(key: string): boolean {
  return (
    key[0] === '$' &&
    (key === DIRECTIVE ||
      key === RETAIN_KEYS ||
      key.startsWith(ELEMENT_ORDER) ||
      key.startsWith(DELETE_FROM_LIST))
  );
}

/** A copy of what a patch adds where nothing was: without directives and nulls. `undefined` where it says to delete. */
function withoutDirectives<T extends JsonValue>(value: T, path: string): T | undefined;
function withoutDirectives(value: JsonValue, path: string): JsonValue | undefined {
  if (Array.isArray(value)) return listWithoutDirectives(value, path);
  if (!isObject(value)) return value;
  const directive = value[DIRECTIVE];
  // There is nothing to delete, to replace or to merge with: upstream drops all of it.
  if (directive === 'delete' || directive === 'replace' || directive === 'merge') return undefined;
  if (directive !== undefined) throw unknownDirective(directive, value, path);
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === null || item === undefined || isDirective(key)) continue;
    const cleaned = withoutDirectives(item, childPath(path, key));
    if (cleaned !== undefined) out[key] = cleaned;
  }
  return out;
}

function listWithoutDirectives(list: readonly JsonValue[], path: string): JsonValue[] {
  const out: JsonValue[] = [];
  for (const element of list) {
    if (isObject(element) && element[DIRECTIVE] === 'replace') continue;
    const cleaned = withoutDirectives(element, path);
    if (cleaned !== undefined) out.push(cleaned);
  }
  return out;
}

function malformed(path: string, problem: string): PatchError {
  return new PatchError(
    'Malformed',
    `strategic merge patch: ${path === '' ? 'the object' : path} ${problem}`,
    { path },
  );
}

function unknownDirective(directive: JsonValue, element: JsonObject, path: string): PatchError {
  return new PatchError('Unusable', `unknown patch type: ${goMap(directive)} in map: ${goMap(element)}`, {
    path,
  });
}

function goType(value: JsonValue | undefined): string {
  if (isObject(value)) return 'map[string]interface {}';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : value === null || value === undefined ? '<nil>' : 'string';
}

/** A value as Go prints it: `map[image:x ports:[1 2]]`. */
function goMap(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goMap).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goMap(value[key])}`);
  return `map[${members.join(' ')}]`;
}
