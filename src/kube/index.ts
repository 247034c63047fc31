/**
 * Any Kubernetes API, over whatever transport.
 *
 * - A {@link Handler} is one HTTP exchange; {@link httpHandler} makes it over a network, the embedded server and the tunnel
 *   are others. {@link createClient} is the Kubernetes API over one: it throws `StatusError` for answers that are failures
 *   and the transport's error when there was none.
 * - {@link startInformer} keeps a copy of a resource and never gives up; `live` says whether the copy may be stale.
 * - {@link startController} reconciles keys, one worker for a key at a time, failures retried with growing delays.
 * - {@link startLeadership} lets one process of several lead, by a Lease; {@link within} bounds how long an answer is waited for.
 * - {@link endpointFromKubeconfig} and {@link checkEndpoint} guard what a hub may be told to connect to.
 *
 * Constants for the kinds that code names are in `well-known.ts`; keys and certificates in `pki.ts`.
 */
export type {
  Client,
  DeleteOptions,
  ListOptions,
  PatchType,
  Reader,
  ReadOptions,
  ResourceId,
  WatchEvent,
  WatchEvents,
  WatchOptions,
  WriteOptions,
  Writer,
} from './client.ts';
export { type ClusterEndpoint, checkEndpoint, type EndpointRules, type Resolve } from './cluster-endpoint.ts';
export { findCondition, isTrue, type NewCondition, setCondition } from './conditions.ts';
export { type CertificateContext, contextKubeconfig } from './context-kubeconfig.ts';
export type { Controller, Result } from './controller.ts';
export { type ControllerOptions, startController } from './controller-loop.ts';
export { DeadlineExceeded, within } from './deadline.ts';
export { type EventRecorder, type EventRecorderOptions, startEventRecorder } from './events.ts';
export {
  bodyChunks,
  type Handler,
  isUpgraded,
  prefixedUpgrader,
  type Request,
  type Response,
  readBody,
  type Upgraded,
  type Upgrader,
  upgradeProtocol,
} from './exchange.ts';
export { type HttpHandler, httpHandler } from './http-handler.ts';
export type { Change, Informer } from './informer.ts';
export { type InformerOptions, startInformer } from './informer-cache.ts';
export {
  emptyKubeconfig,
  formatKubeconfig,
  type Kubeconfig,
  KubeconfigError,
  type KubeconfigReason,
  mergeKubeconfigs,
  parseKubeconfig,
  withoutContexts,
} from './kubeconfig.ts';
export { endpointFromKubeconfig, type KubeconfigEndpointOptions } from './kubeconfig-endpoint.ts';
export { type Leadership, type LeadershipOptions, type LedWork, startLeadership } from './leadership.ts';
export {
  type Manifest,
  type ManifestProblem,
  type ReadManifests,
  type ReadManifestsOptions,
  readManifests,
} from './manifests.ts';
export {
  asJson,
  asObject,
  type Condition,
  formatApiVersion,
  type GroupVersionKind,
  gvkOf,
  type KubeList,
  type KubeObject,
  type ObjectMeta,
  type ObjectRef,
  type OwnerReference,
  parseApiVersion,
  refKey,
  refOf,
  refText,
} from './object.ts';
export { type ClientOptions, createClient } from './rest-client.ts';
export {
  failure,
  hasCode,
  isStatus,
  type Status,
  type StatusCause,
  StatusError,
} from './status-error.ts';
