import { DEFAULT_MAX_DEPTH } from './decode.ts';
import { clone, deepEqual, isObject, type JsonObject, type JsonValue } from './json.ts';
import { parseJsonPointer } from './json-pointer.ts';
import { jsonText } from './json-text.ts';
import { PatchError, type PatchErrorReason } from './patch-error.ts';

export { PatchError } from './patch-error.ts';

/** One operation of RFC 6902. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'copy' | 'move' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

/** The limits of the Kubernetes API server. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** What all `copy` operations of a patch may add to the document, in bytes of JSON: a few of them can double it at each step. */
export const MAX_JSON_PATCH_COPIED_BYTES: number = 3 * 1024 * 1024;

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'copy', 'move', 'remove', 'replace', 'test']);

/** What is wrong with the form of a JSON patch; an empty list means that it can be tried on a document. */
export function validateJsonPatch(value: unknown): string[] {
  if (!Array.isArray(value)) return ['a JSON patch must be a list of operations'];
  if (value.length > MAX_JSON_PATCH_OPERATIONS) return [tooMany(value.length)];
  return value.flatMap((operation, index) =>
    operationProblems(operation).map((problem) => `operation ${index}: ${problem}`),
  );
}

/**
 * Applies a JSON patch (RFC 6902) to a copy of the document; neither the document nor the patch is changed, and the result
 * shares nothing with them. All operations succeed or a {@link PatchError} is thrown that names the first that does not.
 */
export function applyJsonPatch(
  document: JsonValue,
  operations: JsonValue | readonly JsonPatchOperation[],
): JsonValue {
  if (!Array.isArray(operations)) {
    throw new PatchError('Malformed', 'a JSON patch must be a list of operations');
  }
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    throw new PatchError('TooLarge', tooMany(operations.length));
  }
  const wellFormed: JsonPatchOperation[] = [];
  for (const [index, operation] of operations.entries()) {
    if (!isOperation(operation)) {
      const problem = operationProblems(operation)[0] ?? '';
      throw new PatchError('Malformed', `operation ${index}: ${problem}`, { index });
    }
    wellFormed.push(operation);
  }
  // A root of its own makes "the whole document" a member like any other.
  const root: JsonObject = { document: clone(document) };
  let copied = 0;
  for (const [index, operation] of wellFormed.entries()) {
    try {
      copied += applyOperation(root, operation);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      throw new PatchError(
        error.reason,
        `operation ${index} (${operation.op} ${JSON.stringify(operation.path)}): ${error.message}`,
        { index, path: operation.path },
      );
    }
    if (copied > MAX_JSON_PATCH_COPIED_BYTES) {
      throw new PatchError(
        'TooLarge',
        `operation ${index} (copy ${JSON.stringify(operation.path)}): the patch copies more than ${MAX_JSON_PATCH_COPIED_BYTES} bytes`,
        { index, path: operation.path },
      );
    }
  }
  const result = root.document ?? null;
  if (wellFormed.some(mayDeepen) && isDeeper(result, DEFAULT_MAX_DEPTH))
    throw new PatchError('TooLarge', `the patch leaves more than ${DEFAULT_MAX_DEPTH} levels`);
  return result;
}

/** Pointers of usual patches have a few parts. */
const USUAL_POINTER = 200;

/** Whether an operation may make a document deeper than both it and the patch are as they came. */
function mayDeepen({ op, path }: JsonPatchOperation): boolean {
  return op === 'move' || op === 'copy' || path.length > USUAL_POINTER;
}

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => item !== undefined && isDeeper(item, levels - 1));
}

class OperationError extends Error {
  readonly reason: PatchErrorReason = 'Failed';
}

function tooMany(count: number): string {
  return `a JSON patch may have at most ${MAX_JSON_PATCH_OPERATIONS} operations, this one has ${count}`;
}

function isOperation(operation: unknown): operation is JsonPatchOperation {
  return operationProblems(operation).length === 0;
}

function operationProblems(operation: unknown): string[] {
  if (!isObject(operation)) return ['must be an object'];
  const problems: string[] = [];
  const { op, path, from } = operation;
  if (typeof op !== 'string' || !OPERATIONS.has(op)) {
    problems.push(`op must be one of ${[...OPERATIONS].join(', ')}, not ${JSON.stringify(op) ?? 'missing'}`);
  }
  problems.push(...pointerProblems('path', path));
  if (op === 'copy' || op === 'move') problems.push(...pointerProblems('from', from));
  return problems;
}

function pointerProblems(name: string, pointer: unknown): string[] {
  if (pointer === undefined) return [`${name} is missing`];
  if (typeof pointer !== 'string' || parseJsonPointer(pointer) === undefined) {
    return [`${name} ${JSON.stringify(pointer)} is not a JSON pointer: it must be empty or start with "/"`];
  }
  return [];
}

/** Changes the document below `root` and gives the bytes that a copy has added. */
function applyOperation(root: JsonObject, operation: JsonPatchOperation): number {
  const path = ['document', ...(parseJsonPointer(operation.path) ?? [])];
  switch (operation.op) {
    case 'add':
      insert(root, path, clone(operation.value ?? null));
      return 0;
    case 'remove':
      if (path.length === 1) throw new OperationError('the whole document cannot be removed');
      remove(root, path);
      return 0;
    case 'replace': {
      // As the API server has it, and unlike the RFC: a field that is not there can be replaced.
      const holder = holderOf(root, path);
      if (Array.isArray(holder)) put(holder, member(root, path).key, clone(operation.value ?? null));
      else insert(root, path, clone(operation.value ?? null));
      return 0;
    }
    case 'test': {
      // An absent field is as good as null.
      const holder = holderOf(root, path);
      const key = Array.isArray(holder) ? member(root, path).key : (path.at(-1) ?? '');
      const there = Array.isArray(holder) || Object.hasOwn(holder, key) ? get(holder, key) : null;
      if (!deepEqual(there ?? null, operation.value ?? null)) {
        throw new OperationError('the value there is not the expected one');
      }
      return 0;
    }
    case 'copy': {
      const value = clone(read(root, operation.from ?? ''));
      insert(root, path, value);
      return Buffer.byteLength(jsonText(value));
    }
    case 'move': {
      const from = operation.from ?? '';
      const value = read(root, from);
      if (from === operation.path) return 0;
      if (operation.path.startsWith(`${from}/`)) {
        throw new OperationError('a value cannot be moved into itself');
      }
      remove(root, ['document', ...(parseJsonPointer(from) ?? [])]);
      insert(root, path, value);
      return 0;
    }
  }
}

type Holder = JsonObject | JsonValue[];

function get(holder: Holder, key: string): JsonValue | undefined {
  return Array.isArray(holder) ? holder[Number(key)] : holder[key];
}

function put(holder: Holder, key: string, value: JsonValue): void {
  if (Array.isArray(holder)) holder[Number(key)] = value;
  else holder[key] = value;
}

/** The object or list that holds the last key of a path. */
function holderOf(root: JsonObject, path: readonly string[]): Holder {
  let current: JsonValue = root;
  for (let i = 0; i < path.length - 1; i++) {
    const key = path[i] ?? '';
    let next: JsonValue | undefined;
    if (Array.isArray(current)) next = current[listIndex(key, current.length - 1)];
    else if (isObject(current)) next = Object.hasOwn(current, key) ? current[key] : undefined;
    else throw new OperationError(`${pointerText(path, i)} is neither an object nor a list`);
    if (next === undefined) throw new OperationError(`${pointerText(path, i + 1)} does not exist`);
    current = next;
  }
  if (!Array.isArray(current) && !isObject(current)) {
    throw new OperationError(`${pointerText(path, path.length - 1)} is neither an object nor a list`);
  }
  return current;
}

/** The holder and key of a member that exists. */
function member(root: JsonObject, path: readonly string[]): { holder: Holder; key: string } {
  const holder = holderOf(root, path);
  const key = path.at(-1) ?? '';
  if (Array.isArray(holder)) listIndex(key, holder.length - 1);
  else if (!Object.hasOwn(holder, key) || holder[key] === undefined) {
    throw new OperationError(`${pointerText(path, path.length)} does not exist`);
  }
  return { holder, key };
}

function read(root: JsonObject, pointer: string): JsonValue {
  const { holder, key } = member(root, ['document', ...(parseJsonPointer(pointer) ?? [])]);
  return get(holder, key) ?? null;
}

function insert(root: JsonObject, path: readonly string[], value: JsonValue): void {
  const holder = holderOf(root, path);
  const key = path.at(-1) ?? '';
  if (Array.isArray(holder)) {
    if (key === '-') holder.push(value);
    else holder.splice(listIndex(key, holder.length), 0, value);
    return;
  }
  // Assigning to it would change the prototype and store nothing.
  if (key === '__proto__') throw new OperationError('the key "__proto__" is not supported');
  holder[key] = value;
}

function remove(root: JsonObject, path: readonly string[]): void {
  const { holder, key } = member(root, path);
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
}

function listIndex(key: string, last: number): number {
  if (!/^(?:0|[1-9][0-9]{0,9})$/.test(key)) {
    throw new OperationError(`${JSON.stringify(key)} is not an index of a list`);
  }
  const index = Number(key);
  if (index > last) {
    throw new OperationError(`index ${key} is beyond the end of the list, which has ${last + 1} places`);
  }
  return index;
}

/** The pointer to the first `length` keys; the first key is our own root. */
function pointerText(path: readonly string[], length: number): string {
  const text = path
    .slice(1, length)
    .map((token) => `/${token}`)
    .join('');
  return text === '' ? 'the document' : text;
}
