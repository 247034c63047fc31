import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { failure } from '../../kube/status-error.ts';
import type { Resource } from '../resource.ts';
import { clusterPrefix } from '../store/key.ts';
import { type StoreRecord, TooLarge } from '../store/store.ts';
import { keyOf, type Scope, type Written } from './scope.ts';
import { noteFresh, viewOf } from './view.ts';

/** What to do with the newest state of an object. `object` is what the client gets to see. */
export type Decision =
  | { readonly action: 'put'; readonly object: KubeObject }
  /** Removes the key; the client sees `object`, or the last stored state. */
  | {
      readonly action: 'delete';
      readonly object?: KubeObject /** Whether the client sees `object` at the revision of the deletion. */;
      readonly atDeletion?: true;
    }
  | { readonly action: 'keep' };

/** The object in the form in which its resource is stored. */
function stored(resource: Resource, object: KubeObject): KubeObject {
  const { storageGroup, storageVersion, strategy } = resource;
  if (storageGroup === undefined && resource.version === storageVersion) return object;
  const apiVersion = formatApiVersion(storageGroup ?? resource.group, storageVersion);
  return { ...(strategy.storedForm?.to(object) ?? object), apiVersion };
}

/**
 * Runs `decide` against the newest state of `name` and makes its decision durable, unless `dryRun`. `decide` is called
 * once, synchronously; what it throws reaches the caller and nothing is written.
 */
export async function commit(
  scope: Scope,
  name: string,
  dryRun: boolean,
  decide: (current: StoreRecord | undefined) => Decision,
): Promise<Written> {
  const { server, resource } = scope;
  const key = keyOf(scope, name);
  if (dryRun) return rehearse(scope, server.store.get(key), decide);

  let decided: KubeObject | undefined;
  let answer: KubeObject | undefined;
  let atDeletion = false;
  const prefix = clusterPrefix(resource.group, resource.resource, scope.cluster);
  try {
    const result = await server.store.write(key, (current) => {
      const decision = decide(current);
      if (decision.action === 'keep') return undefined;
      if (decision.action === 'delete') {
        answer = decision.object;
        atDeletion = decision.atDeletion ?? false;
        return null;
      }
      decided = decision.object;
      if (resource.strategy.allocate) server.inFlight.add(prefix, decided);
      return stored(resource, decided);
    });
    if (decided && result.outcome !== 'unchanged') noteFresh(resource, result.record);
    if (result.outcome === 'created') await server.afterCreate?.(resource, result.record);
    if (answer && atDeletion) {
      const { resourceVersion } = result.record.object.metadata;
      answer = {
        ...answer,
        metadata: { ...answer.metadata, ...(resourceVersion ? { resourceVersion } : {}) },
      };
    }
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
  }
}

function rehearse(
  scope: Scope,
  current: StoreRecord | undefined,
  decide: (current: StoreRecord | undefined) => Decision,
): Written {
  const decision = decide(current);
  if (decision.action === 'put')
    return { object: decision.object, record: undefined, outcome: current ? 'updated' : 'created' };
  const object = decision.action === 'delete' ? decision.object : undefined;
  if (!current) throw new Error('a decision about nothing must put something');
  return {
    object: object ?? viewOf(scope.resource, current).object,
    record: undefined,
    outcome: decision.action === 'delete' ? 'deleted' : 'unchanged',
  };
}
