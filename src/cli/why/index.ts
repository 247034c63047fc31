/**
 * `atoll why`: the chain from an object at the hub to what became of it on each cluster. Everything up to the dispatch is
 * computed anew with the functions of the hub; the rest is read from the spoke through the hub. A spoke that is away is
 * shown as it was known last: nothing is claimed of it.
 */
export { explain, type WhyOptions } from './explain.ts';
export type { WhyFacts } from './facts.ts';
export { type WhyReport, whyReport } from './report.ts';
