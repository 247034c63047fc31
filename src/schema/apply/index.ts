/**
 * Server-side apply: who owns which field of an object, and how the wishes of several writers become one object.
 *
 * Every write leaves a trace in `metadata.managedFields`: per manager a set of paths (FieldsV1). `trackUpdate` keeps that
 * record for creates, updates and patches: whoever changes a value owns it. `applyObject` merges what an applier says into
 * the live object by the schema's list and map types, removes what that applier said before and no longer says (unless
 * someone else owns it), and refuses with `conflicts` when it would change a value that another manager owns, unless forced.
 * Equal values are owned together.
 *
 * All functions are pure: they take and return JSON, change no argument, and never throw for what users wrote. Problems
 * come back as data; `formatConflicts` and `formatErrors` give the API server's texts.
 *
 * Reading order: `field-path` and `field-set` (paths, sets), `fields-v1` (their JSON), `typed-schema` (how a type merges),
 * `to-field-set`, `compare`, `merge`, `remove-items`, `validate` (walkers), `updater` (the rules of ownership),
 * `managed-fields` and `manager` (the record and its quirks).
 */
export { type Conflict, type ConflictCause, formatConflicts } from './conflicts.ts';
export { difference, isEmptySet, setOf } from './field-set.ts';
export { decodeFieldsV1, encodeFieldsV1 } from './fields-v1.ts';
export { isApplied } from './is-applied.ts';
export {
  type ApplyOutcome,
  type ApplyWrite,
  applyObject,
  type OtherVersion,
  settleTimes,
  trackUpdate,
  type UpdateWrite,
  type Write,
} from './manager.ts';
export { mergeApplied } from './merge-applied.ts';
export { appliedProblems, formatErrors, headProblem, objectName } from './validate.ts';
