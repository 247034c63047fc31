import type { BundleSpec } from '../../engine/dispatch/dispatch.ts';
import type { Author } from '../../engine/intent.ts';
import type { RevisionContent } from '../../engine/rollout/index.ts';
import type { CustomKind } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { anything, integer, list, oneOf, record, text } from '../../schema/schema-of.ts';

/** What a person can tell a rollout to do. */
export const ROLLOUT_ACTIONS = [
  'Approve',
  'Reject',
  'Pause',
  'Resume',
  'Abort',
  'Promote',
  'Retry',
  'Rollback',
  'Skip',
  'Emergency',
] as const;

export type RolloutActionName = (typeof ROLLOUT_ACTIONS)[number];

/** A person's word to a rollout. Written once, never changed: who said what stays on record. */
export interface RolloutAction extends KubeObject {
  readonly spec: {
    /** Who says it, written down by the hub's API server. */
    readonly author?: Author;
    /** In the namespace of the action; a cluster-scoped one where that is the system's own. */
    readonly target: { readonly kind: string; readonly name: string };
    readonly action: RolloutActionName;
    readonly stage?: string;
    readonly cluster?: string;
    /** The number of a revision to go back to. */
    readonly revision?: number;
    readonly scope?: 'Stage' | 'Fleet';
    readonly message?: string;
  };
  readonly status?: {
    readonly state?: 'Done' | 'Refused';
    readonly message?: string;
    readonly at?: string;
  };
}

export const ROLLOUT_ACTION: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'RolloutAction',
  plural: 'rolloutactions',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    "A person's word to the rollout of an intent in its namespace. Who may create one may command rollouts there.",
  spec: record(
    {
      author: record(
        {
          username: text(undefined, { maxLength: 1024 }),
          groups: list(text(undefined, { maxLength: 1024 }), undefined, { maxItems: 4096 }),
        },
        'Who says it. The API server writes it; nobody can write somebody else.',
      ),
      target: record(
        {
          kind: text('Propagation, ClusterPropagation or another kind that is rolled out.', {
            minLength: 1,
            maxLength: 63,
          }),
          name: text(undefined, { minLength: 1, maxLength: 253 }),
        },
        'Whose rollout. Cluster-scoped objects are commanded from the namespace atoll-system.',
        { required: ['kind', 'name'] },
      ),
      action: oneOf(
        ROLLOUT_ACTIONS,
        'Retry also ends a rollback to an older revision. Emergency leaves windows out, where the owners of the clusters allow it.',
      ),
      stage: text('Of Approve and Reject: the stage.', { maxLength: 63 }),
      cluster: text('Of Skip: the cluster to go on without.', { maxLength: 253 }),
      revision: integer(
        'Of Rollback: the number of the revision to go back to, in stages as any other. Without it, what was changed last goes back at once.',
        { minimum: 1 },
      ),
      scope: oneOf(
        ['Stage', 'Fleet'],
        'Of Rollback without a revision: what goes back. Fleet where nothing is said.',
      ),
      message: text('Why, for people.', { maxLength: 1024 }),
    },
    'What is to be done.',
    {
      required: ['target', 'action'],
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'what was said stays: create another action' },
        {
          rule: "!(self.action in ['Approve', 'Reject']) || has(self.stage)",
          message: 'stage is required: which stage is meant',
        },
        {
          rule: "self.action != 'Skip' || has(self.cluster)",
          message: 'cluster is required: which cluster is gone on without',
        },
      ],
    },
  ),
  status: record(
    {
      state: oneOf(['Done', 'Refused']),
      message: text(),
      at: text(undefined, { format: 'date-time' }),
    },
    'What became of it.',
  ),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.target.kind', priority: 1 },
    { name: 'Target', type: 'string', jsonPath: '.spec.target.name' },
    { name: 'Action', type: 'string', jsonPath: '.spec.action' },
    { name: 'By', type: 'string', jsonPath: '.spec.author.username' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Message', type: 'string', jsonPath: '.status.message' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** Whose record or revision it is. */
export interface RecordSource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A part of one immutable revision of an intent. Small ones are one object. */
export interface IntentRevision extends KubeObject {
  readonly spec: {
    readonly source: RecordSource;
    readonly digest: string;
    readonly part: number;
    readonly parts: number;
    /** Everything but the objects, in the first part. */
    readonly content?: Omit<RevisionContent, 'objects'>;
    /** Digest of the objects, in the first part; '' where there are none. */
    readonly objects?: string;
    readonly bundles: readonly BundleSpec[];
  };
}

const source = record({ kind: text(), namespace: text(), name: text(), uid: text() });

export const INTENT_REVISION: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'IntentRevision',
  plural: 'intentrevisions',
  categories: ['atoll'],
  scope: 'Namespaced',
  description: 'What an intent asked for once, to go back to. Written by the hub for itself, never changed.',
  spec: record(
    {
      source,
      digest: text('Of the whole revision.'),
      part: integer(),
      parts: integer(),
      content: {
        ...anything('Overrides and how objects are divided and written.'),
        type: 'object',
      },
      objects: text('Digest of the objects.'),
      bundles: list(
        record(
          { digest: text(), encoding: text(), data: text(), part: integer(), parts: integer() },
          undefined,
          { required: ['digest', 'encoding', 'data', 'part', 'parts'] },
        ),
        'The objects, compressed.',
      ),
    },
    undefined,
    {
      required: ['source', 'digest', 'part', 'parts', 'bundles'],
      'x-kubernetes-validations': [
        { rule: 'self.digest == oldSelf.digest', message: 'a revision is immutable' },
      ],
    },
  ),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.source.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.source.namespace' },
    { name: 'Name', type: 'string', jsonPath: '.spec.source.name' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** What the hub remembers of the rollouts of one intent. */
export interface IntentRollout extends KubeObject {
  readonly spec: { readonly source: RecordSource; readonly encoding: 'json+gzip'; readonly data: string };
}

export const INTENT_ROLLOUT: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'IntentRollout',
  plural: 'intentrollouts',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    'Where the rollouts of an intent are. Written by the hub for itself; people read the status of the intent.',
  spec: record(
    {
      source,
      encoding: text(),
      data: text('Compressed JSON.'),
    },
    undefined,
    { required: ['source', 'encoding', 'data'] },
  ),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.source.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.source.namespace' },
    { name: 'Name', type: 'string', jsonPath: '.spec.source.name' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
