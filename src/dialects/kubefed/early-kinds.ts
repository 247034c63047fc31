import type { CustomKind } from '../../kube/custom-resource.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { anything, integer, labelSelectorSchema, list, mapOf, record, text } from '../../schema/schema-of.ts';
import { isNamespaceType, pluralOf } from './type-config.ts';
import type { ApiResource } from './types.ts';

export const EARLY_GROUP = 'core.federation.k8s.io';
export const EARLY_VERSION = 'v1alpha1';

/** API servers take kinds of Kubernetes' own groups only where somebody says whether they were reviewed. */
const annotations = { 'api-approved.kubernetes.io': 'unapproved, from the time before such reviews' };

/** The one field that each of the first types let clusters override, and where it is in the target. */
export const EARLY_OVERRIDE_FIELDS: Readonly<Record<string, { field: string; path: readonly string[] }>> = {
  ConfigMap: { field: 'data', path: ['data'] },
  Secret: { field: 'data', path: ['data'] },
  Deployment: { field: 'replicas', path: ['spec', 'replicas'] },
  ReplicaSet: { field: 'replicas', path: ['spec', 'replicas'] },
  Job: { field: 'parallelism', path: ['spec', 'parallelism'] },
};

/**
 * The early form of a federated type: template, placement and override as three kinds, joined by namespace and name. Of a
 * Namespace only the placement is a kind; the Namespace itself is the template.
 */
export function earlyKinds(target: ApiResource, group: string = EARLY_GROUP): readonly CustomKind[] {
  const base = (kind: string, description: string, spec: OpenApiSchema): CustomKind => ({
    group,
    version: EARLY_VERSION,
    kind,
    plural: pluralOf(kind),
    scope: isNamespaceType(target) ? 'Namespaced' : target.scope,
    description,
    spec,
    annotations,
  });
  const kind = `Federated${target.kind}`;
  const placement = base(
    `${kind}Placement`,
    `Where the ${kind} of the same name is placed.`,
    record({
      clusterNames: list(text(), 'Wins over the selector.'),
      clusterSelector: { ...labelSelectorSchema, description: 'By labels of clusters; {} means all.' },
    }),
  );
  if (isNamespaceType(target)) return [placement];
  return [
    base(
      kind,
      `The template of ${target.kind} objects on several clusters.`,
      record({ template: { ...anything(), type: 'object' } }),
    ),
    placement,
    base(
      `${kind}Override`,
      `What is different on single clusters of the ${kind} of the same name.`,
      record({ overrides: list(record(overrideFields(target), undefined, { required: ['clusterName'] })) }),
    ),
  ];
}

function overrideFields(target: ApiResource): Record<string, OpenApiSchema> {
  const typed = EARLY_OVERRIDE_FIELDS[target.kind]?.field;
  return {
    clusterName: text(),
    ...(typed === undefined
      ? {}
      : { [typed]: typed === 'data' ? mapOf(text()) : integer(undefined, { format: 'int32' }) }),
    clusterOverrides: list(
      record({ path: text('Fields joined by dots.'), value: anything() }, undefined, { required: ['path'] }),
    ),
  };
}

/** The policy object of the first months: which objects of its namespace go to which clusters, both by labels. */
export const FEDERATION_PLACEMENT: CustomKind = {
  group: EARLY_GROUP,
  version: EARLY_VERSION,
  kind: 'FederationPlacement',
  plural: 'federationplacements',
  scope: 'Namespaced',
  description: 'Places objects of its namespace, by their labels, on clusters, by theirs.',
  annotations,
  spec: record({
    resourceSelector: { ...labelSelectorSchema, description: 'Objects of this namespace; {} means all.' },
    clusterSelector: { ...labelSelectorSchema, description: 'Clusters; {} means all.' },
  }),
};
