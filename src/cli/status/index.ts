/**
 * `atoll status`: the fleet at a glance, from what the hub holds. Facts are read, reported by a pure function, and printed;
 * a hub that cannot be reached is a report of its own, with the command that starts it.
 */
export { type PropagationLine, type StatusFacts, type StatusReport, statusReport } from './report.ts';
export { showStatus } from './show-status.ts';
