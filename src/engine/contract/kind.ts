import type { CustomKind } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';
import {
  conditionsSchema,
  flag,
  integer,
  intOrString,
  labelSelectorSchema,
  list,
  oneOf,
  record,
  text,
} from '../../schema/schema-of.ts';
import { DAYS, type WindowSpec } from './window.ts';

export const CONTRACT_VERBS = ['apply', 'adopt', 'delete'] as const;
/** Make or change; take over what somebody else made; delete. */
export type ContractVerb = (typeof CONTRACT_VERBS)[number];

/** Users and groups as the hub knows them, with `*` and `?`. One that fits is enough. */
export interface AuthorSelector {
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
}

/** What a clause is about: all that is given must fit. */
export interface ContractClause {
  readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  /** With `*` and `?`; '' stands for what is in no namespace. All, and what is in none, where it is left out. */
  readonly namespaces?: readonly string[];
  readonly labelSelector?: LabelSelector;
  readonly verbs?: readonly ContractVerb[];
  readonly authors?: AuthorSelector;
}

export interface KeptObject {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly labelSelector?: LabelSelector;
}

export interface ExecutorSpec {
  readonly authors?: AuthorSelector;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
}

export interface SpokeContractSpec {
  readonly allow?: readonly ContractClause[];
  readonly deny?: readonly ContractClause[];
  readonly mustNotDelete?: readonly KeptObject[];
  readonly rules?: readonly { readonly expression: string; readonly message?: string }[];
  readonly executors?: readonly ExecutorSpec[];
  readonly paused?: boolean;
  readonly hold?: boolean;
  readonly windows?: readonly WindowSpec[];
  /** Services that the hub's users may reach, by their names in the path of the proxy; none without. */
  readonly services?: readonly { readonly namespace: string; readonly names: readonly string[] }[];
  readonly rate?: { readonly objectsPerMinute?: number; readonly bytesPerHour?: number | string };
}

export interface SpokeContract extends KubeObject {
  readonly spec: SpokeContractSpec;
}

const pattern = text(undefined, { maxLength: 512 });
const authors = record(
  {
    users: list(pattern, 'Names at the hub, with * and ?.', { maxItems: 256 }),
    groups: list(pattern, 'Groups at the hub, with * and ?.', { maxItems: 256 }),
  },
  'Who wrote the intent at the hub: one user or group that fits is enough. Everybody where it is left out.',
);
const clause = record({
  kinds: list(
    record(
      {
        group: text(
          'API group with * and ?. Where it is left out: in allow the core group, in deny every group.',
          { maxLength: 253 },
        ),
        kind: text('For example Deployment; * for all.', { minLength: 1, maxLength: 253 }),
      },
      undefined,
      { required: ['kind'] },
    ),
    'All where it is left out.',
    { maxItems: 256 },
  ),
  namespaces: list(
    text(undefined, { maxLength: 63 }),
    'With * and ?; "" stands for what is in no namespace. All of them, and what is in none, where it is left out. The namespaces of the cluster itself (kube-…) are meant by patterns that begin with kube- only.',
    { maxItems: 256 },
  ),
  labelSelector: { ...labelSelectorSchema, description: 'By the labels of the object.' },
  verbs: list(
    oneOf(CONTRACT_VERBS),
    'apply: make or change. adopt: take over what is there and was not made by Atoll. All where it is left out.',
    { maxItems: CONTRACT_VERBS.length },
  ),
  authors,
});

const spec = record(
  {
    allow: list(
      clause,
      'What the hub may do here: one clause that fits is enough. Everything outside of the namespaces of the cluster itself where it is left out.',
      { maxItems: 64 },
    ),
    deny: list(clause, 'What it may not do, whatever is allowed.', { maxItems: 64 }),
    mustNotDelete: list(
      record({
        group: text('API group with * and ?; all where it is left out.', { maxLength: 253 }),
        kind: text('With * and ?; all where it is left out.', { maxLength: 253 }),
        namespace: text('With * and ?; all where it is left out.', { maxLength: 63 }),
        name: text('With * and ?; all where it is left out.', { maxLength: 253 }),
        labelSelector: labelSelectorSchema,
      }),
      'Objects that no order of the hub deletes.',
      { maxItems: 256 },
    ),
    rules: list(
      record(
        {
          expression: text(
            'CEL over object (as it shall be; null for a deletion), oldObject (as it is; null where it is not there), author {username, groups}, source and verb. Must be true.',
            { minLength: 1, maxLength: 4096 },
          ),
          message: text('What to tell the author where it is not.', { maxLength: 1024 }),
        },
        undefined,
        { required: ['expression'] },
      ),
      'Further conditions; all must hold.',
      { maxItems: 32 },
    ),
    executors: list(
      record(
        {
          authors,
          serviceAccount: record(
            {
              namespace: text(undefined, { minLength: 1, maxLength: 63 }),
              name: text(undefined, { minLength: 1, maxLength: 253 }),
            },
            undefined,
            { required: ['namespace', 'name'] },
          ),
        },
        'The first that fits the author.',
        { required: ['serviceAccount'] },
      ),
      'Whose rights are used for whose objects: the API server of this cluster decides by them. Where it is left out the engine acts with its own.',
      { maxItems: 64 },
    ),
    hold: flag(
      'No newer order of the hub is taken, until it is false again; what was taken before is kept up, drift included.',
    ),
    paused: flag('Nothing is changed, not even to undo drift, until it is false again.'),
    windows: list(
      record(
        {
          timeZone: text('Name of the IANA database, such as Europe/Zurich; UTC where it is left out.'),
          days: list(oneOf(DAYS), 'All where it is left out.', { maxItems: 7 }),
          start: text('HH:MM', { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }),
          end: text('HH:MM, not included; before start it is of the next day.', {
            pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
          }),
        },
        undefined,
        { required: ['start', 'end'] },
      ),
      'New orders are carried out while one of them is open; what was carried out is kept up at all times.',
      { maxItems: 32 },
    ),
    services: list(
      record(
        {
          namespace: text(undefined, { minLength: 1, maxLength: 63 }),
          names: list(
            text(undefined, { minLength: 1, maxLength: 320 }),
            'As in the path of the proxy: name, name:port or scheme:name:port.',
            { minItems: 1, maxItems: 256 },
          ),
        },
        undefined,
        { required: ['namespace', 'names'] },
      ),
      'Services that users of the hub may reach through it, with a grant of port-forward. None where it is left out.',
      { maxItems: 64 },
    ),
    rate: record(
      {
        objectsPerMinute: integer('Objects changed in a minute.', { minimum: 1, maximum: 1_000_000 }),
        bytesPerHour: intOrString('Size of the objects changed in an hour, such as 10Mi.'),
      },
      'How fast changes are made.',
    ),
  },
  'What the hub may do on this cluster. Where there are several contracts all of them must allow it.',
);

/** The rules of a cluster's owner for its hub. */
export const SPOKE_CONTRACT: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'SpokeContract',
  plural: 'spokecontracts',
  shortNames: ['contract'],
  categories: ['atoll'],
  scope: 'Cluster',
  description: "The rules of this cluster's owner for its hub. No hub can write it.",
  spec,
  status: record({ conditions: conditionsSchema }),
  columns: [
    { name: 'Paused', type: 'boolean', jsonPath: '.spec.paused' },
    { name: 'Valid', type: 'string', jsonPath: '.status.conditions[?(@.type=="Valid")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
