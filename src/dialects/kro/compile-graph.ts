import type { GraphIssue, GraphObjectDefinition, GraphResource } from '../../engine/graph/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../schema/json.ts';

/** `kro.run/v1alpha1` Graph. */
export function isGraphObject(object: KubeObject): boolean {
  return object.apiVersion === 'kro.run/v1alpha1' && object.kind === 'Graph';
}

export type ReadGraph =
  | { readonly definition: GraphObjectDefinition; readonly issues?: undefined }
  | { readonly definition?: undefined; readonly issues: readonly GraphIssue[] };

/** What a Graph says, in the engine's form. An object that no API server admitted is looked at for its outline. */
export function graphOf(object: KubeObject): ReadGraph {
  const issues: GraphIssue[] = [];
  const spec = isObject(object['spec']) ? object['spec'] : {};
  const nodes = nodesIn(spec['nodes'], 'nodes', 0, issues);
  if (issues.length > 0) return { issues };
  return { definition: { name: object.metadata.name ?? '', nodes } };
}

const KINDS = ['template', 'ref', 'def', 'graph', 'patch'] as const;
const LISTS = ['readyWhen', 'includeWhen', 'forEach'] as const;
/** Deeper ones are told of by the compiler. */
const MAX_DEPTH = 20;

/** Which modifiers each kind of node takes, and why it takes no other. */
const MODIFIERS: Readonly<Record<(typeof KINDS)[number], Partial<Record<(typeof LISTS)[number], string>>>> = {
  template: {},
  def: {},
  ref: { forEach: 'what is only read cannot be made for each' },
  patch: {
    forEach: 'a patch is of one object',
    readyWhen: 'nothing is seen of a patch; a ref to the object can wait for it',
  },
  graph: {
    forEach: 'the nodes in it may have their own',
    readyWhen: 'the nodes in it may have their own',
    includeWhen: 'the nodes in it may have their own',
  },
};

function nodesIn(
  written: JsonValue | undefined,
  path: string,
  depth: number,
  issues: GraphIssue[],
): GraphResource[] {
  if (!Array.isArray(written)) {
    issues.push({
      path,
      message: written === undefined ? 'there are no nodes' : 'it is no list',
      expected: 'a list of nodes',
    });
    return [];
  }
  return written.flatMap((node, index) => nodeIn(node, `${path}[${index}]`, depth, issues) ?? []);
}

function nodeIn(
  written: JsonValue,
  path: string,
  depth: number,
  issues: GraphIssue[],
): GraphResource | undefined {
  const wrong = (at: string, message: string, expected: string): undefined => {
    const id = stringAt(written, 'id');
    issues.push({ ...(id !== undefined && { node: id }), path: `${path}${at}`, message, expected });
  };
  if (!isObject(written)) return wrong('', 'it is no object', 'a node with an id');
  if (typeof written['id'] !== 'string') return wrong('.id', 'the node has no id', 'letters and digits');
  const node = Object.fromEntries(
    Object.entries(written).filter(([, value]) => value !== null),
  ) as JsonObject;
  const given = KINDS.filter((kind) => node[kind] !== undefined);
  const [kind] = given;
  if (kind === undefined || given.length > 1)
    return wrong(
      '',
      given.length === 0 ? 'it is no kind of node' : `there are ${given.join(' and ')}`,
      `exactly one of ${KINDS.join(', ')}`,
    );
  const before = issues.length;
  for (const field of Object.keys(node))
    if (field !== 'id' && field !== kind && !LISTS.some((name) => name === field))
      wrong(`.${field}`, 'there is no such field', `one of id, ${[kind, ...LISTS].join(', ')}`);
  for (const field of LISTS) {
    const reason = MODIFIERS[kind][field];
    if (node[field] === undefined) continue;
    if (!Array.isArray(node[field])) wrong(`.${field}`, 'it is no list', 'a list');
    else if (reason !== undefined) wrong(`.${field}`, reason, `no ${field} beside ${kind}`);
  }
  const body = node[kind];
  if (!isObject(body)) wrong(`.${kind}`, 'it is no object', 'an object');
  if (issues.length > before || !isObject(body)) return undefined;
  const { [kind]: _body, ...rest } = node;
  const base = rest as unknown as GraphResource;
  switch (kind) {
    case 'ref':
      return {
        ...base,
        externalRef: body as unknown as NonNullable<GraphResource['externalRef']>,
        word: 'ref',
      };
    case 'graph': {
      if (depth > MAX_DEPTH)
        return wrong('.graph', `graphs nest more than ${MAX_DEPTH} levels deep`, 'fewer');
      const nodes = nodesIn(body['nodes'], `${path}.graph.nodes`, depth + 1, issues);
      if (nodes.length === 0 && issues.length === before)
        return wrong('.graph.nodes', 'there is no node', 'at least one');
      return issues.length > before ? undefined : { ...base, graph: { nodes } };
    }
    case 'patch':
      return patchIn(base, body, wrong);
    default:
      return { ...base, [kind]: body };
  }
}

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * A patch in either form: with `subresource` and `body`, or as the part of the object that it adds, of which a field `status` says that it
 * is of the status.
 */
function patchIn(
  base: GraphResource,
  written: JsonObject,
  wrong: (at: string, message: string, expected: string) => undefined,
): GraphResource | undefined {
  const { apiVersion, kind, metadata, ...others } = written;
  const { body, subresource, ...more } = others;
  const wrapped = (isObject(body) || subresource !== undefined) && Object.keys(more).length === 0;
  const fields = wrapped ? (body ?? {}) : others;
  const at = wrapped ? '.patch.body' : '.patch';
  if (!isObject(metadata) || metadata['name'] === undefined)
    return wrong('.patch.metadata.name', 'it is missing', 'the name of an object that is there');
  if (!isObject(fields)) return wrong(at, 'it is no object', 'the fields to add');
  if (wrapped && subresource !== undefined && subresource !== '' && subresource !== 'status')
    return wrong('.patch.subresource', `found ${JSON.stringify(subresource)}`, '"" or "status"');
  const own = Object.keys(fields).filter((field) => IDENTITY.has(field));
  if (own.length > 0) return wrong(`${at}.${own[0]}`, 'it belongs beside the body', 'fields to add');
  const marks = ['labels', 'annotations'].filter((field) => metadata[field] !== undefined);
  const names = [...Object.keys(fields).filter((field) => field !== 'status'), ...marks];
  const ofStatus = fields['status'] !== undefined;
  const wants = wrapped ? (subresource === 'status' ? 'status' : 'object') : ofStatus ? 'status' : 'object';
  if (names.length === 0 && !ofStatus) return wrong(at, 'it adds nothing', 'at least one field');
  if (wants === 'status' ? names.length > 0 || !ofStatus : ofStatus)
    return wrong(
      at,
      `one patch is of the object or of its status: found ${[...names, ...(ofStatus ? ['status'] : [])].join(', ')}`,
      wants === 'status' ? 'status alone' : 'a node of its own for status',
    );
  const template = {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    metadata,
    ...fields,
  };
  return { ...base, template, patches: wants, word: 'patch' };
}
