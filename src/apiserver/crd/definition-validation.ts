import type { FieldError } from '../../kube/status-error.ts';
import { deepEqual } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { type Definition, type DefinitionVersion, isEstablished } from './definition.ts';
import { definitionRuleErrors } from './rules/index.ts';
import { structuralErrors } from './structural.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const VERSION = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const KIND = /^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const SIMPLE_PATH = /^(\.[A-Za-z_][\w-]*|\['[^']+'\])+$/;

function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => LABEL.test(label));
}

/** What is wrong with a definition, apart from its metadata and types. */
export function validateDefinition(definition: Definition): FieldError[] {
  const errors: FieldError[] = [];
  const { spec } = definition;
  const name = definition.metadata.name ?? '';
  const names = spec.names ?? { plural: '', kind: '' };
  if (!spec.group) errors.push({ type: 'Required', path: 'spec.group', detail: '' });
  else if (!isSubdomain(spec.group) || !spec.group.includes('.'))
    errors.push({
      type: 'Invalid',
      path: 'spec.group',
      value: spec.group,
      detail: 'should be a domain with at least one dot',
    });
  if (spec.scope !== 'Cluster' && spec.scope !== 'Namespaced')
    errors.push(
      spec.scope
        ? {
            type: 'NotSupported',
            path: 'spec.scope',
            value: spec.scope,
            detail: '',
            supported: ['Cluster', 'Namespaced'],
          }
        : { type: 'Required', path: 'spec.scope', detail: '' },
    );
  for (const [field, value] of [
    ['plural', names.plural],
    ['kind', names.kind],
  ] as const)
    if (!value) errors.push({ type: 'Required', path: `spec.names.${field}`, detail: '' });
  const lower = [
    ['plural', names.plural],
    ['singular', names.singular],
    ...(names.shortNames ?? []).map((short, index) => [`shortNames[${index}]`, short] as const),
  ] as const;
  for (const [field, value] of lower)
    if (value && !LABEL.test(value))
      errors.push({
        type: 'Invalid',
        path: `spec.names.${field}`,
        value,
        detail: 'must be a lowercase RFC 1123 label',
      });
  for (const [field, value] of [
    ['kind', names.kind],
    ['listKind', names.listKind],
  ] as const)
    if (value && !KIND.test(value))
      errors.push({
        type: 'Invalid',
        path: `spec.names.${field}`,
        value,
        detail: 'may have mixed case, but should otherwise match a DNS-1035 label',
      });
  if (names.kind && names.kind === names.listKind)
    errors.push({
      type: 'Invalid',
      path: 'spec.names.listKind',
      value: names.listKind,
      detail: 'kind and listKind may not be the same',
    });
  if (names.plural && spec.group && name !== `${names.plural}.${spec.group}`)
    errors.push({
      type: 'Invalid',
      path: 'metadata.name',
      value: name,
      detail: `must be spec.names.plural+"."+spec.group`,
    });
  if (spec.preserveUnknownFields === true)
    errors.push({
      type: 'Invalid',
      path: 'spec.preserveUnknownFields',
      value: true,
      detail:
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    });
  if (
    spec.conversion?.strategy === 'Webhook' &&
    (spec.conversion.webhook?.conversionReviewVersions ?? []).length === 0
  )
    errors.push({ type: 'Required', path: 'spec.conversion.webhook.conversionReviewVersions', detail: '' });
  errors.push(...versionErrors(definition));
  return errors;
}

function versionErrors(definition: Definition): FieldError[] {
  const errors: FieldError[] = [];
  const versions = definition.spec.versions ?? [];
  if (versions.length === 0)
    errors.push({ type: 'Required', path: 'spec.versions', detail: 'must have at least one version' });
  const storage = versions.filter((version) => version.storage);
  if (versions.length > 0 && storage.length !== 1)
    errors.push({
      type: 'Invalid',
      path: 'spec.versions',
      value: versions.map((version) => version.name),
      detail: 'must have exactly one version marked as storage version',
    });
  const seen = new Set<string>();
  versions.forEach((version, index) => {
    const path = `spec.versions[${index}]`;
    if (!VERSION.test(version.name ?? ''))
      errors.push({
        type: 'Invalid',
        path: `${path}.name`,
        value: version.name ?? '',
        detail: 'must be a DNS-1035 label',
      });
    if (seen.has(version.name))
      errors.push({ type: 'Duplicate', path: `${path}.name`, value: version.name, detail: '' });
    seen.add(version.name);
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined)
      errors.push({
        type: 'Required',
        path: `${path}.schema.openAPIV3Schema`,
        detail: 'schemas are required',
      });
    else errors.push(...structuralErrors(schema, `${path}.schema.openAPIV3Schema`));
    errors.push(...extrasErrors(version, path, schema));
  });
  errors.push(...ruleErrors(versions));
  for (const stored of definition.status?.storedVersions ?? [])
    if (!seen.has(stored))
      errors.push({
        type: 'Invalid',
        path: 'status.storedVersions[0]',
        value: stored,
        detail: 'must appear in spec.versions',
      });
  return errors;
}

/** Rules in CEL, by version; a schema that all versions share is named as theirs together. */
function ruleErrors(versions: readonly DefinitionVersion[]): FieldError[] {
  const schemas = versions.map((version) => version.schema?.openAPIV3Schema);
  const [first] = schemas;
  if (first && schemas.every((schema) => deepEqual(schema, first))) {
    return definitionRuleErrors(first, 'spec.validation.openAPIV3Schema');
  }
  return schemas.flatMap((schema, index) =>
    schema ? definitionRuleErrors(schema, `spec.versions[${index}].schema.openAPIV3Schema`) : [],
  );
}

function extrasErrors(
  version: DefinitionVersion,
  path: string,
  schema: OpenApiSchema | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  (version.additionalPrinterColumns ?? []).forEach((column, index) => {
    const at = `${path}.additionalPrinterColumns[${index}]`;
    if (!column.name) errors.push({ type: 'Required', path: `${at}.name`, detail: '' });
    if (!column.type)
      errors.push({
        type: 'Required',
        path: `${at}.type`,
        detail: `must be one of ${COLUMN_TYPES.join(',')}`,
      });
    else if (!COLUMN_TYPES.includes(column.type))
      errors.push({
        type: 'Invalid',
        path: `${at}.type`,
        value: column.type,
        detail: `must be one of ${COLUMN_TYPES.join(',')}`,
      });
    if (!column.jsonPath) errors.push({ type: 'Required', path: `${at}.jsonPath`, detail: '' });
    else if (!column.jsonPath.startsWith('.') && !column.jsonPath.startsWith('['))
      errors.push({
        type: 'Invalid',
        path: `${at}.jsonPath`,
        value: column.jsonPath,
        detail: 'must be a simple json path starting with .',
      });
  });
  const scale = version.subresources?.scale;
  if (scale) {
    const at = `${path}.subresources.scale`;
    for (const [field, start] of [
      ['specReplicasPath', '.spec.'],
      ['statusReplicasPath', '.status.'],
    ] as const) {
      if (!scale[field]) errors.push({ type: 'Required', path: `${at}.${field}`, detail: '' });
      else if (!scale[field].startsWith(start))
        errors.push({
          type: 'Invalid',
          path: `${at}.${field}`,
          value: scale[field],
          detail: `should be a json path under ${start.slice(0, -1)}`,
        });
    }
  }
  const fields = version.selectableFields ?? [];
  if (fields.length > 8)
    errors.push({
      type: 'TooMany',
      path: `${path}.selectableFields`,
      value: fields.length,
      detail: 'must have at most 8 items',
    });
  fields.forEach((field, index) => {
    const at = `${path}.selectableFields[${index}].jsonPath`;
    if (!field.jsonPath) errors.push({ type: 'Required', path: at, detail: '' });
    else if (!SIMPLE_PATH.test(field.jsonPath) || field.jsonPath.startsWith('.metadata'))
      errors.push({
        type: 'Invalid',
        path: at,
        value: field.jsonPath,
        detail: 'must be a simple path to a field outside metadata',
      });
    else if (schema && !['string', 'integer', 'boolean'].includes(typeAt(schema, field.jsonPath)))
      errors.push({
        type: 'Invalid',
        path: at,
        value: field.jsonPath,
        detail: 'must point to a field of type string, boolean or integer',
      });
  });
  return errors;
}

function typeAt(schema: OpenApiSchema, jsonPath: string): string {
  let current: OpenApiSchema | undefined = schema;
  for (const key of jsonPath.split('.').slice(1)) current = current?.properties?.[key];
  return current?.type ?? '';
}

/** What an update may not change. */
export function validateDefinitionUpdate(definition: Definition, old: Definition): FieldError[] {
  const errors = validateDefinition(definition);
  const immutable = (path: string, value: unknown, before: unknown): void => {
    if (!deepEqual(value ?? null, before ?? null))
      errors.push({ type: 'Invalid', path, value, detail: 'field is immutable' });
  };
  immutable('spec.group', definition.spec.group, old.spec.group);
  immutable('spec.names.plural', definition.spec.names.plural, old.spec.names.plural);
  if (isEstablished(old)) {
    immutable('spec.scope', definition.spec.scope, old.spec.scope);
    immutable('spec.names.kind', definition.spec.names.kind, old.spec.names.kind);
  }
  return errors;
}
