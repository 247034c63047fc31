import type { CustomKind } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { conditionsSchema, list, oneOf, record, text } from '../../schema/schema-of.ts';
import { HEALTH_STATES, type HealthState } from '../health/verdict.ts';

/** Which way the value of a field goes between a hub and the object on a cluster. */
export type FieldDirection = 'Down' | 'Up' | 'Neither' | 'InitialOnly';

export interface ResourceRuleSpec {
  readonly target: { readonly group?: string; readonly kind: string };
  /** Where objects of the kind say how many replicas they have. */
  readonly replicasPath?: string;
  readonly fields?: readonly { readonly path: string; readonly direction: FieldDirection }[];
  /** The first whose expression is true says how an object is. */
  readonly health?: readonly {
    readonly state: HealthState;
    readonly expression: string;
    readonly reason?: string;
    /** An expression as well, of a string. */
    readonly message?: string;
  }[];
  /** CEL over `object`, each a list of `{apiVersion, kind, name}` that the object needs. */
  readonly references?: readonly string[];
  /** CEL over `object` and `members` (`cluster`, `applied`, `healthy`, `status`) that gives the status at the hub. */
  readonly status?: string;
}

export interface ResourceRule extends KubeObject {
  readonly spec: ResourceRuleSpec;
}

const spec = record(
  {
    target: record(
      {
        group: text('API group; the core group where it is left out.'),
        kind: text('For example Rollout.', { minLength: 1 }),
      },
      'The kind that the rule is for, in every version.',
      { required: ['kind'] },
    ),
    replicasPath: text('Where objects of the kind say how many replicas they have, such as spec.replicas.'),
    fields: list(
      record(
        {
          path: text('Such as spec.replicas, spec.items[*].value or /spec/replicas.', { minLength: 1 }),
          direction: oneOf(
            ['Down', 'Up', 'Neither', 'InitialOnly'],
            "Down: the hub's value holds (as for every field that no rule names). InitialOnly: it holds when the object is made. Up and Neither: the cluster's holds and the hub's is never sent.",
          ),
        },
        undefined,
        { required: ['path', 'direction'] },
      ),
      'Which fields belong to the cluster.',
      { maxItems: 64 },
    ),
    health: list(
      record(
        {
          state: oneOf([...HEALTH_STATES]),
          expression: text('CEL over `object`; true where the object is in this state.', { minLength: 1 }),
          reason: text('One word. The name of the state by default.'),
          message: text('CEL over `object` that gives a text.'),
        },
        undefined,
        { required: ['state', 'expression'] },
      ),
      'The first whose expression is true says how an object is; where none is, the conditions of the object do.',
      { maxItems: 16 },
    ),
    references: list(
      text(
        'CEL over `object` that gives a list of {apiVersion, kind, name}, with namespace where it is another one and optional.',
        { minLength: 1, maxLength: 4096 },
      ),
      'What objects of the kind need: it comes along where a propagation asks for references.',
      { maxItems: 16 },
    ),
    status: text(
      'CEL over `object` and `members`, a list of {cluster, applied, healthy, status}, that gives the status of the object at the hub. The clusters return the status of such objects where they have the rule as well.',
      { minLength: 1, maxLength: 4096 },
    ),
  },
  'What the engine does not know of a kind by itself.',
  { required: ['target'] },
);

/** What people teach the engine of a kind: its health, which fields its cluster owns, where its replicas are. */
export const RESOURCE_RULE: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'ResourceRule',
  plural: 'resourcerules',
  categories: ['atoll'],
  scope: 'Cluster',
  description:
    'Teaches the engine a kind: how to tell its health, and which of its fields belong to the cluster.',
  spec,
  status: record({ conditions: conditionsSchema }),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.target.kind' },
    { name: 'Group', type: 'string', jsonPath: '.spec.target.group' },
    { name: 'Valid', type: 'string', jsonPath: '.status.conditions[?(@.type=="Valid")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
