import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { badRequest, conflict, type FieldError, invalid, notFound } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import { type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../schema/json.ts';
import type { TypeSchema } from '../../schema/open-api-schema.ts';
import { type Body, objectBody } from '../request/index.ts';
import { decodeObject, reportStrict } from '../rest/decode.ts';
import type { Scope, WriteOptions } from '../rest/scope.ts';
import { keyOf } from '../rest/scope.ts';
import { track } from '../rest/tracking.ts';
import { objectKey } from '../store/key.ts';
import type { ObjectIdentity, ServiceAccountTokens, TokenSubject } from './service-account-tokens.ts';

const GROUP = 'authentication.k8s.io';
const KIND = 'TokenRequest';
const DEFAULT_SECONDS = 3600;
const LEAST_SECONDS = 600;
const MOST_SECONDS = 2 ** 32;
const SECONDS_PATH = 'spec.expirationSeconds';

/** POST of `serviceaccounts/token`: a token for the account that the scope and `name` address. Throws 400, 404, 409 or 422. */
export function requestToken(
  tokens: ServiceAccountTokens,
  type: TypeSchema,
  scope: Scope,
  name: string,
  body: Body,
  options: WriteOptions,
): KubeObject {
  // TokenRequest is no resource of its own, but is decoded and tracked like one.
  const resource = {
    ...scope.resource,
    group: GROUP,
    version: 'v1',
    kind: KIND,
    type,
    strategy: REQUEST_STRATEGY,
  };
  const within: Scope = { ...scope, resource, subresource: { name: 'token', verbs: ['create'] } };
  const decoded = decodeObject(
    resource,
    objectBody(body, KIND),
    body.strict,
    scope.server.resources(scope.cluster),
  );
  reportStrict(resource, decoded.strict, options.fieldValidation, scope.warn);
  const { store, runtime } = scope.server;
  const record = store.get(keyOf(scope, name));
  if (!record) throw notFound('', 'serviceaccounts', name);
  const account = record.object;
  checkPlace(decoded.object, name, scope.namespace);
  const spec = (decoded.object.spec ?? {}) as JsonObject;
  decoded.object.spec = {
    ...spec,
    expirationSeconds: numberAt(spec, 'expirationSeconds') ?? DEFAULT_SECONDS,
  };
  const request = track(within, decoded.object, undefined, options);
  forgetReference(request);
  const asked = objectAt(request, 'spec') ?? {};
  const seconds = numberAt(asked, 'expirationSeconds') ?? DEFAULT_SECONDS;
  const problem = secondsProblem(seconds);
  if (problem) throw invalid(GROUP, KIND, '', [problem]);
  const named = listAt(asked, 'audiences').filter((audience) => typeof audience === 'string');
  const audiences = named.length > 0 ? named : [...tokens.audiences(scope.cluster)];
  const subject: TokenSubject = {
    namespace: scope.namespace,
    serviceaccount: { name, uid: account.metadata.uid ?? '' },
    ...bound(scope, name, objectAt(asked, 'boundObjectRef')),
  };
  const { token, expiresAt } = tokens.issue(scope.cluster, subject, audiences, seconds);
  return {
    ...request,
    metadata: {
      ...request.metadata,
      name,
      namespace: scope.namespace,
      creationTimestamp: formatTime(runtime.clock.now()),
    },
    spec: { ...asked, audiences, boundObjectRef: asked.boundObjectRef ?? null, expirationSeconds: seconds },
    // A rehearsal must not leave anybody with a credential.
    status: { token: options.dryRun ? '' : token, expirationTimestamp: formatTime(expiresAt) },
  };
}

/** In Go an empty request has a reference, which is null: the fields within are what the client has added. */
function forgetReference(request: KubeObject): void {
  for (const entry of listAt(request, 'metadata', 'managedFields')) {
    const fields = objectAt(entry, 'fieldsV1', 'f:spec', 'f:boundObjectRef');
    if (fields) delete fields['.'];
  }
}

const REQUEST_STRATEGY: Scope['resource']['strategy'] = {
  generation: 'none',
  allowUnconditionalUpdate: true,
  allowCreateOnUpdate: false,
  returnsDeleted: false,
  defaultPropagation: 'Background',
  fieldLabelNames: [],
  resetFields: { main: {}, status: {} },
};

function checkPlace(request: KubeObject, name: string, namespace: string): void {
  const { name: givenName = '', namespace: givenNamespace = '' } = request.metadata;
  if (givenNamespace !== '' && givenNamespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  if (givenName === '' || givenName === name) return;
  const detail = 'must match the service account name if specified';
  throw invalid(GROUP, KIND, name, [{ type: 'Invalid', path: 'metadata.name', value: givenName, detail }]);
}

function secondsProblem(value: number): FieldError | undefined {
  if (value < LEAST_SECONDS)
    return {
      type: 'Invalid',
      path: SECONDS_PATH,
      value,
      detail: 'may not specify a duration less than 10 minutes',
    };
  if (value > MOST_SECONDS)
    return {
      type: 'Invalid',
      path: SECONDS_PATH,
      value,
      detail: 'may not specify a duration larger than 2^32 seconds',
    };
  return undefined;
}

/** The object that the token lives and dies with, and the node of a pod. */
function bound(
  scope: Scope,
  account: string,
  reference: JsonObject | undefined,
): Partial<Pick<TokenSubject, 'pod' | 'secret' | 'node'>> {
  if (reference === undefined) return {};
  const { group, version } = parseApiVersion(stringAt(reference, 'apiVersion') ?? '');
  const kind = stringAt(reference, 'kind') ?? '';
  const name = stringAt(reference, 'name') ?? '';
  const what = `${group}/${version}, Kind=${kind}`;
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  // Any version of the core group will do.
  if (known === undefined || group !== '') throw badRequest(`cannot bind token to object of type ${what}`);
  if (name === '') throw badRequest('Name parameter required.');
  const namespace = known.namespaced ? scope.namespace : '';
  const object = find(scope, known.resource, namespace, name);
  if (object === undefined) throw notFound('', known.resource, name);
  const uid = object.metadata.uid ?? '';
  const expected = stringAt(reference, 'uid') ?? '';
  if (expected !== '' && expected !== uid)
    throw conflict(
      '',
      kind,
      name,
      `the UID in the bound object reference (${expected}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  const identity: ObjectIdentity = { name, uid };
  if (kind === 'Secret') return { secret: identity };
  if (kind === 'Node') return { node: identity };
  if ((stringAt(object, 'spec', 'serviceAccountName') ?? '') !== account)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  const nodeName = stringAt(object, 'spec', 'nodeName') ?? '';
  const node = nodeName === '' ? undefined : find(scope, 'nodes', '', nodeName);
  return {
    pod: identity,
    ...(node ? { node: { name: nodeName, uid: node.metadata.uid ?? '' } } : {}),
  };
}

const KINDS: Readonly<Record<string, { resource: string; namespaced: boolean }>> = {
  Pod: { resource: 'pods', namespaced: true },
  Secret: { resource: 'secrets', namespaced: true },
  Node: { resource: 'nodes', namespaced: false },
};

function find(scope: Scope, resource: string, namespace: string, name: string): KubeObject | undefined {
  return scope.server.store.get(objectKey('', resource, scope.cluster, namespace, name))?.object;
}
