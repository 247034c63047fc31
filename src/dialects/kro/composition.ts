import {
  type GraphResource,
  type HubKind,
  type InstanceKind,
  instanceKindOf,
} from '../../engine/graph/index.ts';
import { formatApiVersion, type GroupVersionKind, gvkOf, type KubeObject } from '../../kube/object.ts';
import { listAt, objectAt, stringAt } from '../../schema/json.ts';
import { DISTRIBUTE_LABEL, hasTargets } from './definition-place.ts';
import type { ResourceGraphDefinition, ResourceGraphDefinitionSpec } from './types.ts';

/** Condition of a definition whose instances would make each other without end. Absent where all is well. */
export const COMPOSITION = 'Composition';

/** On a definition: what is done where the namespace on the hub is not there that holds what its instances have there. */
export const COMPOSED_NAMESPACES = 'atoll.dev/composed-namespaces';

/** `Create` (the default): it is made. `Require`: somebody makes it, and until then instances wait and say so. */
export type NamespacePolicy = 'Create' | 'Require';

export function namespacePolicyOf(definition: KubeObject): NamespacePolicy {
  const said = stringAt(definition, 'metadata', 'annotations', COMPOSED_NAMESPACES)?.trim();
  return said === undefined || said === 'Create' ? 'Create' : 'Require';
}

/** A kind of instances that only the hub serves. */
export interface HubOnlyKind {
  readonly kind: InstanceKind;
  readonly definition: ResourceGraphDefinition;
}

/** Kinds that the hub does not hand on to clusters, by `group/kind`. */
export function hubOnlyKinds(
  definitions: readonly ResourceGraphDefinition[],
): ReadonlyMap<string, HubOnlyKind> {
  const found = new Map<string, HubOnlyKind>();
  for (const definition of definitions) {
    if (isDistributed(definition)) continue;
    const kind = kindOf(definition);
    if (kind) found.set(`${kind.group}/${kind.kind}`, { kind, definition });
  }
  return found;
}

/** Whether clusters have it, too. */
export function isDistributed(definition: ResourceGraphDefinition): boolean {
  return definition.metadata.labels?.[DISTRIBUTE_LABEL] !== 'false' && !hasTargets(definition);
}

/** A node of a definition whose objects are made on the hub for instances of other clusters. */
export interface ComposedNode {
  readonly id: string;
  readonly index: number;
  readonly of: GroupVersionKind;
  readonly hubOnly: HubOnlyKind;
}

/** Empty for definitions that clusters do not have: their instances are on the hub in any case. */
export function composedNodes(
  definition: ResourceGraphDefinition,
  kinds: ReadonlyMap<string, HubOnlyKind>,
): ComposedNode[] {
  if (kinds.size === 0 || !isDistributed(definition)) return [];
  return nodesOfKinds(definition, kinds);
}

function nodesOfKinds(
  { spec }: ResourceGraphDefinition,
  kinds: ReadonlyMap<string, HubOnlyKind>,
): ComposedNode[] {
  return (spec.resources ?? []).flatMap(({ id, template, target }, index): ComposedNode[] => {
    const of = template && target === undefined ? kindIn(template) : undefined;
    const hubOnly = of && kinds.get(`${of.group}/${of.kind}`);
    return of && hubOnly ? [{ id, index, of, hubOnly }] : [];
  });
}

/** What a cluster must know of a kind that only the hub serves; `undefined` while the hub does not serve it in this version. */
export function hubKindOf(of: GroupVersionKind, kinds: readonly KubeObject[]): HubKind | undefined {
  const crd = kinds.find(
    (item) =>
      stringAt(item, 'spec', 'group') === of.group && stringAt(item, 'spec', 'names', 'kind') === of.kind,
  );
  const version = listAt(crd, 'spec', 'versions').find((item) => stringAt(item, 'name') === of.version);
  if (!version) return undefined;
  const schema = objectAt(version, 'schema', 'openAPIV3Schema');
  return {
    scope: stringAt(crd, 'spec', 'scope') === 'Cluster' ? 'Cluster' : 'Namespaced',
    ...(schema && { schema }),
  };
}

/** What a definition says for clusters: nodes of kinds that only the hub serves are made there. */
export function withHubNodes(
  spec: ResourceGraphDefinitionSpec,
  kindOfNode: (of: GroupVersionKind) => HubKind | undefined,
): ResourceGraphDefinitionSpec {
  const resources = (spec.resources ?? []).map((resource): GraphResource => {
    const of = resource.template && resource.target === undefined ? kindIn(resource.template) : undefined;
    const hub = of && kindOfNode(of);
    return hub ? ({ ...resource, target: { hub } } as unknown as GraphResource) : resource;
  });
  return { ...spec, resources };
}

/**
 * For each definition that is on one: a way from it back to it, by definitions whose instances have instances of the next. Only what
 * goes over the hub counts; a graph that makes itself smaller and smaller on one cluster is its author's affair.
 */
export function compositionCycles(
  definitions: readonly ResourceGraphDefinition[],
): ReadonlyMap<string, readonly string[]> {
  const hubOnly = hubOnlyKinds(definitions);
  const found = new Map<string, readonly string[]>();
  if (hubOnly.size === 0) return found;
  const all = new Map<string, HubOnlyKind>(hubOnly);
  for (const definition of definitions) {
    const kind = kindOf(definition);
    if (kind && isDistributed(definition)) all.set(`${kind.group}/${kind.kind}`, { kind, definition });
  }
  const next = new Map(
    definitions.map((definition) => [
      nameOf(definition),
      [...new Set(nodesOfKinds(definition, all).map(({ hubOnly: of }) => nameOf(of.definition)))].sort(),
    ]),
  );
  const onHub = new Set([...hubOnly.values()].map(({ definition }) => nameOf(definition)));
  for (const start of next.keys()) {
    const way = wayBack(start, next);
    if (way !== undefined && way.length > 2 && way.some((name) => onHub.has(name))) found.set(start, way);
  }
  return found;
}

/** The shortest way from a name back to it. */
function wayBack(start: string, next: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const before = new Map<string, string>();
  const waiting = [start];
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift())
    for (const name of next.get(at) ?? []) {
      if (name === start) {
        const way = [start, at];
        while (way.at(-1) !== start) way.push(before.get(way.at(-1) ?? start) ?? start);
        return at === start ? [start, start] : way.reverse();
      }
      if (before.has(name)) continue;
      before.set(name, at);
      waiting.push(name);
    }
  return undefined;
}

export function cycleMessage(way: readonly string[]): string {
  return `instances would make each other without end, over the hub: ${way.join(' -> ')}; nothing of that is made until one of them lets go of the next`;
}

function kindIn(template: object): GroupVersionKind | undefined {
  const [apiVersion, kind] = [stringAt(template, 'apiVersion'), stringAt(template, 'kind')];
  return apiVersion === undefined || kind === undefined ? undefined : gvkOf({ apiVersion, kind });
}

/** What a definition calls its instances; `undefined` where it says nothing that can be read. */
function kindOf({ spec }: ResourceGraphDefinition): InstanceKind | undefined {
  const { kind, apiVersion } = spec.schema;
  return typeof kind === 'string' && typeof apiVersion === 'string' ? instanceKindOf(spec.schema) : undefined;
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}

export function apiVersionOfKind({ group, version }: InstanceKind): string {
  return formatApiVersion(group, version);
}
