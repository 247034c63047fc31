import { EARLY_GROUP } from '../../../dialects/kubefed/index.ts';
import { ATOLL_API_VERSION, dispatchName, extendHistory } from '../../../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import { parseApiVersion } from '../../../kube/object.ts';
import { hasCode, ignoring } from '../../../kube/status-error.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { RETRACTION, type Retraction } from '../../propagate/retractions.ts';
import { RETRACTED } from '../../propagate/tracked.ts';
import type { IntentSource } from '../intent-source.ts';
import type { IntentRecords, RecordedSource } from '../records.ts';

const RETRACTIONS = resourceIdOf(RETRACTION);
const SWEEP = 'sweep';
const UNTIL_SYNCED_MS = 1_000;
/** An object that goes in the usual way has no record by then. */
const SETTLES_MS = 5_000;

export interface VanishedSweep {
  /** To be told of keys whose object may be gone. */
  readonly lookAfter: (key: string) => void;
  stop(): void;
}

/** Whose objects are looked after. */
export interface VanishedObjects {
  readonly name: string;
  readonly isOurs: (source: RecordedSource) => boolean;
  /** How long after an object went it is looked whether it went in the usual way. */
  readonly settlesMs?: number;
  /** Who looks for the objects; the hub itself where nothing is said. */
  readonly reader?: Client;
}

export const OF_KUBEFED: VanishedObjects = { name: 'kubefed-vanished', isOurs: isOfKubeFed };

/**
 * Looks after objects of a dialect (of KubeFed where nothing is said) that are gone although nobody ordered away what they brought: their finalizer was taken off
 * by force, or the hub ended between its last two writes. Their records are all that is left of them. What such an object
 * brought is nobody's from then on: a signed order takes the marks off and lets it stay. Absence never deletes.
 */
export function startVanishedSweep(
  runtime: Runtime,
  client: Client,
  records: IntentRecords,
  sources: readonly IntentSource[],
  { name: loopName, isOurs, settlesMs = SETTLES_MS, reader = client }: VanishedObjects = OF_KUBEFED,
): VanishedSweep {
  const { log } = runtime;
  const loop = startController(runtime, { name: loopName, reconcile: sweep });
  loop.enqueue(SWEEP);

  async function sweep(): Promise<Result | undefined> {
    if (!records.synced || !sources.every((source) => source.synced))
      return { requeueAfterMs: UNTIL_SYNCED_MS };
    const present = new Set<string>();
    for (const source of sources)
      for (const [, { metadata }] of source.entries()) present.add(metadata.uid ?? '');
    for (const source of records.sources())
      if (isOurs(source) && !present.has(source.uid) && (await isGone(source))) await letGo(source);
    return undefined;
  }

  /** Asked of the API server itself: what is not in a copy here may only not be watched. */
  async function isGone({ apiVersion, kind, namespace, name, uid }: RecordedSource): Promise<boolean> {
    let resource: ResourceId;
    try {
      resource = await reader.resourceFor(apiVersion, kind);
    } catch (error) {
      // A kind that is not served now says nothing of its objects.
      if (hasCode(error, 404)) return false;
      throw error;
    }
    try {
      return (await reader.get(resource, namespace, name)).metadata.uid !== uid;
    } catch (error) {
      // What may not be seen may be there.
      if (hasCode(error, 403)) return false;
      if (hasCode(error, 404)) return true;
      throw error;
    }
  }

  async function letGo(source: RecordedSource): Promise<void> {
    const {
      dispatchGeneration = 0,
      dispatchDigest = '',
      dispatchHistory = [],
      dispatchedTo = [],
    } = records.get(source) ?? {};
    if (dispatchedTo.length > 0) {
      const isOrdered = dispatchDigest === RETRACTED;
      const spec: Retraction['spec'] = {
        source: { ...source, generation: 0 },
        generation: isOrdered ? dispatchGeneration : dispatchGeneration + 1,
        digest: RETRACTED,
        history: isOrdered
          ? dispatchHistory
          : extendHistory(dispatchHistory, dispatchGeneration, dispatchDigest),
        clusters: dispatchedTo,
        ...(isOrdered ? {} : { release: true as const }),
      };
      await retract(dispatchName(source), spec);
      log.info('an object is gone, and what it brought is let go', {
        kind: source.kind,
        namespace: source.namespace,
        name: source.name,
        clusters: dispatchedTo,
      });
    }
    await records.remove(source);
  }

  async function retract(name: string, spec: Retraction['spec']): Promise<void> {
    // It was ordered already.
    await ignoring(
      409,
      client.create<Retraction>(RETRACTIONS, {
        apiVersion: ATOLL_API_VERSION,
        kind: RETRACTION.kind,
        metadata: { name },
        spec,
      }),
    );
  }

  return {
    lookAfter(key): void {
      if (!sources.some((source) => source.get(key) !== undefined)) loop.enqueue(SWEEP, settlesMs);
    },
    stop(): void {
      loop
        .stop()
        .catch((error: unknown) => log.error('the sweep of records did not end', { why: errorText(error) }));
    },
  };
}

function isOfKubeFed({ apiVersion, kind }: RecordedSource): boolean {
  const { group } = parseApiVersion(apiVersion);
  return kind.startsWith('Federat') || group === EARLY_GROUP || (group === '' && kind === 'Namespace');
}
