import {
  type DefinitionFindings,
  definitionOf,
  definitionStatus,
  distributedRevisionOf,
  type GraphRevision,
  type InstanceTally,
  issuesMessage,
  kindRemovalOf,
  ON_DELETION,
  pinOf,
  RESOURCE_GRAPH_DEFINITION,
  type ResourceGraphDefinition,
} from '../../dialects/kro/index.ts';
import {
  type CompiledGraph,
  type DistributedDecision,
  decideDistributed,
  decideRevision,
  FINALIZER,
  type GraphOwner,
  type InstanceKind,
  instanceKindOf,
  LABELS,
  MANAGERS,
  newestOf,
  obsoleteRevisions,
  revisionDigest,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual, type JsonObject } from '../../schema/json.ts';
import { definitionNamed, ensureKind, type KindOutcome } from './definition-crd.ts';
import { tallyOf } from './instance-tally.ts';
import type { Instances } from './instances.ts';
import type { CompiledRevision, Revisions } from './revisions.ts';
import { instanceResource, laterOf, lean, type ServedGraph } from './served-graph.ts';

export const GRAPH_DEFINITIONS: ReturnType<typeof resourceIdOf> = resourceIdOf(RESOURCE_GRAPH_DEFINITION);

export interface DefinitionsOptions {
  readonly runtime: Runtime;
  readonly client: Client;
  readonly version: string;
  readonly definitions: Informer<ResourceGraphDefinition>;
  readonly stored: Informer<GraphRevision>;
  readonly revisions: Revisions;
  readonly instances: Instances;
  /** Whether a definition takes its kind with it, and so all instances; it waits until there are none otherwise. */
  readonly allowKindDeletion: boolean;
  readonly bothPrefixes?: boolean;
  readonly keptRevisions?: number;
  /** Revisions that clusters are held at; `undefined` while that is not known. */
  readonly revisionsInUse: (definition: string) => readonly number[] | undefined;
}

/** Brings definitions about, one at a time each. */
export interface Definitions {
  reconcile(name: string): Promise<Result | undefined>;
  /** The watch told of a revision, or that it is gone. */
  revisionSeen(name: string): void;
}

/** What one pass over a definition found. */
interface Outcome {
  readonly findings: DefinitionFindings;
  readonly served: ServedGraph | undefined;
  readonly revisions: readonly CompiledRevision[];
  readonly again?: boolean;
}

const NOT_YET_MS = 1_000;
const LEAVING_MS = 30_000;

/**
 * A definition's way: checked against the kinds that the cluster serves; its own kind made; what it says kept as a revision; then its
 * instances looked after. What is wrong stops nothing that worked before: the last revision goes on to serve.
 */
export function createDefinitions(options: DefinitionsOptions): Definitions {
  const { runtime, client, definitions, stored, revisions, instances } = options;
  const { clock, log } = runtime;
  /** As they were last written, which the watch may not have told of yet. */
  const written = new Map<string, ResourceGraphDefinition>();
  const created = new Map<string, GraphRevision>();

  async function reconcile(name: string): Promise<Result | undefined> {
    const copy = definitions.get('', name);
    if (!copy) {
      written.delete(name);
      instances.drop(name);
      return undefined;
    }
    const last = written.get(name);
    const definition = last?.metadata.uid === copy.metadata.uid ? laterOf(copy, last) : copy;
    if (definition.metadata.deletionTimestamp !== undefined) return remove(definition);
    if (!definition.metadata.finalizers?.includes(FINALIZER)) {
      const { apiVersion, kind, metadata } = definition;
      await client.apply(
        GRAPH_DEFINITIONS,
        { apiVersion, kind, metadata: { name, uid: metadata.uid ?? '', finalizers: [FINALIZER] } },
        { fieldManager: MANAGERS.labels, force: true },
      );
    }
    const outcome = await bringAbout(definition);
    if (outcome.served) instances.serve(outcome.served);
    await tell(definition, { ...outcome.findings, instances: tally(definition, outcome) });
    const held = options.revisionsInUse(name);
    const inUse = new Set([...live(definition), ...(held ?? [])]);
    for (const { object } of obsoleteRevisions(outcome.revisions, inUse, options.keptRevisions))
      if (held) await revisions.remove(object);
    return outcome.again ? { requeueAfterMs: NOT_YET_MS } : undefined;
  }

  function ownerOf({ metadata: { name = '', uid = '' } }: ResourceGraphDefinition): GraphOwner {
    return {
      name,
      uid,
      version: options.version,
      ...(options.bothPrefixes === true && { bothPrefixes: true }),
    };
  }

  function servedBy(
    object: ResourceGraphDefinition,
    kind: InstanceKind,
    known: readonly CompiledRevision[],
  ): ServedGraph {
    const graphs = known.flatMap(({ number, graph }) => (graph ? [[number, graph] as const] : []));
    return {
      owner: ownerOf(object),
      kind,
      revisions: known,
      graphs: new Map(graphs),
      pinned: servedPin(object, known),
    };
  }

  async function loaded(name: string): Promise<CompiledRevision[]> {
    const objects = new Map(stored.list().map((object) => [object.metadata.name ?? '', object]));
    // What was made just now may not have been told yet.
    for (const [key, object] of created) if (!objects.has(key)) objects.set(key, object);
    const own = [...objects.values()].filter(({ spec }) => spec.snapshot.name === name);
    const found: CompiledRevision[] = [];
    for (const object of own) found.push(await revisions.load(object));
    return found;
  }

  async function bringAbout(object: ResourceGraphDefinition): Promise<Outcome> {
    const name = object.metadata.name ?? '';
    const known = await loaded(name);
    const lastIssued = object.status?.lastIssuedRevision ?? 0;
    const { definition, issues } = definitionOf(object);
    if (!definition) return serveLast(object, known, invalid(issuesMessage(issues)), RESOLVED);
    const { hash } = revisionDigest(definition);
    const decision = decide(object, { hash, revisions: known, lastIssued, warm: stored.synced });
    switch (decision.kind) {
      case 'Wait': {
        const { reason, message } = decision;
        const waiting = await serveLast(object, known, undefined, { status: 'Unknown', reason, message });
        return { ...waiting, again: true };
      }
      case 'Failed': {
        const { message } = decision;
        return serveLast(object, known, invalid(message), { status: 'False', reason: 'Failed', message });
      }
      case 'Replace': {
        const stale = known.find(({ number }) => number === decision.number);
        if (stale) await revisions.remove(stale.object);
        return { ...(await serveLast(object, known, undefined, RESOLVED)), again: true };
      }
      case 'Serve': {
        const graph = known.find(({ number }) => number === decision.number)?.graph;
        return serve(object, known, graph, VALID, RESOLVED);
      }
      case 'Issue': {
        const { graph, issues: found } = await revisions.compile(definition);
        if (!graph) return serveLast(object, known, invalid(issuesMessage(found)), RESOLVED);
        // What would break instances, or belongs to others, becomes no revision.
        const kind = await kindFor(object, known, graph, decision.number);
        if (kind.kind === 'Foreign' || kind.kind === 'Refused') {
          const last = await serveLast(object, known, VALID, RESOLVED);
          return { ...last, findings: { ...last.findings, kind: failed(kind.message) } };
        }
        const made = await issue(object, decision.number);
        return serve(object, [...known, await revisions.load(made)], graph, VALID, RESOLVED, kind);
      }
    }
  }

  /** A hub numbers the revisions of a definition that it sent. */
  function decide(
    object: ResourceGraphDefinition,
    facts: Parameters<typeof decideRevision>[0],
  ): DistributedDecision {
    const number = distributedRevisionOf(object);
    return number === undefined ? decideRevision(facts) : decideDistributed(facts, number);
  }

  /** Revisions that serve instances of this cluster. */
  function live(object: ResourceGraphDefinition): ReadonlySet<number> {
    return new Set([...instances.pins(object.metadata.name ?? ''), ...pinned(object)]);
  }

  /** The kind as the newest revision has it, and wide enough for all that serve: one that is gone back to narrows nothing. */
  function kindFor(
    object: ResourceGraphDefinition,
    known: readonly CompiledRevision[],
    graph: CompiledGraph,
    number: number = known.find((revision) => revision.graph === graph)?.number ?? 0,
  ): Promise<KindOutcome> {
    const compiled = known.flatMap((revision) =>
      revision.graph ? [{ ...revision, graph: revision.graph }] : [],
    );
    const newest = newestOf(compiled);
    const base = newest && newest.number > number ? newest.graph : graph;
    const inUse = live(object);
    const others = compiled
      .filter((revision) => inUse.has(revision.number))
      .map((revision) => revision.graph);
    return ensureKind(
      client,
      log,
      base,
      ownerOf(object),
      object,
      [graph, ...others].filter((other) => other !== base),
    );
  }

  /** What the hub that sent a definition wants to know of it. */
  function tally(
    object: ResourceGraphDefinition,
    { served, revisions: known }: Outcome,
  ): InstanceTally | undefined {
    if (distributedRevisionOf(object) === undefined) return undefined;
    const all = instances.list(object.metadata.name ?? '');
    const revision = served?.pinned ?? newestOf(known)?.number;
    return all && { ...tallyOf(all), ...(revision !== undefined && { revision }) };
  }

  async function issue(object: ResourceGraphDefinition, number: number): Promise<GraphRevision> {
    const revision = await revisions.create(object, number);
    created.set(revision.metadata.name ?? '', revision);
    log.info('a revision was issued', { graph: object.metadata.name ?? '', revision: number });
    return revision;
  }

  /** Serves the newest revision that there is, whatever the definition says now. */
  function serveLast(
    object: ResourceGraphDefinition,
    known: readonly CompiledRevision[],
    accepted: DefinitionFindings['accepted'] | undefined,
    resolved: DefinitionFindings['revisions'],
  ): Promise<Outcome> {
    return serve(object, known, newestOf(known)?.graph, accepted ?? VALID, resolved);
  }

  async function serve(
    object: ResourceGraphDefinition,
    known: readonly CompiledRevision[],
    graph: CompiledGraph | undefined,
    accepted: DefinitionFindings['accepted'],
    resolved: DefinitionFindings['revisions'],
    done?: KindOutcome,
  ): Promise<Outcome> {
    const lastIssuedRevision = newestOf(known)?.number ?? 0;
    if (!graph) {
      const message = 'there is no graph to serve';
      const kind = failed(message);
      const controller: DefinitionFindings['controller'] = {
        status: 'Unknown',
        reason: 'FailedToStart',
        message,
      };
      const findings = { revisions: resolved, accepted, kind, controller, lastIssuedRevision };
      // Instances of an API that worked before can be deleted, and are told why nothing else happens.
      const before = known.length > 0 ? kindOf(object) : undefined;
      const served = before && servedBy(object, before, known);
      return { findings, served, revisions: known };
    }
    const kind = done ?? (await kindFor(object, known, graph));
    const foreign = kind.kind === 'Foreign';
    const served = foreign ? undefined : servedBy(object, graph.instance, known);
    return {
      findings: {
        revisions: resolved,
        accepted,
        kind: kind.kind === 'Ready' ? READY : failed(kind.message),
        controller: foreign ? { status: 'False', reason: 'FailedToStart', message: kind.message } : RUNNING,
        graph,
        lastIssuedRevision,
      },
      served,
      revisions: known,
      again: kind.kind === 'Pending',
    };
  }

  async function tell(object: ResourceGraphDefinition, findings: DefinitionFindings): Promise<void> {
    const status = definitionStatus(object, findings, clock.now());
    if (deepEqual(object.status as unknown, status as unknown)) return;
    const { name = '', uid } = object.metadata;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'add', path: '/status', value: status as unknown as JsonObject },
    ];
    const result = await client.patch<ResourceGraphDefinition>(GRAPH_DEFINITIONS, '', name, 'json', patch, {
      subresource: 'status',
    });
    written.set(name, lean(result));
  }

  /** A definition goes when nobody needs it: until the last instance is gone somebody must look after them. */
  async function remove(object: ResourceGraphDefinition): Promise<Result | undefined> {
    const name = object.metadata.name ?? '';
    const { finalizers = [], resourceVersion } = object.metadata;
    if (!finalizers.includes(FINALIZER)) return undefined;
    const known = await loaded(name);
    const kind = newestOf(known)?.graph?.instance ?? kindOf(object);
    const left = kind ? await leaving(object, kind, known) : undefined;
    if (left !== undefined) {
      const last = await serveLast(object, known, VALID, RESOLVED);
      await tell(object, { ...last.findings, kind: failed(left) });
      return { requeueAfterMs: LEAVING_MS };
    }
    instances.drop(name);
    try {
      await client.patch(GRAPH_DEFINITIONS, '', name, 'merge', {
        metadata: { resourceVersion, finalizers: finalizers.filter((item) => item !== FINALIZER) },
      });
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    written.delete(name);
    return undefined;
  }

  /** What a definition that is being deleted waits for. */
  async function leaving(
    object: ResourceGraphDefinition,
    kind: InstanceKind,
    known: readonly CompiledRevision[],
  ): Promise<string | undefined> {
    const { uid = '', name = '' } = object.metadata;
    const crd = await definitionNamed(client, `${kind.plural}.${kind.group}`);
    const owned = crd?.metadata.labels?.[LABELS.graphId] === uid;
    if (!crd || !owned) return undefined;
    const policy = object.metadata.annotations?.[ON_DELETION] ?? 'wait';
    instances.serve({ ...servedBy(object, kind, known), abandoning: policy === 'orphan' });
    if (options.allowKindDeletion && policy !== 'orphan') {
      if (crd.metadata.deletionTimestamp === undefined)
        await client.delete(customResourceDefinitions, '', crd.metadata.name ?? '', {
          preconditions: { uid: crd.metadata.uid ?? '' },
        });
      return `waits until the CustomResourceDefinition ${crd.metadata.name} is gone with its instances`;
    }
    const all = instances.list(name);
    if (all === undefined) return 'waits until it is known whether there are instances';
    const left =
      policy === 'orphan' ? all.filter(({ metadata }) => metadata.finalizers?.includes(FINALIZER)) : all;
    if (left.length === 0) return leavingKind(object, crd);
    switch (policy) {
      case 'cascade':
        await Promise.all(left.map((instance) => removed(instance, kind)));
        return `waits until its ${left.length} instances of ${kind.kind} are gone`;
      case 'orphan':
        return `waits until its ${left.length} instances of ${kind.kind} are let go`;
      default: {
        const unknown =
          policy === 'wait'
            ? ''
            : `; the annotation ${ON_DELETION} says "${policy}", which is none of wait, cascade and orphan`;
        return `waits until its ${left.length} instances of ${kind.kind} are deleted: nobody would look after them${unknown}`;
      }
    }
  }

  /** Nobody is left who needs the kind. */
  async function leavingKind(object: ResourceGraphDefinition, crd: KubeObject): Promise<string | undefined> {
    if (kindRemovalOf(object) === 'Keep') return undefined;
    const { name = '', uid = '', deletionTimestamp } = crd.metadata;
    if (deletionTimestamp === undefined)
      await client.delete(customResourceDefinitions, '', name, { preconditions: { uid } });
    return `waits until the CustomResourceDefinition ${name} is gone`;
  }

  async function removed({ metadata }: KubeObject, kind: InstanceKind): Promise<void> {
    const { namespace = '', name = '', uid = '', deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined) return;
    try {
      await client.delete(instanceResource(kind), namespace, name, { preconditions: { uid } });
    } catch (error) {
      if (!hasCode(error, 404) && !hasCode(error, 409)) throw error;
    }
  }

  return { reconcile, revisionSeen: (name) => void created.delete(name) };
}

const RESOLVED: DefinitionFindings['revisions'] = {
  status: 'True',
  reason: 'Resolved',
  message: 'the newest revision is known',
};
const VALID: DefinitionFindings['accepted'] = {
  status: 'True',
  reason: 'Valid',
  message: 'the definition is right',
};
const READY: DefinitionFindings['kind'] = { status: 'True', reason: 'Ready', message: 'the kind is served' };
const RUNNING: DefinitionFindings['controller'] = {
  status: 'True',
  reason: 'Running',
  message: 'instances are looked after',
};

function invalid(message: string): DefinitionFindings['accepted'] {
  return { status: 'False', reason: 'InvalidResourceGraph', message };
}

function failed(message: string): DefinitionFindings['kind'] {
  return { status: 'False', reason: 'Failed', message };
}

/** One that a hub sent and that cannot be served here stops nothing that is. */
function servedPin(object: ResourceGraphDefinition, known: readonly CompiledRevision[]): number | undefined {
  const sent = distributedRevisionOf(object);
  return pinOf(object) ?? (known.some(({ number }) => number === sent) ? sent : undefined);
}

/** What a definition calls its instances, whether or not it is right. */
function kindOf(object: ResourceGraphDefinition): InstanceKind | undefined {
  const { definition } = definitionOf(object);
  return definition && instanceKindOf(definition.schema);
}

function pinned(object: ResourceGraphDefinition): readonly number[] {
  const pin = pinOf(object) ?? distributedRevisionOf(object);
  return pin === undefined ? [] : [pin];
}
