/**
 * The embedded API server: a Kubernetes-compatible API as a function from request to (streaming) response, over a store of
 * objects that many logical clusters share. It knows nothing of fleets, sockets or processes: `http` serves it over TLS,
 * an in-process client calls `as(user)`.
 *
 * Reading order: `request` (what is asked), `server` (what there is), `pipeline` (the way that every request takes), `rest` (the verbs), `store` and
 * `storage` (where objects live), `crd` (custom kinds), `admission`, `auth`, then what describes the API: `catalogue`,
 * `builtins`, `discovery`, `openapi`, `table`.
 */
export type { ResolveService, WebhookAnswer, WebhookCaller, WebhookTarget } from './admission/index.ts';
export { FRONT_PROXY_NAME } from './aggregation/index.ts';
export { type AuditEvent, type AuditSink, parseAuditPolicy } from './audit/index.ts';
export type {
  Authenticator,
  Authorizer,
  RequestAttributes,
  UserInfo,
} from './auth/index.ts';
export {
  clientCertificateAuthenticator,
  staticTokenAuthenticator,
  unionAuthenticator,
} from './auth/index.ts';
export { RELEASES, type Release } from './catalogue/index.ts';
export { type HttpsOptions, type HttpsServer, serveHttps } from './http/index.ts';
export { createApiServer } from './server.ts';
export { type ApiServer, type ApiServerOptions, DEFAULT_VERSION, ROOT_CLUSTER } from './server-options.ts';
export type { AskedRight, PlacedSpace, Space, SpaceCaller, Spaces } from './space.ts';
export { etcdDriver, memoryDriver, type StorageDriver, sqliteDriver } from './storage/index.ts';
export { generateSigningKey } from './tokens/index.ts';
