/**
 * Resource graphs at work (`kro.run/v1alpha1`): on the cluster that the engine runs on, and on no other.
 *
 * - **Definitions** (`definitions.ts`): each is checked against the kinds that the cluster serves (`cluster-schemas.ts`), its own kind is
 *   made (`definition-crd.ts`), and what it says is kept as a revision (`revisions.ts`), which serves (`definition-serving.ts`). A definition
 *   that is wrong says where, and what worked before goes on. One that is deleted stays until its last instance is gone
 *   (`definition-removal.ts`).
 * - **Instances** (`instances.ts`): one queue for all. `instance-pass.ts` runs the pure engine (`engine/graph`) on what `instance-view.ts`
 *   knows, and writes in an order that may be broken off anywhere: finalizer, inventory, objects (`instance-objects.ts`), removals
 *   (`removal.ts`), inventory. One that is deleted takes its objects along first (`instance-removal.ts`).
 * - **Watches** (`kind-watch.ts`, `interest.ts`): one stream a kind for all instances, there while somebody needs it. A watch that fails
 *   holds nobody up: what it does not tell is read by hand.
 *   What may only be read with the rights of somebody is watched with them, and no longer than they hold (`rights.ts`).
 *   The reading (`reads-by-hand.ts`) is done beside the passes, so that an API which does not answer holds up nobody else.
 * - **Memory** (`instance-memory.ts`): what was applied, to know drift from what others add. Nothing that may not be lost.
 */
export { type AccessMode, AGGREGATE_TO_ENGINE, graphAccess } from './access.ts';
export { type EngagedGraphs, type EngagedGraphsOptions, startEngagedGraphs } from './engaged-graphs.ts';
export { type Graphs, type GraphsOptions, startGraphs } from './graphs.ts';
export {
  GRAPH_SETTINGS,
  GRAPH_SETTINGS_VARIABLE,
  type GraphSettings,
  graphSettings,
  graphSettingsOf,
} from './settings.ts';
