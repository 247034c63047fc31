import {
  COMPOSITION_LABEL,
  HUB_REPLY,
  type HubObject,
  type HubReply,
  REMOTE_OBJECT_KIND,
  type RemoteObject,
} from '../../../dialects/kro/index.ts';
import { digestOf } from '../../../engine/digest.ts';
import { LABELS } from '../../../engine/graph/index.ts';
import type { Client } from '../../../kube/client.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import type { Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { ignoring } from '../../../kube/status-error.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';

export type Answer = HubReply['spec'];

/** What the hub answers its spokes: a RemoteObject for each HubObject of a spoke, which is the hub's memory of it as well. */
export interface Answers {
  readonly memory: Informer<RemoteObject>;
  get(spoke: string, name: string): RemoteObject | undefined;
  /** How many of a spoke there are. */
  count(spoke: string): number;
  /** The HubObjects of a spoke that were answered. */
  names(spoke: string): string[];
  /** Answers a HubObject; `graph` is the UID of the definition that it comes from. Writes nothing where that was said already. */
  answer(
    spoke: string,
    wish: HubObject,
    graph: string | undefined,
    said: Omit<Answer, 'uid' | 'generation'>,
  ): Promise<RemoteObject>;
  /** Says something else of what was answered before. */
  amend(record: RemoteObject, said: Answer): Promise<void>;
  forget(record: RemoteObject): Promise<void>;
  stop(): void;
}

/** Who writes what compositions need at the hub. */
export const COMPOSITION_MANAGER = 'atoll-composition';

const REMOTES = resourceIdOf(REMOTE_OBJECT_KIND);

/** `onForgotten` hears of what is remembered no longer. */
export function openAnswers(
  runtime: Runtime,
  client: Client,
  onForgotten: (spoke: string, name: string) => void,
): Answers {
  const memory = startInformer<RemoteObject>(runtime, client, REMOTES, { labelSelector: COMPOSITION_LABEL });
  /** Names of HubObjects by spoke, and there by the name of the record. */
  const bySpoke = new Map<string, Map<string, string>>();
  memory.onChange(({ type, object: { metadata, spec } }) => {
    const [record = '', name = ''] = [metadata.name, spec.object.metadata.name];
    const own = bySpoke.get(spec.cluster) ?? new Map<string, string>();
    if (type === 'deleted') own.delete(record);
    else own.set(record, name);
    if (own.size > 0) bySpoke.set(spec.cluster, own);
    else bySpoke.delete(spec.cluster);
    if (type === 'deleted') onForgotten(spec.cluster, name);
  });

  async function write(
    spoke: string,
    name: string,
    said: Answer,
    graph: string | undefined,
  ): Promise<RemoteObject> {
    const record = recordName(spoke, name);
    const reply: KubeObject = { ...HUB_REPLY, metadata: { name }, spec: { ...said } };
    const now = memory.get('', record);
    const isSaid =
      now &&
      now.metadata.deletionTimestamp === undefined &&
      deepEqual(now.spec.object['spec'], reply['spec']) &&
      now.metadata.labels?.[LABELS.graphId] === graph;
    if (isSaid) return now;
    const remote: RemoteObject = {
      apiVersion: `${REMOTES.group}/${REMOTES.version}`,
      kind: REMOTES.kind,
      metadata: {
        name: record,
        labels: { [COMPOSITION_LABEL]: record, ...(graph !== undefined && { [LABELS.graphId]: graph }) },
      },
      spec: { cluster: spoke, object: reply },
    };
    return client.apply<RemoteObject>(REMOTES, remote, { fieldManager: COMPOSITION_MANAGER, force: true });
  }

  return {
    memory,
    get: (spoke, name) => memory.get('', recordName(spoke, name)),
    count: (spoke) => bySpoke.get(spoke)?.size ?? 0,
    names: (spoke) => [...(bySpoke.get(spoke)?.values() ?? [])],
    answer(spoke, { metadata: { name = '', uid = '', generation = 0 } }, graph, said) {
      return write(spoke, name, { uid, generation, ...said }, graph);
    },
    async amend({ metadata, spec }, said) {
      await write(spec.cluster, spec.object.metadata.name ?? '', said, metadata.labels?.[LABELS.graphId]);
    },
    async forget({ metadata: { name = '', uid = '' } }) {
      await ignoring(404, client.delete(REMOTES, '', name, { preconditions: { uid } }));
    },
    stop: () => memory.stop(),
  };
}

/** The name of the hub's memory of what a HubObject of a spoke came to. */
export function recordName(spoke: string, name: string): string {
  return `composition-${digestOf([spoke, name]).slice(-32)}`;
}

/** What was answered last. */
export function answerIn({ spec }: RemoteObject): Answer {
  return (spec.object as HubReply).spec;
}
