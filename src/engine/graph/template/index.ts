/**
 * Templates: JSON whose texts may hold expressions, `${…}`.
 *
 * {@link compileTemplate} scans all texts, compiles what is found and holds everything against the OpenAPI schema of the kind: literal
 * values, unknown fields, results of expressions. {@link renderTemplate} fills in the values; the first expression without one stops it.
 */
export {
  compileCondition,
  compileStandalone,
  compileTemplate,
  type TemplateOptions,
} from './compile-template.ts';
export { type FieldPath, joinedPath, pathText, removeAt, setAt, valueAt } from './field-path.ts';
export { mayHoldExpressions, type Scan, type Segment, scanTemplate } from './scan.ts';
export {
  type FieldValue,
  fieldValue,
  type Rendered,
  renderTemplate,
  type Template,
  type TemplateField,
  type UnresolvedField,
} from './template.ts';
