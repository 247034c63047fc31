/**
 * The author of an intent at the hub: written down by its API server (`policies/`), asked about by SubjectAccessReviews, signed
 * into every dispatch. Nobody brings to a cluster what they may not read at the hub. Answers are remembered for a minute.
 */
export { type Authorized, authorize } from './authorize.ts';
export { type ReadingRights, readingRights, type WritingRights, writingRights } from './reading-rights.ts';
