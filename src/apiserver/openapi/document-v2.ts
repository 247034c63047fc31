import type { JsonObject } from '../../schema/json.ts';
import type { DocumentParts } from './document-v3.ts';
import { dividedQuery, type Operation, type QueryParameter } from './operations.ts';
import { collectReferences, definitionV2, described } from './schema-form.ts';

/** The whole of `/openapi/v2` as JSON. */
export function documentV2(parts: DocumentParts): JsonObject {
  const references = new Set<string>(Object.keys(parts.custom));
  for (const { operations } of parts.paths)
    for (const { body, answer } of operations) {
      if (body) references.add(body.definition);
      if (answer !== undefined) references.add(answer);
    }
  const found: [string, JsonObject][] = [];
  // Additions to the set are visited too.
  for (const name of references) {
    const custom = parts.custom[name];
    const schema = custom ?? parts.catalogue.definition(name);
    if (!schema) continue;
    collectReferences(schema, references);
    found.push([
      name,
      definitionV2(name, custom ?? described(schema, parts.describe(name)), custom !== undefined),
    ]);
  }
  const definitions: JsonObject = Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
  const paths: JsonObject = {};
  for (const item of parts.paths) {
    const path: JsonObject = {};
    const query = dividedQuery(item);
    for (const operation of item.operations)
      path[operation.method] = operationV2(operation, query.own(operation));
    const parameters = [
      ...item.variables.map((name) => ({
        name,
        in: 'path',
        required: true,
        type: 'string',
        uniqueItems: true,
      })),
      ...query.common.map(queryParameter),
    ].sort((a, b) => (a.name === b.name ? (a.in < b.in ? -1 : 1) : a.name < b.name ? -1 : 1));
    if (parameters.length > 0) path.parameters = parameters;
    paths[item.path] = path;
  }
  return {
    swagger: '2.0',
    info: { title: parts.title, version: parts.version },
    paths,
    definitions,
    securityDefinitions: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    security: [{ BearerToken: [] }],
  };
}

function queryParameter({ name, type }: QueryParameter): {
  name: string;
  in: string;
  type: string;
  uniqueItems: true;
} {
  return { name, in: 'query', type, uniqueItems: true };
}

function operationV2(operation: Operation, query: readonly QueryParameter[]): JsonObject {
  const { body } = operation;
  const schema: JsonObject =
    operation.answer === undefined ? { type: 'string' } : { $ref: `#/definitions/${operation.answer}` };
  const responses: JsonObject = {};
  for (const code of operation.codes) responses[code] = { description: 'OK', schema };
  responses['401'] = { description: 'Unauthorized' };
  const parameters: JsonObject[] = [
    ...(body
      ? [
          {
            name: 'body',
            in: 'body',
            ...(body.required ? { required: true } : {}),
            schema: { $ref: `#/definitions/${body.definition}` },
          },
        ]
      : []),
    ...query.map(queryParameter),
  ];
  return {
    operationId: operation.id,
    tags: [operation.tag],
    ...(operation.consumes.length > 0 ? { consumes: [...(body?.mediaTypes ?? operation.consumes)] } : {}),
    produces: [...operation.produces],
    schemes: ['https'],
    ...(parameters.length > 0 ? { parameters } : {}),
    responses,
    ...(operation.action === undefined ? {} : { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': { ...operation.gvk } } : {}),
  };
}
