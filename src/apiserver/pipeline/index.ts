/**
 * The one way that every request takes, whatever it is for: authenticate → impersonate → wait for its turn → authorize →
 * handle → audit. `pipeline.ts` is the outside (who asks, what is answered and recorded), `authorized.ts` the inside (may they,
 * and who has the answer). Failures are `StatusError`s, which become responses here and nowhere else.
 */
export type { Backends } from './authorized.ts';
export { type Pipeline, type PipelineOptions, requestPipeline } from './pipeline.ts';
