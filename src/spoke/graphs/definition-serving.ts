import {
  type DefinitionFindings,
  definitionOf,
  distributedRevisionOf,
  type GraphRevision,
  issuesMessage,
  paceOf,
  pinOf,
  type ResourceGraphDefinition,
  secretAims,
} from '../../dialects/kro/index.ts';
import {
  type CompiledGraph,
  type DistributedDecision,
  decideDistributed,
  decideRevision,
  type GraphIssue,
  type GraphOwner,
  type InstanceKind,
  instanceKindOf,
  newestOf,
  revisionDigest,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { ensureKind, type KindOutcome } from './definition-crd.ts';
import { awaiting, failed, invalid, READY, RESOLVED, RUNNING, VALID } from './definition-findings.ts';
import type { Instances } from './instances.ts';
import type { GraphMetrics } from './metrics.ts';
import type { CompiledRevision, Revisions } from './revisions.ts';
import type { ServedGraph } from './served-graph.ts';

export interface ServingOptions {
  readonly runtime: Runtime;
  readonly client: Client;
  readonly version: string;
  readonly stored: Pick<Informer<GraphRevision>, 'list' | 'synced'>;
  readonly revisions: Revisions;
  readonly instances: Instances;
  readonly metrics: GraphMetrics;
  readonly bothPrefixes?: boolean;
  readonly kubeconfigTargets?: boolean;
}

/** What serving a definition came to. */
export interface Outcome {
  readonly findings: DefinitionFindings;
  readonly served: ServedGraph | undefined;
  readonly revisions: readonly CompiledRevision[];
  readonly again?: boolean;
}

/** From what a definition says to the revision that serves, and its kind. */
export interface Serving {
  /** Issues a revision where the definition says something new, and says what serves now. */
  bringAbout(object: ResourceGraphDefinition): Promise<Outcome>;
  /** Serves the newest revision that there is, whatever the definition says now. */
  serveLast(
    object: ResourceGraphDefinition,
    known: readonly CompiledRevision[],
    accepted?: DefinitionFindings['accepted'],
    resolved?: DefinitionFindings['revisions'],
  ): Promise<Outcome>;
  /** The revisions of a definition, compiled. */
  loaded(name: string): Promise<CompiledRevision[]>;
  servedBy(
    object: ResourceGraphDefinition,
    kind: InstanceKind,
    known: readonly CompiledRevision[],
  ): ServedGraph;
  /** Revisions that serve instances of this cluster. */
  live(object: ResourceGraphDefinition): ReadonlySet<number>;
  /** The watch told of a revision, or that it is gone. */
  revisionSeen(name: string): void;
}

export function createServing(options: ServingOptions): Serving {
  const { client, stored, revisions, instances, metrics } = options;
  const { log } = options.runtime;
  const created = new Map<string, GraphRevision>();

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
      pace: paceOf(object),
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
    const wrong = issues ?? (options.kubeconfigTargets === true ? [] : secretTargetIssues(object));
    if (!definition || wrong.length > 0)
      return serveLast(object, known, invalid(issuesMessage(wrong)), RESOLVED);
    const { hash } = revisionDigest(definition);
    const decision = decide(object, { hash, revisions: known, lastIssued, warm: stored.synced });
    metrics.count('rgd_graph_revision_resolution_total', { result: decision.kind });
    switch (decision.kind) {
      case 'Wait': {
        const { reason, message } = decision;
        metrics.count('rgd_graph_revision_wait_total', { reason });
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

  async function issue(object: ResourceGraphDefinition, number: number): Promise<GraphRevision> {
    const revision = await revisions.create(object, number);
    created.set(revision.metadata.name ?? '', revision);
    metrics.count('rgd_graph_revision_issue_total', { reason: number === 1 ? 'First' : 'Changed' });
    log.info('a revision was issued', { graph: object.metadata.name ?? '', revision: number });
    return revision;
  }

  function serveLast(
    object: ResourceGraphDefinition,
    known: readonly CompiledRevision[],
    accepted: DefinitionFindings['accepted'] = VALID,
    resolved: DefinitionFindings['revisions'] = RESOLVED,
  ): Promise<Outcome> {
    return serve(object, known, newestOf(known)?.graph, accepted, resolved);
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
      const kind = awaiting('there is no graph to serve');
      const none = known.length === 0 && accepted.status === 'False' && resolved.status === 'True';
      const revisions = none ? awaiting('there is no revision') : resolved;
      const findings = { revisions, accepted, kind, controller: kind, lastIssuedRevision };
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

  return {
    bringAbout,
    serveLast,
    loaded,
    servedBy,
    live,
    revisionSeen: (name) => void created.delete(name),
  };
}

/** One that a hub sent and that cannot be served here stops nothing that is. */
function servedPin(object: ResourceGraphDefinition, known: readonly CompiledRevision[]): number | undefined {
  const sent = distributedRevisionOf(object);
  return pinOf(object) ?? (known.some(({ number }) => number === sent) ? sent : undefined);
}

/** What a definition calls its instances, whether or not it is right. */
export function kindOf(object: ResourceGraphDefinition): InstanceKind | undefined {
  const { definition } = definitionOf(object);
  return definition && instanceKindOf(definition.schema);
}

function pinned(object: ResourceGraphDefinition): readonly number[] {
  const pin = pinOf(object) ?? distributedRevisionOf(object);
  return pin === undefined ? [] : [pin];
}

/** Nobody would carry what they have to the clusters behind these Secrets. */
function secretTargetIssues({ spec }: ResourceGraphDefinition): GraphIssue[] {
  return secretAims(spec)
    .slice(0, 1)
    .map(({ path }) => ({
      path: `${path}.cluster.kubeconfigSecretName`,
      message:
        'no hub here reaches clusters by kubeconfigs of its own: that is off unless it runs with --enable-multicluster',
      expected: 'target.cluster.name, a cluster of the fleet',
    }));
}
