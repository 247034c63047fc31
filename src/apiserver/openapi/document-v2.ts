import { createHash } from 'node:crypto';
import type { JsonObject } from '../../schema/json.ts';
import { CUSTOM_REFERENCES, customDefinitions } from './custom-definitions.ts';
import type { DocumentParts } from './document-v3.ts';
import { dividedQuery, type Operation, type QueryParameter } from './operations.ts';
import { META } from './published-resource.ts';
import { collectReferences, definitionV2, described } from './schema-form.ts';

/** The whole of `/openapi/v2` as JSON. */
export function documentV2(parts: DocumentParts): JsonObject {
  const references = new Set<string>(parts.custom.length > 0 ? CUSTOM_REFERENCES : []);
  for (const { operations } of parts.paths)
    for (const { body, answer } of operations) {
      if (body) references.add(body.definition);
      if (answer !== undefined) references.add(answer);
    }
  const found = parts.custom.flatMap((resource) => Object.entries(customDefinitions(resource, 'v2')));
  // Additions to the set are visited too.
  for (const name of references) {
    const schema = parts.catalogue.definition(name);
    if (!schema) continue;
    collectReferences(schema, references);
    found.push([name, definitionV2(name, described(schema, parts.describe(name)), parts.form)]);
  }
  const definitions: JsonObject = Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
  const paths: JsonObject = {};
  const shared = sharedParameters();
  for (const item of parts.paths) {
    const path: JsonObject = {};
    const query = dividedQuery(item);
    for (const operation of item.operations)
      path[operation.method] = operationV2(operation, query.own(operation), shared.refer);
    const parameters = [...item.variables.map(pathParameter), ...query.common.map(queryParameter)].sort(
      (a, b) => (a.name === b.name ? (a.in < b.in ? -1 : 1) : a.name < b.name ? -1 : 1),
    );
    if (parameters.length > 0) path.parameters = parameters.map(shared.refer);
    paths[item.path] = path;
  }
  return {
    swagger: '2.0',
    info: { title: parts.title, version: parts.version },
    paths,
    definitions,
    parameters: shared.all(),
    securityDefinitions: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    security: [{ BearerToken: [] }],
  };
}

interface Parameter extends JsonObject {
  readonly name: string;
  readonly in: 'body' | 'path' | 'query';
}

function pathParameter(name: string): Parameter {
  return { name, in: 'path', required: true, type: 'string', uniqueItems: true };
}

function queryParameter({ name, type }: QueryParameter): Parameter {
  return { name, in: 'query', type, uniqueItems: true };
}

/** Said where they are: what differs from kind to kind, and what old clients look for without following a reference. */
const SAID_IN_PLACE: ReadonlySet<string> = new Set(['name', 'dryRun', 'fieldValidation']);
const SHARED_BODIES: ReadonlySet<unknown> = new Set(
  [META.deleteOptions, META.patch].map((name) => `#/definitions/${name}`),
);

/** Collects what many operations take, so that it stands in the document once. */
function sharedParameters(): { refer(parameter: Parameter): JsonObject; all(): JsonObject } {
  const known = new Map<string, { readonly name: string; readonly parameter: Parameter }>();
  return {
    refer(parameter) {
      const { schema } = parameter;
      const isShared =
        parameter.in === 'body'
          ? SHARED_BODIES.has((schema as JsonObject | undefined)?.$ref)
          : !SAID_IN_PLACE.has(parameter.name);
      if (!isShared) return parameter;
      const text = JSON.stringify(parameter);
      let entry = known.get(text);
      if (!entry) {
        const hash = createHash('sha224').update(text).digest().subarray(0, 6).toString('base64url');
        entry = { name: `${parameter.name}-${hash}`, parameter };
        known.set(text, entry);
      }
      return { $ref: `#/parameters/${entry.name}` };
    },
    all() {
      const sorted = [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
      return Object.fromEntries(sorted.map(({ name, parameter }) => [name, parameter]));
    },
  };
}

function operationV2(
  operation: Operation,
  query: readonly QueryParameter[],
  refer: (parameter: Parameter) => JsonObject,
): JsonObject {
  const { body } = operation;
  const schema: JsonObject =
    operation.answer === undefined ? { type: 'string' } : { $ref: `#/definitions/${operation.answer}` };
  const responses: JsonObject = {};
  for (const code of operation.codes) responses[code] = { description: 'OK', schema };
  responses['401'] = { description: 'Unauthorized' };
  const parameters: Parameter[] = query.map(queryParameter);
  if (body)
    parameters.unshift({
      name: 'body',
      in: 'body',
      ...(body.required ? { required: true } : {}),
      schema: { $ref: `#/definitions/${body.definition}` },
    });
  return {
    operationId: operation.id,
    tags: [operation.tag],
    ...(operation.consumes.length > 0 ? { consumes: [...(body?.mediaTypes ?? operation.consumes)] } : {}),
    produces: [...operation.produces],
    schemes: ['https'],
    ...(parameters.length > 0 ? { parameters: parameters.map(refer) } : {}),
    responses,
    ...(operation.action === undefined ? {} : { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk ? { 'x-kubernetes-group-version-kind': { ...operation.gvk } } : {}),
  };
}
