import type { CustomKind } from '../../kube/custom-resource.ts';
import { anything, conditionsSchema, flag, integer, list, record, text } from '../../schema/schema-of.ts';
import { applyStrategySchema, deletionSchema, objectStrategySchema } from './strategy-schema.ts';

const ref = record({ apiVersion: text(), kind: text(), namespace: text(), name: text() });
const position = record(
  {
    lineage: text('Identity of the hub.'),
    epoch: integer('Raised when a hub takes over deliberately.', { format: 'int64' }),
    generation: integer('Raised with every change.', { format: 'int64' }),
  },
  'Which word of the hub this is; a spoke never goes back.',
);
const operation = { op: text(), path: text(), from: text(), value: anything(), expression: text() };
const dispatchSpec = record(
  {
    source: record(
      {
        apiVersion: text(),
        kind: text(),
        namespace: text(),
        name: text(),
        uid: text(),
        generation: integer(undefined, { format: 'int64' }),
      },
      'The object at the hub that asks for this.',
    ),
    author: record({ username: text(), groups: list(text()) }, 'Who asks for it at the hub.'),
    position,
    digest: text('What this generation stands for on the whole fleet.'),
    history: list(text(), 'generation:digest of the generations before, newest first.'),
    origin: text('The objects of the hub that this comes from: base64 of compressed JSON.'),
    revision: text('Digest of the content, before patches.'),
    bundles: list(text(), 'Names of the bundles that hold the content.'),
    objects: list(ref, 'What the content holds.'),
    patches: list(
      record({
        target: ref,
        override: integer(),
        name: text(),
        operations: list(
          record({ ...operation, format: text(), operations: list(record(operation)) }, undefined, {
            required: ['op', 'path'],
          }),
        ),
        stated: anything(),
      }),
      "This cluster's overrides, as JSON patch operations.",
    ),
    tombstones: list(
      record({
        ref,
        reason: text(),
        orphan: flag('Let it stay, without marks.'),
        deletion: deletionSchema,
      }),
      'Explicit orders to delete. Absence never deletes.',
    ),
    apply: applyStrategySchema,
    objectApply: list(objectStrategySchema, 'How some of the objects are written.'),
    hold: flag('Not to be taken yet: what was accepted before stays and is kept up.'),
    removeWhenLostSeconds: integer(
      'Remove the objects so long after this order itself got lost; they stay for good where it is left out.',
      { format: 'int64', minimum: 0 },
    ),
    shared: list(ref, 'Objects that only come along: other dispatches may bring the same.'),
    returns: text('What of the status of the objects is returned: None, Aggregate or Raw.'),
    returnFields: list(text(), 'Fields of the objects that are returned beside the status.'),
    publicKey: text('Public key of the hub; the spoke pins it at first contact.'),
    signature: text('Ed25519 signature by the hub, for this spoke.'),
  },
  'What the hub asks of this spoke.',
  { required: ['source', 'position', 'revision', 'bundles', 'objects'] },
);

/** The small object that the hub writes on a spoke. */
export const DISPATCH: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'Dispatch',
  plural: 'dispatches',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    'An order of the hub, kept on the spoke: which revision, which patches, what to delete. Only the hub writes its spec.',
  spec: dispatchSpec,
  status: record({
    position,
    appliedRevision: text(),
    appliedGeneration: integer(undefined, { format: 'int64' }),
    appliedAt: text(undefined, { format: 'date-time' }),
    summary: record({ total: integer(), applied: integer(), healthy: integer() }),
    objects: list(
      record({ ref, health: text(), reason: text(), message: text(), word: text() }),
      'Objects that are not healthy.',
    ),
    returned: list(
      record({
        ref,
        generation: integer(undefined, { format: 'int64' }),
        health: text(),
        status: anything(),
        fields: anything(),
        truncated: flag(),
      }),
      'What is returned of the status of objects, as the order asks.',
    ),
    removed: list(ref),
    conditions: conditionsSchema,
  }),
  columns: [
    { name: 'Source', type: 'string', jsonPath: '.spec.source.name' },
    { name: 'Generation', type: 'integer', jsonPath: '.spec.position.generation' },
    { name: 'Applied', type: 'integer', jsonPath: '.status.appliedGeneration' },
    { name: 'Objects', type: 'integer', jsonPath: '.status.summary.total' },
    { name: 'Healthy', type: 'integer', jsonPath: '.status.summary.healthy' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** A content-addressed, compressed part of a revision. */
export const BUNDLE: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'Bundle',
  plural: 'bundles',
  categories: ['atoll'],
  scope: 'Namespaced',
  description: 'Manifests by digest, compressed. Written by the hub, read by the spoke.',
  spec: record(
    { digest: text(), encoding: text(), data: text(), part: integer(), parts: integer() },
    undefined,
    { required: ['digest', 'encoding', 'data', 'part', 'parts'] },
  ),
  columns: [
    { name: 'Digest', type: 'string', jsonPath: '.spec.digest' },
    { name: 'Part', type: 'integer', jsonPath: '.spec.part' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** The spoke's own memory: what it accepted and which objects it made. */
export const OWNERSHIP_RECORD: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'OwnershipRecord',
  plural: 'ownershiprecords',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    'What this spoke took upon itself, written before it acts. Only the spoke writes it; the hub cannot.',
  spec: record({
    accepted: dispatchSpec,
    owned: list(
      record({
        ref,
        uid: text(),
        preserve: flag(),
        deletion: deletionSchema,
        finished: text(undefined, { format: 'date-time' }),
      }),
    ),
    lostSince: text(undefined, { format: 'date-time' }),
  }),
  columns: [
    { name: 'Generation', type: 'integer', jsonPath: '.spec.accepted.position.generation' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
