import { asJson, asObject, type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import { isObject, type JsonValue } from '../../schema/json.ts';
import { applyJsonPatch, PatchError } from '../../schema/json-patch.ts';
import { parseJsonPointer } from '../../schema/json-pointer.ts';
import type { PatchOperation } from '../intent.ts';
import { editDocument } from './embedded.ts';
import { forbiddenChange } from './identity.ts';
import { evaluateOnCluster, hasExpressions, type LocalFacts, type StatedFacts } from './local-facts.ts';
import type { ObjectPatch } from './override.ts';

/** Objects as they shall be on one cluster, or what is wrong. */
export interface Rendered {
  readonly objects: readonly KubeObject[];
  readonly problems: readonly string[];
}

/**
 * The content of a revision with a cluster's patches. The hub previews with it, the spoke converges on it: the same pure
 * function, so that both see the same result. An object whose patches fail is left out and named in `problems`. `facts` are
 * what expressions see of the cluster: without them a value that depends on it is a problem.
 */
export function render(
  objects: readonly KubeObject[],
  patches: readonly ObjectPatch[],
  facts?: LocalFacts,
): Rendered {
  const byTarget = new Map<string, ObjectPatch[]>();
  for (const patch of patches) {
    const key = refKey(patch.target);
    const list = byTarget.get(key);
    if (list) list.push(patch);
    else byTarget.set(key, [patch]);
  }
  const out: KubeObject[] = [];
  const problems: string[] = [];
  for (const object of objects) {
    const result = applyPatches(object, byTarget.get(refKey(refOf(object))) ?? [], facts);
    if ('problem' in result) problems.push(`${refText(refOf(object))}: ${result.problem}`);
    else out.push(result.object);
  }
  return { objects: out, problems };
}

/** Whether what some patches come to depends on facts of the cluster. */
export function dependsOnFacts(patches: readonly ObjectPatch[]): boolean {
  return patches.some(({ operations }) => hasExpressions(operations));
}

/** Applies patches to one object. It must stay the same object, and keep what belongs to the cluster and to Atoll. */
export function applyPatches(
  object: KubeObject,
  patches: readonly ObjectPatch[],
  facts?: LocalFacts,
): { object: KubeObject } | { problem: string } {
  if (patches.length === 0) return { object };
  let current: JsonValue = asJson(object);
  try {
    for (const { operations, stated } of patches) {
      let offset = 0;
      for (const run of runsOf(operations)) {
        current = applyRun(current, run, offset, object, facts, stated);
        offset += run.length;
      }
    }
  } catch (error) {
    if (error instanceof PatchError) return { problem: error.message };
    throw error;
  }
  if (!isObject(current)) return { problem: 'the patch does not leave an object' };
  const patched = asObject(current);
  const forbidden = forbiddenChange(object, patched);
  if (forbidden !== undefined) return { problem: `an override may not change ${forbidden}` };
  return { object: patched };
}

/** Operations of RFC 6902 in a row, which are applied at once, and edits, one by one. */
function runsOf(operations: readonly PatchOperation[]): readonly (readonly PatchOperation[])[] {
  if (!operations.some(({ op }) => op === 'edit')) return [operations];
  const runs: PatchOperation[][] = [];
  for (const operation of operations) {
    const run = runs.at(-1);
    if (operation.op === 'edit' || run === undefined || run[0]?.op === 'edit') runs.push([operation]);
    else run.push(operation);
  }
  return runs;
}

function applyRun(
  document: JsonValue,
  run: readonly PatchOperation[],
  offset: number,
  object: KubeObject,
  facts: LocalFacts | undefined,
  stated: StatedFacts | undefined,
): JsonValue {
  const [first] = run;
  const valued = run.map((operation, index) => withValue(operation, offset + index, facts, stated));
  if (first?.op !== 'edit') return applyJsonPatch(document, strict(valued) as unknown as JsonValue[]);
  const [edit = first] = valued;
  return applyEdit(document, edit, offset, object);
}

/** An operation without expressions. */
function withValue(
  operation: PatchOperation,
  index: number,
  facts: LocalFacts | undefined,
  stated: StatedFacts | undefined,
): PatchOperation {
  const { expression, operations, ...rest } = operation;
  if (operations !== undefined)
    return { ...rest, operations: operations.map((inner) => withValue(inner, index, facts, stated)) };
  if (expression === undefined) return operation;
  const where = `operation ${index} (${operation.op} ${JSON.stringify(operation.path)})`;
  if (operation.op !== 'add' && operation.op !== 'replace' && operation.op !== 'test')
    throw new PatchError('Malformed', `${where}: ${operation.op} takes no expression`);
  if (rest.value !== undefined)
    throw new PatchError('Malformed', `${where}: it has both a value and an expression`);
  if (!facts) throw new PatchError('Failed', `${where}: nothing is known of the cluster`);
  const result = evaluateOnCluster(expression, facts, stated);
  if (result.problem !== undefined) throw new PatchError('Failed', `${where}: expression: ${result.problem}`);
  return { ...rest, value: result.value };
}

/** Changes the document inside of a string. Values of Secrets are decoded for it, and encoded again. */
function applyEdit(
  document: JsonValue,
  { path, format = 'yaml', operations = [] }: PatchOperation,
  index: number,
  object: KubeObject,
): JsonValue {
  const fail = (message: string): never => {
    throw new PatchError('Failed', `operation ${index} (edit ${JSON.stringify(path)}): ${message}`, {
      index,
      path,
    });
  };
  const found = valueAt(document, path);
  if (typeof found !== 'string')
    return fail(found === undefined ? 'the path does not exist' : 'it is no text');
  const encoded = object.kind === 'Secret' && object.apiVersion === 'v1' && path.startsWith('/data/');
  const text = encoded ? Buffer.from(found, 'base64').toString('utf8') : found;
  const edited = editDocument(text, format, format === 'json' ? strict(operations) : operations);
  if (edited.problem !== undefined) return fail(edited.problem);
  const value = encoded ? Buffer.from(edited.text, 'utf8').toString('base64') : edited.text;
  return applyJsonPatch(document, [{ op: 'replace', path, value }]);
}

function valueAt(document: JsonValue, path: string): JsonValue | undefined {
  let current: JsonValue | undefined = document;
  for (const token of parseJsonPointer(path) ?? []) {
    if (Array.isArray(current)) current = /^(0|[1-9]\d*)$/.test(token) ? current[Number(token)] : undefined;
    else current = isObject(current) && Object.hasOwn(current, token) ? current[token] : undefined;
  }
  return current;
}

/**
 * By RFC 6902 a `replace` is a `remove` and an `add`. Written so, a path that is not there is an error also where API
 * servers let it pass: an override that points nowhere is a slip.
 */
function strict(operations: readonly PatchOperation[]): PatchOperation[] {
  return operations.flatMap((operation): PatchOperation[] =>
    operation.op === 'replace' && operation.path !== ''
      ? [
          { op: 'remove', path: operation.path },
          { ...operation, op: 'add' },
        ]
      : [operation],
  );
}
