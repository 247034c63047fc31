/**
 * KubeStellar on a hub. It costs a hub nothing until a kind of KubeStellar is there; then the others are made (`control.ts`), and
 * definitions that somebody else made are used as they are.
 *
 * Each policy is kept resolved into the Binding of its name (`resolver.ts`), over the kinds that the hub serves (`workload-kinds.ts`).
 * Bindings are the intents (`binding-source.ts`). One that is of a policy is carried out for the author of the policy, and only as
 * far as it says what the policy comes to. SyncTargets and Locations are views of SpokeClusters (`inventory-views.ts`).
 */
export { BINDING_FINALIZER } from './binding-source.ts';
export { VIEW_ANNOTATION } from './inventory-views.ts';
export { POLICY_FINALIZER } from './policy.ts';
export { CONTENT_ANNOTATION } from './resolver.ts';
export { type KubeStellar, startKubeStellar } from './start.ts';
