import { type Contract, foresee, foreseenText } from '../../engine/contract/index.ts';
import type { Author, ClusterFacts } from '../../engine/intent.ts';
import type { NewCondition } from '../../kube/conditions.ts';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, stringAt } from '../../schema/json.ts';
import type { ResourceGraphDefinition } from './types.ts';

/** Condition of a definition that names clusters: whether its objects can be there. */
export const TARGETS_READY = 'TargetsReady';

/** What is known of a cluster that a definition names. */
export interface TargetFacts {
  readonly facts: Pick<ClusterFacts, 'apis'>;
  /** It has been away for longer than a hiccup, or was never there. */
  readonly unreachable: boolean;
  readonly contracts: readonly Contract[];
}

/** What a definition puts on a cluster that it names by name. */
interface Aim {
  readonly path: string;
  readonly cluster: string;
  readonly body: JsonObject;
  /** It is made there, not only read. */
  readonly made: boolean;
}

interface Problem {
  readonly reason: 'TargetMissing' | 'TargetUnreachable' | 'KindAbsent' | 'TargetForbidden';
  readonly message: string;
}

const MAX_TOLD = 5;

/**
 * Whether the clusters that a definition names can have its objects, before there is an instance; `undefined` where it names none.
 * Names that are expressions are known for instances only. Clusters change: what is wrong here stops no instance, it tells why one
 * would wait.
 */
export function targetsCondition(
  definition: ResourceGraphDefinition,
  author: Author | undefined,
  target: (cluster: string) => TargetFacts | undefined,
): NewCondition | undefined {
  const aims = aimsOf(definition);
  if (aims.length === 0) return undefined;
  const own = ownKinds(definition);
  const problems: Problem[] = [];
  for (const aim of aims) {
    const problem = problemOf(aim, own, target(aim.cluster), definition, author);
    if (problem && !problems.some(({ message }) => message === problem.message)) problems.push(problem);
  }
  const { generation } = definition.metadata;
  const clusters = [...new Set(aims.map(({ cluster }) => cluster))].sort();
  const [first] = problems;
  const more = problems.length > MAX_TOLD ? ` (and ${problems.length - MAX_TOLD} more)` : '';
  return {
    type: TARGETS_READY,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(first
      ? {
          status: 'False',
          reason: first.reason,
          message: `${problems
            .slice(0, MAX_TOLD)
            .map(({ message }) => message)
            .join('; ')}${more}`,
        }
      : { status: 'True', reason: 'Reachable', message: `its objects can be on ${clusters.join(', ')}` }),
  };
}

function problemOf(
  { path, cluster, body, made }: Aim,
  own: ReadonlySet<string>,
  target: TargetFacts | undefined,
  { apiVersion, kind, metadata: { name = '', uid = '', generation = 0 } }: ResourceGraphDefinition,
  author: Author | undefined,
): Problem | undefined {
  const at = `${path}.cluster.name`;
  if (!target)
    return { reason: 'TargetMissing', message: `${at}: there is no cluster ${cluster} in the fleet` };
  if (target.unreachable)
    return { reason: 'TargetUnreachable', message: `${at}: the cluster ${cluster} is not to be reached now` };
  const [of, type] = [stringAt(body, 'apiVersion') ?? '', stringAt(body, 'kind') ?? ''];
  const { apis } = target.facts;
  if (apis?.complete === true && !own.has(type) && !apis.kinds.includes(`${of}/${type}`))
    return {
      reason: 'KindAbsent',
      message: `${at}: the cluster ${cluster} does not serve ${of} ${type}`,
    };
  const object = writtenOut(body);
  if (!made || !object) return undefined;
  const source = { apiVersion, kind, namespace: '', name, uid, generation };
  const refused = foreseenText(foresee(target.contracts, { objects: [object], author, source }));
  return refused === undefined
    ? undefined
    : { reason: 'TargetForbidden', message: `${at}: the cluster ${cluster} refuses ${refused}` };
}

function aimsOf({ spec }: ResourceGraphDefinition): Aim[] {
  return (spec.resources ?? []).flatMap((node, index): Aim[] => {
    const { template } = node;
    const body = template ?? (node.externalRef as unknown as JsonObject | undefined);
    const target = node.target ?? (template ? spec.target : undefined);
    const cluster = stringAt(target, 'cluster', 'name')?.trim() ?? '';
    if (!isObject(body) || cluster === '' || cluster.includes('${')) return [];
    const path = node.target ? `resources[${index}].target` : 'target';
    return [{ path, cluster, body, made: template !== undefined }];
  });
}

/** Kinds that the definition brings along. */
function ownKinds({ spec }: ResourceGraphDefinition): Set<string> {
  return new Set(
    (spec.resources ?? []).flatMap(({ template }) => stringAt(template, 'spec', 'names', 'kind') ?? []),
  );
}

/** An object as far as it can be told before there is an instance: where its name or namespace is not known, nothing can. */
function writtenOut(body: JsonObject): KubeObject | undefined {
  const namespace = stringAt(body, 'metadata', 'namespace');
  if (namespace === undefined || namespace.includes('${')) return undefined;
  const [apiVersion = '', kind = ''] = [stringAt(body, 'apiVersion'), stringAt(body, 'kind')];
  return { apiVersion, kind, metadata: { name: stringAt(body, 'metadata', 'name') ?? '', namespace } };
}
