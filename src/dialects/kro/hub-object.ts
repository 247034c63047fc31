import { HUB_OBJECT, type RemoteState } from '../../engine/graph/index.ts';
import type { CustomKind } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { anything, integer, list, record, text } from '../../schema/schema-of.ts';

/** An object that an instance of this cluster has on the hub. The graph engine writes it; the hub reads it. */
export interface HubObject extends KubeObject {
  readonly spec: {
    /** Name of the definition that the instance is of. */
    readonly graph: string;
    readonly node: string;
    readonly instance: {
      readonly apiVersion: string;
      readonly kind: string;
      readonly name: string;
      readonly namespace?: string;
    };
    readonly object: KubeObject;
    /** Which of its fields, and of those of its status, are told. */
    readonly returns?: readonly string[];
    readonly returnsStatus?: readonly string[];
  };
  readonly status?: HubObjectStatus;
}

export interface HubObjectStatus {
  /** Of the HubObject that the rest is about. */
  observedGeneration?: number;
  state?: RemoteState;
  message?: string;
  status?: JsonObject;
  fields?: JsonObject;
}

/** `Gone`: there is nothing of it on the hub any more. `Kept`: nobody asks for it any more, and it is kept on the hub. */
export type HubReplyState = 'Applied' | 'Waiting' | 'Failed' | 'Gone' | 'Kept';

/** What the hub answers to a HubObject of that name. It comes by a dispatch, as everything from the hub does. */
export interface HubReply extends KubeObject {
  readonly spec: {
    /** Of the HubObject. */
    readonly uid: string;
    readonly generation: number;
    readonly state: HubReplyState;
    readonly message?: string;
    /** What is on the hub. */
    readonly child?: HubChild;
    /** How it is called where the HubObject is. */
    readonly origin?: { readonly namespace: string; readonly name: string };
    readonly status?: JsonObject;
    readonly fields?: JsonObject;
  };
}

export interface HubChild {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Once it was made. */
  readonly uid?: string;
}

/** On what a hub makes for a HubObject, and on the RemoteObject that remembers it: the name of that. */
export const COMPOSITION_LABEL = 'atoll.dev/composition';

export const HUB_REPLY: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'HubReply',
};

const told: Record<string, OpenApiSchema> = {
  status: { ...anything('Fields of the status of the object there that the graph uses.'), type: 'object' },
  fields: { ...anything('Other fields of it that the graph uses.'), type: 'object' },
};

/** Cluster-scoped, so that who may write in a namespace cannot ask the hub for anything by it. */
export const HUB_OBJECT_KIND: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: HUB_OBJECT.kind,
  plural: 'hubobjects',
  scope: 'Cluster',
  description: 'An object of a resource graph on the hub of this cluster. Written by the engine.',
  spec: record(
    {
      graph: text('Name of the definition.', { minLength: 1, maxLength: 253 }),
      node: text('Id of the node.', { minLength: 1, maxLength: 253 }),
      instance: record({ apiVersion: text(), kind: text(), name: text(), namespace: text() }, 'Whose it is.'),
      object: { ...anything('The object.'), type: 'object' },
      returns: list(text(), 'Its fields that are told beside its status.'),
      returnsStatus: list(text(), 'Fields of its status that are told.'),
    },
    undefined,
    { required: ['graph', 'node', 'instance', 'object'] },
  ),
  status: record({
    observedGeneration: integer(undefined, { format: 'int64' }),
    state: text('Applied, Waiting or Failed.'),
    message: text(),
    ...told,
  }),
  columns: [
    { name: 'Graph', type: 'string', jsonPath: '.spec.graph' },
    { name: 'Kind', type: 'string', jsonPath: '.spec.object.kind' },
    { name: 'Name', type: 'string', jsonPath: '.spec.object.metadata.name' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export const HUB_REPLY_KIND: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: HUB_REPLY.kind,
  plural: 'hubreplies',
  scope: 'Cluster',
  description: 'What the hub answers to the HubObject of the same name. Sent by the hub.',
  spec: record(
    {
      uid: text('Of the HubObject.'),
      generation: integer('Of the HubObject.', { format: 'int64' }),
      state: text('Applied, Waiting, Failed, Gone or Kept.'),
      message: text(),
      child: record(
        { apiVersion: text(), kind: text(), namespace: text(), name: text(), uid: text() },
        'What is on the hub.',
      ),
      origin: record({ namespace: text(), name: text() }, 'How it is called here.'),
      ...told,
    },
    undefined,
    { required: ['uid', 'generation', 'state'] },
  ),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.child.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.child.namespace' },
    { name: 'Name', type: 'string', jsonPath: '.spec.child.name' },
    { name: 'State', type: 'string', jsonPath: '.spec.state' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** What a HubObject says of the hub, after a reply about it. */
export function hubObjectStatus({ metadata }: KubeObject, { spec }: HubReply): HubObjectStatus {
  const { generation: observedGeneration, state, message, status, fields } = spec;
  const going = metadata.deletionTimestamp !== undefined;
  return {
    observedGeneration,
    state: state === 'Applied' || state === 'Failed' ? state : 'Waiting',
    ...(message !== undefined
      ? { message }
      : going && { message: `the hub was not told yet that it is to go; ${HOW_TO_GIVE_UP}` }),
    ...(status && { status }),
    ...(fields && { fields }),
  };
}

export const HOW_TO_GIVE_UP =
  'to wait no longer, annotate the HubObject with atoll.dev/give-up=true: what is on the hub is kept there';
