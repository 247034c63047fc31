/**
 * How the built-in kinds behave: defaults, allocation, validation, what a client may not change, deletion.
 *
 * {@link strategyFor} gives the {@link Strategy} of a resource; there is one file per family of kinds, and files named
 * for what several share (pod specs, field checks, quantities). Everything here is a pure function of its arguments:
 * no I/O, no clock, no randomness. Hooks change the object they are handed, which is the caller's private copy.
 *
 * Problems are returned as data ({@link FieldError}), never thrown; the one exception is allocation, which throws a
 * StatusError (422) when a client asks for an address or port that is taken.
 *
 * On an update the caller runs, in this order: `defaults`, `prepareForUpdate`, `allocate`, {@link validateObjectMeta},
 * {@link validateObjectMetaUpdate}, `validate`, `validateUpdate`. On a create: `defaults`, `prepareForCreate` (with
 * name and uid in place), `allocate`, {@link validateObjectMeta}, `validate`.
 */
export { KEY_USAGES, signerProblems } from './csr.ts';
export { JOB_ORPHAN_WARNING } from './job.ts';
export { finalizerProblems } from './namespace.ts';
export {
  ANNOTATIONS_LIMIT,
  type ObjectMetaRules,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from './object-meta.ts';
export { qosClassOf } from './pod.ts';
export { SYSTEM_PRIORITIES } from './pod-admission.ts';
export { strategyFor } from './strategy-for.ts';
