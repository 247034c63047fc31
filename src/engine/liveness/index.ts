/**
 * Whether a spoke is there, from what its link and its probes said over time. Damped: what comes and goes settles nothing.
 */
export {
  isRestless,
  LIVENESS_RULES,
  type Liveness,
  type LivenessRules,
  observeLink,
  settlesInMs,
  steadyInMs,
} from './liveness.ts';
export { judgeProbe, type ProbeThresholds, type ProbeVerdict } from './probe-verdict.ts';
