import type { Request, Response } from '../../kube/exchange.ts';
import type { Connection } from '../../kube/wire/index.ts';
import type { Runtime } from '../../runtime/index.ts';
import { parseJsonBody } from '../../schema/decode.ts';
import { clone, isObject, type JsonValue, objectAt } from '../../schema/json.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import { pathAttributes, type RequestAttributes, type UserInfo } from '../auth/index.ts';
import { type AuditOutcome, type AuditSink, type AuditStage, auditEvent, newAuditId } from './audit-event.ts';
import { type AuditDecision, type AuditPolicy, DEFAULT_AUDIT_POLICY } from './policy.ts';

/** What the audit is told of a request, as far as it is known. */
export interface Audited {
  readonly user: UserInfo;
  readonly verb: string;
  readonly impersonated?: UserInfo;
  readonly attributes?: RequestAttributes;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The record of one request. */
export interface AuditRecord {
  readonly id: string;
  /** It is known who asks for what, and nothing was done yet. */
  received(request: Request, attributes: RequestAttributes): void;
  /** It is answered. Gives the response back, in a form that tells the end of a stream. `defect` is one of the server. */
  answered(response: Response, end: { readonly reason?: string; readonly defect: boolean }): Response;
}

export interface AuditTrail {
  /** `audited` is read at each stage. */
  begin(request: Request, connection: Connection, audited: Audited): AuditRecord;
}

/** Tells `sink` of requests what `policy` says. */
export function auditTrail(
  runtime: Runtime,
  sink: AuditSink | undefined,
  policy: AuditPolicy = DEFAULT_AUDIT_POLICY,
): AuditTrail {
  // Without a policy the beginning of a stream is all that is told of it: its end can be days away.
  const tellsEnds = policy !== DEFAULT_AUDIT_POLICY;

  return {
    begin(given, connection, audited) {
      const id = newAuditId(runtime);
      if (sink === undefined) return { id, received: () => {}, answered: (response) => response };
      const receivedAt = runtime.clock.now();
      let request = given;
      let decision: AuditDecision | undefined;
      let understood: RequestAttributes | undefined;

      function tell(stage: AuditStage, outcome: Omit<AuditOutcome, 'level' | 'stage'> = {}): void {
        if (decision === undefined || decision.level === 'None' || decision.omittedStages.has(stage)) return;
        const { user, impersonated, attributes = understood, verb, annotations } = audited;
        const { remoteAddress } = connection;
        const userAgent = request.headers['user-agent'];
        const facts = {
          auditID: id,
          uri: request.path,
          user,
          ...(impersonated === undefined ? {} : { impersonatedUser: impersonated }),
          ...(attributes === undefined ? {} : { attributes }),
          verb,
          ...(remoteAddress === undefined ? {} : { sourceAddress: remoteAddress }),
          ...(userAgent === undefined ? {} : { userAgent }),
          receivedAt,
        };
        const requestObject = stage === 'RequestReceived' ? undefined : requestBody(request, decision);
        sink?.(
          auditEvent(runtime, facts, {
            level: decision.level,
            stage,
            ...outcome,
            ...(annotations === undefined ? {} : { annotations }),
            ...(requestObject === undefined ? {} : { requestObject }),
          }),
        );
      }

      return {
        id,
        received(asked, attributes) {
          request = asked;
          understood = attributes;
          decision = policy(attributes);
          tell('RequestReceived');
        },
        answered(response, { reason, defect }) {
          decision ??= policy(pathAttributes(audited.user, '', audited.verb, given.path.split('?')[0] ?? ''));
          const outcome = { code: response.status, ...(reason === undefined ? {} : { reason }) };
          const streams = response.takeOver !== undefined || !(response.body instanceof Uint8Array);
          if (!streams) {
            const responseObject = responseBody(response, decision);
            tell(defect ? 'Panic' : 'ResponseComplete', {
              ...outcome,
              ...(responseObject === undefined ? {} : { responseObject }),
            });
            return response;
          }
          tell('ResponseStarted', outcome);
          if (!tellsEnds || decision.level === 'None') return response;
          return withEnd(response, () => tell('ResponseComplete', outcome));
        },
      };
    },
  };
}

/** A stream that calls back once, when it is over for whatever reason. */
function withEnd(response: Response, end: () => void): Response {
  const { body, takeOver } = response;
  if (takeOver !== undefined)
    return { ...response, takeOver: (socket, head) => takeOver(socket, head).finally(end) };
  if (body instanceof Uint8Array) return response;
  return { ...response, body: { [Symbol.asyncIterator]: () => ended(body[Symbol.asyncIterator](), end) } };
}

/** By hand: a generator that was not begun would not hear that nobody wants it. */
function ended(chunks: AsyncIterator<Uint8Array>, end: () => void): AsyncIterator<Uint8Array> {
  let over = false;
  const finish = (): void => {
    if (!over) end();
    over = true;
  };
  return {
    async next() {
      try {
        const result = await chunks.next();
        if (result.done) finish();
        return result;
      } catch (error) {
        finish();
        throw error;
      }
    },
    async return() {
      await chunks.return?.();
      finish();
      return { done: true, value: undefined };
    },
  };
}

function requestBody({ body, headers }: Request, decision: AuditDecision): JsonValue | undefined {
  if (decision.level === 'Metadata' || body === undefined || body.byteLength === 0) return undefined;
  const type = headers['content-type'] ?? 'application/json';
  return objectOf(body, type, decision);
}

function responseBody({ body, headers }: Response, decision: AuditDecision): JsonValue | undefined {
  if (decision.level !== 'RequestResponse' || !(body instanceof Uint8Array)) return undefined;
  return objectOf(body, headers['content-type'] ?? '', decision);
}

/** A body as JSON; what is in another form is named by its type alone. */
function objectOf(body: Uint8Array, contentType: string, { omitManagedFields }: AuditDecision): JsonValue {
  const isYaml = contentType.includes('yaml');
  const unknown: JsonValue = { kind: 'Unknown', apiVersion: '', contentType };
  if (!isYaml && !contentType.includes('json')) return unknown;
  const decoded = isYaml ? parseYamlBody(body) : parseJsonBody(body);
  if (!decoded.ok) return unknown;
  return omitManagedFields ? withoutManagedFields(decoded.value) : decoded.value;
}

function withoutManagedFields(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  const copy = clone(value);
  for (const object of [copy, ...(Array.isArray(copy.items) ? copy.items : [])])
    delete objectAt(object, 'metadata')?.managedFields;
  return copy;
}
