/**
 * `atoll rollout`, `atoll history`, `atoll rollback`: where the rollout of an intent is, what it was before, and a person's word to it.
 * A word is a RolloutAction at the hub: what the person may, and who they are, is for the hub's API server to say.
 */
export { type Saying, type SayOptions, say } from './say.ts';
export { historyText, rolloutText, type ShowOptions, showHistory, showRollout } from './show.ts';
export { type RolloutTarget, readTarget } from './target.ts';
