import { type CustomKind, customResourceDefinition } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import {
  conditionsSchema,
  integer,
  labelSelectorSchema,
  list,
  mapOf,
  oneOf,
  record,
  text,
} from '../../schema/schema-of.ts';

const KIND = '^[A-Z][a-zA-Z0-9]{0,62}$';
const VERSION = '^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$';

/** Any object; what is in it is SimpleSchema, expressions, or a resource. */
function free(description: string): OpenApiSchema {
  return { type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true };
}

function immutable(what: string): Pick<OpenApiSchema, 'x-kubernetes-validations'> {
  return { 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: `${what} is immutable` }] };
}

function names(description: string): OpenApiSchema {
  return list(text(undefined, { pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 }), description, {
    maxItems: 32,
    'x-kubernetes-list-type': 'set',
  });
}

const schema = record(
  {
    kind: text('Kind of the instances.', { pattern: KIND, ...immutable('kind') }),
    apiVersion: text('Version of the instances, without a group.', {
      pattern: VERSION,
      ...immutable('apiVersion'),
    }),
    group: text('API group of the instances.', { default: 'kro.run', ...immutable('group') }),
    scope: oneOf(['Namespaced', 'Cluster'], 'Whether instances are in namespaces.', {
      default: 'Namespaced',
      ...immutable('scope'),
    }),
    spec: free('Fields of the instances, in SimpleSchema.'),
    types: free('Custom types that the fields use, in SimpleSchema.'),
    status: free('Fields of the status as expressions; their types are inferred.'),
    additionalPrinterColumns: list(
      record(
        {
          name: text(),
          type: text(),
          format: text(),
          description: text(),
          priority: integer(undefined, { format: 'int32' }),
          jsonPath: text(),
        },
        undefined,
        { required: ['jsonPath', 'name', 'type'] },
      ),
      'Columns that kubectl shows, instead of the usual ones.',
    ),
    shortNames: names('Short names of the instances.'),
    categories: names('Categories of the instances, such as all.'),
    subresources: record(
      {
        scale: record(
          { specReplicasPath: text(), statusReplicasPath: text(), labelSelectorPath: text() },
          'Where kubectl scale and autoscalers find and write how many.',
          { required: ['specReplicasPath', 'statusReplicasPath'] },
        ),
      },
      'Further ways to read and write instances.',
    ),
    metadata: record(
      { labels: mapOf(text()), annotations: mapOf(text()) },
      'Labels and annotations of the CustomResourceDefinition.',
    ),
  },
  'The API of the instances.',
  { required: ['apiVersion', 'kind'] },
);

const externalRef = record(
  {
    apiVersion: text(),
    kind: text(),
    metadata: record(
      {
        name: text('One object.'),
        namespace: text("The instance's by default; with a selector all of them."),
        selector: { ...labelSelectorSchema, description: 'Objects by their labels.' },
      },
      undefined,
      {
        'x-kubernetes-validations': [
          {
            rule: 'has(self.name) != has(self.selector)',
            message: 'exactly one of name and selector must be given',
          },
        ],
      },
    ),
  },
  'What the graph reads and never writes.',
  { required: ['apiVersion', 'kind', 'metadata'] },
);

const target = record(
  {
    cluster: record(
      {
        name: text('Name of a cluster of the fleet; expressions may be used.', { minLength: 1 }),
        kubeconfigSecretName: text(
          'Secret with a kubeconfig, where the hub runs graphs on clusters without an engine; expressions may be used.',
          { minLength: 1 },
        ),
        kubeconfigSecretNamespace: text('Its namespace; kro-system where nothing is said.', { minLength: 1 }),
      },
      'The cluster.',
      {
        'x-kubernetes-validations': [
          {
            rule: 'has(self.name) != has(self.kubeconfigSecretName)',
            message: 'exactly one of name and kubeconfigSecretName must be given',
          },
          {
            rule: '!has(self.kubeconfigSecretNamespace) || has(self.kubeconfigSecretName)',
            message: 'kubeconfigSecretNamespace means nothing without kubeconfigSecretName',
          },
        ],
      },
    ),
  },
  'Another cluster than that of the instance. Nodes see the objects as they are there.',
  { required: ['cluster'] },
);

const targetOfNode = record(
  {
    ...target.properties,
    hub: record(
      { scope: text('Namespaced or Cluster.'), schema: free('OpenAPI.') },
      'A kind that only the hub serves. Written by the hub, in what it hands on to clusters.',
    ),
  },
  target.description,
  {
    'x-kubernetes-validations': [
      { rule: 'has(self.cluster) != has(self.hub)', message: 'the name of a cluster must be given' },
    ],
  },
);

/** An element of `forEach`: the name of a variable, and the list it goes through. */
export const oneVariable: OpenApiSchema = { ...mapOf(text()), minProperties: 1, maxProperties: 1 };

const resource = record(
  {
    id: text('Name of the node, by which expressions use it.'),
    template: free('The object, with expressions.'),
    def: free('Values that other nodes use, with expressions. No object is made of it.'),
    externalRef,
    target: targetOfNode,
    readyWhen: list(text(), 'Expressions that are all true where the node is ready.'),
    includeWhen: list(text(), 'Expressions that are all true where the node is wanted.'),
    propagateWhen: list(text(), 'Expressions that are all true where a change may be applied.'),
    forEach: list(oneVariable, 'Variables and the lists they go through; one object for each combination.'),
  },
  undefined,
  {
    required: ['id'],
    'x-kubernetes-validations': [
      {
        rule: 'has(self.def) ? !has(self.template) && !has(self.externalRef) : has(self.template) != has(self.externalRef)',
        message: 'exactly one of template, externalRef and def must be given',
      },
      {
        rule: '!(has(self.externalRef) && has(self.forEach))',
        message: 'forEach cannot be used with externalRef',
      },
    ],
  },
);

const nodes = list(
  record({ id: text(), dependencies: list(record({ id: text() })) }),
  'Nodes that depend on others.',
);
const order = list(text(), 'Ids of the nodes in the order in which they are made.');

const spec = record(
  { schema, resources: list(resource, 'The nodes of the graph.'), target },
  'An API and what its instances are made of.',
  { required: ['schema'] },
);

/** What platform teams write. */
export const RESOURCE_GRAPH_DEFINITION: CustomKind = {
  group: 'kro.run',
  version: 'v1alpha1',
  kind: 'ResourceGraphDefinition',
  plural: 'resourcegraphdefinitions',
  shortNames: ['rgd'],
  scope: 'Cluster',
  description: 'Defines an API whose instances are made up of other resources.',
  spec,
  status: record({
    state: text('Active or Inactive.'),
    topologicalOrder: order,
    resources: nodes,
    conditions: conditionsSchema,
    lastIssuedRevision: integer('The highest number that a revision was given.', { format: 'int64' }),
  }),
  columns: [
    { name: 'APIVERSION', type: 'string', jsonPath: '.spec.schema.apiVersion' },
    { name: 'KIND', type: 'string', jsonPath: '.spec.schema.kind' },
    { name: 'STATE', type: 'string', jsonPath: '.status.state' },
    { name: 'READY', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'TOPOLOGICALORDER', type: 'string', jsonPath: '.status.topologicalOrder', priority: 1 },
    { name: 'AGE', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** What a definition said at a time. Only the engine writes it. */
export const GRAPH_REVISION: CustomKind = {
  group: 'internal.kro.run',
  version: 'v1alpha1',
  kind: 'GraphRevision',
  plural: 'graphrevisions',
  shortNames: ['gr'],
  scope: 'Cluster',
  description: 'An immutable revision of a ResourceGraphDefinition.',
  spec: record(
    {
      revision: integer('Number of the revision.', { format: 'int64', minimum: 1 }),
      snapshot: record(
        {
          name: text('Name of the ResourceGraphDefinition.', { minLength: 1 }),
          generation: integer('Its generation.', { format: 'int64' }),
          spec: free('What it said.'),
        },
        undefined,
        { required: ['name', 'spec'] },
      ),
    },
    undefined,
    { required: ['revision', 'snapshot'], ...immutable('spec') },
  ),
  status: record({ topologicalOrder: order, resources: nodes, conditions: conditionsSchema }),
  columns: [
    { name: 'RGD', type: 'string', jsonPath: '.spec.snapshot.name', priority: 1 },
    { name: 'REVISION', type: 'integer', jsonPath: '.spec.revision' },
    {
      name: 'HASH',
      type: 'string',
      jsonPath: '.metadata.labels.kro\\.run/graph-revision-hash',
      priority: 1,
    },
    { name: 'READY', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'AGE', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  selectable: ['.spec.snapshot.name'],
};

/** The CustomResourceDefinition of revisions. */
export function graphRevisionDefinition(): KubeObject {
  return customResourceDefinition(GRAPH_REVISION);
}

export function resourceGraphDefinitionDefinition(): KubeObject {
  return customResourceDefinition(RESOURCE_GRAPH_DEFINITION);
}
