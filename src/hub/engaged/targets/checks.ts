import {
  KUBECONFIG_TARGETS_READY,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
  type SecretAim,
  secretAims,
} from '../../../dialects/kro/index.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import { findCondition, type NewCondition, setCondition } from '../../../kube/conditions.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import { within } from '../../../kube/deadline.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import { hasCode } from '../../../kube/status-error.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { at, deepEqual, stringAt } from '../../../schema/json.ts';
import type { GraphDefinitions } from '../../intents/graphs/index.ts';
import type { TargetState } from './target.ts';
import type { OpenTargets } from './targets.ts';

export interface TargetChecksOptions {
  readonly client: Client;
  readonly graphs: GraphDefinitions;
  readonly targets: OpenTargets;
}

/** Says of definitions whether the clusters behind the Secrets that they name can have what they are to have. */
export interface TargetChecks {
  /** Something is to be looked at again; `user` as the targets know it. */
  look(user: string): void;
  /** Whether a user of targets is one of these. */
  has(user: string): boolean;
  stop(): Promise<void>;
}

interface Problem {
  readonly reason:
    | 'TargetMissing'
    | 'TargetMalformed'
    | 'TargetUnreachable'
    | 'TargetForbidden'
    | 'KindAbsent';
  readonly message: string;
}

const DEFINITIONS = resourceIdOf(RESOURCE_GRAPH_DEFINITION);
const REVIEWS: ResourceId = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};
const WRITING = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
const READING = ['get', 'list', 'watch'];
const ANSWER_MS = 10_000;
/** Nothing tells of kinds and rights on another cluster. */
const AGAIN_MS = 30_000;
const MAX_TOLD = 5;
/** Nothing can be called so, so that no RemoteObject is meant. */
const USER = 'definition/';
const REASONS: Readonly<Partial<Record<TargetState['word'], Problem['reason']>>> = {
  Missing: 'TargetMissing',
  Refused: 'TargetMalformed',
  Unreachable: 'TargetUnreachable',
};

export function startTargetChecks(
  runtime: Runtime,
  { client, graphs, targets }: TargetChecksOptions,
): TargetChecks {
  const { clock } = runtime;
  const { informer } = graphs;
  /** Users of targets, by definition. */
  const users = new Map<string, string[]>();
  const loop = startController(runtime, { name: 'kubeconfig target checks', concurrency: 4, reconcile });
  let ready = false;

  informer.onChange(({ type, object, previous }) => {
    const name = object.metadata.name ?? '';
    const told = findCondition(object.status?.conditions, KUBECONFIG_TARGETS_READY);
    const before = findCondition(previous?.status?.conditions, KUBECONFIG_TARGETS_READY);
    const changed =
      type !== 'updated' ||
      !previous ||
      !deepEqual(object.spec as unknown, previous.spec as unknown) ||
      !deepEqual(graphs.author(object), graphs.author(previous)) ||
      !deepEqual(told as unknown, before as unknown);
    if (changed && (told || users.has(name) || secretAims(object.spec).length > 0)) loop.enqueue(name);
  });
  graphs.whenReady().then(
    () => {
      ready = true;
      for (const { metadata, spec } of informer.list())
        if (secretAims(spec).length > 0) loop.enqueue(metadata.name ?? '');
    },
    // It was stopped before.
    () => undefined,
  );

  function keep(name: string, wanted: readonly string[]): void {
    for (const user of users.get(name) ?? []) if (!wanted.includes(user)) targets.leave(user);
    if (wanted.length > 0) users.set(name, [...wanted]);
    else users.delete(name);
  }

  async function reconcile(name: string): Promise<Result | undefined> {
    const object = ready ? informer.get('', name) : undefined;
    if (!object || object.metadata.deletionTimestamp !== undefined) {
      if (ready) keep(name, []);
      return undefined;
    }
    const literal = secretAims(object.spec).filter(({ secret }) => secret !== undefined);
    const found: Problem[] = [];
    const wanted: string[] = [];
    let connecting = false;
    for (const aim of literal) {
      const user = `${USER}${name}/${aim.secret?.namespace}/${aim.secret?.name}`;
      const problem = await problemOf(aim, object, user, wanted);
      if (problem === 'Connecting') connecting = true;
      else if (problem && !found.some(({ message }) => message === problem.message)) found.push(problem);
    }
    keep(name, wanted);
    // Whoever is connected to tells when it is known.
    if (connecting && found.length === 0) return undefined;
    const again = await tell(object, literal.length === 0 ? undefined : conditionOf(object, literal, found));
    return again ?? (found.length > 0 ? { requeueAfterMs: AGAIN_MS } : undefined);
  }

  async function problemOf(
    { path, secret, body, made }: SecretAim,
    object: ResourceGraphDefinition,
    user: string,
    wanted: string[],
  ): Promise<Problem | 'Connecting' | undefined> {
    if (!secret) return undefined;
    const say = (reason: Problem['reason'], message: string): Problem => ({
      reason,
      message: `${path}.cluster.kubeconfigSecretName: ${message}`,
    });
    // Before anything is said of a Secret, or of what is behind it.
    const refused = await targets.refusal(graphs.author(object), secret);
    if (refused !== undefined) return say('TargetForbidden', refused);
    if (!wanted.includes(user)) wanted.push(user);
    const { state, way } = targets.need(user, secret);
    if (state.word === 'Connecting') return 'Connecting';
    const reason = REASONS[state.word];
    if (reason !== undefined || !way) return say(reason ?? 'TargetUnreachable', state.message);
    const [apiVersion, kind] = [stringAt(body, 'apiVersion') ?? '', stringAt(body, 'kind') ?? ''];
    // Expressions may say which kind it is, and graphs bring kinds along.
    if (`${apiVersion}${kind}`.includes('${') || ownKinds(object).has(kind)) return undefined;
    try {
      const resource = await within(clock, ANSWER_MS, () => way.client.resourceFor(apiVersion, kind));
      const lacking = await lackingRights(way.client, resource, namespaceOf(body), made);
      return lacking.length === 0
        ? undefined
        : say('TargetForbidden', `its user may not ${lacking.join(', ')} ${apiVersion} ${kind} there`);
    } catch (error) {
      if (hasCode(error, 404)) return say('KindAbsent', `the cluster does not serve ${apiVersion} ${kind}`);
      if (hasCode(error, 401) || hasCode(error, 403)) return say('TargetForbidden', errorText(error));
      return say('TargetUnreachable', errorText(error));
    }
  }

  async function lackingRights(
    there: Client,
    resource: ResourceId,
    namespace: string | undefined,
    made: boolean,
  ): Promise<string[]> {
    if (resource.namespaced && namespace === undefined) return [];
    const { group, resource: plural } = resource;
    const lacking: string[] = [];
    for (const verb of made ? WRITING : READING) {
      const watching = made && (verb === 'list' || verb === 'watch');
      const review = {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind: REVIEWS.kind, metadata: {} },
        spec: {
          resourceAttributes: {
            ...{ group, resource: plural, verb },
            // What is made is watched in all namespaces at once.
            namespace: resource.namespaced && !watching ? (namespace ?? '') : '',
          },
        },
      };
      const answer = await within(clock, ANSWER_MS, (signal) => there.create(REVIEWS, review, { signal }));
      if (at(answer, 'status', 'allowed') !== true) lacking.push(verb);
    }
    return lacking;
  }

  async function tell(
    object: ResourceGraphDefinition,
    condition: NewCondition | undefined,
  ): Promise<Result | undefined> {
    const { name = '', resourceVersion } = object.metadata;
    const before = object.status?.conditions ?? [];
    const conditions = condition
      ? setCondition(before, condition, clock.now()).conditions
      : before.filter(({ type }) => type !== KUBECONFIG_TARGETS_READY);
    if (deepEqual(conditions as unknown, before as unknown)) return undefined;
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    return optimisticWrite(client.patch(DEFINITIONS, '', name, 'merge', patch, { subresource: 'status' }));
  }

  return {
    look(user) {
      if (!user.startsWith(USER)) return;
      const name = user.slice(USER.length).split('/')[0] ?? '';
      loop.enqueue(name);
    },
    has: (user) => user.startsWith(USER),
    stop: () => loop.stop(),
  };
}

function conditionOf(
  { metadata: { generation } }: ResourceGraphDefinition,
  aims: readonly SecretAim[],
  problems: readonly Problem[],
): NewCondition {
  const common = {
    type: KUBECONFIG_TARGETS_READY,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  const [first] = problems;
  if (!first) {
    const names = aims.map(({ secret }) => `${secret?.namespace}/${secret?.name}`);
    const all = [...new Set(names)].sort().join(', ');
    return {
      ...common,
      status: 'True',
      reason: 'Reachable',
      message: `its objects can be where ${all} leads`,
    };
  }
  const told = problems.slice(0, MAX_TOLD).map(({ message }) => message);
  const more = problems.length > MAX_TOLD ? ` (and ${problems.length - MAX_TOLD} more)` : '';
  return { ...common, status: 'False', reason: first.reason, message: `${told.join('; ')}${more}` };
}

/** Kinds that the definition brings along. */
function ownKinds({ spec }: ResourceGraphDefinition): Set<string> {
  return new Set(
    (spec.resources ?? []).flatMap(({ template }) => stringAt(template, 'spec', 'names', 'kind') ?? []),
  );
}

/** Where it is written out. */
function namespaceOf(body: SecretAim['body']): string | undefined {
  const namespace = stringAt(body, 'metadata', 'namespace');
  return namespace === undefined || namespace.includes('${') ? undefined : namespace;
}
