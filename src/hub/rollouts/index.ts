/**
 * When each cluster gets a new content of an intent, and what can be gone back to.
 *
 * {@link startRollouts} drives `engine/rollout` for every intent with a rollout strategy or a history: it keeps each content as an
 * immutable revision, lets the engine say which cluster may have which, and gives every order a generation that its spoke accepts.
 * What is answered is durable first. People command a rollout by RolloutActions, whose authors the API server writes down.
 * Without a strategy content goes everywhere at once; without a history either nothing here is involved.
 */

export type { ClusterOrder, RolledOut, RolloutRequest } from './entry.ts';
export { INCIDENT, type Incident } from './incidents.ts';
export {
  INTENT_REVISION,
  INTENT_ROLLOUT,
  ROLLOUT_ACTION,
  type RolloutAction,
  type RolloutActionName,
} from './kinds.ts';
export {
  ANALYSIS_PROVIDER,
  ANALYSIS_SECRET_TYPE,
  type AnalysisProvider,
  createMeasure,
  type Measure,
  type MeasuringOptions,
  type OpenEndpoint,
} from './measuring.ts';
export {
  type Rollouts,
  type RolloutsOptions,
  startRollouts,
} from './rollouts.ts';
export type { RolloutFindings } from './status.ts';
