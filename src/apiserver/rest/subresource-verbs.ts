import type { Response } from '../../kube/exchange.ts';
import { asJson, type KubeObject } from '../../kube/object.ts';
import { badRequest, failure, notFound, qualifiedResource } from '../../kube/status-error.ts';
import { clone, isObject, type JsonObject } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import { proxiedPath } from '../proxy/index.ts';
import {
  checkRoute,
  decodeBody,
  mediaType,
  methodNotAllowed,
  notAcceptable,
  objectBody,
  routeNotFound,
  valueResponse,
} from '../request/index.ts';
import type { Resource, Subresource, Verb } from '../resource.ts';
import { namespacePrefix } from '../store/key.ts';
import type { StreamSubresource } from '../streams/index.ts';
import { scaleTableOf } from '../table/index.ts';
import { admitConnect, admitProxy } from './connect.ts';
import { checkTypedKind, decodeObject, type KindOf, reportStrict } from './decode.ts';
import { respondView, respondWritten } from './object-answers.ts';
import { admitUnstored, getOne, otherNamespace, patchOne, updateOne } from './object-verbs.ts';
import { decodePatch } from './patch.ts';
import {
  decodeWrite,
  type ResourceRequest,
  rendering,
  representationOf,
  statusRendering,
  writeOptions,
} from './resource-request.ts';
import { getScale, writeScale } from './scale.ts';
import { type AdmissionRequest, keyOf, type Scope, type WriteOptions } from './scope.ts';
import { bindPod, evictPod, finalizeNamespace } from './special-subresources.ts';

/** Serves one request for a subresource. Throws the `StatusError` of a failure. */
export async function handleSubresource(asked: ResourceRequest, parent: Scope): Promise<Response> {
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

/** What the storage of a resource cannot do. */
export function methodNotSupported({ group, resource }: Resource, verb: string): Error {
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
  const own = { ...scope, resource: { ...scope.resource, ...scaleTableOf(scope.resource) } };
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
  const representation = representationOf(asked, scope);
  // There is nothing to make a row of.
  if (representation.as !== undefined && representation.as !== 'PartialObjectMetadata') throw notAcceptable();
  const body = decodeBody(request.headers, request.body, 'TokenRequest');
  const object: KubeObject = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: info.name, namespace: scope.namespace },
  };
  const admission: AdmissionRequest = {
    operation: 'CREATE',
    scope,
    name: info.name,
    object,
    old: undefined,
    dryRun: options.dryRun,
    options,
  };
  await server.admission.mutate(admission);
  const answer = server.requestToken(scope, info.name, body, options);
  // What is judged is the request, before there is a token in it.
  const { status: _status, ...asRequest } = answer;
  await server.admission.validate({ ...admission, object: asRequest as KubeObject });
  return valueResponse(201, answer, rendering(asked, representation));
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
  if (kind === 'nodes' && !server.store.get(keyOf(scope, info.name))) throw notFound('', kind, info.name);
  if (!server.proxy || (kind !== 'services' && kind !== 'pods'))
    throw notImplemented(resource, 'proxy', info.name);
  await admitProxy(scope, info.name, proxiedPath(request.path)?.rest ?? '');
  return server.proxy({ kind, cluster, namespace, id: info.name }, request);
}

/** POST of a Binding that names its pod by its own name. */
export async function bindByName(asked: ResourceRequest, scope: Scope): Promise<Response> {
  const options = writeOptions(asked, 'CreateOptions');
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
  await admitUnstored(scope, name, object, options);
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

/** Tells of fields that a Binding does not have, or refuses them, as is asked. */
function reportUnknown(body: JsonObject, scope: Scope, options: WriteOptions): void {
  const bindings = scope.server.resources(scope.cluster).find('', 'v1', 'bindings');
  if (!bindings) return;
  const { strict } = decodeObject(bindings, clone(body));
  reportStrict(bindings, strict, options.fieldValidation, scope.warn);
}

async function podAction(asked: ResourceRequest, scope: Scope, subresource: Subresource): Promise<Response> {
  const { info, server } = asked;
  const options = writeOptions(asked, 'CreateOptions');
  const body = actionBody(asked, scope, subresource.name);
  const how = statusRendering(asked);
  if (subresource.name === 'binding') reportUnknown(body, scope, options);
  const action = await admitted({ ...scope, subresource }, info.name, body, options);
  if (subresource.name === 'binding')
    return valueResponse(201, await bindPod(scope, info.name, action, options), how);
  const budgets = server.store.list(
    namespacePrefix('policy', 'poddisruptionbudgets', scope.cluster, scope.namespace),
  ).records;
  return valueResponse(201, await evictPod(scope, info.name, asJson(action), budgets, options.dryRun), how);
}
