import { childPath, type FieldIssue } from './field-issue.ts';
import { goSyntax } from './go-syntax.ts';
import { isObject, type JsonValue } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { prune } from './prune.ts';
import { validateValue } from './validate.ts';

/** Every default must be what its own schema would admit, with nothing to prune. Issues are added to `issues`. */
export function defaultIssues(schema: OpenApiSchema, path: string, issues: FieldIssue[]): void {
  if (schema.default !== undefined) check(schema, schema.default, childPath(path, 'default'), issues);
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    defaultIssues(property, childPath(path, `properties[${name}]`), issues);
  if (typeof schema.additionalProperties === 'object')
    defaultIssues(schema.additionalProperties, childPath(path, 'additionalProperties'), issues);
  if (isObject(schema.items)) defaultIssues(schema.items as OpenApiSchema, childPath(path, 'items'), issues);
}

function check(schema: OpenApiSchema, value: JsonValue, at: string, issues: FieldIssue[]): void {
  // Without `nullable` a default of null is as good as none.
  if (value === null) return;
  const type = { schema, resolve: () => undefined };
  if (prune(structuredClone(value), type).length > 0) {
    issues.push({
      type: 'Invalid',
      path: at,
      value,
      ...(typeof value === 'object' ? { valueText: goSyntax(value) } : {}),
      detail: 'must not have unknown fields',
    });
  }
  for (const issue of validateValue(value, type)) {
    // Lists with keys are looked at when objects are written, and so are numbers that stand for text.
    if (issue.type === 'Duplicate' || (issue.value === 'number' && schema['x-kubernetes-int-or-string']))
      continue;
    const separator = issue.path === '' ? '' : '.';
    issues.push({ ...issue, path: `${at}${separator}${issue.path}` });
  }
}
