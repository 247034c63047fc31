import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { flag, integer, labelSelectorSchema, list, oneOf, record, text } from '../../schema/schema-of.ts';

/** How an object is deleted. */
export const deletionSchema: OpenApiSchema = record(
  {
    propagationPolicy: oneOf(
      ['Background', 'Foreground', 'Orphan'],
      'What becomes of the objects that it owns; Background by default.',
    ),
    gracePeriodSeconds: integer('Seconds that it has to end.', { format: 'int64', minimum: 0 }),
  },
  'How the objects are deleted.',
);

const choices: Record<string, OpenApiSchema> = {
  strategy: oneOf(
    ['ServerSideApply', 'Update', 'CreateOnly', 'ReadOnly'],
    'ServerSideApply (the default) owns the stated fields. Update replaces the whole object but for what its cluster owns. CreateOnly makes it and never changes it. ReadOnly only tells how it is.',
  ),
  force: flag('Server-side apply: take fields over from other managers. True by default.'),
  ignoreFields: list(
    record(
      {
        condition: oneOf(
          ['OnPresent', 'OnChange'],
          'Leave the fields alone once the object is there, or once another writer has changed them.',
        ),
        paths: list(
          text(undefined, { minLength: 1 }),
          'Such as spec.template.spec.containers[*].image or /spec/replicas.',
          { minItems: 1, maxItems: 64 },
        ),
      },
      undefined,
      { required: ['condition', 'paths'] },
    ),
    'Fields that belong to the cluster.',
    { maxItems: 64 },
  ),
  adopt: oneOf(
    ['Never', 'Always'],
    'What to do about an object that is there already and was made by someone else. Never (the default) leaves it alone and reports it; Always takes it over.',
  ),
  retainReplicas: flag('Leave the number of replicas to the cluster, once the object is there.'),
  preserveOnDeletion: flag('Let objects stay on the cluster, without marks, where they would be removed.'),
  replace: oneOf(
    ['Never', 'WhenImmutable'],
    'What to do where a field is to change that cannot be changed on an object that is there. Never (the default) reports it; WhenImmutable deletes the object and makes it anew, if Atoll made it, by all the rules of a removal. What holds data (namespaces, definitions, volumes and claims) is never replaced.',
  ),
  deletion: deletionSchema,
  onFinish: record(
    {
      ttlSeconds: integer('Remove it so long after its end; it stays where nothing is said.', {
        format: 'int64',
        minimum: 0,
      }),
    },
    'Leave an object alone that has come to its end by itself (a Job, a Pod), instead of keeping it up: it is not changed, and not made again, any more.',
  ),
  workloadUpdate: {
    ...record(
      {
        strategy: oneOf(
          ['Rolling', 'Canary', 'AllAtOnce'],
          'Rolling (the default) is the way that the workload itself asks for. Canary goes by steps (Deployments, StatefulSets). AllAtOnce replaces all pods at the same time (Deployments, DaemonSets). Other kinds change in their own way.',
        ),
        canary: record(
          {
            steps: list(
              record(
                {
                  weight: integer('Percentage of the pods that have the new template, rounded up.', {
                    minimum: 1,
                    maximum: 100,
                  }),
                  pauseSeconds: integer('How long it holds once they are available.', {
                    minimum: 0,
                    maximum: 2_592_000,
                  }),
                },
                undefined,
                { required: ['weight'] },
              ),
              'In order, each weight larger than the one before. After the last the workload goes on in its own way.',
              { minItems: 1, maxItems: 32 },
            ),
          },
          'Of Canary.',
          { required: ['steps'] },
        ),
        timeoutSeconds: integer(
          'Pods that are not available after so long, pauses apart, stop the change where it is, and the cluster is Degraded. 1800 by default.',
          { minimum: 1, maximum: 2_592_000 },
        ),
      },
      'How the pods of a workload change within one cluster when their template does.',
    ),
    'x-kubernetes-validations': [
      {
        rule: "(has(self.strategy) && self.strategy == 'Canary') == has(self.canary)",
        message: 'canary is for the strategy Canary, which needs it',
      },
    ],
  },
};

/** How objects are written on a spoke. */
export const applyStrategySchema: OpenApiSchema = record(
  choices,
  'How the objects are written on a cluster.',
);

export const objectStrategySchema: OpenApiSchema = record(
  {
    target: record(
      {
        apiVersion: text(),
        kind: text(),
        name: text(),
        namespace: text(),
        labelSelector: labelSelectorSchema,
      },
      'Which of the objects.',
    ),
    ...choices,
  },
  undefined,
  { required: ['target'] },
);
