/**
 * Which fields of an object belong to its cluster, and how an object is written so that they stay: addresses that were
 * allocated there, replicas that an autoscaler sets, certificates that were injected, and what rules of a person name.
 * One place for every kind ({@link RETAINED_BY_KIND}), for every way of writing: {@link forApply} for server-side apply,
 * {@link forUpdate} for a full replacement, {@link forCreation} for both. Pure; arguments are never changed.
 */
export { RETAINED_BY_KIND, type RetainedField, type RetentionMode } from './built-in.ts';
export { ownsField, rivalOf } from './field-owner.ts';
export { type FieldPath, formatFieldPath, parseFieldPath, readField } from './field-path.ts';
export {
  type ApplyConfiguration,
  forApply,
  forCreation,
  forUpdate,
  type RetentionOptions,
  retainedFields,
  TRACKING_ANNOTATION,
  trackingOf,
} from './retain.ts';
