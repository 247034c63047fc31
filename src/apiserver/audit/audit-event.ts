import { formatMicroTime, type Runtime, uuid } from '../../runtime/index.ts';
import type { JsonValue } from '../../schema/json.ts';
import type { RequestAttributes, UserInfo } from '../auth/index.ts';

export interface AuditUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuditObjectRef {
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly apiGroup?: string;
  readonly apiVersion: string;
}

/** How much of a request is recorded: nothing, who did what to which object, with the body, with that of the answer too. */
export type AuditLevel = 'None' | 'Metadata' | 'Request' | 'RequestResponse';

/** When: before anything is done, when a stream begins, at the end, and where the server failed by a defect. */
export type AuditStage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

/** `audit.k8s.io/v1` Event: who did what to which object and how it ended. */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: AuditObjectRef;
  /** Absent while nothing was answered. */
  readonly responseStatus?: { readonly code: number; readonly reason?: string };
  readonly requestObject?: JsonValue;
  readonly responseObject?: JsonValue;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Takes one event; must not throw and must not block. */
export type AuditSink = (event: AuditEvent) => void;

export interface AuditedRequest {
  readonly auditID: string;
  /** Path with query. */
  readonly uri: string;
  readonly user: UserInfo;
  readonly impersonatedUser?: UserInfo;
  /** `undefined` when the request failed before it was understood. */
  readonly attributes?: RequestAttributes;
  readonly verb: string;
  readonly sourceAddress?: string;
  readonly userAgent?: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** What has become of a request at a stage. */
export interface AuditOutcome {
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  /** Of the answer, when there is one. */
  readonly code?: number;
  /** Reason of the Status of a failure. */
  readonly reason?: string;
  /** Such as `authorization.k8s.io/decision` and `…/reason`. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requestObject?: JsonValue;
  readonly responseObject?: JsonValue;
}

export function newAuditId(runtime: Runtime): string {
  return uuid(runtime.random);
}

/** Query values that are credentials, as browsers send them for WebSockets. */
const SECRET_QUERY = /([?&](?:access_token|token)=)[^&]*/gi;
const MAX_TEXT = 1024;

export function auditEvent(runtime: Runtime, request: AuditedRequest, outcome: AuditOutcome): AuditEvent {
  const { attributes, impersonatedUser, sourceAddress, userAgent } = request;
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: outcome.level,
    auditID: request.auditID,
    stage: outcome.stage,
    requestURI: request.uri.replace(SECRET_QUERY, '$1REDACTED').slice(0, MAX_TEXT),
    verb: request.verb,
    user: auditUser(request.user),
    ...(impersonatedUser === undefined ? {} : { impersonatedUser: auditUser(impersonatedUser) }),
    ...(sourceAddress === undefined ? {} : { sourceIPs: [sourceAddress] }),
    ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, MAX_TEXT) }),
    ...(attributes?.isResource ? { objectRef: objectRef(attributes) } : {}),
    ...(outcome.code === undefined
      ? {}
      : {
          responseStatus: {
            code: outcome.code,
            ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
          },
        }),
    ...(outcome.requestObject === undefined ? {} : { requestObject: outcome.requestObject }),
    ...(outcome.responseObject === undefined ? {} : { responseObject: outcome.responseObject }),
    requestReceivedTimestamp: formatMicroTime(request.receivedAt),
    stageTimestamp: formatMicroTime(runtime.clock.now()),
    ...(outcome.annotations === undefined ? {} : { annotations: outcome.annotations }),
  };
}

function auditUser(user: UserInfo): AuditUser {
  return {
    username: user.name,
    ...(user.uid === undefined ? {} : { uid: user.uid }),
    groups: [...user.groups],
    ...(user.extra === undefined ? {} : { extra: user.extra }),
  };
}

function objectRef(attributes: RequestAttributes): AuditObjectRef {
  const { resource, subresource, namespace, name, group, version } = attributes;
  return {
    resource,
    ...(subresource === '' ? {} : { subresource }),
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { apiGroup: group }),
    apiVersion: version,
  };
}
