import { gunzipSync } from 'node:zlib';
import { shortDigest } from '../../engine/digest.ts';
import {
  ATOLL_API_VERSION,
  type Bundle,
  gzipped,
  packBundles,
  SYSTEM_NAMESPACE,
  unpackBundles,
} from '../../engine/dispatch/index.ts';
import type { ReplicaRecord } from '../../engine/plan/divided-replicas.ts';
import {
  type RevisionContent,
  type RevisionHistory,
  type RolloutState,
  revisionDigest,
  type Stamps,
} from '../../engine/rollout/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import { canonicalJson, isObject } from '../../schema/json.ts';
import type { ActionOutcome } from './actions.ts';
import {
  INTENT_REVISION,
  INTENT_ROLLOUT,
  type IntentRevision,
  type IntentRollout,
  type RecordSource,
} from './kinds.ts';

/** What the hub must remember of the rollouts of one intent, whatever happens to its process. */
export interface RolloutRecord extends Stamps {
  readonly history: RevisionHistory;
  /** Absent while content goes everywhere at once. */
  readonly state?: RolloutState;
  /** A person went back to an older revision: it stands until the intent asks for something else than `over`. */
  readonly restored?: { readonly revision: string; readonly over: string };
  /** What the next division of replicas starts from, by revision. */
  readonly replicas: Readonly<Record<string, ReplicaRecord>>;
  /** What became of actions whose persons may not have been told yet, by uid. */
  readonly actions: Readonly<Record<string, ActionOutcome>>;
}

export const EMPTY_RECORD: RolloutRecord = {
  generation: 0,
  stamps: [],
  given: {},
  history: [],
  replicas: {},
  actions: {},
};

const REVISIONS = resourceIdOf(INTENT_REVISION);
const ROLLOUTS = resourceIdOf(INTENT_ROLLOUT);
/** On revisions: whose they are, so that all of them can be found. */
const OF_LABEL = 'atoll.dev/dispatch';
/** Base64 of one object; API servers refuse objects over 1.5 MiB. */
const PART_CHARS = 900 * 1024;
/** Largest record that is read: a bound against text that grows without end. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** Where revisions and records of rollouts are kept at the hub: in the system's own namespace, since content may be secret. */
export interface RolloutStore {
  read(name: string): Promise<RolloutRecord | undefined>;
  /** Durable when resolved. */
  write(name: string, source: RecordSource, record: RolloutRecord): Promise<void>;
  /** Durable when resolved; a no-op where it is kept already. */
  keep(name: string, source: RecordSource, digest: string, content: RevisionContent): Promise<void>;
  /** The content of a revision, proven by its digest; undefined where it is not kept any more. */
  content(name: string, digest: string): Promise<RevisionContent | undefined>;
  drop(name: string, digest: string): Promise<void>;
  /** Everything of one intent goes. */
  forget(name: string): Promise<void>;
}

export function createRolloutStore(client: Client): RolloutStore {
  async function remove(resource: typeof REVISIONS, name: string): Promise<void> {
    await ignoring(404, client.delete(resource, SYSTEM_NAMESPACE, name));
  }

  async function find<T extends IntentRevision | IntentRollout>(
    resource: typeof REVISIONS,
    name: string,
  ): Promise<T | undefined> {
    return ignoring(404, client.get<T>(resource, SYSTEM_NAMESPACE, name));
  }

  async function partsOf(name: string, digest: string): Promise<readonly IntentRevision[] | undefined> {
    const first = await find<IntentRevision>(REVISIONS, revisionName(name, digest, 0));
    if (!first) return undefined;
    const parts = [first];
    for (let part = 1; part < first.spec.parts; part++) {
      const next = await find<IntentRevision>(REVISIONS, revisionName(name, digest, part));
      if (!next) return undefined;
      parts.push(next);
    }
    return parts;
  }

  return {
    async read(name): Promise<RolloutRecord | undefined> {
      const found = await find<IntentRollout>(ROLLOUTS, name);
      if (!found) return undefined;
      try {
        return unpackRecord(found.spec.data);
      } catch (error) {
        throw new Error(
          `what the hub remembers of a rollout cannot be read: ${errorText(error)}. To start anew with what is on the clusters: kubectl delete ${ROLLOUTS.resource} -n ${SYSTEM_NAMESPACE} ${name}`,
          { cause: error },
        );
      }
    },
    async write(name, source, record): Promise<void> {
      const object: IntentRollout = {
        apiVersion: ATOLL_API_VERSION,
        kind: INTENT_ROLLOUT.kind,
        metadata: { name, namespace: SYSTEM_NAMESPACE },
        spec: { source, encoding: 'json+gzip', data: packRecord(record) },
      };
      try {
        await client.patch(ROLLOUTS, SYSTEM_NAMESPACE, name, 'merge', { spec: object.spec });
      } catch (error) {
        if (!hasCode(error, 404)) throw error;
        await client.create(ROLLOUTS, object);
      }
    },
    async keep(name, source, digest, content): Promise<void> {
      // The first part last: where it is there, all of it is.
      for (const part of revisionParts(name, source, digest, content).reverse()) {
        await ignoring(409, client.create(REVISIONS, part));
      }
    },
    async content(name, digest): Promise<RevisionContent | undefined> {
      const parts = await partsOf(name, digest);
      return parts && contentOfParts(parts, digest);
    },
    async drop(name, digest): Promise<void> {
      const first = await find<IntentRevision>(REVISIONS, revisionName(name, digest, 0));
      if (!first) return;
      for (let part = 0; part < first.spec.parts; part++)
        await remove(REVISIONS, revisionName(name, digest, part));
    },
    async forget(name): Promise<void> {
      const { items } = await client.list<IntentRevision>(REVISIONS, SYSTEM_NAMESPACE, {
        labelSelector: `${OF_LABEL}=${name}`,
      });
      for (const { metadata } of items) await remove(REVISIONS, metadata.name ?? '');
      await remove(ROLLOUTS, name);
    },
  };
}

function revisionName(name: string, digest: string, part: number): string {
  return `${name}-${shortDigest(digest)}-${part}`;
}

/** The objects that keep a revision. */
export function revisionParts(
  name: string,
  source: RecordSource,
  digest: string,
  { objects, ...content }: RevisionContent,
): IntentRevision[] {
  const { digest: objectsDigest, bundles } =
    objects.length === 0 ? { digest: '', bundles: [] } : packBundles(objects);
  const groups: Bundle['spec'][][] = [[]];
  let size = 0;
  for (const { spec } of bundles) {
    if (size > 0 && size + spec.data.length > PART_CHARS) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)?.push(spec);
    size += spec.data.length;
  }
  return groups.map((group, part) => ({
    apiVersion: ATOLL_API_VERSION,
    kind: INTENT_REVISION.kind,
    metadata: {
      name: revisionName(name, digest, part),
      namespace: SYSTEM_NAMESPACE,
      labels: { [OF_LABEL]: name },
    },
    spec: {
      source,
      digest,
      part,
      parts: groups.length,
      ...(part === 0 ? { content, objects: objectsDigest } : {}),
      bundles: group,
    },
  }));
}

/** The content in the parts of a revision. Throws an Error where it is not what its digest names. */
export function contentOfParts(parts: readonly IntentRevision[], digest: string): RevisionContent {
  const [first] = parts;
  if (!first) throw new Error(`revision ${shortDigest(digest)} has no parts`);
  const bundles = parts.flatMap(({ spec }) =>
    spec.bundles.map(
      (bundle): Bundle => ({ apiVersion: ATOLL_API_VERSION, kind: 'Bundle', metadata: {}, spec: bundle }),
    ),
  );
  const objects = first.spec.objects ? unpackBundles(bundles, first.spec.objects) : [];
  const content = { overrides: [], ...first.spec.content, objects };
  if (revisionDigest(content) !== digest)
    throw new Error(`revision ${shortDigest(digest)} does not have the content that its digest names`);
  return content;
}

function packRecord(record: RolloutRecord): string {
  return gzipped(canonicalJson(record), 6).toString('base64');
}

function unpackRecord(data: string): RolloutRecord {
  const text = gunzipSync(Buffer.from(data, 'base64'), { maxOutputLength: MAX_RECORD_BYTES });
  const read: unknown = JSON.parse(text.toString('utf8'));
  if (!isObject(read)) throw new Error('the record of a rollout holds no object');
  return { ...EMPTY_RECORD, ...(read as Partial<RolloutRecord>) };
}
