import { clone, isObject, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import {
  type Bindings,
  CLOCK,
  type Expression,
  evaluateExpression,
  type GraphClock,
  isOmitted,
  jsonOfResult,
  type Unresolved,
} from '../expression/index.ts';
import { type FieldPath, pathText, removeAt, setAt, valueAt } from './field-path.ts';

/** A text of a template with expressions in it. */
export interface TemplateField {
  readonly path: FieldPath;
  /** Texts as they are, and expressions between them. */
  readonly parts: readonly (string | Expression)[];
  /** The text is one expression, whose value takes its place whatever its type. */
  readonly standalone: boolean;
  /** The text is a key, the last of the path, which becomes what the expressions come to. */
  readonly key?: true;
  /** `defer(…)`: it is left out as long as it waits for something. */
  readonly deferred?: true;
}

/** JSON in which some texts are expressions. */
export interface Template<T extends JsonValue = JsonObject> {
  readonly value: T;
  readonly fields: readonly TemplateField[];
}

/** Where rendering stopped. */
export interface UnresolvedField extends Unresolved {
  readonly path: string;
}

export type Rendered<T> =
  | { readonly value: T; readonly unresolved?: undefined }
  | { readonly value?: undefined; readonly unresolved: UnresolvedField };

/** What a field comes to; `undefined` where the expression omits it. */
export type FieldValue =
  | { readonly value: JsonValue | undefined; readonly unresolved?: undefined }
  | { readonly value?: undefined; readonly unresolved: UnresolvedField };

/** The value of one field. */
export function fieldValue(field: TemplateField, bindings: Bindings, budget?: number): FieldValue {
  let text = '';
  for (const part of field.parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const { value, unresolved } = evaluateExpression(part, bindings, budget);
    if (unresolved?.kind === 'Pending' && field.deferred) return { value: undefined };
    if (unresolved) return { unresolved: { ...unresolved, path: pathText(field.path) } };
    const failed = (message: string): FieldValue => ({
      unresolved: { kind: 'Failed', expression: part.source, message, path: pathText(field.path) },
    });
    if (isOmitted(value)) {
      return field.standalone ? { value: undefined } : failed('omit() cannot be a part of a text');
    }
    const { json, problem } = jsonOfResult(value, bindings[CLOCK] as GraphClock | undefined);
    if (problem !== undefined) return failed(problem);
    if (field.standalone) return { value: json };
    if (typeof json !== 'string') return failed('the value of an expression within a text must be a string');
    text += json;
  }
  return { value: text };
}

/** A fresh value with all expressions replaced by what they come to; the first that cannot be is told instead. */
export function renderTemplate<T extends JsonValue>(
  template: Template<T>,
  bindings: Bindings,
  budget?: number,
): Rendered<T> {
  const value = clone(template.value);
  const omitted: FieldPath[] = [];
  const keys: { readonly field: TemplateField; readonly key: JsonValue | undefined }[] = [];
  for (const field of template.fields) {
    const found = fieldValue(field, bindings, budget);
    if (found.unresolved) return { unresolved: found.unresolved };
    if (field.key) keys.push({ field, key: found.value });
    else if (found.value === undefined) omitted.push(field.path);
    else setAt(value, field.path, found.value);
  }
  // From the end, so that the indices before stay what they are.
  for (const path of omitted.reverse()) removeAt(value, path);
  // From within, so that the paths of what is around stay what they are.
  for (const { field, key } of keys.toSorted((a, b) => b.field.path.length - a.field.path.length)) {
    const problem = renameAt(value, field.path, key);
    if (problem !== undefined) {
      const [expression = ''] = field.parts.flatMap((part) => (typeof part === 'string' ? [] : part.source));
      return { unresolved: { kind: 'Failed', expression, message: problem, path: pathText(field.path) } };
    }
  }
  return { value };
}

/** Gives a field the key that its expression came to; says why that cannot be. */
function renameAt(root: JsonValue, path: FieldPath, key: JsonValue | undefined): string | undefined {
  const parent = valueAt(root, path.slice(0, -1));
  const written = path.at(-1);
  // It was left out.
  if (!isObject(parent) || typeof written !== 'string' || !Object.hasOwn(parent, written)) return undefined;
  if (typeof key !== 'string') return 'a key must be a string';
  if (key === '') return 'the key is empty';
  const value = parent[written];
  delete parent[written];
  if (value === undefined) return undefined;
  if (Object.hasOwn(parent, key)) return `the key ${JSON.stringify(key)} is there already`;
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
  return undefined;
}
