import { asJson, type Condition, type KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';

export const TENANCY_GROUP: string = 'atoll.dev';
export const TENANCY_VERSION: string = 'v1alpha1';
export const WORKSPACES: string = 'workspaces';
export const WORKSPACE_TYPES: string = 'workspacetypes';
export const API_EXPORTS: string = 'apiexports';
export const API_BINDINGS: string = 'apibindings';

/** Keeps a Workspace until its logical cluster has gone. */
export const WORKSPACE_FINALIZER: string = 'atoll.dev/logical-cluster';
/** Keeps an APIBinding until the consumer has no objects of the API any more. */
export const BINDING_FINALIZER: string = 'atoll.dev/bound-objects';

/** An object that some logical cluster defines; without `cluster` it is in the one of the object that says so. */
export interface Reference {
  readonly cluster?: string;
  readonly name: string;
}

/** A logical cluster as an object of another one. A view laid over an object that was validated, like those below. */
export interface Workspace extends KubeObject {
  readonly spec?: {
    readonly type?: Reference;
    readonly maxObjects?: number;
    /** Who made it, as the server knows; not to be chosen or changed. */
    readonly owner?: { readonly username: string };
  };
  readonly status?: {
    readonly phase?: 'Scheduling' | 'Initializing' | 'Ready' | 'Terminating';
    readonly initializers?: readonly string[];
    readonly conditions?: readonly Condition[];
  };
}

/** What workspaces of a type begin with. */
export interface WorkspaceType extends KubeObject {
  readonly spec?: {
    /** Who has to be done before a workspace is Ready: each takes its name out of the status of the workspace. */
    readonly initializers?: readonly string[];
    /** APIExports of the cluster of the type that every workspace has bound. */
    readonly exports?: readonly string[];
    readonly maxObjects?: number;
  };
}

/** Definitions that others may take over, if they hold the verb `bind` on this object. */
export interface ApiExport extends KubeObject {
  readonly spec?: { readonly definitions?: readonly string[] };
}

export interface ApiBindingObject extends KubeObject {
  readonly spec?: { readonly export?: Reference };
  readonly status?: {
    readonly phase?: 'Binding' | 'Bound';
    readonly definitions?: readonly string[];
    readonly conditions?: readonly Condition[];
  };
}

const described = (schema: JsonObject, description: string): JsonObject => ({ ...schema, description });

const TEXT = { type: 'string' } as const;
const NAMES = {
  type: 'array',
  items: { type: 'string', maxLength: 253 },
  maxItems: 64,
  'x-kubernetes-list-type': 'set',
};
const COUNT = { type: 'integer', minimum: 0 };
const REFERENCE = {
  type: 'object',
  required: ['name'],
  properties: {
    cluster: { type: 'string', maxLength: 253 },
    name: { type: 'string', minLength: 1, maxLength: 253 },
  },
};
const CONDITIONS = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status'],
    properties: {
      type: TEXT,
      status: TEXT,
      reason: TEXT,
      message: TEXT,
      lastTransitionTime: { type: 'string', format: 'date-time' },
    },
  },
};
const AGE = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly description: string;
  readonly spec: JsonObject;
  readonly status?: JsonObject;
  readonly columns?: readonly JsonObject[];
}

const unchangeable = (field: string): JsonObject => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} may not be changed`,
});

const KINDS: readonly Kind[] = [
  {
    kind: 'Workspace',
    description: 'A logical cluster.',
    plural: WORKSPACES,
    shortNames: ['ws'],
    spec: {
      properties: {
        type: described(REFERENCE, 'The WorkspaceType that says what the workspace begins with.'),
        maxObjects: described(COUNT, 'How many objects it may hold.'),
        owner: described(
          { type: 'object', properties: { username: { type: 'string', maxLength: 1024 } } },
          'Who made it. The server says so, whatever is given.',
        ),
      },
      'x-kubernetes-validations': [unchangeable('type')],
    },
    status: { phase: TEXT, cluster: TEXT, URL: TEXT, initializers: NAMES, conditions: CONDITIONS },
    columns: [
      { name: 'Type', type: 'string', jsonPath: '.spec.type.name' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'URL', type: 'string', jsonPath: '.status.URL' },
    ],
  },
  {
    kind: 'WorkspaceType',
    description: 'What workspaces of a type begin with.',
    plural: WORKSPACE_TYPES,
    spec: {
      properties: {
        initializers: described(
          NAMES,
          'Who takes their name out of the status of a workspace before it is Ready.',
        ),
        exports: described(NAMES, 'APIExports of this cluster that every workspace has bound.'),
        maxObjects: described(COUNT, 'How many objects a workspace may hold at most.'),
      },
    },
  },
  {
    kind: 'APIExport',
    description:
      'Definitions that other logical clusters may take over, by whoever holds the verb bind on this.',
    plural: API_EXPORTS,
    spec: {
      properties: {
        definitions: described(
          NAMES,
          'CustomResourceDefinitions of this cluster that others may serve as well.',
        ),
      },
    },
  },
  {
    kind: 'APIBinding',
    description: 'Takes the definitions of an APIExport over.',
    plural: API_BINDINGS,
    spec: {
      required: ['export'],
      properties: { export: described(REFERENCE, 'The APIExport whose definitions are served here.') },
      'x-kubernetes-validations': [unchangeable('export')],
    },
    status: { phase: TEXT, definitions: NAMES, conditions: CONDITIONS },
    columns: [
      { name: 'Provider', type: 'string', jsonPath: '.spec.export.cluster' },
      { name: 'Export', type: 'string', jsonPath: '.spec.export.name' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    ],
  },
];

export const TENANCY_DEFINITIONS: readonly string[] = KINDS.map(({ plural }) => `${plural}.${TENANCY_GROUP}`);

/** The CustomResourceDefinitions of all kinds here, ready to be applied. */
export function tenancyDefinitions(): JsonObject[] {
  return KINDS.map(({ kind, plural, shortNames, description, spec, status, columns }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${TENANCY_GROUP}` },
    spec: {
      group: TENANCY_GROUP,
      scope: 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames === undefined ? {} : { shortNames: [...shortNames] }),
      },
      versions: [
        {
          name: TENANCY_VERSION,
          served: true,
          storage: true,
          ...(status === undefined ? {} : { subresources: { status: {} } }),
          additionalPrinterColumns: [...(columns ?? []), AGE],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              properties: {
                spec: { type: 'object', ...spec },
                ...(status === undefined ? {} : { status: { type: 'object', properties: status } }),
              },
            },
          },
        },
      ],
    },
  }));
}

/** Sets `status.conditions[type]`; whether that has changed anything. `now` is of the form of Kubernetes. */
export function setCondition(
  object: KubeObject,
  condition: { type: string; status: 'True' | 'False'; reason: string; message: string },
  now: string,
): void {
  const status = (asJson(object).status ?? {}) as JsonObject;
  const before = (status.conditions ?? []) as readonly JsonObject[];
  const old = before.find(({ type }) => type === condition.type);
  const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now;
  status.conditions = [
    ...before.filter(({ type }) => type !== condition.type),
    { ...condition, lastTransitionTime },
  ];
  asJson(object).status = status;
}
