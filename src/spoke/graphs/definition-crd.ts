import { ownershipOf } from '../../dialects/kro/index.ts';
import {
  ANNOTATIONS,
  breakingText,
  type CompiledGraph,
  compareDefinitions,
  type GraphOwner,
  keepingVersion,
  labelValue,
  MANAGERS,
  ownerLabels,
  supersetDefinition,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import { isTrue } from '../../kube/conditions.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import { ignoring, StatusError } from '../../kube/status-error.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import { errorText, type Logger } from '../../runtime/log.ts';
import { isObject, listAt } from '../../schema/json.ts';

export type KindOutcome =
  | { readonly kind: 'Ready' }
  /** It is written; the API server does not serve it yet. */
  | { readonly kind: 'Pending'; readonly message: string }
  /** It belongs to somebody else: nothing of the definition may be served. */
  | { readonly kind: 'Foreign'; readonly message: string }
  /** What is there stays and goes on to be served. */
  | { readonly kind: 'Refused'; readonly message: string };

/**
 * Makes the CustomResourceDefinition of a graph be there as it shall be, wide enough for the instances of `others`: revisions that
 * serve at the same time. Writes nothing where it is so.
 */
export async function ensureKind(
  client: Client,
  log: Logger,
  graph: CompiledGraph,
  owner: GraphOwner,
  definition: KubeObject,
  others: readonly CompiledGraph[] = [],
): Promise<KindOutcome> {
  const labels = { ...graph.definition.metadata.labels, ...ownerLabels(owner) };
  const single = { ...graph.definition, metadata: { ...graph.definition.metadata, labels } };
  const superset = supersetDefinition(
    single,
    others.map((other) => other.definition),
  );
  if (!superset.definition)
    return {
      kind: 'Refused',
      message: `revisions that are in use do not fit under one kind: ${superset.conflicts.join('; ')}`,
    };
  const wanted = superset.definition;
  const { name = '' } = wanted.metadata;
  const present = await definitionNamed(client, name);
  if (present) wanted.metadata.labels = keepingVersion(wanted.metadata.labels ?? {}, present.metadata.labels);
  if (present?.metadata.deletionTimestamp !== undefined)
    return { kind: 'Pending', message: `the CustomResourceDefinition ${name} is being deleted` };
  if (present) {
    const ownership = ownershipOf(present, { name: labelValue(owner.name), uid: owner.uid });
    if (ownership.kind === 'Foreign') return ownership;
    if (ownership.kind === 'Adopt') log.info('a CustomResourceDefinition is adopted', { name });
    const report = compareDefinitions(present, wanted);
    const breaking = report.differs ? compareDefinitions(present, single) : report;
    const allowed = definition.metadata.annotations?.[ANNOTATIONS.allowBreakingChanges] === 'true';
    if (breaking.breaking.length > 0 && !allowed)
      return {
        kind: 'Refused',
        message: `the change would break instances: ${breakingText(breaking)}; the annotation ${ANNOTATIONS.allowBreakingChanges}: "true" allows it`,
      };
    const labelled = Object.entries(wanted.metadata.labels ?? {}).every(
      ([key, value]) => present.metadata.labels?.[key] === value,
    );
    if (!report.differs && labelled) return establishedOr(present);
  }
  try {
    return establishedOr(
      await client.apply(customResourceDefinitions, wanted, { fieldManager: MANAGERS.labels, force: true }),
    );
  } catch (error) {
    if (!(error instanceof StatusError) || error.code >= 500 || error.code === 409) throw error;
    return {
      kind: 'Refused',
      message: `the API server refuses the CustomResourceDefinition ${name}: ${errorText(error)}`,
    };
  }
}

export async function definitionNamed(client: Client, name: string): Promise<KubeObject | undefined> {
  return ignoring(404, client.get(customResourceDefinitions, '', name));
}

function establishedOr(definition: KubeObject): KindOutcome {
  const conditions = listAt(definition, 'status', 'conditions').filter(isObject) as unknown as Condition[];
  if (isTrue(conditions, 'Established')) return { kind: 'Ready' };
  const problem = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
  return {
    kind: 'Pending',
    message: `the API server does not serve ${definition.metadata.name} yet${problem ? `: ${problem.message}` : ''}`,
  };
}
