import { GRAPH, graphOf, issuesMessage } from '../../dialects/kro/index.ts';
import {
  type CompiledGraph,
  compileGraphObject,
  type GraphObjectDefinition,
  type GraphResource,
  graphStatus,
  type RevisionRecord,
} from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { GroupVersionKind, KubeObject } from '../../kube/object.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import { actingAs } from '../contract/executor.ts';
import { type ClusterSchemas, defines, kindsOf } from './cluster-schemas.ts';
import { type Instances, type InstancesOptions, startInstances } from './instances.ts';
import type { ServedGraph } from './served-graph.ts';

export interface GraphObjectsOptions extends Omit<InstancesOptions, 'actFor' | 'graphFor' | 'onCount'> {
  readonly version: string;
  readonly schemas: ClusterSchemas;
  readonly omit?: boolean;
  readonly dynamicKeys?: boolean;
  readonly maxDimensions?: number;
  readonly bothPrefixes?: boolean;
}

/** Objects of the kind Graph: each is the instance of its own nodes, brought about as instances of definitions are. */
export interface GraphObjects {
  /** A kind changed: what was compiled with it is compiled anew. */
  kindChanged(definition: KubeObject): void;
  readonly load: Instances['load'];
  stop(): Promise<void>;
}

interface Compiled {
  readonly generation: number | undefined;
  readonly kinds: readonly GroupVersionKind[];
  readonly graph?: CompiledGraph;
  readonly message?: string;
}

const SWEEP_MS = 5_000;
/** No definition can be called so. */
const GRAPHS = 'Graph';
const KIND: ServedGraph['kind'] = {
  ...{ group: GRAPH.group, version: GRAPH.version, kind: GRAPH.kind, plural: GRAPH.plural },
  namespaced: true,
};

export function startGraphObjects(runtime: Runtime, options: GraphObjectsOptions): GraphObjects {
  const { client, version, schemas, omit, dynamicKeys, maxDimensions, bothPrefixes } = options;
  /** By the UID of the Graph. */
  const compiled = new Map<string, Compiled>();
  /** Counts changes of kinds: what was compiled while one changed may be of what was before. */
  let changes = 0;
  /** By the name of the account: whoever has the same rights shares watches. */
  const acting = new Map<string, Client>();

  function clientOf(account: Account): Client {
    const user = userOf(account);
    const found = acting.get(user) ?? actingAs(client, runtime.clock, account);
    acting.set(user, found);
    return found;
  }

  async function compile(instance: KubeObject): Promise<Compiled> {
    const { uid = '', generation } = instance.metadata;
    const known = compiled.get(uid);
    if (known && known.generation === generation) return known;
    for (;;) {
      const before = changes;
      const made = { generation, ...(await compiledOf(instance)) };
      if (before !== changes) continue;
      compiled.set(uid, made);
      return made;
    }
  }

  async function compiledOf(instance: KubeObject): Promise<Omit<Compiled, 'generation'>> {
    const { definition, issues } = graphOf(instance);
    if (!definition) return { kinds: [], message: issuesMessage(issues) };
    const kinds = kindsIn(definition);
    const source = await schemas.fetch(kinds);
    const { graph, issues: found = [] } = compileGraphObject(definition, {
      schemas: source,
      ...(omit !== undefined && { omit }),
      ...(dynamicKeys !== undefined && { dynamicKeys }),
      ...(maxDimensions !== undefined && { maxDimensions }),
    });
    return graph ? { kinds, graph } : { kinds, message: issuesMessage(found) };
  }

  function servedBy(instance: KubeObject, { graph, message }: Compiled): ServedGraph {
    const { name = '', uid = '' } = instance.metadata;
    const account = accountOf(instance);
    const revision: RevisionRecord = {
      number: 1,
      hash: '',
      state: graph ? 'Active' : 'Failed',
      ...(message !== undefined && { message }),
    };
    return {
      owner: { name, uid, version, alone: true, ...(bothPrefixes !== undefined && { bothPrefixes }) },
      kind: KIND,
      revisions: [revision],
      graphs: new Map(graph ? [[1, graph]] : []),
      pinned: undefined,
      statusOf: (input) => graphStatus({ ...input, account: userOf(account) }),
    };
  }

  let sweeping: Timer | undefined;
  function sweep(): void {
    sweeping = undefined;
    const all = instances.list(GRAPHS) ?? [];
    const there = new Set(all.map(({ metadata }) => metadata.uid ?? ''));
    for (const uid of compiled.keys()) if (!there.has(uid)) compiled.delete(uid);
    const users = new Set(all.map((instance) => userOf(accountOf(instance))));
    for (const user of acting.keys()) if (!users.has(user)) acting.delete(user);
  }

  const instances = startInstances(runtime, {
    ...options,
    onCount() {
      // Once for many that come or go together: each time all are looked at.
      sweeping ??= runtime.clock.after(SWEEP_MS, sweep);
    },
    actFor: (_graphs, _namespace, instance) => clientOf(accountOf(instance)),
    // What is going needs no graph.
    graphFor: async (instance) =>
      servedBy(
        instance,
        instance.metadata.deletionTimestamp === undefined
          ? await compile(instance)
          : { generation: undefined, kinds: [] },
      ),
  });
  instances.serve({
    owner: { name: GRAPHS, uid: '', version, alone: true },
    kind: KIND,
    revisions: [],
    graphs: new Map(),
    pinned: undefined,
  });

  return {
    kindChanged(definition) {
      changes += 1;
      const stale = new Set<string>();
      for (const [uid, { kinds }] of compiled)
        if (kinds.some((kind) => defines(definition, kind))) stale.add(uid);
      for (const uid of stale) compiled.delete(uid);
      instances.retry(GRAPHS, ({ metadata }) => stale.has(metadata.uid ?? ''));
    },
    get load() {
      return instances.load;
    },
    stop() {
      sweeping?.cancel();
      return instances.stop();
    },
  };
}

/** The kinds that nodes name, also those of graphs within; not those that expressions come to. */
function kindsIn({ nodes }: GraphObjectDefinition): GroupVersionKind[] {
  const flat = (all: readonly GraphResource[]): GraphResource[] =>
    all.flatMap((node) => (node.graph ? flat(node.graph.nodes) : [node]));
  const kinds = kindsOf({ name: '', schema: { kind: '', apiVersion: '' }, resources: flat(nodes) });
  return kinds.filter(
    ({ group, version, kind }) => ![group, version, kind].some((part) => part.includes('${')),
  );
}

interface Account {
  readonly namespace: string;
  readonly name: string;
}

function userOf({ namespace, name }: Account): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** With whose rights: an account of the Graph's own namespace. What goes, goes with the rights that it was made with. */
function accountOf(instance: KubeObject): Account {
  const { namespace = '', deletionTimestamp } = instance.metadata;
  const before = stringAt(instance, 'status', 'appliedServiceAccount');
  const own = `system:serviceaccount:${namespace}:`;
  const name = stringAt(instance, 'spec', 'serviceAccountName') || 'default';
  const applied = before?.startsWith(own) ? before.slice(own.length) : undefined;
  return { namespace, name: deletionTimestamp === undefined ? name : (applied ?? name) };
}
