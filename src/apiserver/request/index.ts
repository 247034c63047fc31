/**
 * Reading a request: what it asks for ({@link parseRequestInfo}), in which form it wants its answer ({@link negotiate}),
 * its options and its body; and writing the answer. Everything here is a pure function of the request; a problem is
 * thrown as the `StatusError` that the client gets.
 */
export {
  type Body,
  decodeBody,
  MAX_BODY_BYTES,
  mediaType,
  objectBody,
  parseJsonBody,
  parseYamlBody,
  strictWarnings,
  unsupportedMediaType,
} from './body.ts';
export { type ContinueToken, decodeContinue, encodeContinue, foreignContinue } from './continue-token.ts';
export { type DeleteQuery, type DeletionOf, parseDeleteOptions } from './delete-options.ts';
export {
  checkRoute,
  checkTypes,
  negotiate,
  negotiateStatus,
  negotiateStream,
  notAcceptable,
  type Offer,
  type Representation,
} from './negotiation.ts';
export {
  expired,
  type IncludeObject,
  includeObjectOf,
  type ListQuery,
  numberProblem,
  parseListQuery,
  parseRevision,
  parseWriteQuery,
  revisionOf,
  revisionProblem,
  tooLargeResourceVersion,
  type WriteQuery,
} from './query-options.ts';
export {
  ALL_CLUSTERS,
  endsEarly,
  isClusterName,
  isPlainPath,
  parseRequestInfo,
  type RequestInfo,
  ROOT_CLUSTER,
  splitCluster,
} from './request-info.ts';
export { checkTimeout } from './request-timeout.ts';
export {
  bodyOf,
  errorResponse,
  jsonResponse,
  methodNotAllowed,
  pathNotFound,
  type Rendering,
  routeNotFound,
  textResponse,
  valueResponse,
  warningHeader,
} from './respond.ts';
