import {
  type GraphDefinition,
  type GraphIssue,
  LABELS,
  labelValue,
  revisionDigest,
  revisionName,
} from '../../engine/graph/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { distributedRevisionOf } from './revision-marks.ts';
import { withTargets } from './target.ts';
import type { GraphRevision, ResourceGraphDefinition, ResourceGraphDefinitionSpec } from './types.ts';

export function isGraphDefinition(object: KubeObject): object is ResourceGraphDefinition {
  return object.apiVersion === 'kro.run/v1alpha1' && object.kind === 'ResourceGraphDefinition';
}

export type ReadDefinition =
  | { readonly definition: GraphDefinition; readonly issues?: undefined }
  | { readonly definition?: undefined; readonly issues: readonly GraphIssue[] };

/** What a ResourceGraphDefinition says, in the engine's form. An object that no API server admitted is looked at for its outline. */
export function definitionOf(object: KubeObject): ReadDefinition {
  const read = definitionOfSpec(object.metadata.name ?? '', object['spec'] as JsonValue | undefined);
  const hubNode =
    distributedRevisionOf(object) === undefined && read.definition?.resources.find(({ hub }) => hub);
  if (!hubNode) return read;
  const issue = {
    node: hubNode.id,
    path: 'target.hub',
    message: 'it is written by a hub, in definitions that it hands on',
    expected: 'no target: what only the hub serves is made there by itself',
  };
  return { issues: [issue] };
}

export function definitionOfSpec(name: string, spec: JsonValue | undefined): ReadDefinition {
  const issues: GraphIssue[] = [];
  const wrong = (path: string, message: string, expected: string): void => {
    issues.push({ path, message, expected });
  };
  const schema = isObject(spec) ? spec['schema'] : undefined;
  if (!isObject(spec) || !isObject(schema)) {
    wrong('schema', 'there is no schema', 'an object with kind and apiVersion');
    return { issues };
  }
  for (const field of ['kind', 'apiVersion'])
    if (typeof schema[field] !== 'string') wrong(`schema.${field}`, 'it is missing', 'a text');
  for (const field of ['spec', 'types', 'status', 'metadata']) {
    const value = schema[field];
    if (value !== undefined && value !== null && !isObject(value))
      wrong(`schema.${field}`, 'it is no object', 'an object');
  }
  for (const field of ['shortNames', 'categories', 'additionalPrinterColumns']) {
    const value = schema[field];
    if (value !== undefined && value !== null && !Array.isArray(value))
      wrong(`schema.${field}`, 'it is no list', 'a list');
  }
  const { scope } = schema;
  if (scope !== undefined && scope !== 'Namespaced' && scope !== 'Cluster')
    wrong('schema.scope', `found ${JSON.stringify(scope)}`, 'Namespaced or Cluster');
  const resources = spec['resources'] ?? [];
  if (!Array.isArray(resources)) wrong('resources', 'it is no list', 'a list of nodes');
  else
    for (const [index, resource] of resources.entries())
      checkResource(resource, `resources[${index}]`, wrong);
  const targeted = Array.isArray(resources) ? withTargets(resources, spec['target'], wrong) : [];
  if (issues.length > 0) return { issues };
  const definition = {
    name,
    schema: withoutNulls(schema),
    resources: targeted.map(withoutNulls),
  };
  return { definition: definition as unknown as GraphDefinition };
}

function checkResource(
  resource: JsonValue,
  path: string,
  wrong: (path: string, message: string, expected: string) => void,
): void {
  if (!isObject(resource)) {
    wrong(path, 'it is no object', 'a node with an id');
    return;
  }
  for (const field of ['readyWhen', 'includeWhen', 'propagateWhen', 'forEach']) {
    const value = resource[field];
    if (value !== undefined && value !== null && !Array.isArray(value))
      wrong(`${path}.${field}`, 'it is no list', 'a list');
  }
  for (const field of ['template', 'externalRef', 'def']) {
    const value = resource[field];
    if (value !== undefined && value !== null && !isObject(value))
      wrong(`${path}.${field}`, 'it is no object', 'an object');
  }
}

/** A field that is null is one that is not there. */
function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** The revision object of a definition, to be created once it was found to be right. */
export function graphRevisionOf(object: ResourceGraphDefinition, number: number): GraphRevision {
  const { name = '', uid = '', generation = 1 } = object.metadata;
  const { definition } = definitionOf(object);
  const hash = definition ? revisionDigest(definition).hash : '';
  return {
    apiVersion: 'internal.kro.run/v1alpha1',
    kind: 'GraphRevision',
    metadata: {
      name: revisionName(name, number),
      labels: {
        [LABELS.owned]: 'true',
        [LABELS.graphName]: labelValue(name),
        [LABELS.graphId]: uid,
        [LABELS.revisionHash]: hash,
      },
      ownerReferences: [
        {
          apiVersion: object.apiVersion,
          kind: object.kind,
          name,
          uid,
          controller: true,
          blockOwnerDeletion: false,
        },
      ],
    },
    spec: {
      revision: number,
      snapshot: { name, generation, spec: object.spec satisfies ResourceGraphDefinitionSpec },
    },
  };
}

/** What a stored revision says. */
export function definitionOfRevision({ spec: { snapshot } }: GraphRevision): ReadDefinition {
  return definitionOfSpec(snapshot.name, snapshot.spec as unknown as JsonValue);
}
