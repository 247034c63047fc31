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
 * On a create the caller runs, in this order: `defaults`, `prepareForCreate` (with name and uid in place), `allocate`,
 * {@link validateObjectMeta}, `validate`. On an update: `defaults`, `prepareForUpdate`, `allocate`,
 * {@link validateObjectMetaUpdate}, `validateUpdate` (or `validate` where there is none).
 */
export {
  type ObjectMetaRules,
  validateObjectMeta,
  validateObjectMetaForm,
  validateObjectMetaUpdate,
} from './object-meta.ts';
export { POD_ADMISSION, SYSTEM_PRIORITIES } from './pod-admission.ts';
export { withoutPrivileged } from './privileged.ts';
export { inRelease } from './release-rules.ts';
export { strategyFor } from './strategy-for.ts';
