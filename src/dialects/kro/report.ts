import {
  type CompiledGraph,
  type GraphIssue,
  issueText,
  LABELS,
  MANAGED_BY,
} from '../../engine/graph/index.ts';
import { isTrue, setCondition } from '../../kube/conditions.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import { COMPOSITION } from './composition.ts';
import { type InstanceTally, tallyCondition } from './instance-tally.ts';
import { TARGETS_READY } from './target-report.ts';
import type { ResourceGraphDefinition, ResourceGraphDefinitionStatus } from './types.ts';

/** The reason of what was not looked at, since something before it is wrong. */
export const AWAITING = 'AwaitingReconciliation';

/** What is known of a definition when its status is written. */
export interface DefinitionFindings {
  readonly revisions: Finding<
    | 'Resolved'
    | 'WaitingForGraphRevisionSettlement'
    | 'WaitingForGraphRevisionWarmup'
    | 'WaitingForGraphRevisionCompilation'
    | 'Failed'
    | typeof AWAITING
  >;
  readonly accepted: Finding<'Valid' | 'InvalidResourceGraph'>;
  readonly kind: Finding<'Ready' | 'Failed' | typeof AWAITING>;
  readonly controller: Finding<'Running' | 'FailedToStart' | 'FailedLabelerSetup' | typeof AWAITING>;
  /** The graph that serves; absent where none does. */
  readonly graph?: CompiledGraph;
  readonly lastIssuedRevision: number;
  /** Of a definition that a hub sent: how its instances are doing here. */
  readonly instances?: InstanceTally | undefined;
}

export interface Finding<Reason extends string> {
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
}

/** Conditions of a definition but Ready, which depends on them all. */
const PARTS = ['GraphRevisionsResolved', 'GraphAccepted', 'KindReady', 'ControllerReady'] as const;
/** What became of it on the clusters of a hub; the hub writes it. */
export const DISTRIBUTED = 'Distributed';
/** What the state is made of: a definition that goes on to serve its last good revision is Active. */
const DECISIVE = ['GraphAccepted', 'KindReady', 'ControllerReady'] as const;

/** The status of a definition. `now` in milliseconds since the epoch. */
export function definitionStatus(
  object: ResourceGraphDefinition,
  findings: DefinitionFindings,
  now: number,
): ResourceGraphDefinitionStatus {
  const generation = object.metadata.generation;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  // Types that are written no longer are dropped.
  let conditions: Condition[] = (object.status?.conditions ?? []).filter(({ type }) =>
    ['Ready', DISTRIBUTED, TARGETS_READY, COMPOSITION, ...PARTS].includes(type),
  );
  const values: Readonly<Record<(typeof PARTS)[number], Finding<string>>> = {
    GraphRevisionsResolved: findings.revisions,
    GraphAccepted: findings.accepted,
    KindReady: findings.kind,
    ControllerReady: findings.controller,
  };
  for (const type of PARTS)
    conditions = setCondition(conditions, { type, ...values[type], ...observed }, now).conditions;
  conditions = setCondition(conditions, { type: 'Ready', ...worst(values), ...observed }, now).conditions;
  if (findings.instances)
    conditions = setCondition(
      conditions,
      { ...tallyCondition(findings.instances), ...observed },
      now,
    ).conditions;
  const active = DECISIVE.every((type) => isTrue(conditions, type));
  const before = object.status ?? {};
  const issued = Math.max(before.lastIssuedRevision ?? 0, findings.lastIssuedRevision);
  return {
    state: active ? 'Active' : 'Inactive',
    ...(findings.graph
      ? graphReport(findings.graph)
      : {
          ...(before.topologicalOrder && { topologicalOrder: before.topologicalOrder }),
          ...(before.resources && { resources: before.resources }),
        }),
    conditions,
    ...(issued > 0 && { lastIssuedRevision: issued }),
  };
}

function worst(values: Readonly<Record<string, Finding<string>>>): Finding<string> {
  const all = PARTS.flatMap((type) => values[type] ?? []);
  const bad = all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown');
  return bad ?? { status: 'True', reason: 'Ready', message: 'instances are served' };
}

/** Order and dependencies, as definition and revision show them. */
export function graphReport(
  graph: CompiledGraph,
): Pick<ResourceGraphDefinitionStatus, 'topologicalOrder' | 'resources'> {
  const dependent = graph.nodes.filter(({ dependencies }) => dependencies.length > 0);
  return {
    topologicalOrder: graph.nodes.map(({ id }) => id),
    ...(dependent.length > 0 && {
      resources: dependent.map(({ id, dependencies }) => ({
        id,
        dependencies: dependencies.map((other) => ({ id: other })),
      })),
    }),
  };
}

const MAX_MESSAGE = 4_000;

/** Issues as the message of a condition. */
export function issuesMessage(issues: readonly GraphIssue[]): string {
  const text = issues.map(issueText).join('; ');
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}

/** Whether a CustomResourceDefinition that is there may be changed for a definition. */
export type DefinitionOwnership =
  | { readonly kind: 'Own' }
  /** A definition of that name made it, and is gone: another one of that name takes it over. */
  | { readonly kind: 'Adopt' }
  | { readonly kind: 'Foreign'; readonly message: string };

export function ownershipOf(
  definition: KubeObject,
  graph: { name: string; uid: string },
): DefinitionOwnership {
  const { labels = {}, name = '' } = definition.metadata;
  const owned =
    labels[LABELS.owned] === undefined
      ? labels[LABELS.managedBy] === MANAGED_BY
      : labels[LABELS.owned] === 'true';
  if (!owned)
    return {
      kind: 'Foreign',
      message: `the CustomResourceDefinition ${name} was not made by a resource graph`,
    };
  const other = labels[LABELS.graphName];
  if (other !== graph.name)
    return {
      kind: 'Foreign',
      message: `the CustomResourceDefinition ${name} belongs to the ResourceGraphDefinition ${other ?? 'of no name'}`,
    };
  return labels[LABELS.graphId] === graph.uid ? { kind: 'Own' } : { kind: 'Adopt' };
}
