import type { JsonObject, JsonValue } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import type { Catalogue, DescriptionReader } from '../catalogue/index.ts';
import type { Operation, PathOperations } from './operations.ts';
import { collectReferences, definitionV3, described } from './schema-form.ts';

const ANSWER_TYPES = ['application/json', 'application/yaml'];

export interface DocumentParts {
  readonly title: string;
  readonly version: string;
  readonly paths: readonly PathOperations[];
  /** Definitions of custom kinds by name. */
  readonly custom: Readonly<Record<string, OpenApiSchema>>;
  readonly catalogue: Catalogue;
  /** The texts of built-in definitions; custom ones come with theirs. */
  readonly describe: DescriptionReader;
}

/** One document of `/openapi/v3`: paths, and every schema that they lead to. */
export function documentV3(parts: DocumentParts): JsonObject {
  const references = new Set<string>(Object.keys(parts.custom));
  const paths: JsonObject = {};
  for (const item of parts.paths) {
    const operations: JsonObject = {};
    for (const operation of item.operations) {
      if (operation.body) references.add(operation.body.definition);
      if (operation.answer !== undefined) references.add(operation.answer);
      operations[operation.method] = operationV3(operation);
    }
    paths[item.path] = {
      ...operations,
      ...(item.variables.length > 0 ? { parameters: item.variables.map(pathParameter) } : {}),
    };
  }
  const schemas: [string, JsonObject][] = [];
  // Additions to the set are visited too.
  for (const name of references) {
    const custom = parts.custom[name];
    const schema = custom ?? parts.catalogue.definition(name);
    if (!schema) continue;
    collectReferences(schema, references);
    schemas.push([
      name,
      custom ? definitionV3(custom, true) : definitionV3(described(schema, parts.describe(name)), false),
    ]);
  }
  schemas.sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    openapi: '3.0.0',
    info: { title: parts.title, version: parts.version },
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: {
        BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' },
      },
    },
  };
}

function reference(definition: string): JsonObject {
  return { schema: { $ref: `#/components/schemas/${definition}` } };
}

function pathParameter(name: string): JsonValue {
  return { name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } };
}

function operationV3(operation: Operation): JsonObject {
  const content: JsonObject =
    operation.answer === undefined
      ? { [operation.produces ?? 'text/plain']: { schema: { type: 'string' } } }
      : Object.fromEntries(ANSWER_TYPES.map((type) => [type, reference(operation.answer ?? '')]));
  const responses: JsonObject = {};
  for (const code of operation.codes) responses[code] = { description: 'OK', content };
  responses['401'] = { description: 'Unauthorized' };
  const { body } = operation;
  return {
    operationId: operation.id,
    tags: [operation.tag],
    ...(operation.query.length > 0
      ? {
          parameters: operation.query.map(({ name, type }) => ({
            name,
            in: 'query',
            schema: { type, uniqueItems: true },
          })),
        }
      : {}),
    ...(body
      ? {
          requestBody: {
            content: Object.fromEntries(body.mediaTypes.map((type) => [type, reference(body.definition)])),
            ...(body.required ? { required: true } : {}),
          },
        }
      : {}),
    responses,
    ...(operation.action === undefined ? {} : { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': { ...operation.gvk } } : {}),
  };
}
