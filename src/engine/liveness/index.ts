/**
 * Whether a spoke is there, damped. Link states come in, with their times; out comes a word that does not change with
 * every hiccup. Pure: the shell looks again when `settlesInMs` says so.
 */
export { LIVENESS_RULES, type Liveness, type LivenessRules, observeLink, settlesInMs } from './liveness.ts';
