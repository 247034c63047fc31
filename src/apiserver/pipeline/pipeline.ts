import type { Request, Response } from '../../kube/exchange.ts';
import { StatusError } from '../../kube/status-error.ts';
import type { Connection } from '../../kube/wire/index.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import type { AuditRecord, AuditTrail } from '../audit/index.ts';
import {
  type Authenticator,
  authenticate,
  bearerToken,
  impersonates,
  isPublicPath,
  spacedToken,
  type UserInfo,
} from '../auth/index.ts';
import {
  checkTimeout,
  endsEarly,
  errorResponse,
  negotiateStatus,
  parseRequestInfo,
  textResponse,
} from '../request/index.ts';
import type { RequestMetrics } from '../request-metrics.ts';
import { browserRequest, isWebSocketRequest, watchOverWebSocket } from '../websocket/index.ts';
import { attributesOf, type Backends, serveKnown } from './authorized.ts';
import { type Tracked, tracked } from './tracked.ts';

export interface PipelineOptions {
  readonly authenticate: Authenticator;
  /** Whether requests without credentials are answered where roles allow it. */
  readonly anonymous: boolean;
  readonly audit: AuditTrail;
  readonly metrics: RequestMetrics;
}

/** The way that every request takes. */
export interface Pipeline {
  /** Authenticates, authorizes, serves and audits. Never rejects. */
  handle(request: Request, connection: Connection): Promise<Response>;
  /** The same for a user who is known. */
  handleAs(user: UserInfo, request: Request): Promise<Response>;
}

const NOBODY: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export function requestPipeline(runtime: Runtime, options: PipelineOptions, backends: Backends): Pipeline {
  const { clock, log } = runtime;

  /** Serves a request whose user `identify` finds, and tells the audit. `undefined` is anyone, on a public path. */
  async function answer(
    given: Request,
    connection: Connection,
    identify: (request: Request) => Promise<UserInfo | undefined>,
  ): Promise<Response> {
    const receivedAt = clock.now();
    const track = tracked(NOBODY, given.method);
    const record = options.audit.begin(given, connection, track);
    let request = given;
    let response: Response;
    let reason: string | undefined;
    let defect = false;
    try {
      request = browserRequest(given);
      // Before anybody is asked who they are, as other servers do it. Hardly a request says how long it waits.
      if (request.path.includes('timeout=')) checkTimeout(parseRequestInfo(request.method, request.path));
      if (BROKEN_ESCAPE.test(request.path)) response = textResponse(400, '400 Bad Request');
      else if (endsEarly(request.path.split('?', 1)[0] ?? '')) response = unfinishedPath(request.path);
      else {
        const spaced = spacedToken(request);
        if (spaced !== undefined) track.warnings.push(spaced);
        const user = await identify(request);
        if (user) track.user = user;
        response = await serve(request, user, track, record);
      }
    } catch (error) {
      if (error instanceof StatusError) reason = error.reason;
      response = errorResponse(
        error,
        (cause) => {
          defect = true;
          reportInternal(request, cause);
        },
        { representation: negotiateStatus(request.headers, request.path), warnings: track.warnings },
      );
    }
    const streaming = response.takeOver !== undefined || !(response.body instanceof Uint8Array);
    options.metrics.count(track.verb, response.status, clock.now() - receivedAt, streaming);
    response = record.answered(response, { ...(reason === undefined ? {} : { reason }), defect });
    const headers = { ...response.headers, 'audit-id': record.id };
    return request.method === 'HEAD'
      ? { status: response.status, headers, body: new Uint8Array() }
      : { ...response, headers };
  }

  async function serve(
    request: Request,
    user: UserInfo | undefined,
    track: Tracked,
    record: AuditRecord,
  ): Promise<Response> {
    const info = parseRequestInfo(request.method, request.path);
    track.verb = info.verb;
    record.received(request, attributesOf(info, user ?? NOBODY));
    if (user === undefined) return backends.path(request, info);
    const known = (): Promise<Response> => serveKnown(backends, request, info, user, track);
    return info.verb === 'watch' && isWebSocketRequest(request)
      ? watchOverWebSocket(clock, request, known)
      : known();
  }

  function reportInternal(request: Request, error: unknown): void {
    log.error('a request failed', {
      method: request.method,
      path: request.path.split('?')[0],
      error: errorText(error),
    });
  }

  return {
    handle(given, connection) {
      return answer(given, connection, async (request) => {
        const isPublic =
          isPublicPath(request.path) && (request.method === 'GET' || request.method === 'HEAD');
        // Whoever shows a token must have a good one, even where none is needed.
        if (isPublic && bearerToken(request) === undefined) return undefined;
        const user = await authenticate(options.authenticate, request, connection, options.anonymous);
        return isPublic && !impersonates(request) ? undefined : user;
      });
    },
    handleAs: (user, request) => answer(request, {}, () => Promise.resolve(user)),
  };
}

function unfinishedPath(target: string): Response {
  const [path = ''] = target.split('?', 1);
  const why = `failed to create RequestInfo: unable to determine kind and namespace from url, ${path}`;
  return textResponse(500, `Internal Server Error: ${JSON.stringify(target)}: ${why}\n`);
}

/** A percent sign in a path that escapes nothing: other servers do not get as far as answering in their own form. */
const BROKEN_ESCAPE = /^[^?]*%(?![0-9a-fA-F]{2})/;
