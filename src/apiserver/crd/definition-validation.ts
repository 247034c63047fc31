import type { FieldError } from '../../kube/status-error.ts';
import { deepEqual } from '../../schema/json.ts';
import { validateDns1035Label, validateDns1123Subdomain } from '../../schema/names.ts';
import {
  forbidden,
  goStrings,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from '../builtins/field-errors.ts';
import { validateClientConfig } from '../builtins/webhook.ts';
import { APPROVAL, approvalOf } from './api-approval.ts';
import { type Definition, type DefinitionNames, isEstablished } from './definition.ts';
import { versionErrors, versionsText } from './version-validation.ts';

const REVIEW_VERSIONS = ['v1', 'v1beta1'];

/** What is wrong with a definition, apart from its metadata and types. */
export function validateDefinition(definition: Definition): FieldError[] {
  const { spec, metadata } = definition;
  const errors: FieldError[] = [];
  if (metadata.name !== `${spec.names?.plural ?? ''}.${spec.group ?? ''}`)
    errors.push(
      invalidValue('metadata.name', metadata.name ?? '', 'must be spec.names.plural+"."+spec.group'),
    );
  return [...errors, ...validateContent(definition), ...approvalErrors(definition)];
}

/** What is wrong with the status that a client writes. */
export function validateDefinitionStatus({ status }: Definition): FieldError[] {
  return nameErrors(status?.acceptedNames ?? {}, 'status.acceptedNames');
}

function validateContent(definition: Definition): FieldError[] {
  const { spec } = definition;
  const names: Partial<DefinitionNames> = spec.names ?? {};
  const errors: FieldError[] = [];
  errors.push(...groupErrors(spec.group));
  if (!spec.scope) errors.push(required('spec.scope'));
  else if (spec.scope !== 'Cluster' && spec.scope !== 'Namespaced')
    errors.push(notSupported('spec.scope', spec.scope, ['Cluster', 'Namespaced']));
  errors.push(...versionNameErrors(definition));
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names[field]) errors.push(required(`spec.names.${field}`));
  errors.push(...nameErrors(names, 'spec.names'), ...versionErrors(spec.versions ?? []));
  errors.push(...conversionErrors(definition));
  if (spec.preserveUnknownFields === true)
    errors.push(
      invalidValue(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    );
  errors.push(...validateDefinitionStatus(definition));
  errors.push(...storedVersionErrors(definition));
  return errors;
}

function groupErrors(group: string | undefined): FieldError[] {
  const path = 'spec.group';
  if (!group) return [required(path)];
  const problems = validateDns1123Subdomain(group);
  if (problems.length > 0) return [invalidValue(path, group, problems.join(','))];
  return group.includes('.') ? [] : [invalidValue(path, group, 'should be a domain with at least one dot')];
}

function versionNameErrors(definition: Definition): FieldError[] {
  const versions = definition.spec.versions ?? [];
  const errors: FieldError[] = [];
  const label = (path: string, name: string): void => {
    const problems = validateDns1035Label(name);
    if (problems.length > 0) errors.push(invalidValue(path, name, problems.join(',')));
  };
  for (const [index, { name, schema }] of versions.entries()) {
    label(`spec.versions[${index}].name`, name ?? '');
    if (!schema?.openAPIV3Schema)
      errors.push(required(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required'));
  }
  // The first version is that of the older form of definitions, which had but one.
  if (versions[0]?.name) label('spec.version', versions[0].name);
  if (new Set(versions.map(({ name }) => name)).size < versions.length)
    errors.push(invalidAs('spec.versions', versionsText(definition), 'must contain unique version names'));
  if (versions.filter(({ storage }) => storage).length !== 1)
    errors.push(
      invalidAs(
        'spec.versions',
        versionsText(definition),
        'must have exactly one version marked as storage version',
      ),
    );
  return errors;
}

function nameErrors(names: Partial<DefinitionNames>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const label = (field: string, name: string | undefined): void => {
    if (!name && !field.includes('[')) return;
    const problems = validateDns1035Label(name ?? '');
    if (problems.length > 0) errors.push(invalidValue(`${path}.${field}`, name ?? '', problems.join(',')));
  };
  label('plural', names.plural);
  label('singular', names.singular);
  for (const field of ['kind', 'listKind'] as const) {
    const name = names[field];
    const problems = name ? validateDns1035Label(name.toLowerCase()) : [];
    if (problems.length > 0)
      errors.push(
        invalidValue(
          `${path}.${field}`,
          name,
          `may have mixed case, but should otherwise match: ${problems.join(',')}`,
        ),
      );
  }
  for (const [index, name] of (names.shortNames ?? []).entries()) label(`shortNames[${index}]`, name);
  if (names.kind && names.kind === names.listKind)
    errors.push(invalidValue(`${path}.listKind`, names.listKind, 'kind and listKind may not be the same'));
  for (const [index, name] of (names.categories ?? []).entries()) label(`categories[${index}]`, name);
  return errors;
}

function conversionErrors(definition: Definition): FieldError[] {
  // Where nothing is said there is a strategy; what says nothing of it is left out when it is stored.
  const { conversion = {} } = definition.spec;
  const path = 'spec.conversion';
  const config = `${path}.webhookClientConfig`;
  const at = `${path}.conversionReviewVersions`;
  const client = conversion.webhook?.clientConfig;
  const versions = conversion.webhook?.conversionReviewVersions ?? [];
  const errors: FieldError[] = [];
  if (!conversion.strategy) errors.push(required(`${path}.strategy`));
  else if (conversion.strategy !== 'None' && conversion.strategy !== 'Webhook')
    errors.push(notSupported(`${path}.strategy`, conversion.strategy, ['None', 'Webhook']));
  if (conversion.strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (client) errors.push(forbidden(config, detail));
    if (versions.length > 0) errors.push(forbidden(at, detail));
    return errors;
  }
  if (!client) errors.push(required(config, 'required when strategy is set to Webhook'));
  else errors.push(...validateClientConfig(client, config));
  if (versions.length === 0) return [...errors, required(at)];
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index)
      errors.push(invalidValue(`${at}[${index}]`, version, 'duplicate version'));
    else errors.push(...invalidEach(`${at}[${index}]`, version, validateDns1035Label(version)));
  }
  if (!versions.some((version) => REVIEW_VERSIONS.includes(version)))
    errors.push(
      invalidAs(at, goStrings(versions), `must include at least one of ${REVIEW_VERSIONS.join(', ')}`),
    );
  return errors;
}

function storedVersionErrors({ spec, status }: Definition): FieldError[] {
  const path = 'status.storedVersions';
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return [invalidAs(path, '[]string(nil)', 'must have at least one stored version')];
  const names = new Set((spec.versions ?? []).map(({ name }) => name));
  return [
    ...(spec.versions ?? [])
      .filter((version) => version.storage && !stored.includes(version.name))
      .map(({ name }) => invalidAs(path, goStrings(stored), `must have the storage version ${name}`)),
    ...stored.flatMap((name, index) =>
      names.has(name) ? [] : [invalidValue(`${path}[${index}]`, name, 'must appear in spec.versions')],
    ),
  ];
}

/** The groups of Kubernetes itself are only for what was approved there. */
function approvalErrors(definition: Definition, old?: Definition): FieldError[] {
  const { state, message } = approvalOf(definition);
  if (old && approvalOf(old).state === state) return [];
  const path = `metadata.annotations[${APPROVAL}]`;
  if (state === 'missing') return [required(path, message)];
  return state === 'invalid'
    ? [invalidValue(path, definition.metadata.annotations?.[APPROVAL], message)]
    : [];
}

/** What an update may not change. */
export function validateDefinitionUpdate(definition: Definition, old: Definition): FieldError[] {
  const errors = [...validateContent(definition), ...approvalErrors(definition, old)];
  const immutable = (path: string, value: unknown, before: unknown): void => {
    if (!deepEqual(value ?? null, before ?? null))
      errors.push(invalidValue(path, value, 'field is immutable'));
  };
  immutable('spec.group', definition.spec.group, old.spec.group);
  immutable('spec.names.plural', definition.spec.names.plural, old.spec.names.plural);
  if (isEstablished(old)) {
    immutable('spec.scope', definition.spec.scope, old.spec.scope);
    immutable('spec.names.kind', definition.spec.names.kind, old.spec.names.kind);
  }
  return errors;
}
