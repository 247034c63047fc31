/**
 * Targets by a kubeconfig Secret (KREP-012): objects of graphs of the hub on clusters that a Secret leads to. An instance has a
 * RemoteObject for each of them, as for clusters of the fleet; here the hub itself writes them.
 *
 * - **Targets** (`target.ts`): a cluster is connected to while somebody needs it, over the connection that engaged clusters share;
 *   a Secret that changes is followed below the work.
 * - **Rights**: whoever wrote the definition must be able to `get` the Secret, asked before it is looked at and before each write.
 * - **Carrying** (`carrying.ts`): apply, watch, repair, remove. Only what bears the name of its RemoteObject is touched.
 * - **Checks** (`checks.ts`): the condition `KubeconfigTargetsReady` of definitions that name a Secret by name.
 */
export { type KubeconfigTargets, type KubeconfigTargetsOptions, startKubeconfigTargets } from './targets.ts';
