import type { CustomKind } from '../../kube/custom-resource.ts';
import { dereference, type OpenApiSchema, type TypeSchema } from '../../schema/open-api-schema.ts';
import {
  anything,
  flag,
  integer,
  labelSelectorSchema,
  list,
  oneOf,
  record,
  text,
} from '../../schema/schema-of.ts';
import type { FederatedType } from './types.ts';

const placement = record(
  {
    clusters: list(
      record({ name: text() }, undefined, { required: ['name'] }),
      'Wins over the selector, an empty list too.',
    ),
    clusterSelector: {
      ...labelSelectorSchema,
      description: 'By labels of the KubeFedCluster; {} means all.',
    },
  },
  'Where to. Nothing given means nowhere.',
);

const overrides = list(
  record(
    {
      clusterName: text(),
      clusterOverrides: list(
        record(
          {
            op: text('add, remove or replace, which is the default.', { pattern: '^(add|remove|replace)?$' }),
            path: text('JSON pointer.'),
            value: anything(),
          },
          undefined,
          { required: ['path'] },
        ),
      ),
    },
    undefined,
    { required: ['clusterName'] },
  ),
  'What is different on single clusters.',
);

const dateTime = (description: string): OpenApiSchema => text(description, { format: 'date-time' });

/** The status that every federated kind has. */
const status = record({
  observedGeneration: integer(undefined, { format: 'int64' }),
  conditions: list(
    record(
      {
        type: text(),
        status: oneOf(['True', 'False', 'Unknown']),
        reason: text(),
        lastUpdateTime: dateTime('When it was written last.'),
        lastTransitionTime: dateTime('Since when the status is what it is.'),
      },
      undefined,
      { required: ['type', 'status'] },
    ),
  ),
  clusters: list(
    record(
      {
        name: text(),
        status: text('Nothing where it is propagated, else what stands in the way.'),
        remoteStatus: anything('The status that the object has there.'),
      },
      undefined,
      { required: ['name'] },
    ),
  ),
});

/**
 * The generated kind `Federated<Kind>`. `target` is the schema of the target and `shortNames` its short names, as far as they
 * are known; the template is free in form, so that it may be of any version of the target.
 */
export function federatedKind(
  type: FederatedType,
  target?: TypeSchema,
  shortNames: readonly string[] = [],
): CustomKind {
  const { group = '', version, kind, pluralName, scope } = type.federated;
  return {
    group,
    version,
    kind,
    plural: pluralName,
    ...(shortNames.length === 0 ? {} : { shortNames: shortNames.map((name) => `f${name}`) }),
    scope,
    description: `${type.target.kind} on several clusters.`,
    spec: record({
      template: { ...anything(`The ${type.target.kind} without its name.`), type: 'object' },
      placement,
      overrides,
      ...(target !== undefined && hasReplicas(target)
        ? {
            retainReplicas: flag(
              'Whether each cluster has its own number of replicas once the object is there.',
            ),
          }
        : {}),
    }),
    status,
    required: ['spec'],
  };
}

/** Whether objects of a type have a number of replicas where Deployments have it. */
function hasReplicas({ schema, resolve }: TypeSchema): boolean {
  const child = (of: OpenApiSchema | undefined, key: string): OpenApiSchema | undefined => {
    const found = of?.properties?.[key];
    return found && dereference(found, resolve);
  };
  const replicas = child(child(dereference(schema, resolve), 'spec'), 'replicas');
  return replicas?.type === 'integer' && replicas.format === 'int32';
}
