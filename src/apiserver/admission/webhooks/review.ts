import { formatApiVersion, type KubeObject } from '../../../kube/object.ts';
import { failure, type StatusCause, type StatusError } from '../../../kube/status-error.ts';
import {
  at,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  stringAt,
  stringsAt,
} from '../../../schema/json.ts';
import { parseJson } from '../../../schema/json-text.ts';
import type { DeleteQuery } from '../../request/index.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { WebhookFailure } from './webhook-client.ts';

const GROUP = 'admission.k8s.io';

/** The `request` of an AdmissionReview. `shown` is the resource as which the webhook sees the objects. */
export function reviewRequest(
  uid: string,
  asked: AdmissionRequest,
  shown: Resource,
  object: KubeObject | undefined,
  old: KubeObject | undefined,
): JsonObject {
  const { scope, operation, name, dryRun } = asked;
  const { resource, subresource, user } = scope;
  const namespace = resource.namespaced
    ? (asked.object?.metadata.namespace ?? scope.namespace)
    : resource.group === '' && resource.resource === 'namespaces'
      ? name
      : '';
  const sub = subresource?.name;
  return {
    uid,
    kind: kindOf(asked, shown),
    resource: resourceOf(shown),
    ...(sub === undefined ? {} : { subResource: sub }),
    requestKind: kindOf(asked, resource),
    requestResource: resourceOf(resource),
    ...(sub === undefined ? {} : { requestSubResource: sub }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      groups: [...user.groups],
      ...(user.extra === undefined
        ? {}
        : {
            extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]])),
          }),
    },
    object: (object as unknown as JsonObject | undefined) ?? null,
    oldObject: (old as unknown as JsonObject | undefined) ?? null,
    dryRun,
    options: optionsOf(asked),
  };
}

function kindOf({ scope }: AdmissionRequest, resource: Resource): JsonObject {
  const { subresource } = scope;
  return subresource?.kind === undefined
    ? { group: resource.group, version: resource.version, kind: resource.kind }
    : {
        group: subresource.group ?? resource.group,
        version: subresource.version ?? resource.version,
        kind: subresource.kind,
      };
}

function resourceOf({ group, version, resource }: Resource): JsonObject {
  return { group, version, resource };
}

const OPTION_KINDS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** A conversation has no options besides its object. */
function optionsOf({ operation, dryRun, options, deletion }: AdmissionRequest): JsonObject | null {
  if (operation === 'CONNECT') return null;
  return {
    kind: OPTION_KINDS[operation],
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun ? { dryRun: ['All'] } : {}),
    ...(options
      ? { fieldManager: options.fieldManager, fieldValidation: options.fieldValidation }
      : deletion
        ? deleteOptions(deletion)
        : {}),
  };
}

function deleteOptions({ gracePeriodSeconds, propagation, preconditions }: DeleteQuery): JsonObject {
  return {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions: { ...preconditions } }),
  };
}

export function reviewOf(version: 'v1' | 'v1beta1', request: JsonObject): JsonObject {
  return { kind: 'AdmissionReview', apiVersion: formatApiVersion(GROUP, version), request };
}

/** What a webhook has said. */
export interface Verdict {
  readonly allowed: boolean;
  readonly status: JsonObject | undefined;
  /** Operations of a JSON patch. */
  readonly patch: JsonValue | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** Reads the answer to a review. Throws {@link WebhookFailure} for one that does not fit. */
export function verdictOf(
  review: JsonObject,
  version: 'v1' | 'v1beta1',
  uid: string,
  mutating: boolean,
): Verdict {
  const response = objectAt(review, 'response');
  if (!response) throw refused('webhook response was absent');
  if (version === 'v1') checkAnswer(review, response, uid, mutating);
  const patch = stringAt(response, 'patch') ?? '';
  const type = stringAt(response, 'patchType') ?? (patch === '' ? '' : 'JSONPatch');
  if (mutating && patch !== '' && type !== 'JSONPatch')
    throw refused(`unsupported patch type ${JSON.stringify(type)}`);
  return {
    allowed: response.allowed === true,
    status: objectAt(response, 'status'),
    patch: mutating && patch !== '' ? decodedPatch(patch) : undefined,
    warnings: listAt(response, 'warnings').filter((text) => typeof text === 'string'),
    auditAnnotations: stringsAt(response, 'auditAnnotations'),
  };
}

function refused(why: string): WebhookFailure {
  return new WebhookFailure(`received invalid webhook response: ${why}`);
}

function checkAnswer(review: JsonObject, response: JsonObject, uid: string, mutating: boolean): void {
  const given = stringAt(response, 'uid') ?? '';
  if (given !== uid)
    throw refused(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`);
  const apiVersion = stringAt(review, 'apiVersion') ?? '';
  const kind = stringAt(review, 'kind') ?? '';
  if (apiVersion !== `${GROUP}/v1` || kind !== 'AdmissionReview')
    throw refused(
      `expected webhook response of ${GROUP}/v1, Kind=AdmissionReview, got ${apiVersion}, Kind=${kind}`,
    );
  const hasPatch = (stringAt(response, 'patch') ?? '') !== '';
  const type = at(response, 'patchType') ?? undefined;
  if (!mutating) {
    if (hasPatch) throw refused('validating webhook may not return response.patch');
    if (type !== undefined) throw refused('validating webhook may not return response.patchType');
  } else if (hasPatch) {
    if (type === undefined) throw refused('webhook returned response.patch but not response.patchType');
    if (type === '') throw refused('webhook returned invalid response.patchType of ""');
  } else if (type !== undefined) throw refused('webhook returned response.patchType but not response.patch');
}

function decodedPatch(patch: string): JsonValue {
  try {
    return parseJson(Buffer.from(patch, 'base64').toString());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw refused('response.patch is not the base64 of a JSON patch');
  }
}

/** What the client is told of a refusal. */
export function denial(name: string, status: JsonObject | undefined): StatusError {
  const by = `admission webhook ${JSON.stringify(name)} denied the request`;
  const message = stringAt(status, 'message') ?? '';
  const reason = stringAt(status, 'reason') ?? '';
  const details = objectAt(status, 'details');
  const text =
    message !== '' ? `${by}: ${message}` : reason !== '' ? `${by}: ${reason}` : `${by} without explanation`;
  const code = numberAt(status, 'code') ?? 0;
  return failure(
    code < 400 || code > 599 ? 400 : code,
    reason,
    text,
    details === undefined
      ? undefined
      : { ...details, causes: listAt(details, 'causes').filter(isObject) as StatusCause[] },
  );
}
