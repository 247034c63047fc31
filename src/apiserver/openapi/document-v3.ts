import type { JsonObject, JsonValue } from '../../schema/json.ts';
import type { Catalogue, DescriptionReader } from '../catalogue/index.ts';
import { CUSTOM_REFERENCES, customDefinitions } from './custom-definitions.ts';
import { dividedQuery, type Operation, type PathOperations, type QueryParameter } from './operations.ts';
import type { PublishedResource } from './published-resource.ts';
import { collectReferences, type DocumentForm, definitionV3, described } from './schema-form.ts';

export interface DocumentParts {
  readonly title: string;
  readonly version: string;
  readonly paths: readonly PathOperations[];
  /** Custom resources, whose definitions come from themselves. */
  readonly custom: readonly PublishedResource[];
  readonly catalogue: Catalogue;
  readonly form: DocumentForm;
  /** The texts of built-in definitions; custom ones come with theirs. */
  readonly describe: DescriptionReader;
}

/** One document of `/openapi/v3`: paths, and every schema that they lead to. */
export function documentV3(parts: DocumentParts): JsonObject {
  const references = new Set<string>(parts.custom.length > 0 ? CUSTOM_REFERENCES : []);
  const paths: JsonObject = {};
  for (const item of parts.paths) {
    const operations: JsonObject = {};
    const query = dividedQuery(item);
    for (const operation of item.operations) {
      if (operation.body) references.add(operation.body.definition);
      if (operation.answer !== undefined) references.add(operation.answer);
      operations[operation.method] = operationV3(operation, query.own(operation));
    }
    const parameters = [
      ...item.variables.map((name) => ({ name, at: 0, parameter: pathParameter(name) })),
      ...query.common.map((given) => ({ name: given.name, at: 1, parameter: queryParameter(given) })),
    ].sort((a, b) => (a.name === b.name ? a.at - b.at : a.name < b.name ? -1 : 1));
    paths[item.path] = {
      ...operations,
      ...(parameters.length > 0 ? { parameters: parameters.map(({ parameter }) => parameter) } : {}),
    };
  }
  const schemas = parts.custom.flatMap((resource) => Object.entries(customDefinitions(resource, 'v3')));
  // Additions to the set are visited too.
  for (const name of references) {
    const schema = parts.catalogue.definition(name);
    if (!schema) continue;
    collectReferences(schema, references);
    schemas.push([name, definitionV3(described(schema, parts.describe(name)), parts.form)]);
  }
  schemas.sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    openapi: '3.0.0',
    info: { title: parts.title, version: parts.version },
    paths,
    components: {
      ...(schemas.length > 0 ? { schemas: Object.fromEntries(schemas) } : {}),
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

function queryParameter({ name, type }: QueryParameter): JsonObject {
  return { name, in: 'query', schema: { type, uniqueItems: true } };
}

function operationV3(operation: Operation, query: readonly QueryParameter[]): JsonObject {
  const { answer } = operation;
  const schema = answer === undefined ? { schema: { type: 'string' } } : reference(answer);
  const content: JsonObject = Object.fromEntries(
    [...operation.produces].sort().map((type) => [type, schema]),
  );
  const responses: JsonObject = {};
  for (const code of operation.codes) responses[code] = { description: 'OK', content };
  responses['401'] = { description: 'Unauthorized' };
  const { body } = operation;
  return {
    operationId: operation.id,
    tags: [operation.tag],
    ...(query.length > 0 ? { parameters: query.map(queryParameter) } : {}),
    ...(body
      ? {
          requestBody: {
            content: Object.fromEntries(
              [...body.mediaTypes].sort().map((type) => [type, reference(body.definition)]),
            ),
            ...(body.required ? { required: true } : {}),
          },
        }
      : {}),
    responses,
    ...(operation.action === undefined ? {} : { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': { ...operation.gvk } } : {}),
  };
}
