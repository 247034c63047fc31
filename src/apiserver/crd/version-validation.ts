import type { FieldError } from '../../kube/status-error.ts';
import { resolved } from '../../schema/index.ts';
import { deepEqual, isObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { validateStructural } from '../../schema/structural.ts';
import { duplicate, invalidValue, required, tooMany } from '../builtins/field-errors.ts';
import type { Definition, DefinitionVersion, PrinterColumn } from './definition.ts';
import { definitionRuleErrors } from './rules/index.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const SELECTABLE_TYPES = ['string', 'integer', 'boolean'];
const MAX_SELECTABLE = 8;
const MAX_DEPRECATION_WARNING = 256;

/**
 * What is wrong with the parts of versions: schemas, subresources, columns, selectable fields. A part that all versions have
 * alike is looked at once, and named as a field of `spec` itself (`spec.validation`, `spec.subresources`, …), as the older
 * form of definitions had it; that is what clients are told.
 */
export function versionErrors(versions: readonly DefinitionVersion[]): FieldError[] {
  const parts = [
    part(versions, 'schema', 'validation', schemaErrors),
    part(versions, 'subresources', 'subresources', subresourceErrors),
    part(versions, 'additionalPrinterColumns', 'additionalPrinterColumns', (columns, path) =>
      columns.flatMap((column, index) => columnErrors(column, `${path}[${index}]`)),
    ),
    part(versions, 'selectableFields', 'selectableFields', (fields, path, version) =>
      selectableErrors(fields, path, version.schema?.openAPIV3Schema),
    ),
  ];
  return [...versions.flatMap(deprecationErrors), ...parts.flat()];
}

/** Whether a part is said alike by all versions, so that it stands for the whole definition. */
export function isShared(
  versions: readonly DefinitionVersion[],
  field: 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields',
): boolean {
  const [first] = versions;
  return (
    first !== undefined &&
    versions.every((version) => deepEqual(version[field] ?? null, first[field] ?? null))
  );
}

function part<F extends 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'>(
  versions: readonly DefinitionVersion[],
  field: F,
  shared: string,
  check: (value: NonNullable<DefinitionVersion[F]>, path: string, version: DefinitionVersion) => FieldError[],
): FieldError[] {
  const [first] = versions;
  if (first !== undefined && isShared(versions, field)) {
    const value = first[field];
    return value === undefined || value === null ? [] : check(value, `spec.${shared}`, first);
  }
  return versions.flatMap((version, index) => {
    const value = version[field];
    return value === undefined || value === null
      ? []
      : check(value, `spec.versions[${index}].${field}`, version);
  });
}

function schemaErrors(
  { openAPIV3Schema: schema }: { openAPIV3Schema?: OpenApiSchema },
  parent: string,
  version: DefinitionVersion,
): FieldError[] {
  if (schema === undefined) return [];
  const path = `${parent}.openAPIV3Schema`;
  const errors = validateStructural(schema, path);
  if (version.subresources?.status && schema.type !== 'object')
    errors.unshift(
      invalidValue(
        `${path}.type`,
        schema.type ?? '',
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ),
    );
  // Rules are typed by the schema, so nothing could be said of them where it is wrong itself.
  return errors.length > 0 ? errors : definitionRuleErrors(schema, path);
}

function deprecationErrors(version: DefinitionVersion, index: number): FieldError[] {
  const { deprecated, deprecationWarning: warning } = version;
  if (warning === undefined || warning === null) return [];
  const problems: string[] = [];
  if (!deprecated) problems.push('can only be set for deprecated versions');
  if (Buffer.byteLength(warning) > MAX_DEPRECATION_WARNING)
    problems.push(`must be <= ${MAX_DEPRECATION_WARNING} characters long`);
  if (warning === '') problems.push('must not be an empty string');
  const hidden = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.exec(warning);
  if (hidden)
    problems.push(
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(warning.slice(0, hidden.index))}`,
    );
  return problems.map((problem) =>
    invalidValue(`spec.versions[${index}].deprecationWarning`, warning, problem),
  );
}

function subresourceErrors(
  { scale }: NonNullable<DefinitionVersion['subresources']>,
  path: string,
): FieldError[] {
  if (!scale) return [];
  const errors: FieldError[] = [];
  const check = (field: keyof typeof scale, starts: readonly string[], detail: string): void => {
    const at = `${path}.scale.${field}`;
    const value = scale[field] ?? '';
    const wrong = simplePathErrors(value, at);
    if (wrong.length > 0) errors.push(...wrong);
    else if (!starts.some((start) => value.startsWith(start))) errors.push(invalidValue(at, value, detail));
  };
  for (const [field, parent] of [
    ['specReplicasPath', '.spec'],
    ['statusReplicasPath', '.status'],
  ] as const) {
    if (scale[field]) check(field, [`${parent}.`], `should be a json path under ${parent}`);
    else errors.push(required(`${path}.scale.${field}`));
  }
  if (scale.labelSelectorPath)
    check('labelSelectorPath', ['.spec.', '.status.'], 'should be a json path under either .spec or .status');
  return errors;
}

function simplePathErrors(value: string, path: string): FieldError[] {
  if (value === '') return [invalidValue(path, value, 'must not be empty')];
  return value.startsWith('.')
    ? []
    : [invalidValue(path, value, 'must be a simple json path starting with .')];
}

function columnErrors(column: PrinterColumn, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!column.name) errors.push(required(`${path}.name`));
  const types = `must be one of ${COLUMN_TYPES.join(',')}`;
  if (!column.type) errors.push(required(`${path}.type`, types));
  else if (!COLUMN_TYPES.includes(column.type)) errors.push(invalidValue(`${path}.type`, column.type, types));
  if (column.format && !COLUMN_FORMATS.includes(column.format))
    errors.push(invalidValue(`${path}.format`, column.format, `must be one of ${COLUMN_FORMATS.join(',')}`));
  const at = `${path}.JSONPath`;
  if (!column.jsonPath) errors.push(required(at));
  else errors.push(...simplePathErrors(column.jsonPath, at));
  return errors;
}

function selectableErrors(
  fields: readonly { jsonPath: string }[],
  path: string,
  schema: OpenApiSchema | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const at = `${path}[${index}].jsonPath`;
    if (!jsonPath) {
      errors.push(required(at));
      continue;
    }
    const wrong = pathProblem(jsonPath);
    if (wrong !== undefined) {
      errors.push(invalidValue(at, jsonPath, `is an invalid path: ${wrong}`));
      continue;
    }
    const found = schema && fieldAt(schema, jsonPath);
    if (!found) {
      errors.push(invalidValue(at, jsonPath, 'is an invalid path: does not refer to a valid field'));
      continue;
    }
    if (/^\.metadata(\.|$)/.test(jsonPath))
      errors.push(invalidValue(at, jsonPath, 'must not point to fields in metadata'));
    if (!SELECTABLE_TYPES.includes(found.type ?? ''))
      errors.push(
        invalidValue(
          at,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      );
    if (seen.has(jsonPath)) errors.push(duplicate(at, jsonPath));
    seen.add(jsonPath);
  }
  if (seen.size > MAX_SELECTABLE) errors.push(tooMany(path, seen.size, MAX_SELECTABLE));
  return errors;
}

/** What keeps a text from being the path of a field. */
function pathProblem(path: string): string | undefined {
  if (path.includes('[')) return 'array notation is not allowed';
  const first = /^[^.[]+/.exec(path)?.[0];
  if (first !== undefined) return `expected [ or . but got: ${first}`;
  return path.endsWith('.') ? 'unexpected end of JSON path' : undefined;
}

/** The schema of a field that a path without indices names: `.spec.color`, `.spec['a-b']`. */
function fieldAt(schema: OpenApiSchema, jsonPath: string): OpenApiSchema | undefined {
  if (!/^(\.[A-Za-z_][\w-]*|\['[^']+'\])+$/.test(jsonPath)) return undefined;
  let current: OpenApiSchema | undefined = schema;
  for (const [, plain, quoted] of jsonPath.matchAll(/\.([A-Za-z_][\w-]*)|\['([^']+)'\]/g)) {
    if (!current) return undefined;
    const name = plain ?? quoted ?? '';
    const { properties, additionalProperties }: OpenApiSchema = resolved(current, () => undefined);
    current =
      properties && Object.hasOwn(properties, name)
        ? properties[name]
        : isObject(additionalProperties)
          ? (additionalProperties as OpenApiSchema)
          : undefined;
  }
  return current;
}

/** The versions as messages show them. Parts that all versions share are not among what each one has. */
export function versionsText(definition: Definition): string {
  const versions = definition.spec.versions ?? [];
  const pointer = (name: string, present: boolean): string =>
    `(*apiextensions.${name})(${present ? '0xc000000000' : 'nil'})`;
  const list = (name: string, items: readonly unknown[] | undefined, one: (item: never) => string): string =>
    items && items.length > 0
      ? `[]apiextensions.${name}{${items.map((item) => one(item as never)).join(', ')}}`
      : `[]apiextensions.${name}(nil)`;
  const quoted = (text: string | undefined): string => JSON.stringify(text ?? '');
  const texts = versions.map((version) => {
    const own = <F extends 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'>(
      field: F,
    ): DefinitionVersion[F] | undefined => (isShared(versions, field) ? undefined : version[field]);
    const column = (item: PrinterColumn): string =>
      `apiextensions.CustomResourceColumnDefinition{Name:${quoted(item.name)}, Type:${quoted(item.type)}, Format:${quoted(item.format)}, Description:${quoted(item.description)}, Priority:${item.priority ?? 0}, JSONPath:${quoted(item.jsonPath)}}`;
    const field = (item: { jsonPath: string }): string =>
      `apiextensions.SelectableField{JSONPath:${quoted(item.jsonPath)}}`;
    const warning = version.deprecationWarning === undefined ? 'nil' : '0xc000000000';
    return `apiextensions.CustomResourceDefinitionVersion{Name:${quoted(version.name)}, Served:${version.served}, Storage:${version.storage}, Deprecated:${version.deprecated ?? false}, DeprecationWarning:(*string)(${warning}), Schema:${pointer('CustomResourceValidation', own('schema') !== undefined)}, Subresources:${pointer('CustomResourceSubresources', own('subresources') !== undefined)}, AdditionalPrinterColumns:${list('CustomResourceColumnDefinition', own('additionalPrinterColumns'), column)}, SelectableFields:${list('SelectableField', own('selectableFields'), field)}}`;
  });
  return `[]apiextensions.CustomResourceDefinitionVersion{${texts.join(', ')}}`;
}
