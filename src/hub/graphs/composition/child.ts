import {
  COMPOSITION_LABEL,
  type ComposedNode,
  cycleMessage,
  type HubChild,
  type HubObject,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import { ANNOTATIONS, placeOnHub } from '../../../engine/graph/index.ts';
import { type GroupVersionKind, gvkOf, type KubeObject } from '../../../kube/object.ts';
import { isObject, type JsonObject, stringAt } from '../../../schema/json.ts';
import type { Composing } from './composing.ts';

/** What a HubObject comes to on the hub. */
export interface WantedChild {
  readonly object: KubeObject;
  readonly child: HubChild;
  readonly origin: { readonly namespace: string; readonly name: string };
  readonly definition: ResourceGraphDefinition;
  readonly node: ComposedNode;
  /** What was asked for and is not done. */
  readonly refused: string | undefined;
}

/** Of an instance, which says what is wanted in a few words. */
const MAX_OBJECT = 256 * 1024;
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Marks with a meaning for the engine: nobody writes them from afar. */
const RESERVED = /(^|\.)(kro\.run|atoll\.dev|applyset\.kubernetes\.io)\//;

/**
 * What a HubObject of a cluster comes to on the hub, or why nothing is made of it. What it says is taken for no more than a wish: where
 * it comes from is told by the link alone, what may be made by `definition`, which is the one that the hub sent there, and whatever is made is in a
 * place of the hub that is that cluster's.
 */
export function wantedChild(
  cluster: string,
  { spec }: HubObject,
  record: string,
  definition: ResourceGraphDefinition | undefined,
  { nodes, cycles }: Pick<Composing, 'nodes' | 'cycles'>,
): WantedChild | { readonly problem: string } {
  // A spoke's own API server said that it is one; what is on the spoke is in other hands.
  if (!isObject(spec) || !isObject(spec.object)) return { problem: 'refused: it says nothing' };
  if (JSON.stringify(spec.object).length > MAX_OBJECT)
    return { problem: `refused: the object is larger than ${MAX_OBJECT} characters` };
  if (!definition) return { problem: `refused: the hub sent no definition ${spec.graph} to ${cluster}` };
  const { apiVersion, kind } = spec.object;
  const of = gvkOf({ apiVersion: String(apiVersion), kind: String(kind) });
  const node = nodes.get(spec.graph)?.find((item) => item.id === spec.node && isSameKind(item.of, of));
  if (!node)
    return {
      problem: `refused: the definition ${spec.graph} has no node ${spec.node} of ${apiVersion} ${kind} that is for the hub`,
    };
  const way = cycles.get(spec.graph);
  if (way) return { problem: cycleMessage(way) };
  const { namespaced } = node.hubOnly.kind;
  const metadata = isObject(spec.object.metadata) ? (spec.object.metadata as unknown as JsonObject) : {};
  const name = stringAt(metadata, 'name') ?? '';
  const namespace = namespaced ? (stringAt(metadata, 'namespace') ?? '') : '';
  if (!NAME.test(name) || (namespaced && !NAMESPACE.test(namespace)))
    return { problem: 'refused: its name, or its namespace, is none' };
  const origin = { namespace, name };
  const place = placeOnHub(cluster, namespaced, origin);
  const forged = stringAt(metadata, 'annotations', ANNOTATIONS.origin);
  const { apiVersion: _a, kind: _k, metadata: _m, status: _s, ...content } = spec.object;
  return {
    child: { apiVersion, kind, ...place },
    origin,
    definition,
    node,
    refused:
      forged === undefined || forged === cluster
        ? undefined
        : `the annotation ${ANNOTATIONS.origin}=${forged} was not taken over: it comes from ${cluster}`,
    object: {
      ...content,
      apiVersion,
      kind,
      metadata: {
        name: place.name,
        ...(namespaced && { namespace: place.namespace }),
        labels: { ...ownWords(metadata['labels']), [COMPOSITION_LABEL]: record },
        annotations: { ...ownWords(metadata['annotations']), [ANNOTATIONS.origin]: cluster },
      },
    },
  };
}

function isSameKind(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.group === b.group && a.version === b.version && a.kind === b.kind;
}

function ownWords(written: unknown): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(isObject(written) ? written : {}))
    if (typeof value === 'string' && !RESERVED.test(key)) kept[key] = value;
  return kept;
}

/** What is told of an object: the fields that were asked for. */
export function toldFields(object: KubeObject, names: readonly string[]): JsonObject {
  const all = names.includes('*');
  const found: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (key === 'status' || key === 'apiVersion' || key === 'kind' || value === undefined) continue;
    if (key === 'metadata') {
      if (names.includes('metadata')) {
        const { uid = '', creationTimestamp, generation } = object.metadata;
        found[key] = {
          uid,
          ...(creationTimestamp !== undefined && { creationTimestamp }),
          ...(generation !== undefined && { generation }),
        };
      }
    } else if (all || names.includes(key)) found[key] = value as JsonObject[string];
  }
  return found;
}

export function toldStatus(object: KubeObject, names: readonly string[]): JsonObject {
  const status = isObject(object['status']) ? object['status'] : {};
  if (names.includes('*')) return status;
  return Object.fromEntries(Object.entries(status).filter(([key]) => names.includes(key)));
}
