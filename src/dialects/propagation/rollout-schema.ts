import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { flag, integer, intOrString, list, oneOf, record, text } from '../../schema/schema-of.ts';
import { clusterNames, clusterSelector } from './placement-schema.ts';

const limits: Record<string, OpenApiSchema> = {
  maxConcurrency: intOrString(
    'Clusters that are being changed at a time: a number or a percentage, rounded up.',
  ),
  maxUnavailable: intOrString(
    'Clusters that may be not known to be Ready at a time, those being changed included: a number or a percentage, rounded down, at least 1.',
  ),
  maxFailures: intOrString('Clusters of a stage that may fail before the stage does. 0 by default.'),
};

const windows = list(
  record(
    {
      name: text(undefined, { maxLength: 63 }),
      start: text('HH:MM.', { maxLength: 5 }),
      end: text('HH:MM; not later than start means the next day.', { maxLength: 5 }),
      timeZone: text('IANA name, such as Europe/Oslo. UTC by default.', { maxLength: 63 }),
      days: list(text(undefined, { maxLength: 9 }), 'On which it starts: Mon, Tue … Every day by default.', {
        maxItems: 7,
      }),
      dstPolicy: oneOf(
        ['extend', 'shrink', 'skip'],
        'For a window that a change of clocks makes longer or shorter: the longer (extend, by default) or the shorter time, or none that day.',
      ),
    },
    undefined,
    { required: ['start', 'end'] },
  ),
  'When clusters may be changed, beside the windows of their own.',
  { maxItems: 32 },
);

const stage = record(
  {
    name: text(undefined, { minLength: 1, maxLength: 63 }),
    clusterNames,
    clusterSelector,
    size: intOrString('At most so many clusters: a number, or a percentage of all, rounded up.'),
    ...limits,
    batch: record(
      {
        size: integer(undefined, { minimum: 1 }),
        intervalSeconds: integer('After all of a batch are done.', { minimum: 0 }),
      },
      'So many, then a wait, and so on.',
      { required: ['size'] },
    ),
    soakSeconds: integer(
      'How long all of the stage must have been Ready, without a break, before it is done.',
      {
        minimum: 0,
      },
    ),
    gates: list(
      record(
        {
          expression: text('CEL over fleet, stage, stages, clusters and target, which must be true.', {
            minLength: 1,
            maxLength: 4096,
          }),
          message: text('What people read while it is not.', { maxLength: 1024 }),
        },
        undefined,
        { required: ['expression'] },
      ),
      'Before the stage starts all must be true.',
      { maxItems: 16 },
    ),
    approval: record(
      {
        users: list(text(undefined, { maxLength: 1024 }), undefined, { maxItems: 64 }),
        groups: list(text(undefined, { maxLength: 1024 }), undefined, { maxItems: 64 }),
        timeoutSeconds: integer('Without an answer after so long the stage has failed.', { minimum: 1 }),
        autoApproveAfterSeconds: integer('Without an answer after so long it starts.', { minimum: 0 }),
      },
      'Someone of these must agree before the stage starts; whoever may create RolloutActions where nobody is named.',
    ),
  },
  'A cluster belongs to the first stage that means it and is not full.',
  { required: ['name'] },
);

const analysis = record(
  {
    metrics: list(
      record(
        {
          name: text(undefined, { minLength: 1, maxLength: 63 }),
          provider: text('An AnalysisProvider in the namespace.', { minLength: 1, maxLength: 253 }),
          query: text('That gives one number, a scalar or a vector of one.', {
            minLength: 1,
            maxLength: 4096,
          }),
          condition: text('What the number must be, such as < 1 or >= 99.9.', {
            maxLength: 64,
            pattern: '^ *(<=|>=|==|!=|<|>) *-?[0-9]+([.][0-9]+)? *$',
          }),
          failureLimit: integer('So many in a row that are not fail the stage. 1 by default.', {
            minimum: 1,
          }),
        },
        undefined,
        { required: ['name', 'provider', 'query', 'condition'] },
      ),
      undefined,
      { minItems: 1, maxItems: 16 },
    ),
    intervalSeconds: integer('Between two samples. 60 by default.', { minimum: 5 }),
    initialDelaySeconds: integer('From the start of a stage. 300 by default.', { minimum: 0 }),
  },
  'A stage is done when the newest sample of each metric is right, and fails when too many are not.',
  { required: ['metrics'] },
);

/** `spec.rollout`. Where the engine knows more (baselines), nothing drives it at a hub, so it is not offered. */
export const rolloutSchema: OpenApiSchema = record(
  {
    stages: list(stage, 'In order. Clusters that none means come last.', { maxItems: 64 }),
    paused: flag('No further cluster is started.'),
    ...limits,
    startsPerMinute: integer('Clusters that are started in a minute, at the most.', { minimum: 1 }),
    jitterPercent: integer('Lengthens the time between two starts by up to so much, at random.', {
      minimum: 0,
      maximum: 1000,
    }),
    readySeconds: integer('A cluster counts as done after being Ready for so long. 0 by default.', {
      minimum: 0,
    }),
    timeoutSeconds: integer(
      'A cluster that is not Ready after so long has failed; time out of sight does not count. 1800 by default.',
      { minimum: 1 },
    ),
    degradedSeconds: integer('A cluster that is Degraded for so long has failed. 60 by default.', {
      minimum: 0,
    }),
    unreachable: oneOf(
      ['Wait', 'Skip'],
      'Clusters that nothing is known of: wait for them (the default), or go on and let them catch up.',
    ),
    maintenance: record(
      {
        windows,
        outside: oneOf(
          ['Skip', 'Wait'],
          'Pass over a cluster outside of its windows and catch up when they open (the default), or wait for it.',
        ),
        maxWaitSeconds: integer('Of Wait: after so long the cluster has failed. A week by default.', {
          minimum: 1,
        }),
        respectClusterWindows: flag(
          'Mind the windows in spec.maintenance of SpokeClusters. True by default; those that enforce theirs are minded in any case.',
        ),
        atWindowEnd: oneOf(
          ['Continue', 'Graceful', 'Checkpoint'],
          'When a window ends before a cluster is done: let it go on (the default), or send it nothing more until the next one; with Checkpoint for three days at the most.',
        ),
      },
      'When clusters may be changed.',
    ),
    analysis,
    pauseOnIncidents: list(
      text(undefined, { minLength: 1, maxLength: 63 }),
      'Severities of Incidents (of the namespace, and of atoll-system) that pause it as long as one is open.',
      { maxItems: 16 },
    ),
    skipStages: list(
      record(
        {
          stages: list(text(), 'Names of stages.', { minItems: 1, maxItems: 64 }),
          clusterNames,
          clusterSelector,
        },
        undefined,
        { required: ['stages'] },
      ),
      'Clusters that belong to the next stage that means them instead.',
      { maxItems: 64 },
    ),
    rollback: record(
      {
        automatic: flag('When a cluster fails. Without it the rollout stops and waits for someone.'),
        scope: oneOf(
          ['Cluster', 'Stage', 'Fleet'],
          'What goes back: what failed, all of its stage (the default), or all.',
        ),
      },
      'Going back by itself.',
    ),
  },
  'When each cluster gets a new content. All at once where it is left out.',
);

const counts = record({
  total: integer(),
  updated: integer(),
  updating: integer(),
  pending: integer(),
  skipped: integer(),
  failed: integer(),
  rolledBack: integer(),
});

/** `status.rollout`. */
export const rolloutStatusSchema: OpenApiSchema = record(
  {
    phase: text('Progressing, Paused, Succeeded, Failed, Aborted, RollingBack, RolledBack or Refused.'),
    reason: text(),
    message: text('Where it is, what it waits for, and what to do.'),
    revision: integer('Number of the revision that is rolled out.'),
    stages: list(
      record({
        name: text(),
        phase: text(),
        clusters: integer(),
        updated: integer(),
        startedAt: text(undefined, { format: 'date-time' }),
        doneAt: text(undefined, { format: 'date-time' }),
        waiting: record({
          reason: text(),
          message: text(),
          remedy: text(),
          until: text(undefined, { format: 'date-time' }),
        }),
      }),
    ),
    clusters: counts,
    unsettled: list(
      record({ cluster: text(), phase: text(), message: text() }),
      'Clusters that are neither done nor waiting for their turn, 50 at most.',
    ),
  },
  'Where the rollout is.',
);

/** `status.revisions`. */
export const revisionsSchema: OpenApiSchema = list(
  record({
    number: integer(),
    digest: text(),
    at: text(undefined, { format: 'date-time' }),
    by: text('Who asked for it.'),
    cause: text(),
    succeededAt: text('Since when it was everywhere.', { format: 'date-time' }),
  }),
  'What can be gone back to, newest first: atoll rollback.',
);
