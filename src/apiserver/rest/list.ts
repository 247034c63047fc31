import type { KubeObject, ListMeta } from '../../kube/object.ts';
import { badRequest, failure, notFound } from '../../kube/status-error.ts';
import { ownMetadata } from '../derived-metadata.ts';
import {
  decodeContinue,
  encodeContinue,
  expired,
  foreignContinue,
  type ListQuery,
  revisionProblem,
  tooLargeResourceVersion,
} from '../request/index.ts';
import { Compacted, type StoreList, type StoreRecord } from '../store/store.ts';
import { scopedView } from './cluster-view.ts';
import { readied, refuseStrayed } from './conversion.ts';
import { collectionPrefix, isAddressable, keyOf, type Scope, spansClusters } from './scope.ts';
import { parseSelection } from './selector.ts';
import { type View, viewOf } from './view.ts';

const FRESHNESS_WAIT_MS = 3000;
/** Where not all that is read is shown, so much is read at once: a chunk has its price, above all one of the past. */
const LEAST_READ = 1000;

/** Waits until the store has reached `revision`; 504 when it does not in time. */
export async function waitForRevision(scope: Scope, revision: number | undefined): Promise<void> {
  const { store } = scope.server;
  if (revision === undefined || revision <= store.revision) return;
  if (!(await store.waitFor(revision, FRESHNESS_WAIT_MS)))
    throw tooLargeResourceVersion(revision, store.revision);
}

/** A query that a cache answers says what it does not understand by itself. Throws 500. */
export function checkRevision({ resourceVersion }: ListQuery): void {
  const problem = revisionProblem(resourceVersion);
  if (problem !== undefined) throw failure(500, '', problem);
}

/** One object, not older than `revision`. Throws 404. */
export async function get(scope: Scope, name: string, revision?: number): Promise<View> {
  await waitForRevision(scope, revision);
  const record = scope.server.store.get(keyOf(scope, name));
  if (!record) throw notFound(scope.resource.group, scope.resource.resource, name);
  refuseStrayed(scope.resource, [record]);
  const pending = readied(scope, [record]);
  if (pending) await pending;
  return viewOf(scope.resource, record);
}

/** A chunk of a collection. */
export interface Listing {
  readonly metadata: ListMeta;
  readonly views: readonly View[];
  readonly records: readonly StoreRecord[];
}

interface Start {
  /** Undefined for the present. */
  readonly revision: number | undefined;
  readonly after: string | undefined;
}

/** Lists by Kubernetes' rules for resourceVersion, limit and continue. Throws 400, 410 and 504. */
export async function list(scope: Scope, query: ListQuery): Promise<Listing> {
  const { store } = scope.server;
  const prefix = collectionPrefix(scope);
  const selection = parseSelection(scope.resource, query.labelSelector, query.fieldSelector);
  const start = await startOf(scope, query, prefix);
  const { matches } = selection;
  if (
    selection.name !== undefined &&
    isAddressable(scope) &&
    start.revision === undefined &&
    start.after === undefined
  ) {
    const record = store.get(keyOf(scope, selection.name));
    const pending = record && readied(scope, [record]);
    if (pending) await pending;
    const view = record && viewOf(scope.resource, record);
    const found = record && view && (!matches || matches(view.object));
    return {
      metadata: { resourceVersion: String(store.revision) },
      views: found ? [view] : [],
      records: found ? [record] : [],
    };
  }
  const views: View[] = [];
  const records: StoreRecord[] = [];
  // What may be of any age comes from memory, which other servers do not cut into chunks.
  const limit =
    query.resourceVersion === '0' && query.match !== 'Exact' && query.continue === '' ? 0 : query.limit;

  const isPartial = scope.consumersOf !== undefined;
  let after = start.after;
  let revision = start.revision;
  let chunk: StoreList;
  let more = false;
  let lastKey = '';
  const isSieved = matches !== undefined || isPartial;
  do {
    const left = limit - records.length;
    chunk = readChunk(
      scope,
      prefix,
      revision,
      after,
      limit === 0 ? undefined : isSieved ? Math.max(left, LEAST_READ) : left,
      query,
    );
    revision ??= chunk.revision;
    more = chunk.more;
    // Over all logical clusters each has a definition of its own, and none may spoil the list of the others.
    if (!spansClusters(scope)) refuseStrayed(scope.resource, chunk.records);
    const pending = readied(scope, chunk.records);
    if (pending) await pending;
    for (const record of chunk.records) {
      if (limit > 0 && records.length === limit) {
        more = true;
        break;
      }
      lastKey = record.key;
      const view = scopedView(scope, record);
      if (!view || (matches && !matches(view.object))) continue;
      views.push(view);
      records.push(record);
    }
    after = lastKey;
    // Whoever sees some of the clusters must learn nothing of the others, their keys included.
  } while (more && isSieved && limit > 0 && records.length < limit);
  if (isPartial) lastKey = records.at(-1)?.key ?? lastKey;

  const metadata: ListMeta = { resourceVersion: String(chunk.revision) };
  if (more) {
    metadata.continue = encodeContinue({
      revision: chunk.revision,
      after: lastKey.slice(prefix.length),
      cluster: originOf(scope),
    });
    if (!matches && !isPartial && chunk.remaining > 0) metadata.remainingItemCount = chunk.remaining;
  }
  return { metadata, views, records };
}

/** What was listed, for the tokens that go on with it. */
function originOf({ cluster, consumersOf }: Scope): string {
  return consumersOf === undefined ? cluster : `consumers of ${consumersOf}`;
}

async function startOf(scope: Scope, query: ListQuery, prefix: string): Promise<Start> {
  if (query.continue !== '') {
    const token = decodeContinue(query.continue);
    if (query.resourceVersion !== '' && query.resourceVersion !== '0')
      throw badRequest('specifying resource version is not allowed when using continue');
    if (token.cluster !== originOf(scope)) throw foreignContinue();
    refuseFuture(scope, token.revision);
    return { revision: token.revision < 0 ? undefined : token.revision, after: prefix + token.after };
  }
  const { revision, resourceVersion } = query;
  const exact =
    query.match === 'Exact' ||
    (query.match === '' && query.limit > 0 && resourceVersion !== '' && resourceVersion !== '0');
  const problem = revisionProblem(resourceVersion);
  // Chunks and moments come from the storage, all else from a cache in front of it.
  if (problem !== undefined)
    throw exact || query.limit > 0
      ? badRequest(`invalid resource version: ${problem}`)
      : failure(500, '', problem);
  // Nobody waits for one revision: what is not there yet cannot be shown as it was.
  if (exact) refuseFuture(scope, revision ?? 0);
  else await waitForRevision(scope, revision);
  return { revision: exact ? revision : undefined, after: undefined };
}

function refuseFuture({ server }: Scope, revision: number): void {
  if (revision > server.store.revision)
    throw failure(500, '', 'etcdserver: mvcc: required revision is a future revision');
}

function readChunk(
  scope: Scope,
  prefix: string,
  revision: number | undefined,
  after: string | undefined,
  limit: number | undefined,
  query: ListQuery,
): StoreList {
  try {
    return scope.server.store.list(prefix, {
      ...(revision === undefined ? {} : { revision }),
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
    });
  } catch (error) {
    if (!(error instanceof Compacted)) throw error;
    if (query.continue === '') throw expired('The resourceVersion for the provided list is too old.');
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      encodeContinue({
        revision: -1,
        after: decodeContinue(query.continue).after,
        cluster: originOf(scope),
      }),
    );
  }
}

/** An object reduced to its metadata, without those annotations that are made when it is shown as a whole. */
export function partialObject(
  object: KubeObject,
  metaVersion: 'v1' | 'v1beta1',
  derivedAnnotations?: readonly string[],
): unknown {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${metaVersion}`,
    metadata: ownMetadata(object.metadata, derivedAnnotations),
  };
}
