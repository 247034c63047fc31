import { ATOLL_API_VERSION, dispatchName, SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { SourceRef } from '../../engine/intent.ts';
import type { Client } from '../../kube/client.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { anything, integer, list, record, text } from '../../schema/schema-of.ts';
import type { IntentRecord } from './intent-source.ts';

/** Whose record it is. */
export type RecordedSource = Pick<SourceRef, 'apiVersion' | 'kind' | 'namespace' | 'name' | 'uid'>;

interface RecordObject extends KubeObject {
  readonly spec: IntentRecord & { readonly source: RecordedSource };
}

/** What the hub remembers of an intent whose own object has no room for it. Written by the hub itself. */
export const INTENT_RECORD: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'IntentRecord',
  plural: 'intentrecords',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    'What the hub remembers of an object that it carries to spokes: which order it gave last, and to whom.',
  spec: record(
    {
      source: record({
        apiVersion: text(),
        kind: text(),
        namespace: text(),
        name: text(),
        uid: text(),
      }),
      dispatchGeneration: integer('Raised with every change of content or placement.', { format: 'int64' }),
      dispatchDigest: text('Digest of what that generation stands for.'),
      dispatchHistory: list(text(), 'generation:digest of the generations before, newest first.'),
      dispatchedTo: list(text(), 'Clusters that were told of it and were not told to forget it.'),
      decision: {
        ...anything('Where it is placed and why not elsewhere: what the next decision starts from.'),
        type: 'object',
      },
      replicas: {
        ...anything('How many replicas each cluster has of each object, where they are divided.'),
        type: 'object',
      },
      failover: { ...anything('What of it moves to other clusters by itself.'), type: 'object' },
      lost: list(record({ object: text(), winner: text() }), 'Objects that another intent has.'),
      activation: { ...anything('What is in force, where changes wait for the objects.'), type: 'object' },
    },
    undefined,
    { required: ['source'] },
  ),
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.source.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.source.namespace' },
    { name: 'Source', type: 'string', jsonPath: '.spec.source.name' },
    { name: 'Generation', type: 'integer', jsonPath: '.spec.dispatchGeneration' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

const RECORDS = resourceIdOf(INTENT_RECORD);

/**
 * The memory of dialects whose own status may hold nothing of ours: one object an intent, in the namespace of the engine,
 * named as the intent's dispatch is. What was written is read back at once, also before the API server tells of it.
 */
export interface IntentRecords {
  /** Whether all records that there are are known. Before that nothing may be decided: the hub would forget what it said. */
  readonly synced: boolean;
  whenSynced(): Promise<void>;
  get(source: RecordedSource): IntentRecord | undefined;
  /** Whether whatever has this name for its dispatches has a record. */
  has(dispatch: string): boolean;
  /** Those that have a record. */
  sources(): readonly RecordedSource[];
  /** Adds to what is remembered; durable when resolved. Writes of one record follow each other. Writes nothing where all is so. */
  write(source: RecordedSource, more: IntentRecord): Promise<void>;
  /** Forgets; a no-op where nothing is remembered. */
  remove(source: RecordedSource): Promise<void>;
  stop(): void;
}

export function openIntentRecords(runtime: Runtime, client: Client): IntentRecords {
  const informer = startInformer<RecordObject>(runtime, client, RECORDS, { namespace: SYSTEM_NAMESPACE });
  /** Written, and not heard of from the API server yet; `undefined` where it was removed. */
  const ahead = new Map<string, RecordObject | undefined>();
  /** The last write of each record that is under way. */
  const writing = new Map<string, Promise<void>>();
  informer.onChange(({ type, object }) => {
    const name = object.metadata.name ?? '';
    const written = ahead.get(name);
    if (written ? revisionOf(object) >= revisionOf(written) : type === 'deleted') ahead.delete(name);
  });

  function known(name: string): RecordObject | undefined {
    return ahead.has(name) ? ahead.get(name) : informer.get(SYSTEM_NAMESPACE, name);
  }

  /** One after the other: each builds on what the one before left. */
  function inTurn(name: string, act: () => Promise<void>): Promise<void> {
    const before = writing.get(name);
    // Whoever asked for the one before hears of its failure; this one is not about that.
    const turn = before === undefined ? act() : before.then(act, act);
    writing.set(name, turn);
    const ended = (): void => {
      if (writing.get(name) === turn) writing.delete(name);
    };
    turn.then(ended, ended);
    return turn;
  }

  async function put(name: string, spec: RecordObject['spec']): Promise<RecordObject> {
    const object: RecordObject = {
      apiVersion: ATOLL_API_VERSION,
      kind: INTENT_RECORD.kind,
      metadata: { name, namespace: SYSTEM_NAMESPACE },
      spec,
    };
    const made = known(name) ? undefined : await ignoring(409, client.create<RecordObject>(RECORDS, object));
    if (made) return made;
    try {
      return await client.patch<RecordObject>(RECORDS, SYSTEM_NAMESPACE, name, 'json', [
        { op: 'replace', path: '/spec', value: spec },
      ]);
    } catch (error) {
      // Somebody deleted it: what the hub remembers is not theirs to take away.
      if (!hasCode(error, 404)) throw error;
      return client.create<RecordObject>(RECORDS, object);
    }
  }

  function note(name: string, object: RecordObject | undefined): void {
    const there = informer.get(SYSTEM_NAMESPACE, name);
    // The watch may have been faster than the answer.
    if (object ? there && revisionOf(there) >= revisionOf(object) : !there) ahead.delete(name);
    else ahead.set(name, object);
  }

  return {
    get synced() {
      return informer.synced;
    },
    whenSynced: () => informer.whenSynced(),
    get(source) {
      const found = known(dispatchName(source));
      return found?.spec.source.uid === source.uid ? found.spec : undefined;
    },
    has: (dispatch) => known(dispatch) !== undefined,
    sources(): readonly RecordedSource[] {
      const names = new Set([...informer.list().map(({ metadata }) => metadata.name ?? ''), ...ahead.keys()]);
      return [...names].flatMap((name) => known(name)?.spec.source ?? []);
    },
    write(source, more) {
      const name = dispatchName(source);
      return inTurn(name, async () => {
        const before = known(name)?.spec;
        const { apiVersion, kind, namespace, name: of, uid } = source;
        const next = {
          ...(before?.source.uid === uid ? before : {}),
          ...fieldsOf(more),
          source: { apiVersion, kind, namespace, name: of, uid },
        };
        if (!deepEqual(next, before)) note(name, await put(name, next));
      });
    },
    remove(source) {
      const name = dispatchName(source);
      return inTurn(name, async () => {
        await ignoring(404, client.delete(RECORDS, SYSTEM_NAMESPACE, name));
        note(name, undefined);
      });
    },
    stop: () => informer.stop(),
  };
}

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}

/** What belongs into a record, of an object that may hold more. */
function fieldsOf(from: IntentRecord): IntentRecord {
  const { dispatchGeneration, dispatchDigest, dispatchHistory, dispatchedTo, decision, replicas } = from;
  const { failover, lost, activation } = from;
  return {
    ...(dispatchGeneration === undefined ? {} : { dispatchGeneration }),
    ...(dispatchDigest === undefined ? {} : { dispatchDigest }),
    ...(dispatchHistory === undefined ? {} : { dispatchHistory }),
    ...(dispatchedTo === undefined ? {} : { dispatchedTo }),
    ...(decision === undefined ? {} : { decision }),
    ...(replicas === undefined ? {} : { replicas }),
    ...(failover === undefined ? {} : { failover }),
    ...(lost === undefined ? {} : { lost }),
    ...(activation === undefined ? {} : { activation }),
  };
}
