/**
 * Resource graphs of the hub on its clusters: a ResourceGraphDefinition that the hub serves is an intent, and each cluster runs its
 * instances by itself. What an instance of the hub puts on other clusters is an intent of its own, a RemoteObject. What goes where is compiled in `dialects/kro/distribute.ts`; how clusters run it is in `spoke/graphs`.
 */

export { type GraphDefinitions, openGraphDefinitions } from './graph-definitions.ts';
export { GRAPH_FINALIZER } from './graph-source.ts';
export { openGraphSources } from './graph-sources.ts';
export { REMOTE_FINALIZER } from './remote-source.ts';
