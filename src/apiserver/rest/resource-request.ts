import type { Request } from '../../kube/exchange.ts';
import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import type { UserInfo } from '../auth/index.ts';
import { hasProtobufForm } from '../protobuf/index.ts';
import {
  type DeletionOf,
  decodeBody,
  negotiate,
  negotiateStatus,
  type Offer,
  objectBody,
  parseDeleteOptions,
  parseWriteQuery,
  type Rendering,
  type Representation,
  type RequestInfo,
} from '../request/index.ts';
import type { Resource } from '../resource.ts';
import { decodeObject, reportStrict } from './decode.ts';
import type { RestServer, Scope, WriteOptions } from './scope.ts';
import type { OpenWatches } from './watch.ts';

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

export function writeOptions(
  asked: ResourceRequest,
  kind: string,
): WriteOptions & { namedManager: boolean; force: boolean } {
  return parseWriteQuery(asked.info.query, asked.request.headers['user-agent'] ?? '', kind);
}

/** Decodes a body as an object of `resource`, reporting unknown and repeated fields. */
export function decodeWrite(asked: ResourceRequest, scope: Scope, options: WriteOptions): KubeObject {
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

/** DeleteOptions of the body, or of the query when there is none. */
export function deleteOptions(asked: ResourceRequest, of: DeletionOf): ReturnType<typeof parseDeleteOptions> {
  const { request, info } = asked;
  if ((request.body?.byteLength ?? 0) === 0) return parseDeleteOptions(undefined, info.query, of);
  return parseDeleteOptions(
    objectBody(decodeBody(request.headers, request.body), 'DeleteOptions'),
    info.query,
    of,
  );
}

export function representationOf(asked: ResourceRequest, scope: Scope): Representation {
  return negotiate(asked.request.headers, asked.info.query, offerOf(scope));
}

/** Groups of questions, which are answered and not stored. */
export const REVIEW_GROUPS: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/** Custom objects have no protobuf form, but their scale and their metadata have. */
export function offerOf({ resource, subresource }: Scope): Offer {
  const { group = resource.group, version = resource.version, kind = resource.kind } = subresource ?? {};
  // There is nothing to make a row of.
  const tables = !REVIEW_GROUPS.has(resource.group);
  return { views: true, tables, protobuf: () => hasProtobufForm(formatApiVersion(group, version), kind) };
}

export function rendering(asked: ResourceRequest, representation: Representation): Rendering {
  return { representation, warnings: asked.warnings };
}

/** For what is answered with a Status, which has no other views. */
export function statusRendering(asked: ResourceRequest): Rendering {
  return rendering(asked, negotiateStatus(asked.request.headers, asked.request.path));
}
