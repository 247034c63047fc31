import { clone, type JsonObject, type JsonValue } from '../../../schema/json.ts';
import {
  type Bindings,
  type Expression,
  evaluateExpression,
  isOmitted,
  jsonOfResult,
  type Unresolved,
} from '../expression/index.ts';
import { type FieldPath, pathText, removeAt, setAt } from './field-path.ts';

/** A text of a template with expressions in it. */
export interface TemplateField {
  readonly path: FieldPath;
  /** Texts as they are, and expressions between them. */
  readonly parts: readonly (string | Expression)[];
  /** The text is one expression, whose value takes its place whatever its type. */
  readonly standalone: boolean;
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
    if (unresolved) return { unresolved: { ...unresolved, path: pathText(field.path) } };
    const failed = (message: string): FieldValue => ({
      unresolved: { kind: 'Failed', expression: part.source, message, path: pathText(field.path) },
    });
    if (isOmitted(value)) {
      return field.standalone ? { value: undefined } : failed('omit() cannot be a part of a text');
    }
    const { json, problem } = jsonOfResult(value);
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
  for (const field of template.fields) {
    const found = fieldValue(field, bindings, budget);
    if (found.unresolved) return { unresolved: found.unresolved };
    if (found.value === undefined) omitted.push(field.path);
    else setAt(value, field.path, found.value);
  }
  // From the end, so that the indices before stay what they are.
  for (const path of omitted.reverse()) removeAt(value, path);
  return { value };
}
