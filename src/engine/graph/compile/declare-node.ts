import { DYN, listType, schemaType, type Type } from '../../../cel/index.ts';
import { type GroupVersionKind, parseApiVersion } from '../../../kube/object.ts';
import { isObject, stringAt } from '../../../schema/json.ts';
import type { OpenApiSchema } from '../../../schema/open-api-schema.ts';
import type { GraphResource, HubKind } from '../definition.ts';
import type { GraphIssue } from '../issue.ts';
import { type KindSchema, resourceSchema, type SchemaSource, unknownKind } from '../schema-source.ts';
import { nameProblem } from './names.ts';
import { isList, type NodeKind } from './node.ts';

/** A node of which kind and type are known, before its expressions are looked at. */
export interface DeclaredNode {
  readonly resource: GraphResource;
  /** As expressions of its scope call it. */
  readonly id: string;
  /** Unique in the whole graph. */
  readonly key: string;
  readonly path: string;
  readonly position: number;
  readonly kind: NodeKind;
  readonly of: GroupVersionKind;
  readonly apiVersion: string;
  /** Its kind is an expression. */
  readonly dynamic: boolean;
  readonly schema: KindSchema;
  /** Of one object. */
  readonly type: Type;
  /** As other nodes see it. */
  readonly variable: Type;
  /** The node that makes the CustomResourceDefinition of its kind. */
  readonly definedBy?: string;
}

export interface DeclareOptions {
  readonly schemas: SchemaSource;
  /** A kind that no source knows is taken as it comes, instead of being an issue. */
  readonly allowUnknownKinds: boolean;
  /** Nodes that make kinds, by `group/kind`. */
  readonly makers: ReadonlyMap<string, string>;
  /** Where the nodes are written: `resources`. */
  readonly path: string;
  /** Before the ids of the nodes: `backend.`. */
  readonly prefix: string;
  /** Nodes of a Graph: apiVersion and kind may be expressions, and values be made for each. */
  readonly ofGraph: boolean;
}

/** Checks the outline of a node and finds the schema of its kind. */
export function declareNode(
  resource: GraphResource,
  position: number,
  options: DeclareOptions,
  issues: GraphIssue[],
): DeclaredNode | undefined {
  const path = `${options.path}[${position}]`;
  const { id } = resource;
  if (typeof id !== 'string') {
    issues.push({ path: `${path}.id`, message: 'the node has no id', expected: 'a name in lowerCamelCase' });
    return undefined;
  }
  const before = issues.length;
  const report = (at: string, message: string, expected?: string): void => {
    issues.push({ node: id, path: `${path}${at}`, message, ...(expected === undefined ? {} : { expected }) });
  };
  const naming = nameProblem(id, options.ofGraph);
  if (naming) report('.id', naming.message, naming.expected);
  if (resource.def !== undefined)
    return issues.length > before ? undefined : declareValue(resource, position, path, options, report);
  const kind = kindOf(resource, report);
  const body = resource.template ?? resource.externalRef;
  const at = `.${resource.word ?? (resource.template === undefined ? 'externalRef' : 'template')}`;
  if (!kind || !isObject(body)) return undefined;
  const computed =
    options.ofGraph && ['apiVersion', 'kind'].some((name) => hasExpression(stringAt(body, name)));
  if (computed)
    return issues.length > before ? undefined : declareDynamic(resource, position, path, kind, options);
  const apiVersion = typeMeta(body, 'apiVersion', at, report);
  const kindName = typeMeta(body, 'kind', at, report);
  if (!isObject(body['metadata'])) report(`${at}.metadata`, 'there is no metadata', 'an object with a name');
  if (apiVersion === undefined || kindName === undefined) return undefined;
  const of = { ...parseApiVersion(apiVersion), kind: kindName };
  const known = resource.hub ? hubKind(resource.hub) : options.schemas.find(of);
  if (!known && !options.allowUnknownKinds) {
    const similar = options.schemas.similar?.(of) ?? [];
    report(
      at,
      `the kind ${apiVersion} ${kindName} is not known`,
      similar.length > 0
        ? `for example ${similar.slice(0, 5).join(', ')}`
        : 'a kind that is served, or whose definition is given',
    );
  }
  if (issues.length > before) return undefined;
  const schema = known ? { ...known, type: resourceSchema(known.type) } : unknownKind(true);
  const type =
    schemaType(schema.type, { name: `__type_${id}`, unknownFields: 'dyn', plainNames: true }) ?? DYN;
  const variable = isList(kind) ? listType(type) : type;
  const definedBy = options.makers.get(`${of.group}/${of.kind}`);
  return {
    ...{ resource, id, path, position, kind, of, apiVersion, schema, type, variable },
    key: `${options.prefix}${id}`,
    dynamic: false,
    ...(definedBy !== undefined && definedBy !== id && { definedBy }),
  };
}

function hubKind({ scope, schema }: HubKind): KindSchema {
  const namespaced = scope !== 'Cluster';
  return schema
    ? { type: { schema: schema as OpenApiSchema, resolve: () => undefined }, namespaced }
    : unknownKind(namespaced);
}

/** Conditions that say something of objects, of which a value has none. */
const OF_OBJECTS = ['template', 'externalRef', 'forEach', 'readyWhen', 'propagateWhen'] as const;

function declareValue(
  resource: GraphResource,
  position: number,
  path: string,
  { ofGraph, prefix }: DeclareOptions,
  report: Report,
): DeclaredNode | undefined {
  const wrong = OF_OBJECTS.filter(
    (field) => resource[field] !== undefined && !(ofGraph && (field === 'forEach' || field === 'readyWhen')),
  );
  for (const field of wrong) report(`.${field}`, `a node with def makes no object`, `no ${field} beside def`);
  if (wrong.length > 0) return undefined;
  return {
    resource,
    id: resource.id,
    key: `${prefix}${resource.id}`,
    path,
    position,
    dynamic: false,
    kind: 'Value',
    of: { group: '', version: '', kind: '' },
    apiVersion: '',
    schema: unknownKind(false),
    type: DYN,
    variable: DYN,
  };
}

function hasExpression(text: string | undefined): boolean {
  return text?.includes('${') === true;
}

/** Of what is found to be what kind only when the template is rendered, anything may be said. */
function declareDynamic(
  resource: GraphResource,
  position: number,
  path: string,
  kind: NodeKind,
  { prefix }: DeclareOptions,
): DeclaredNode {
  const { id } = resource;
  return {
    ...{ resource, id, path, position, kind, type: DYN },
    key: `${prefix}${id}`,
    dynamic: true,
    of: { group: '', version: '', kind: '' },
    apiVersion: '',
    schema: unknownKind(true),
    variable: isList(kind) ? listType(DYN) : DYN,
  };
}

type Report = (at: string, message: string, expected?: string) => void;

function kindOf(resource: GraphResource, report: Report): NodeKind | undefined {
  const { template, externalRef, forEach } = resource;
  if ((template === undefined) === (externalRef === undefined)) {
    report(
      '',
      template === undefined
        ? 'there is neither template nor externalRef'
        : 'there are both template and externalRef',
      'exactly one of template, externalRef and def',
    );
    return undefined;
  }
  if (externalRef === undefined) return (forEach ?? []).length > 0 ? 'Collection' : 'Resource';
  if ((forEach ?? []).length > 0) {
    report(
      '.forEach',
      'what is external is not made, so it cannot be made for each',
      'no forEach beside externalRef',
    );
    return undefined;
  }
  const metadata: unknown = externalRef.metadata;
  const named = isObject(metadata) && metadata['name'] !== undefined;
  const selected = isObject(metadata) && metadata['selector'] !== undefined;
  if (named === selected) {
    report(
      `.${resource.word ?? 'externalRef'}.metadata`,
      named ? 'there are both name and selector' : 'there is neither name nor selector',
      'exactly one of name and selector',
    );
    return undefined;
  }
  return named ? 'External' : 'ExternalCollection';
}

function typeMeta(body: object, name: 'apiVersion' | 'kind', at: string, report: Report): string | undefined {
  const value = stringAt(body, name);
  if (value === undefined || value === '') report(`${at}.${name}`, `there is no ${name}`, 'a text');
  else if (value.includes('${'))
    report(
      `${at}.${name}`,
      `found an expression: ${value}`,
      `${name} as it is; expressions are not allowed there`,
    );
  else return value;
  return undefined;
}
