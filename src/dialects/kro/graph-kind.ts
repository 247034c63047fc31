import type { CustomKind } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import {
  anything,
  conditionsSchema,
  labelSelectorSchema,
  list,
  record,
  text,
} from '../../schema/schema-of.ts';
import { oneVariable } from './kinds.ts';

function free(description: string): OpenApiSchema {
  return { ...anything(description), type: 'object' };
}

const reference = record(
  {
    apiVersion: text(),
    kind: text(),
    metadata: record(
      {
        name: text('One object.'),
        namespace: text('That of the Graph by default; with a selector all of them.'),
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
  'What is read and never written.',
  { required: ['apiVersion', 'kind', 'metadata'] },
);

const node = record(
  {
    id: text('Name of the node, by which expressions use it.', { pattern: '^[A-Za-z][A-Za-z0-9]*$' }),
    template: free('An object, with expressions.'),
    ref: reference,
    def: free('Values that other nodes use, with expressions. No object is made of it.'),
    graph: free('Nodes with a scope of their own, as a list `nodes`.'),
    patch: free('Fields that are added to an object which is there already, or to its status.'),
    readyWhen: list(text(), 'Expressions that are all true where the node is ready.'),
    includeWhen: list(text(), 'Expressions that are all true where the node is wanted.'),
    forEach: list(oneVariable, 'Variables and the lists they go through; one for each combination.'),
  },
  undefined,
  {
    required: ['id'],
    'x-kubernetes-validations': [
      {
        rule: '[has(self.template), has(self.ref), has(self.def), has(self.graph), has(self.patch)].exists_one(x, x)',
        message: 'exactly one of template, ref, def, graph and patch must be given',
      },
      {
        rule: '!has(self.forEach) || has(self.template) || has(self.def)',
        message: 'forEach can be used with template and def only',
      },
    ],
  },
);

const managed = record({
  nodeID: text(),
  apiVersion: text(),
  kind: text(),
  namespace: text(),
  name: text(),
  uid: text(),
});

const contribution = record({
  apiVersion: text(),
  kind: text(),
  namespace: text(),
  name: text(),
  subresource: text(),
  fieldManager: text(),
});

/** Objects that belong together, in their order, without an API of their own. */
export const GRAPH: CustomKind = {
  group: 'kro.run',
  version: 'v1alpha1',
  kind: 'Graph',
  plural: 'graphs',
  scope: 'Namespaced',
  description: 'Objects that use each other, made in the order which follows from that.',
  spec: record(
    {
      nodes: list(node, 'The nodes, in any order.', {
        minItems: 1,
        maxItems: 1_000,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
      }),
      serviceAccountName: text(
        'With whose rights objects are read and written: a service account of the namespace; default where nothing is said.',
        { pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$', maxLength: 253 },
      ),
    },
    undefined,
    { required: ['nodes'] },
  ),
  status: record({
    conditions: conditionsSchema,
    managedResources: list(managed, 'The objects of the Graph, in the order of their nodes.'),
    contributions: list(contribution, 'Objects of others to which it adds fields.'),
    appliedServiceAccount: text(
      'With whose rights objects were last written; they are deleted with the same.',
    ),
  }),
  columns: [
    { name: 'READY', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'AGE', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
