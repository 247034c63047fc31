import { formatMicroTime, type Runtime, uuid } from '../../runtime/index.ts';
import type { RequestAttributes } from './attributes.ts';
import type { UserInfo } from './user.ts';

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

/** `audit.k8s.io/v1` Event at level Metadata: who did what to which object and how it ended, never the content. */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: 'Metadata';
  readonly auditID: string;
  readonly stage: 'ResponseStarted' | 'ResponseComplete';
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: AuditObjectRef;
  readonly responseStatus: { readonly code: number; readonly reason?: string };
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

export interface AuditOutcome {
  readonly code: number;
  /** Reason of the Status of a failure. */
  readonly reason?: string;
  /** True for a stream whose head has been sent. */
  readonly streaming?: boolean;
  /** Such as `authorization.k8s.io/decision` and `…/reason`. */
  readonly annotations?: Readonly<Record<string, string>>;
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
    level: 'Metadata',
    auditID: request.auditID,
    stage: outcome.streaming ? 'ResponseStarted' : 'ResponseComplete',
    requestURI: request.uri.replace(SECRET_QUERY, '$1REDACTED').slice(0, MAX_TEXT),
    verb: request.verb,
    user: auditUser(request.user),
    ...(impersonatedUser === undefined ? {} : { impersonatedUser: auditUser(impersonatedUser) }),
    ...(sourceAddress === undefined ? {} : { sourceIPs: [sourceAddress] }),
    ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, MAX_TEXT) }),
    ...(attributes?.isResource ? { objectRef: objectRef(attributes) } : {}),
    responseStatus: {
      code: outcome.code,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    },
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
