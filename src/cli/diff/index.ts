/**
 * `atoll diff`: what applying files at the hub would do on which cluster. The hub's own dry runs say what the objects would
 * be; the functions of the hub say what would become of them. Nothing is written, and no value of a Secret is shown.
 */
export { ManifestError } from './manifest-files.ts';
export { type DiffFacts, type DiffReport, diffReport } from './report.ts';
export { type DiffOptions, showDiff } from './show-diff.ts';
