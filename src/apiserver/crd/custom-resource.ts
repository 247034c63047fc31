import { asJson, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { type FieldError, fieldErrorBody } from '../../kube/status-error.ts';
import { at, type JsonObject } from '../../schema/json.ts';
import { plainText } from '../../schema/json-text.ts';
import type { OpenApiSchema, TypeSchema } from '../../schema/open-api-schema.ts';
import { validateValue } from '../../schema/validate.ts';
import { compareVersions } from '../discovery/index.ts';
import type { Resource, Strategy, Subresource, Verb } from '../resource.ts';
import { crdColumns } from '../table/index.ts';
import type { Definition, DefinitionVersion } from './definition.ts';
import { embeddedErrors } from './embedded.ts';
import { blockedErrors, type RuleNode, ruleErrors, ruleTree } from './rules/index.ts';

const VERBS: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const SUBRESOURCE_VERBS: readonly Verb[] = ['get', 'patch', 'update'];
const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** The resources that a definition serves, one per served version. `definitionOf` finds built-in types such as ObjectMeta. */
export function customResources(
  definition: Definition,
  definitionOf: (name: string) => OpenApiSchema | undefined,
): Resource[] {
  const { versions } = definition.spec;
  const storageVersion = versions.find((version) => version.storage)?.name ?? versions[0]?.name ?? '';
  const types = new Map(versions.map((version) => [version.name, typeOf(schemaOf(version), definitionOf)]));
  return versions
    .filter((version) => version.served)
    .map((version) => customResource(definition, version, storageVersion, types, definitionOf));
}

function schemaOf(version: DefinitionVersion): OpenApiSchema {
  return version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
}

function customResource(
  definition: Definition,
  version: DefinitionVersion,
  storageVersion: string,
  types: ReadonlyMap<string, TypeSchema>,
  definitionOf: (name: string) => OpenApiSchema | undefined,
): Resource {
  const { group, names, scope } = definition.spec;
  const schema = schemaOf(version);
  const { columns, cells } = crdColumns(version.additionalPrinterColumns);
  const deprecation = deprecationOf(definition, version);
  const { conversion } = definition.spec;
  const webhook = conversion?.strategy === 'Webhook' ? conversion.webhook : undefined;
  return {
    group,
    version: version.name,
    storageVersion,
    resource: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    namespaced: scope === 'Namespaced',
    verbs: VERBS,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    subresources: subresourcesOf(version),
    custom: true,
    type: types.get(version.name) ?? typeOf(schema, definitionOf),
    versionTypes: types,
    strategy: customStrategy(version, schema),
    ...(deprecation === undefined ? {} : { deprecation }),
    ...(webhook === undefined
      ? {}
      : {
          conversion: {
            clientConfig: webhook.clientConfig ?? {},
            reviewVersions: webhook.conversionReviewVersions ?? ['v1'],
          },
        }),
    columns,
    cells,
  };
}

function subresourcesOf(version: DefinitionVersion): Subresource[] {
  const out: Subresource[] = [];
  if (version.subresources?.status) out.push({ name: 'status', verbs: SUBRESOURCE_VERBS });
  if (version.subresources?.scale)
    out.push({
      name: 'scale',
      verbs: SUBRESOURCE_VERBS,
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      scale: version.subresources.scale,
    });
  return out;
}

/** The schema with what every object has; a definition's own rules for metadata are checked by the strategy. */
function typeOf(
  schema: OpenApiSchema,
  definitionOf: (name: string) => OpenApiSchema | undefined,
): TypeSchema {
  return {
    schema: {
      ...schema,
      type: 'object',
      properties: {
        ...schema.properties,
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { $ref: `#/definitions/${OBJECT_META}` },
      },
    },
    resolve: definitionOf,
  };
}

function customStrategy(version: DefinitionVersion, schema: OpenApiSchema): Strategy {
  const hasStatus = version.subresources?.status !== undefined;
  const fields = (version.selectableFields ?? []).map((field) => field.jsonPath.replace(/^\./, ''));
  const metadata = schema.properties?.metadata;
  const validateMetadata = (object: KubeObject): FieldError[] =>
    metadata === undefined
      ? []
      : validateValue(
          { metadata: object.metadata as unknown as JsonObject },
          { schema: { properties: { metadata } }, resolve: () => undefined },
        );
  const validate = (object: KubeObject): FieldError[] => [
    ...validateMetadata(object),
    ...embeddedErrors(asJson(object), { schema, resolve: () => undefined }),
    ...scaleErrors(version.subresources?.scale, object),
  ];
  // Compiled when the first object comes: most servers hold many more definitions than kinds in use.
  let compiled: { readonly tree: RuleNode | undefined } | undefined;
  const rules: Strategy['rules'] = (object, old, schemaErrors, warn) => {
    compiled ??= { tree: ruleTree(schema, '') };
    const { tree } = compiled;
    if (!tree) return [];
    const blocked = blockedErrors(schemaErrors);
    return blocked.length > 0
      ? blocked
      : ruleErrors(
          tree,
          asJson(object),
          old && asJson(old),
          warn && ((error) => warn(`${error.path}: ${fieldErrorBody(error)}`)),
        );
  };
  return {
    generation: 'all-but-metadata',
    allowUnconditionalUpdate: false,
    allowCreateOnUpdate: false,
    returnsDeleted: false,
    defaultPropagation: 'Background',
    fieldLabelNames: fields,
    fieldLabels: (object) =>
      Object.fromEntries(
        fields.map((field) => {
          const value = at(object, ...field.split('.'));
          return [field, value === undefined || value === null ? '' : String(value)];
        }),
      ),
    resetFields: {
      main: hasStatus ? { 'f:status': {} } : {},
      // Metadata is not taken from a status, yet its writers come to own it, as upstream has it.
      status: { 'f:spec': {} },
    },
    validate,
    rules,
    warnings: finalizerWarnings,
  };
}

const STANDARD_FINALIZERS: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

/** Custom resources may have finalizers without a domain, and better have not. */
function finalizerWarnings({ metadata }: KubeObject, old: KubeObject | undefined): string[] {
  const before = old?.metadata.finalizers ?? [];
  return (metadata.finalizers ?? [])
    .filter((name) => !before.includes(name) && !name.includes('/') && !STANDARD_FINALIZERS.includes(name))
    .sort()
    .map(
      (name) =>
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
    );
}

const MAX_INT32 = 2 ** 31 - 1;

/** Replicas that a Scale can show. */
function scaleErrors(
  scale: NonNullable<DefinitionVersion['subresources']>['scale'],
  object: KubeObject,
): FieldError[] {
  if (scale === undefined) return [];
  const errors: FieldError[] = [];
  for (const path of [scale.specReplicasPath, scale.statusReplicasPath]) {
    const value = at(object, ...path.split('.').filter((key) => key !== ''));
    if (value === undefined || value === null) continue;
    const invalid = (shown: unknown, detail: string): void => {
      errors.push({ type: 'Invalid', path, value: shown, detail });
    };
    if (typeof value !== 'number' || !Number.isInteger(value))
      invalid(
        0,
        `${path} accessor error: ${plainText(value)} is of the type ${typeName(value)}, expected int64`,
      );
    else if (value < 0) invalid(value, 'should be a non-negative integer');
    else if (value > MAX_INT32) invalid(value, `should be less than or equal to ${MAX_INT32}`);
  }
  return errors;
}

function typeName(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'float64';
  if (Array.isArray(value)) return '[]interface {}';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}

function deprecationOf(definition: Definition, version: DefinitionVersion): string | undefined {
  if (!version.deprecated) return undefined;
  if (version.deprecationWarning) return version.deprecationWarning;
  const { group, names, versions } = definition.spec;
  const text = `${formatApiVersion(group, version.name)} ${names.kind} is deprecated`;
  const newest = versions
    .filter((other) => other.served && !other.deprecated)
    .map((other) => other.name)
    .sort(compareVersions)[0];
  return newest === undefined || compareVersions(newest, version.name) > 0
    ? text
    : `${text}; use ${formatApiVersion(group, newest)} ${names.kind}`;
}
