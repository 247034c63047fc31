import type { AnyCustomKind, CustomKind } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { flag, integer, list, oneOf, record, text } from '../../schema/schema-of.ts';

export const CONTROL_GROUP = 'control.kubestellar.io';

const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';
const LABEL_KEY =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$';
const RESOURCE = '^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$';

const labelValue = text(undefined, { pattern: LABEL_VALUE, maxLength: 63 });

/** What admission can check of a label selector, it checks. */
export const checkedSelector: OpenApiSchema = record({
  matchLabels: { type: 'object', additionalProperties: labelValue },
  matchExpressions: list(
    record(
      {
        key: text(undefined, { pattern: LABEL_KEY, maxLength: 317 }),
        operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: list(labelValue),
      },
      undefined,
      { required: ['key', 'operator'] },
    ),
  ),
});

/** `*` says all, so nothing can stand beside it. */
function names(description: string, pattern?: string): OpenApiSchema {
  return list(
    text(undefined, { maxLength: 253, ...(pattern === undefined ? {} : { pattern }) }),
    description,
    {
      maxItems: 1000,
      'x-kubernetes-validations': [
        {
          rule: "size(self) <= 1 || !self.exists(name, name == '*')",
          message: "'*' must be the only element",
        },
      ],
    },
  );
}

const SELECTORS = { maxItems: 100 };

/** `labels`: how the field with selectors of the objects themselves is called. */
export function objectTestFields(
  labels: 'objectSelectors' | 'labelSelectors',
): Record<string, OpenApiSchema> {
  return {
    apiGroup: text("API group; '' is the core group. All groups where it is absent."),
    resources: names("Plural names in lower case; '*' or none means all.", RESOURCE),
    namespaces: names(
      "Names of namespaces; '*' or none means all, and lets objects pass that are in no namespace.",
    ),
    namespaceSelectors: list(
      checkedSelector,
      'By labels of the Namespace, any of which must match. Objects in no namespace pass {} only.',
      SELECTORS,
    ),
    objectNames: names("Names of objects; '*' or none means all."),
    [labels]: list(checkedSelector, 'By labels of the object, any of which must match.', SELECTORS),
  };
}

/** A clause that every object passes would send the whole hub. */
export function tellsApart(labels: 'objectSelectors' | 'labelSelectors'): OpenApiSchema {
  const list = (field: string): string => `(has(self.${field}) && size(self.${field}) > 0`;
  const someName = (field: string): string => `${list(field)} && !self.${field}.exists(item, item == '*'))`;
  const someLabel = (field: string): string =>
    `${list(field)} && self.${field}.all(item, (has(item.matchLabels) && size(item.matchLabels) > 0) || (has(item.matchExpressions) && size(item.matchExpressions) > 0)))`;
  return {
    'x-kubernetes-validations': [
      {
        rule: [
          'has(self.apiGroup)',
          ...['resources', 'namespaces', 'objectNames'].map(someName),
          ...['namespaceSelectors', labels].map(someLabel),
        ].join(' || '),
        message: `at least one of apiGroup, resources, namespaces, namespaceSelectors, objectNames and ${labels} must tell objects apart`,
      },
    ],
  };
}

const modulation: Record<string, OpenApiSchema> = {
  createOnly: flag('Make the object where it is not there, and never change it.'),
  statusCollectors: list(text(), 'Names of StatusCollectors.'),
  wantSingletonReportedState: flag('Copy the status of its one copy to the object.'),
  wantMultiWECReportedState: flag('Make the status of the object of those of all its copies.'),
};

const status = record({
  conditions: list(
    record(
      {
        type: text(),
        status: oneOf(['True', 'False', 'Unknown']),
        reason: text(),
        message: text(),
        lastTransitionTime: text(undefined, { format: 'date-time' }),
        lastUpdateTime: text(undefined, { format: 'date-time' }),
      },
      undefined,
      { required: ['type', 'status', 'reason', 'message', 'lastTransitionTime', 'lastUpdateTime'] },
    ),
  ),
  observedGeneration: integer(undefined, { format: 'int64' }),
  errors: list(text(), 'What is wrong, one text each.'),
});

const columns = [
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Synced', type: 'string', jsonPath: '.status.conditions[?(@.type=="Synced")].status' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
] as const;

export const BINDING_POLICY: CustomKind = {
  group: CONTROL_GROUP,
  version: 'v1alpha1',
  kind: 'BindingPolicy',
  plural: 'bindingpolicies',
  shortNames: ['bp'],
  scope: 'Cluster',
  description: 'Which objects of the hub go to which clusters.',
  spec: record({
    clusterSelectors: list(
      checkedSelector,
      'By labels of clusters; a cluster that passes any of them is a destination.',
      SELECTORS,
    ),
    downsync: list(
      record(
        { ...objectTestFields('objectSelectors'), ...modulation },
        undefined,
        tellsApart('objectSelectors'),
      ),
      'An object that passes any of them goes there.',
      { maxItems: 100 },
    ),
  }),
  status,
  columns,
};

const listed: Record<string, OpenApiSchema> = {
  group: text("'' is the core group."),
  version: text(),
  resource: text('The plural name.'),
  name: text(),
  resourceVersion: text('Of the object, when its content was looked at.'),
  ...modulation,
};

export const BINDING: CustomKind = {
  group: CONTROL_GROUP,
  version: 'v1alpha1',
  kind: 'Binding',
  plural: 'bindings',
  shortNames: ['bdg'],
  scope: 'Cluster',
  description: 'Objects of the hub, and the clusters that they go to, one by one.',
  spec: record({
    workload: record({
      clusterScope: list(record(listed, undefined, { required: ['version', 'resource', 'name'] })),
      namespaceScope: list(
        record({ ...listed, namespace: text() }, undefined, {
          required: ['version', 'resource', 'namespace', 'name'],
        }),
      ),
    }),
    destinations: list(record({ clusterId: text('Name of the SpokeCluster.') })),
  }),
  status,
  columns,
};

/** The kinds of the current API. */
export const CONTROL_KINDS: readonly AnyCustomKind[] = [BINDING_POLICY, BINDING];
