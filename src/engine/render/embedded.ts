import { deepEqual, type JsonValue } from '../../schema/json.ts';
import { applyJsonPatch, PatchError } from '../../schema/json-patch.ts';
import { parseJsonPointer } from '../../schema/json-pointer.ts';
import { jsonText, parseJson } from '../../schema/json-text.ts';
import { yamlLibrary } from '../../schema/yaml-library.ts';
import type { PatchOperation } from '../intent.ts';

export type Edited =
  | { readonly text: string; readonly problem?: undefined }
  | { readonly text?: undefined; readonly problem: string };

/** An object is no larger; a document inside of one cannot be. */
const MAX_TEXT = 1_500_000;

/**
 * A document with changes in it. What is not changed stays as it was written: comments and order of YAML, indentation of JSON.
 * `operations` have values already, and replace only what is there.
 */
export function editDocument(
  text: string,
  format: 'json' | 'yaml',
  operations: readonly PatchOperation[],
): Edited {
  if (text.length > MAX_TEXT) return { problem: `it is longer than ${MAX_TEXT} characters` };
  const odd = operations.find(({ op }) => !EDITS.has(op));
  if (odd) return { problem: `${odd.op} cannot be used inside of a document` };
  return format === 'json' ? editJson(text, operations) : editYaml(text, operations);
}

const EDITS = new Set(['add', 'remove', 'replace', 'test']);

function editJson(text: string, operations: readonly PatchOperation[]): Edited {
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (error) {
    // What a parser says of a text quotes it, and it may be that of a Secret.
    if (error instanceof SyntaxError) return { problem: 'it is no JSON' };
    throw error;
  }
  try {
    value = applyJsonPatch(value, operations as unknown as JsonValue[]);
  } catch (error) {
    if (error instanceof PatchError) return { problem: error.message };
    throw error;
  }
  const indent = /^[[{]\s*\n( +)/.exec(text.trimStart())?.[1]?.length;
  return { text: jsonText(value, indent) + (/\n$/.test(text) ? '\n' : '') };
}

type Yaml = ReturnType<typeof yamlLibrary>;
type Document = ReturnType<Yaml['parseDocument']>;

/** What an operation meets in a document, thrown within this file only. */
class EditError extends Error {}

function editYaml(text: string, operations: readonly PatchOperation[]): Edited {
  const yaml = yamlLibrary();
  try {
    const document = yaml.parseDocument(text, {
      version: '1.1',
      merge: true,
      intAsBigInt: true,
      // With less, what comes after the first document would be lost without a word.
      logLevel: 'error',
    });
    const [problem] = document.errors;
    if (problem) {
      const [{ line, col } = { line: 0, col: 0 }] = problem.linePos ?? [];
      return { problem: `it is no YAML of one document: ${problem.code} at line ${line}, column ${col}` };
    }
    for (const [index, operation] of operations.entries()) {
      try {
        editNode(yaml, document, operation);
      } catch (error) {
        if (!(error instanceof EditError)) throw error;
        return {
          problem: `operation ${index} (${operation.op} ${JSON.stringify(operation.path)}): ${error.message}`,
        };
      }
    }
    // As it was written: items of lists below their key, or further in.
    const flat = /^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(text);
    return textOf(document, !flat);
  } catch (error) {
    // The parser goes as deep as the text does, and bounds what aliases unfold to.
    if (error instanceof RangeError || error instanceof ReferenceError)
      return { problem: 'it nests too deeply, or its aliases unfold to too much' };
    throw error;
  }
}

/** An alias whose anchor is not there, or was taken away, is seen when the text is written. */
function textOf(document: Document, indentSeq: boolean): Edited {
  try {
    return { text: document.toString({ lineWidth: 0, indentSeq }) };
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Unresolved alias'))
      return { problem: 'it is no YAML of one document: an alias has no anchor' };
    throw error;
  }
}

function editNode(yaml: Yaml, document: Document, { op, path, value }: PatchOperation): void {
  const tokens = parseJsonPointer(path) ?? [];
  const last = tokens.at(-1);
  if (last === undefined) throw new EditError('the whole document cannot be changed');
  let holder: unknown = document.contents;
  for (const token of tokens.slice(0, -1)) {
    holder = memberOf(yaml, document, holder, token);
    if (holder === undefined) throw new EditError(`${token} does not exist`);
  }
  holder = resolved(yaml, document, holder);
  if (op === 'test') {
    const found = memberOf(yaml, document, holder, last);
    const there = yaml.isNode(found) ? (found.toJS(document) as unknown) : found;
    if (!deepEqual(plain(there) ?? null, value ?? null))
      throw new EditError('the value there is not the expected one');
  } else if (yaml.isMap(holder)) {
    const pair = holder.items.find(({ key }) => keyText(yaml, key) === last);
    if (!pair && op !== 'add') throw new EditError(`${last} does not exist`);
    if (op === 'remove') holder.items = holder.items.filter((item) => item !== pair);
    else if (pair) pair.value = replacement(yaml, document, pair.value, value);
    else holder.items.push(document.createPair(last, value));
  } else if (yaml.isSeq(holder)) {
    const index =
      last === '-' ? holder.items.length : Number(/^(0|[1-9]\d{0,9})$/.exec(last)?.[0] ?? Number.NaN);
    if (!(index < holder.items.length + (op === 'add' ? 1 : 0)))
      throw new EditError(`the list has no place ${last}`);
    if (op === 'add') holder.items.splice(index, 0, document.createNode(value));
    else if (op === 'remove') holder.items.splice(index, 1);
    else holder.items[index] = replacement(yaml, document, holder.items[index], value);
  } else throw new EditError('there is neither an object nor a list');
}

/** A node in place of another, with the comments of that. */
function replacement(yaml: Yaml, document: Document, before: unknown, value: JsonValue | undefined): unknown {
  const node = document.createNode(value ?? null);
  if (yaml.isNode(before)) {
    if (before.comment != null) node.comment = before.comment;
    if (before.commentBefore != null) node.commentBefore = before.commentBefore;
  }
  return node;
}

function memberOf(yaml: Yaml, document: Document, value: unknown, token: string): unknown {
  const holder = resolved(yaml, document, value);
  if (yaml.isMap(holder))
    return holder.items.find(({ key }) => keyText(yaml, key) === token)?.value ?? undefined;
  if (yaml.isSeq(holder)) return /^(0|[1-9]\d*)$/.test(token) ? holder.items[Number(token)] : undefined;
  return undefined;
}

function resolved(yaml: Yaml, document: Document, value: unknown): unknown {
  return yaml.isAlias(value) ? value.resolve(document) : value;
}

function keyText(yaml: Yaml, key: unknown): string {
  return String(yaml.isScalar(key) ? (key.source ?? key.value) : key);
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}
