import type { CustomKind } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { anything, labelSelectorSchema, list, mapOf, oneOf, record, text } from '../../schema/schema-of.ts';

const MOST = 256;
const operator = oneOf(['add', 'remove', 'replace']);
const pointer = (description: string): OpenApiSchema =>
  text(description, { minLength: 1, maxLength: 2_048, pattern: '^/' });
const several = (items: OpenApiSchema, description: string): OpenApiSchema =>
  list(items, description, { maxItems: MOST });

const clusters = record(
  {
    labelSelector: labelSelectorSchema,
    fieldSelector: record({
      matchExpressions: list(
        record(
          {
            key: oneOf(['provider', 'region', 'zone']),
            operator: oneOf(['In', 'NotIn']),
            values: list(text()),
          },
          undefined,
          { required: ['key', 'operator'] },
        ),
      ),
    }),
    clusterNames: list(text(), undefined, { maxItems: 10_000 }),
    exclude: list(text(), 'Not on these, whatever else is said.', { maxItems: 10_000 }),
  },
  'On which clusters. All of what is said must hold; all clusters where nothing is said.',
);

const words = record(
  {
    containerName: text(undefined, { minLength: 1 }),
    operator: oneOf(['add', 'remove']),
    value: list(text()),
  },
  undefined,
  { required: ['containerName', 'operator'] },
);
const entries = record({ operator, value: mapOf(text()) }, undefined, { required: ['operator'] });
const fieldOperations = several(
  record({ subPath: pointer('Within the document.'), operator, value: anything() }, undefined, {
    required: ['subPath', 'operator'],
  }),
  'In their order.',
);

const overriders = record(
  {
    imageOverrider: several(
      record(
        {
          predicate: record({ path: pointer('Of the one image that is meant.') }, undefined, {
            required: ['path'],
          }),
          component: oneOf(['Registry', 'Repository', 'Tag']),
          operator,
          value: text(),
        },
        undefined,
        { required: ['component', 'operator'] },
      ),
      'Parts of images: of all containers where no predicate is given.',
    ),
    commandOverrider: several(words, 'The command of a container.'),
    argsOverrider: several(words, 'The arguments of a container.'),
    labelsOverrider: several(
      entries,
      'Labels of the object. remove and replace only where the key is there.',
    ),
    annotationsOverrider: several(entries, 'The same for annotations.'),
    fieldOverrider: several(
      record(
        {
          fieldPath: pointer('A string that holds a JSON or YAML document.'),
          json: fieldOperations,
          yaml: fieldOperations,
        },
        undefined,
        { required: ['fieldPath'] },
      ),
      'Changes inside of documents.',
    ),
    plaintext: several(
      record({ path: pointer('A JSON pointer.'), operator, value: anything() }, undefined, {
        required: ['path', 'operator'],
      }),
      'A JSON patch, which has the last word.',
    ),
  },
  'Carried out in the order in which they stand here.',
);

const spec = record(
  {
    resourceSelectors: several(
      record(
        {
          apiVersion: text(undefined, { minLength: 1 }),
          kind: text(undefined, { minLength: 1 }),
          namespace: text('Of a ClusterOverridePolicy; all where it is left out.'),
          name: text('With a name labels are not looked at.'),
          labelSelector: labelSelectorSchema,
        },
        undefined,
        { required: ['apiVersion', 'kind'] },
      ),
      'Which objects are changed; all that are sent where it is left out.',
    ),
    overrideRules: several(
      record({ targetCluster: clusters, overriders }, undefined, { required: ['overriders'] }),
      'In their order.',
    ),
    targetCluster: { ...clusters, description: 'The older form of a single rule: use overrideRules.' },
    overriders: { ...overriders, description: 'The older form of a single rule: use overrideRules.' },
  },
  undefined,
);

const shared = {
  group: 'policy.karmada.io',
  version: 'v1alpha1',
  spec,
  required: ['spec'],
  columns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
} as const;

export const OVERRIDE_POLICY: CustomKind = {
  ...shared,
  kind: 'OverridePolicy',
  plural: 'overridepolicies',
  shortNames: ['op'],
  categories: ['karmada-io'],
  scope: 'Namespaced',
  description: 'Changes objects of its namespace on some clusters, whoever sends them.',
};

export const CLUSTER_OVERRIDE_POLICY: CustomKind = {
  ...shared,
  kind: 'ClusterOverridePolicy',
  plural: 'clusteroverridepolicies',
  shortNames: ['cop'],
  categories: ['karmada-io'],
  scope: 'Cluster',
  description: 'Changes objects on some clusters, whoever sends them. OverridePolicies come after it.',
};
