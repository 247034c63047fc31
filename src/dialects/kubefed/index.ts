/**
 * KubeFed's API: clusters, types and settings (`core.kubefed.io`), a federated kind for each enabled type
 * (`types.kubefed.io`), preferences for replicas (`scheduling.kubefed.io`), DNS (`multiclusterdns.kubefed.io`), and the early form
 * in three objects (`core.federation.k8s.io`).
 *
 * - **Types**: {@link federatedTypeFor} and {@link federatedKind} make the kind for a type, {@link typeConfigOf} its config;
 *   {@link withTypeConfigDefaults} and {@link validateTypeConfig} are what admission asks.
 * - **Compiling**: {@link compileFederated}, {@link compileEarly}, {@link compileFederationPlacement} give intents. While `hold` is set
 *   nothing is dispatched and nothing is taken away; `blocked` clusters keep what they have.
 * - **Reporting**: {@link reportFederated}, {@link reportTypeConfig}, {@link reportCluster}. Equal for equal findings.
 * - **Federating**: {@link federate}, {@link federateNamespace}, {@link resolveType}, for the command line.
 * - **DNS**: {@link serviceDnsEndpoint}, {@link ingressDnsEndpoint} and the status that they are made from.
 *
 * Everything here is a pure function; nothing throws for what objects hold.
 */
export {
  type ClusterViewOptions,
  isReady,
  kubeconfigSecretName,
  kubeconfigSecretOf,
  kubeFedClusterOf,
  reportCluster,
  spokeClusterOf,
  validateCluster,
} from './cluster.ts';
export {
  type AggregateReason,
  type CompiledFederated,
  compileFederated,
  type FederatedContext,
  type FederatedWarning,
  prefers,
} from './compile.ts';
export {
  CONFIG_NAME,
  DEFAULT_NAMESPACE,
  FEATURE_GATES,
  type FeatureGate,
  type FullKubeFedConfig,
  validateConfig,
  withConfigDefaults,
} from './config.ts';
export { FEDERATED_TYPE_CONFIG, KUBEFED_CLUSTER, KUBEFED_CONFIG } from './core-kinds.ts';
export {
  DELETE_OPTION_ANNOTATION,
  deletionOptionsOf,
  isOrphaned,
  ORPHAN_ANNOTATION,
} from './deletion.ts';
export {
  type ClusterLoadBalancer,
  type HostAddresses,
  ingressDnsEndpoint,
  reportIngressDns,
  reportServiceDns,
  serviceDnsEndpoint,
} from './dns.ts';
export { DNS_ENDPOINT, DOMAIN, INGRESS_DNS_RECORD, SERVICE_DNS_RECORD } from './dns-kinds.ts';
export { compileEarly, type EarlyContext, type EarlyParts } from './early.ts';
export { EARLY_GROUP, EARLY_VERSION, earlyKinds, FEDERATION_PLACEMENT } from './early-kinds.ts';
export { type FederatedContents, federate, federateNamespace, notContents } from './federate.ts';
export { federatedKind } from './federated-kind.ts';
export {
  type CompiledFederationPlacement,
  compileFederationPlacement,
  type FederationPlacement,
} from './federation-placement.ts';
export { clusterMatchOf, namespaceProblem } from './placement.ts';
export { type ClusterStatusWord, clusterWord, type FederatedFindings, reportFederated } from './report.ts';
export { type ApiType, resolveType } from './resolve.ts';
export {
  isSettled,
  observeWorkload,
  type Schedule,
  schedule,
  type WorkloadObservation,
} from './scheduling.ts';
export { REPLICA_SCHEDULING_PREFERENCE } from './scheduling-kinds.ts';
export {
  DEFAULT_TYPES,
  enableProblem,
  FEDERATED_GROUP,
  FEDERATED_VERSION,
  federatedTypeFor,
  federatedTypeOf,
  pluralOf,
  reportTypeConfig,
  scopeProblem,
  type TypeConfigFindings,
  typeConfigName,
  typeConfigOf,
  validateTypeConfig,
  withTypeConfigDefaults,
} from './type-config.ts';
export type {
  ApiResource,
  ClusterDns,
  DNSEndpoint,
  Domain,
  FederatedObject,
  FederatedPlacement,
  FederatedSpec,
  FederatedStatus,
  FederatedType,
  FederatedTypeConfig,
  IngressDNSRecord,
  InventoryCluster,
  KubeFedCluster,
  KubeFedConfig,
  KubeFedConfigSpec,
  ReplicaSchedulingPreference,
  ServiceDNSRecord,
} from './types.ts';
