import type { Request, Response } from '../../kube/exchange.ts';
import { asJson, formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { badRequest, failure, hasCode, notFound, qualifiedResource } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import { clone, isObject, type JsonObject } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { UserInfo } from '../auth/index.ts';
import { hasProtobufForm } from '../protobuf/index.ts';
import { proxiedPath } from '../proxy/index.ts';
import {
  ALL_CLUSTERS,
  checkRoute,
  decodeBody,
  jsonResponse,
  mediaType,
  methodNotAllowed,
  negotiate,
  negotiateStatus,
  negotiateStream,
  notAcceptable,
  type Offer,
  objectBody,
  parseDeleteOptions,
  parseListQuery,
  parseWriteQuery,
  pathNotFound,
  type Rendering,
  type Representation,
  type RequestInfo,
  routeNotFound,
  valueResponse,
  warningHeader,
} from '../request/index.ts';
import type { Resource, Subresource, Verb } from '../resource.ts';
import { namespacePrefix } from '../store/key.ts';
import type { StreamSubresource } from '../streams/index.ts';
import { scaleTable, tableOf } from '../table/index.ts';
import { getComputed, listComputed } from './computed.ts';
import { admitConnect, admitProxy } from './connect.ts';
import { create } from './create.ts';
import { checkTypedKind, decodeObject, internalType, type KindOf, reportStrict } from './decode.ts';
import { deletedStatus, remove } from './delete.ts';
import { get, type Listing, list, partialObject } from './list.ts';
import { listHead, listText } from './list-text.ts';
import { decodePatch, patch } from './patch.ts';
import { getScale, writeScale } from './scale.ts';
import type { AdmissionRequest, RestServer, Scope, WriteOptions, Written } from './scope.ts';
import { bindPod, evictPod, finalizeNamespace } from './special-subresources.ts';
import { track } from './tracking.ts';
import { update } from './update.ts';
import { type View, viewOf } from './view.ts';
import { type OpenWatches, watch } from './watch.ts';

/** A request for a resource, understood and authorized. */
export interface ResourceRequest {
  readonly server: RestServer;
  readonly watches: OpenWatches;
  readonly request: Request;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  /** Throws 403 unless the user may create as well. */
  readonly mayCreate: () => void;
  /** Collected on the way; they leave with the response. */
  readonly warnings: string[];
  /** Adds to the request's event in the audit log. */
  readonly annotate?: (key: string, value: string) => void;
  /** Answers a create of a kind that is not stored, such as an access review; `undefined` for all others. */
  readonly review: (
    resource: Resource,
    body: KubeObject,
    namespace: string,
  ) => Promise<KubeObject> | undefined;
}

/** Verbs that need a name in the path. */
const ITEM_VERBS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete']);

/** Longer queries share a place with others of their path. */
const MAX_LIST_KEY = 1024;

/** Serves one request for a resource. Throws the `StatusError` of a failure. */
export async function handleResource(asked: ResourceRequest): Promise<Response> {
  const { info, server } = asked;
  const resource = server.resources(info.cluster).find(info.group, info.version, info.resource);
  if (!resource || !addresses(resource, info)) {
    if (isBuiltIn(asked)) throw routeNotFound();
    return pathNotFound();
  }
  // Where a built-in has no route there is nobody to tell of it.
  if (resource.deprecation !== undefined && (resource.custom || resource.verbs.includes(info.verb as Verb)))
    asked.warnings.push(resource.deprecation);
  const scope: Scope = {
    server,
    cluster: info.consumers ? ALL_CLUSTERS : info.cluster,
    ...(info.consumers ? { consumersOf: info.cluster } : {}),
    resource,
    namespace: resource.namespaced ? info.namespace : '',
    user: asked.user,
    mayCreate: asked.mayCreate,
    warn: (text) => asked.warnings.push(text),
    ...(asked.annotate ? { annotate: asked.annotate } : {}),
  };
  if (info.method === 'HEAD' && !resource.custom) throw methodNotAllowed();
  if (!resource.custom && (info.name === '.' || info.name === '..') && info.parts.length > 1)
    throw badRequest(`Name parameter invalid: ${JSON.stringify(info.name)}: may not be '${info.name}'`);
  if (info.subresource !== '') return handleSubresource(asked, scope);
  // What is only made, such as a review, has no items; and there are none of all namespaces together.
  const acrossNamespaces = resource.namespaced && info.namespace === '';
  if (!resource.custom && isMadeOnly(resource) && (info.parts.length > 1 || acrossNamespaces))
    throw routeNotFound();
  const misplaced = info.parts.length < 2 ? ITEM_VERBS.has(info.verb) : info.verb === 'create';
  if (!resource.custom && acrossNamespaces && !READING.has(info.verb)) throw methodNotAllowed();
  if (misplaced || !resource.verbs.includes(info.verb as Verb)) throw methodNotAllowed();
  if (!resource.custom) checkRoute(asked.request.headers, info.verb === 'list' || info.verb === 'watch');
  switch (info.verb) {
    case 'get':
      return getOne(asked, scope);
    case 'list':
      return listAll(asked, scope);
    case 'watch':
      return watchAll(asked, scope);
    case 'create':
      return createOne(asked, scope);
    case 'update':
      return updateOne(asked, scope);
    case 'patch':
      return patchOne(asked, scope);
    case 'delete':
      return deleteOne(asked, scope);
    case 'deletecollection':
      return deleteAll(asked, scope);
    default:
      throw methodNotAllowed();
  }
}

const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

function isMadeOnly({ verbs }: Resource): boolean {
  return verbs.length === 1 && verbs[0] === 'create';
}

/** Whether the group of the request has built-in resources: their router answers what it does not know in its own way. */
function isBuiltIn({ server, info }: ResourceRequest): boolean {
  return server
    .resources(info.cluster)
    .all.some((resource) => !resource.custom && resource.group === info.group);
}

/** What custom resources take where no namespace is named. */
const ACROSS_NAMESPACES: ReadonlySet<string> = new Set(['list', 'watch']);

/** Whether a path of this form addresses the resource at all. */
function addresses(resource: Resource, info: RequestInfo): boolean {
  if (info.parts.length > 3 && info.subresource !== 'proxy') return false;
  const inNamespace = info.namespace !== '';
  if (!resource.namespaced)
    return !inNamespace || (resource.resource === 'namespaces' && resource.group === '');
  return inNamespace || ACROSS_NAMESPACES.has(info.verb) || (!resource.custom && info.parts.length < 2);
}

async function watchAll(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const { info, request, warnings } = asked;
  const response = await watch(
    scope,
    withName(parseListQuery(info.query, true), info),
    negotiateStream(request.headers, info.query, offerOf(scope)),
    asked.watches,
    request.signal,
  );
  if (warnings.length === 0) return response;
  return { ...response, headers: { ...response.headers, warning: warningHeader(warnings) } };
}

/** The legacy `/watch/…/<name>` form watches one object. */
function withName<T extends { fieldSelector: string }>(query: T, info: RequestInfo): T {
  if (info.parts[1] === undefined) return query;
  return { ...query, fieldSelector: `metadata.name=${info.parts[1]}` };
}

function representationOf(asked: ResourceRequest, scope: Scope): Representation {
  return negotiate(asked.request.headers, asked.info.query, offerOf(scope));
}

/** Custom objects have no protobuf form, but their scale and their metadata have. */
function offerOf({ resource, subresource }: Scope): Offer {
  const { group = resource.group, version = resource.version, kind = resource.kind } = subresource ?? {};
  return { views: true, protobuf: () => hasProtobufForm(formatApiVersion(group, version), kind) };
}

function rendering(asked: ResourceRequest, representation: Representation): Rendering {
  return { representation, warnings: asked.warnings };
}

/** For what is answered with a Status, which has no other views. */
function statusRendering(asked: ResourceRequest): Rendering {
  return rendering(asked, negotiateStatus(asked.request.headers, asked.request.path));
}

/** One object in the representation that was asked for. */
function respondView(
  asked: ResourceRequest,
  scope: Scope,
  status: number,
  view: View,
  known?: Representation,
): Response {
  const representation = known ?? representationOf(asked, scope);
  const { as, metaVersion = 'v1' } = representation;
  const how = rendering(asked, representation);
  if (as === undefined)
    return representation.format === 'protobuf'
      ? valueResponse(status, view.object, how)
      : jsonResponse(status, view.bytes, how);
  if (as === 'PartialObjectMetadata')
    return valueResponse(
      status,
      partialObject(view.object, metaVersion, scope.resource.strategy.derivedAnnotations),
      how,
    );
  if (as === 'PartialObjectMetadataList')
    throw unfitView(as, `not a list (*${internalType(scope.resource)})`);
  return valueResponse(
    status,
    tableOf(scope.resource, [view.object], {
      now: scope.server.runtime.clock.now(),
      includeObject: parseListQuery(asked.info.query, true).includeObject,
      version: metaVersion,
      metadata: { resourceVersion: view.object.metadata.resourceVersion ?? '' },
    }),
    how,
  );
}

function respondWritten(
  asked: ResourceRequest,
  scope: Scope,
  written: Written,
  representation: Representation,
): Response {
  const view: View = written.record
    ? viewOf(scope.resource, written.record)
    : { object: written.object, bytes: Buffer.from(jsonText(written.object)) };
  return respondView(asked, scope, written.outcome === 'created' ? 201 : 200, view, representation);
}

async function getOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  // There are no components that could be asked, and upstream's storage has no 404 for them.
  if (scope.resource.resource === 'componentstatuses' && scope.resource.group === '')
    throw failure(500, '', `Component not found: ${asked.info.name}`);
  // What cannot be answered in the asked form is refused whether there is an object or not.
  const representation = representationOf(asked, scope);
  const { revision } = parseListQuery(asked.info.query, true);
  const { name } = asked.info;
  const view = getComputed(scope, name) ?? (await get(scope, name, revision));
  return respondView(asked, scope, 200, view, representation);
}

async function listAll(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const query = parseListQuery(asked.info.query, false);
  const representation = representationOf(asked, scope);
  const listing = listComputed(scope, query) ?? (await list(scope, query));
  return respondList(asked, scope, listing, representation, query.includeObject);
}

function respondList(
  asked: ResourceRequest,
  scope: Scope,
  listing: Listing,
  representation: Representation,
  includeObject: 'None' | 'Metadata' | 'Object',
): Response {
  const { as, metaVersion = 'v1' } = representation;
  const how = rendering(asked, representation);
  if (representation.format === 'protobuf')
    return valueResponse(200, listOf(scope, listing, representation), how);
  if (as === undefined) {
    const { resource } = scope;
    return jsonResponse(200, scope.server.listTexts.of(listKey(asked, scope), resource, listing), how);
  }
  if (as === 'Table')
    return valueResponse(
      200,
      tableOf(
        scope.resource,
        listing.views.map((view) => view.object),
        {
          now: scope.server.runtime.clock.now(),
          includeObject,
          version: metaVersion,
          metadata: listing.metadata,
        },
      ),
      how,
    );
  if (as === 'PartialObjectMetadata') throw unfitView(as, `a list (*${internalType(scope.resource)}List)`);
  // A list that nothing was put into has none.
  if (listing.views.length === 0)
    return valueResponse(
      200,
      { kind: as, apiVersion: `meta.k8s.io/${metaVersion}`, metadata: listing.metadata, items: null },
      how,
    );
  const items = listing.views.map((view) => ({
    bytes: Buffer.from(
      JSON.stringify(partialObject(view.object, metaVersion, scope.resource.strategy.derivedAnnotations)),
    ),
    from: 0,
  }));
  const head = listHead(`meta.k8s.io/${metaVersion}`, 'PartialObjectMetadataList', listing.metadata);
  return jsonResponse(200, listText(head, items), how);
}

/** 406 for a view that is for one object where there are many, or the other way round. */
function unfitView(as: string, what: string): Error {
  return failure(406, 'NotAcceptable', `you requested ${as}, but the requested object is ${what}`);
}

/** What is listed, but for the revision. */
function listKey({ info, request }: ResourceRequest, scope: Scope): string {
  return `${scope.cluster} ${scope.consumersOf ?? ''} ${request.path.length > MAX_LIST_KEY ? info.path : request.path}`;
}

/** A listing as one value. Its items have their kinds, which the list's form may leave out. */
function listOf(
  scope: Scope,
  { metadata, views }: Listing,
  { as, metaVersion = 'v1' }: Representation,
): unknown {
  const { group, version, listKind } = scope.resource;
  const items = views.map(({ object }) => object);
  if (as === undefined)
    return { kind: listKind, apiVersion: formatApiVersion(group, version), metadata, items };
  if (as !== 'PartialObjectMetadataList')
    throw unfitView(as, `a list (*${internalType(scope.resource)}List)`);
  return { kind: as, apiVersion: `meta.k8s.io/${metaVersion}`, metadata, items };
}

function writeOptions(
  asked: ResourceRequest,
  kind: string,
): WriteOptions & { namedManager: boolean; force: boolean } {
  return parseWriteQuery(asked.info.query, asked.request.headers['user-agent'] ?? '', kind);
}

/** Decodes a body as an object of `resource`, reporting unknown and repeated fields. */
function decodeWrite(asked: ResourceRequest, scope: Scope, options: WriteOptions): KubeObject {
  const { request } = asked;
  const body = decodeBody(request.headers, request.body, scope.resource.kind);
  const { object, strict } = decodeObject(
    scope.resource,
    objectBody(body, scope.resource.kind),
    body.strict,
    scope.server.resources(scope.cluster),
  );
  reportStrict(scope.resource, strict, options.fieldValidation, scope.warn);
  return object;
}

async function createOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const { resource } = scope;
  const options = writeOptions(asked, 'CreateOptions');
  const representation = representationOf(asked, scope);
  if (resource.group === '' && resource.resource === 'bindings') return bindByName(asked, scope, options);
  const object = decodeWrite(asked, scope, options);
  if (NOT_STORED.has(resource.group)) placeReview(object, scope);
  const answer = asked.review(resource, object, scope.namespace);
  if (answer) {
    const given = clone(object);
    const reviewed = answered(scope, given, await answer, options);
    const { as } = representation;
    // There is nothing to make a row of.
    if (as !== undefined && as !== 'PartialObjectMetadata') throw notAcceptable();
    const view = { object: reviewed, bytes: Buffer.from(jsonText(reviewed)) };
    return respondView(asked, scope, 201, view, representation);
  }
  return respondWritten(asked, scope, await create(scope, object, options), representation);
}

/** Groups of reviews. */
const NOT_STORED: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/** A review is of the namespace that it was sent to, or of none. */
function placeReview({ metadata }: KubeObject, { namespace }: Scope): void {
  if (namespace === '') delete metadata.namespace;
  else if ((metadata.namespace ?? namespace) !== namespace) throw otherNamespace();
  else metadata.namespace = namespace;
}

function otherNamespace(): Error {
  return badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** What is asked and not stored is answered like an object that was created, with its managers. */
function answered(scope: Scope, given: KubeObject, answer: KubeObject, options: WriteOptions): KubeObject {
  // The one review that is about the asker has a time, since its storage sets one. Of what is made anew, nobody manages a field.
  const isSelf = scope.resource.kind === 'SelfSubjectReview';
  const isAnew = isSelf || scope.resource.kind === 'SelfSubjectRulesReview';
  const managedFields = isAnew ? undefined : track(scope, given, undefined, options).metadata.managedFields;
  const metadata = {
    creationTimestamp: isSelf ? formatTime(scope.server.runtime.clock.now()) : null,
    ...answer.metadata,
    ...(managedFields ? { managedFields } : {}),
  };
  return { ...answer, metadata } as unknown as KubeObject;
}

async function updateOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const options = writeOptions(asked, 'UpdateOptions');
  const representation = representationOf(asked, scope);
  const object = decodeWrite(asked, scope, options);
  return respondWritten(asked, scope, await update(scope, asked.info.name, object, options), representation);
}

async function patchOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
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

/** DeleteOptions of the body, or of the query when there is none. */
function deleteOptions(asked: ResourceRequest): ReturnType<typeof parseDeleteOptions> {
  const { request, info } = asked;
  if ((request.body?.byteLength ?? 0) === 0) return parseDeleteOptions(undefined, info.query);
  return parseDeleteOptions(
    objectBody(decodeBody(request.headers, request.body), 'DeleteOptions'),
    info.query,
  );
}

async function deleteOne(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const representation = representationOf(asked, scope);
  const written = await remove(scope, asked.info.name, deleteOptions(asked));
  if (written.outcome !== 'deleted' || scope.resource.strategy.returnsDeleted)
    return respondWritten(asked, scope, written, representation);
  const { format, pretty } = representation;
  return valueResponse(
    200,
    deletedStatus(scope.resource, written.object),
    rendering(asked, { format, pretty }),
  );
}

async function deleteAll(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const options = deleteOptions(asked);
  const query = parseListQuery(asked.info.query, false);
  const representation = representationOf(asked, scope);
  const listing = await list(scope, query);
  const removeOne = async ({ object }: View): Promise<void> => {
    const { namespace = '', name = '' } = object.metadata;
    try {
      await remove({ ...scope, namespace: scope.resource.namespaced ? namespace : '' }, name, options);
    } catch (error) {
      // Whoever was faster has done what was asked for.
      if (!hasCode(error, 404)) throw error;
    }
  };
  // The first object that does not meet them ends it, so that with preconditions one follows the other.
  if (Object.keys(options.preconditions).length > 0) for (const view of listing.views) await removeOne(view);
  else await Promise.all(listing.views.map(removeOne));
  // The answer shows the objects as they were found.
  return respondList(asked, scope, listing, representation, query.includeObject);
}

async function handleSubresource(asked: ResourceRequest, parent: Scope): Promise<Response> {
  const { info } = asked;
  const { resource } = parent;
  const subresource = resource.subresources.find((candidate) => candidate.name === info.subresource);
  if (!subresource || info.name === '') {
    if (!resource.custom) throw routeNotFound();
    throw notFound(resource.group, resource.resource, info.name);
  }
  if (!subresource.verbs.includes(info.verb as Verb))
    throw resource.custom ? methodNotSupported(resource, info.verb) : methodNotAllowed();
  // What is proxied answers in its own forms.
  if (!resource.custom && subresource.name !== 'proxy')
    checkRoute(asked.request.headers, false, subresource.name === 'log' ? ['text/plain'] : []);
  const scope: Scope = { ...parent, subresource };
  switch (subresource.name) {
    case 'status':
      if (info.verb === 'get') return getOne(asked, scope);
      return info.verb === 'update' ? updateOne(asked, scope) : patchOne(asked, scope);
    case 'scale':
      return handleScale(asked, scope, subresource);
    case 'approval':
    case 'ephemeralcontainers':
      if (info.verb === 'get') return getOne(asked, scope);
      return info.verb === 'update' ? updateOne(asked, scope) : patchOne(asked, scope);
    case 'finalize': {
      const options = writeOptions(asked, 'UpdateOptions');
      const body = decodeWrite(asked, scope, options);
      const written = await finalizeNamespace(scope, info.name, body, options);
      return respondWritten(asked, scope, written, representationOf(asked, scope));
    }
    case 'token':
      return serviceAccountToken(asked, scope);
    case 'attach':
    case 'exec':
    case 'log':
    case 'portforward':
      return podStream(asked, scope, subresource.name);
    case 'proxy':
      return proxied(asked, scope);
    case 'binding':
    case 'eviction':
      return podAction(asked, parent, subresource);
    default:
      throw notImplemented(resource, subresource.name, info.name);
  }
}

function methodNotSupported({ group, resource }: Resource, verb: string): Error {
  return failure(
    405,
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind ${JSON.stringify(qualifiedResource(group, resource))}`,
    { ...(group === '' ? {} : { group }), kind: resource },
  );
}

function notImplemented(resource: Resource, subresource: string, name: string): Error {
  return failure(
    501,
    'NotImplemented',
    `the subresource ${resource.resource}/${subresource} is not implemented by this server`,
    { name, kind: resource.resource },
  );
}

async function handleScale(
  asked: ResourceRequest,
  scope: Scope,
  subresource: Subresource,
): Promise<Response> {
  const { info, request } = asked;
  const representation = representationOf(asked, scope);
  const own = { ...scope, resource: { ...scope.resource, ...scaleTable } };
  const answer = (scale: KubeObject): Response =>
    respondView(asked, own, 200, { object: scale, bytes: Buffer.from(jsonText(scale)) }, representation);
  if (info.verb === 'get') return answer(await getScale(scope, subresource, info.name));
  const options = writeOptions(asked, 'UpdateOptions');
  if (info.verb === 'update') {
    const body = objectBody(decodeBody(request.headers, request.body), 'Scale');
    return answer(await writeScale(scope, subresource, info.name, { body }, options));
  }
  const change = decodePatch(scope.resource, mediaType(request.headers), request.body, options.force);
  return answer(await writeScale(scope, subresource, info.name, { patch: change }, options));
}

async function serviceAccountToken(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const { request, info, server } = asked;
  if (!server.requestToken) throw notImplemented(scope.resource, 'token', info.name);
  const options = writeOptions(asked, 'CreateOptions');
  const body = decodeBody(request.headers, request.body, 'TokenRequest');
  const answer = server.requestToken(scope, info.name, body, options);
  return valueResponse(201, answer, rendering(asked, representationOf(asked, scope)));
}

/** What a kubelet would serve. */
async function podStream(
  { request, info }: ResourceRequest,
  scope: Scope,
  subresource: StreamSubresource,
): Promise<Response> {
  const { server, cluster, namespace, resource } = scope;
  if (!server.pods) throw notImplemented(resource, subresource, info.name);
  const query = await admitConnect(scope, info.name, info.query);
  return server.pods.answer(subresource, { cluster, namespace, name: info.name }, request, query);
}

/** HTTP to a port of a pod, or of one behind a service. */
async function proxied({ request, info }: ResourceRequest, scope: Scope): Promise<Response> {
  const { server, cluster, namespace, resource } = scope;
  const kind = resource.resource;
  if (!server.proxy || (kind !== 'services' && kind !== 'pods'))
    throw notImplemented(resource, 'proxy', info.name);
  await admitProxy(scope, info.name, proxiedPath(request.path)?.rest ?? '');
  return server.proxy({ kind, cluster, namespace, id: info.name }, request);
}

/** POST of a Binding that names its pod by its own name. */
async function bindByName(asked: ResourceRequest, scope: Scope, options: WriteOptions): Promise<Response> {
  const pods = scope.server.resources(scope.cluster).find('', 'v1', 'pods');
  if (!pods) throw routeNotFound();
  const body = decodeWrite(asked, scope, options);
  const { name = '' } = body.metadata;
  if (name === '') throw badRequest('Name parameter required.');
  const status = await bindPod({ ...scope, resource: pods }, name, body, options);
  return valueResponse(201, status, statusRendering(asked));
}

/** What is done to an object by a body that is stored nowhere, as admission leaves that body. */
async function admitted(
  scope: Scope,
  name: string,
  body: JsonObject,
  options: WriteOptions,
): Promise<KubeObject> {
  const metadata = isObject(body.metadata) ? body.metadata : {};
  const object = { ...body, metadata } as unknown as KubeObject;
  const { admission } = scope.server;
  const request: AdmissionRequest = {
    operation: 'CREATE',
    scope,
    name,
    object,
    old: undefined,
    dryRun: options.dryRun,
    options,
  };
  await admission.mutate(request);
  await admission.validate(request);
  return object;
}

/** Bodies of what is done to pods: the kind, and the versions in which it comes. */
const ACTIONS: Readonly<Record<string, { readonly kind: KindOf; readonly versions: readonly string[] }>> = {
  binding: { kind: { group: '', version: 'v1', kind: 'Binding' }, versions: ['v1'] },
  eviction: {
    kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
    versions: ['policy/v1', 'policy/v1beta1'],
  },
};

/** Decodes the body of an action on an object; it may name that object's namespace, and no other. */
function actionBody(asked: ResourceRequest, scope: Scope, action: string): JsonObject {
  const { request, server } = asked;
  const known = ACTIONS[action];
  const name = known?.kind.kind ?? action;
  const body = objectBody(decodeBody(request.headers, request.body, name), name);
  if (known) checkTypedKind(known.kind, body, known.versions, server.resources(scope.cluster));
  if (!isObject(body.metadata)) body.metadata = {};
  checkNamespace(body.metadata, scope.namespace);
  return body;
}

function checkNamespace(metadata: JsonObject, namespace: string): void {
  const given = metadata.namespace ?? '';
  if (given !== '' && given !== namespace) throw otherNamespace();
  metadata.namespace = namespace;
}

async function podAction(asked: ResourceRequest, scope: Scope, subresource: Subresource): Promise<Response> {
  const { info, server } = asked;
  const options = writeOptions(asked, 'CreateOptions');
  const body = actionBody(asked, scope, subresource.name);
  const how = statusRendering(asked);
  const action = await admitted({ ...scope, subresource }, info.name, body, options);
  if (subresource.name === 'binding')
    return valueResponse(201, await bindPod(scope, info.name, action, options), how);
  const budgets = server.store.list(
    namespacePrefix('policy', 'poddisruptionbudgets', scope.cluster, scope.namespace),
  ).records;
  return valueResponse(201, await evictPod(scope, info.name, asJson(action), budgets, options.dryRun), how);
}
