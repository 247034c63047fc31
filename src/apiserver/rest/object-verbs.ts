import type { Response } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import { badRequest, failure, hasCode } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import {
  includeObjectOf,
  type ListQuery,
  mediaType,
  negotiateStream,
  notAcceptable,
  parseListQuery,
  type RequestInfo,
  revisionOf,
  valueResponse,
  warningHeader,
} from '../request/index.ts';
import { getComputed, listComputed } from './computed.ts';
import { create, wipe } from './create.ts';
import { deletedStatus, remove, warnOfOrphans } from './delete.ts';
import { get, list } from './list.ts';
import { respondList, respondView, respondWritten } from './object-answers.ts';
import { decodePatch, patch } from './patch.ts';
import {
  decodeWrite,
  deleteOptions,
  offerOf,
  REVIEW_GROUPS,
  type ResourceRequest,
  rendering,
  representationOf,
  writeOptions,
} from './resource-request.ts';
import type { AdmissionRequest, Scope, WriteOptions } from './scope.ts';
import { track } from './tracking.ts';
import { update } from './update.ts';
import type { View } from './view.ts';
import { watch } from './watch.ts';
import { withWorkers } from './workers.ts';

/** What each verb does with objects of a resource, or of its status, once it is known to be allowed here. */
export async function getOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  // There are no components that could be asked, and upstream's storage has no 404 for them.
  if (scope.resource.resource === 'componentstatuses' && scope.resource.group === '')
    throw failure(500, '', `Component not found: ${asked.info.name}`);
  // What cannot be answered in the asked form is refused whether there is an object or not.
  const representation = representationOf(asked, scope);
  const { name, query } = asked.info;
  const view = getComputed(scope, name) ?? (await get(scope, name, revisionOf(query)));
  return respondView(asked, scope, 200, view, representation);
}

export async function listAll(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const query = parseListQuery(asked.info.query, false);
  const representation = representationOf(asked, scope);
  const listing = listComputed(scope, query) ?? (await list(scope, query));
  return respondList(asked, scope, listing, representation);
}

export async function watchAll(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const { info, request, warnings } = asked;
  const query = withName(parseListQuery(info.query, true), info);
  const representation = negotiateStream(request.headers, info.query, offerOf(scope));
  const response = await watch(
    scope,
    query,
    representation,
    asked.watches,
    request.signal,
    representation.as === 'Table' ? includeObjectOf(info.query) : undefined,
  );
  if (warnings.length === 0) return response;
  return { ...response, headers: { ...response.headers, warning: warningHeader(warnings) } };
}

/** The legacy `/watch/…/<name>` form watches one object. */
function withName<T extends { fieldSelector: string }>(query: T, info: RequestInfo): T {
  if (info.parts[1] === undefined) return query;
  return { ...query, fieldSelector: `metadata.name=${info.parts[1]}` };
}

export async function createOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const { resource } = scope;
  const options = writeOptions(asked, 'CreateOptions');
  const representation = representationOf(asked, scope);
  const object = decodeWrite(asked, scope, options);
  if (REVIEW_GROUPS.has(resource.group)) {
    placeReview(object, scope);
    await admitReview(scope, object, options);
  }
  const answer = asked.review(resource, object, scope.namespace);
  if (answer) {
    const given = clone(object);
    const reviewed = answered(scope, given, await answer, options);
    if (representation.as === 'PartialObjectMetadataList') throw notAcceptable();
    const view = { object: reviewed, bytes: Buffer.from(jsonText(reviewed)) };
    return respondView(asked, scope, 201, view, representation);
  }
  return respondWritten(asked, scope, await create(scope, object, options), representation);
}

/** A review is of the namespace that it was sent to, or of none. */
function placeReview({ metadata }: KubeObject, { namespace }: Scope): void {
  wipe(metadata);
  if (namespace === '') delete metadata.namespace;
  else if ((metadata.namespace ?? namespace) !== namespace) throw otherNamespace();
  else metadata.namespace = namespace;
}

/** Webhooks may have a say in questions, too. Policies have none. */
async function admitReview(scope: Scope, object: KubeObject, options: WriteOptions): Promise<void> {
  if (scope.server.admission.mayWait(scope))
    await admitUnstored(scope, object.metadata.name ?? '', object, options);
}

/** Lets admission change and check what is created only to be acted upon. Throws a `StatusError` where it is refused. */
export async function admitUnstored(
  scope: Scope,
  name: string,
  object: KubeObject,
  options: WriteOptions,
): Promise<void> {
  const { admission } = scope.server;
  const { dryRun } = options;
  const request: AdmissionRequest = {
    operation: 'CREATE',
    scope,
    name,
    object,
    old: undefined,
    dryRun,
    options,
  };
  await admission.mutate(request);
  await admission.validate(request);
}

export function otherNamespace(): Error {
  return badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** What is asked and not stored is answered like an object that was created, with its managers. */
function answered(scope: Scope, given: KubeObject, answer: KubeObject, options: WriteOptions): KubeObject {
  // The one review that is about the asker has a time, since its storage sets one. Of what is made anew, nobody manages a field.
  const isSelf = scope.resource.kind === 'SelfSubjectReview';
  const isAnew = isSelf || scope.resource.kind === 'SelfSubjectRulesReview';
  // Whoever tells the answer beforehand has set it, as far as the record goes.
  const { resource } = scope;
  const strategy = { ...resource.strategy, resetFields: { main: {}, status: {} } };
  const whole: Scope = { ...scope, resource: { ...resource, strategy } };
  const managedFields = isAnew ? undefined : track(whole, given, undefined, options).metadata.managedFields;
  const metadata = {
    creationTimestamp: isSelf ? formatTime(scope.server.runtime.clock.now()) : null,
    ...answer.metadata,
    ...(managedFields ? { managedFields } : {}),
  };
  return { ...answer, metadata } as unknown as KubeObject;
}

export async function updateOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const options = writeOptions(asked, 'UpdateOptions');
  const representation = representationOf(asked, scope);
  const object = decodeWrite(asked, scope, options);
  return respondWritten(asked, scope, await update(scope, asked.info.name, object, options), representation);
}

export async function patchOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const { request, info } = asked;
  const options = writeOptions(asked, 'PatchOptions');
  const representation = representationOf(asked, scope);
  const change = decodePatch(scope.resource, mediaType(request.headers), request.body, options.force);
  if (change.type === 'apply' && !options.namedManager) throw managerRequired();
  return respondWritten(asked, scope, await patch(scope, info.name, change, options), representation);
}

function managerRequired(): Error {
  return failure(
    422,
    'Invalid',
    'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    {
      group: 'meta.k8s.io',
      kind: 'PatchOptions',
      causes: [
        {
          reason: 'FieldValueRequired',
          message: 'Required value: is required for apply patch',
          field: 'fieldManager',
        },
      ],
    },
  );
}

export async function deleteOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const representation = representationOf(asked, scope);
  const options = deleteOptions(asked, 'object');
  const written = await remove(scope, asked.info.name, options);
  if (written.outcome !== 'deleted' || scope.resource.strategy.returnsDeleted)
    return respondWritten(asked, scope, written, representation);
  const { format, pretty } = representation;
  return valueResponse(
    200,
    deletedStatus(scope.resource, written.object),
    rendering(asked, { format, pretty }),
  );
}

/** Of a collection: so many share a commit well, and a webhook is not asked about thousands at once. */
const DELETED_AT_ONCE = 32;

export async function deleteAll(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const query = parseListQuery(asked.info.query, false);
  const options = deleteOptions(asked, 'collection');
  warnOfOrphans(scope, options);
  const representation = representationOf(asked, scope);
  const listing = await list(scope, asOfStorage(query));
  const removeOne = async ({ object }: View): Promise<void> => {
    const { namespace = '', name = '' } = object.metadata;
    try {
      await remove({ ...scope, namespace: scope.resource.namespaced ? namespace : '' }, name, options, '');
    } catch (error) {
      // Whoever was faster has done what was asked for.
      if (!hasCode(error, 404)) throw error;
    }
  };
  // The first object that does not meet them ends it, so that with preconditions one follows the other.
  const isStrict = Object.keys(options.preconditions).length > 0;
  await withWorkers(isStrict ? 1 : DELETED_AT_ONCE, listing.views, removeOne);
  // The answer shows the objects as they were found.
  return respondList(asked, scope, listing, representation);
}

/** What is to be deleted is read in chunks, so from the storage, for which a revision is the one that is meant. */
function asOfStorage(query: ListQuery): ListQuery {
  const isOne = query.match === '' && query.resourceVersion !== '' && query.resourceVersion !== '0';
  return isOne ? { ...query, match: 'Exact' } : query;
}
