/**
 * KubeFed on a hub, beside its intents: which types are federated and the kinds that they have, settings, clusters, what
 * federated objects are like on the spokes, DNS. It costs a hub nothing until a kind of KubeFed is there; then the others are made
 * (`type-configs.ts`). Definitions that somebody else made are used as they are.
 *
 * All of it is done by the {@link ControlPlane}: with the engine's rights, or for an account of one namespace. Definitions, admission
 * policies, the inventory and what the hub remembers are the engine's own.
 *
 * {@link openFederation} is what is wished, {@link openRemote} what is on the spokes; {@link startKubeFed} keeps both going.
 */
export {
  AUTHOR_ANNOTATION,
  AUTHOR_GROUPS_ANNOTATION,
  AUTHOR_POLICY,
  authorOf,
} from '../policies/dialect-author-policy.ts';
export { CONTROLLER_ACCOUNT, type ControlPlane } from './control-plane.ts';
export {
  EARLY_NAMESPACE_KEY,
  type Early,
  type EarlyType,
  keyOf as earlyKeyOf,
  POLICY_KEY,
} from './early.ts';
export { type Federation, federatedKey, openFederation, type TypeEntry, wishDiffers } from './federation.ts';
export { type KindWatch, servedResource, watchKind } from './kind-watch.ts';
export { installKind, KUBEFED_KINDS } from './kinds.ts';
export { timed } from './metrics.ts';
export { type Following, openRemote, type Remote } from './remote.ts';
export { type KubeFed, startKubeFed } from './start.ts';
export { federatedDefinition } from './type-configs.ts';
