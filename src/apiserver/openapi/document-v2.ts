import type { JsonObject } from '../../schema/json.ts';
import type { DocumentParts } from './document-v3.ts';
import type { Operation } from './operations.ts';
import { definitionV2, described } from './schema-form.ts';

/** The whole of `/openapi/v2` as JSON. */
export function documentV2(parts: DocumentParts): JsonObject {
  const definitions: JsonObject = {};
  for (const name of parts.catalogue.definitionNames()) {
    const schema = parts.catalogue.definition(name);
    if (schema) definitions[name] = definitionV2(name, described(schema, parts.describe(name)), false);
  }
  for (const [name, schema] of Object.entries(parts.custom)) {
    definitions[name] = definitionV2(name, schema, true);
  }
  const paths: JsonObject = {};
  for (const item of parts.paths) {
    const path: JsonObject = {};
    for (const operation of item.operations) path[operation.method] = operationV2(operation);
    if (item.variables.length > 0) {
      path.parameters = item.variables.map((name) => ({
        name,
        in: 'path',
        required: true,
        type: 'string',
        uniqueItems: true,
      }));
    }
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

function operationV2(operation: Operation): JsonObject {
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
    ...operation.query.map(({ name, type }) => ({ name, in: 'query', type, uniqueItems: true })),
  ];
  return {
    operationId: operation.id,
    tags: [operation.tag],
    consumes: [...(body?.mediaTypes ?? ['*/*'])],
    produces: [operation.answer === undefined ? (operation.produces ?? 'text/plain') : 'application/json'],
    schemes: ['https'],
    ...(parameters.length > 0 ? { parameters } : {}),
    responses,
    ...(operation.action === undefined ? {} : { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': { ...operation.gvk } } : {}),
  };
}
