import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { conflict, failure, notFound } from '../../kube/status-error.ts';
import { clone } from '../../schema/json.ts';
import { liveCluster } from '../clusters/cluster-record.ts';
import type { Resource } from '../resource.ts';
import { clusterPrefix } from '../store/key.ts';
import { type StoreRecord, TooLarge } from '../store/store.ts';
import { convertedForStorage, readied, untilStorable } from './conversion.ts';
import { afterwards, type Decision, type Waiting } from './decision.ts';
import { pruneForStorage } from './decode.ts';
import { keyOf, type Scope, type Written } from './scope.ts';
import { noteFresh, viewOf } from './view.ts';

export type { Decision } from './decision.ts';

/** The object in the form in which its resource is stored. */
function stored(resource: Resource, object: KubeObject): KubeObject {
  const { storageGroup, storageVersion, strategy } = resource;
  if (storageGroup === undefined && resource.version === storageVersion) return object;
  const converted = resource.conversion && convertedForStorage(object);
  if (converted) return converted;
  const apiVersion = formatApiVersion(storageGroup ?? resource.group, storageVersion);
  if (resource.custom) {
    const kept = { ...clone(object), apiVersion };
    pruneForStorage(resource, kept);
    return kept;
  }
  return { ...(strategy.storedForm?.to(object) ?? object), apiVersion };
}

/** How often a write is decided anew because its object changed while others were asked about it. */
const MAX_RESTARTS = 16;

/** A decision that has to wait, and the revision of the object that it is about (0 where there is none). */
interface Paused {
  readonly decision: Waiting;
  readonly revision: number;
}

/** Carries a {@link Paused} out of the store's decision, in which nothing can wait. */
class Pause extends Error {
  readonly paused: Paused;
  constructor(paused: Paused) {
    super('the decision waits for an answer');
    this.paused = paused;
  }
}

/** Decides, or goes on with what was decided before if the object is still the same. Throws {@link Pause}. */
function decideNow(
  scope: Scope,
  current: StoreRecord | undefined,
  paused: Paused | undefined,
  decide: (current: StoreRecord | undefined) => Decision,
): Exclude<Decision, Waiting> {
  const revision = current?.revision ?? 0;
  let decision: Decision;
  if (paused?.revision === revision) decision = paused.decision.next();
  else {
    paused?.decision.abandon?.();
    decision = afterwards(current && readied(scope, [current]), () => decide(current));
  }
  if (decision.action === 'put') decision = untilStorable(scope, decision);
  if (decision.action === 'wait') throw new Pause({ decision, revision });
  return decision;
}

/**
 * Runs `decide` against the newest state of `name` and makes its decision durable, unless `dryRun`. What it throws reaches
 * the caller and nothing is written. `decide` is called once, synchronously, unless it has to wait for somebody: it is
 * called again when the object has changed by then, and must not depend on what an earlier call did.
 */
export async function commit(
  scope: Scope,
  name: string,
  dryRun: boolean,
  decide: (current: StoreRecord | undefined) => Decision,
): Promise<Written> {
  let paused: Paused | undefined;
  const { store } = scope.server;
  const clusterId = (): string | undefined => liveCluster(store, scope.cluster)?.object.metadata.uid;
  let began: string | undefined;
  for (let restarts = 0; restarts <= MAX_RESTARTS; ) {
    try {
      return dryRun ? rehearse(scope, name, paused, decide) : await attempt(scope, name, paused, decide);
    } catch (error) {
      if (!(error instanceof Pause)) throw error;
      if (paused && paused.revision !== error.paused.revision) restarts += 1;
      if (paused === undefined) began = clusterId();
      paused = error.paused;
    }
    try {
      await answered(scope, paused.decision);
      // Another logical cluster of the same name is somebody else's.
      if (clusterId() !== began) throw notFound('', 'clusters', scope.cluster);
    } catch (error) {
      paused.decision.abandon?.();
      throw error;
    }
  }
  throw conflict(
    scope.resource.group,
    scope.resource.resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

/** Waits for those who are asked. What was allocated to the object stays reserved meanwhile. */
async function answered(scope: Scope, { until, object }: Waiting): Promise<void> {
  const { resource, server, cluster } = scope;
  if (object === undefined || resource.strategy.allocate === undefined) return until;
  const prefix = clusterPrefix(resource.group, resource.resource, cluster);
  server.inFlight.add(prefix, object);
  try {
    await until;
  } finally {
    server.inFlight.remove(prefix, object);
  }
}

async function attempt(
  scope: Scope,
  name: string,
  paused: Paused | undefined,
  decide: (current: StoreRecord | undefined) => Decision,
): Promise<Written> {
  const { server, resource } = scope;
  const key = keyOf(scope, name);
  let decided: KubeObject | undefined;
  let answer: KubeObject | undefined;
  let atDeletion = false;
  let marked = false;
  let release: (() => void) | undefined;
  const prefix = clusterPrefix(resource.group, resource.resource, scope.cluster);
  try {
    const first = server.store.write(key, (current) => {
      const decision = decideNow(scope, current, paused, decide);
      if (decision.action === 'keep') return undefined;
      if (decision.action === 'delete') {
        answer = decision.object;
        atDeletion = decision.atDeletion ?? false;
        if (!decision.marked || answer === undefined) return null;
        marked = true;
        return stored(resource, answer);
      }
      decided = decision.object;
      release = decision.release;
      // While others were asked, what it was to be put into may have gone.
      if (paused && !current) server.admission.place?.(scope, name);
      if (resource.strategy.allocate) server.inFlight.add(prefix, decided);
      return stored(resource, decided);
    });
    // Both are made in one turn, so that nobody comes between them.
    const [, result] = marked
      ? await Promise.all([first, server.store.write(key, () => null)])
      : [undefined, await first];
    if (decided && result.outcome !== 'unchanged') noteFresh(resource, result.record);
    if (result.outcome === 'created' || result.outcome === 'updated')
      await server.afterWrite?.(resource, result.record);
    if (answer && atDeletion) {
      const { resourceVersion } = result.record.object.metadata;
      answer = {
        ...answer,
        metadata: { ...answer.metadata, ...(resourceVersion ? { resourceVersion } : {}) },
      };
    }
    if (!answer) await readied(scope, [result.record]);
    return {
      object: answer ?? viewOf(resource, result.record).object,
      record: answer ? undefined : result.record,
      outcome: result.outcome,
    };
  } catch (error) {
    if (error instanceof TooLarge)
      throw failure(
        413,
        'RequestEntityTooLarge',
        `Request entity too large: the object would take ${error.size} bytes in storage, limit is ${error.limit}`,
      );
    throw error;
  } finally {
    if (decided) server.inFlight.remove(prefix, decided);
    release?.();
  }
}

function rehearse(
  scope: Scope,
  name: string,
  paused: Paused | undefined,
  decide: (current: StoreRecord | undefined) => Decision,
): Written {
  const current = scope.server.store.get(keyOf(scope, name));
  const decision = decideNow(scope, current, paused, decide);
  if (decision.action === 'put') {
    decision.release?.();
    return { object: decision.object, record: undefined, outcome: current ? 'updated' : 'created' };
  }
  const object = decision.action === 'delete' ? decision.object : undefined;
  if (!current) throw new Error('a decision about nothing must put something');
  return {
    object: object ?? viewOf(scope.resource, current).object,
    record: undefined,
    outcome: decision.action === 'delete' ? 'deleted' : 'unchanged',
  };
}
