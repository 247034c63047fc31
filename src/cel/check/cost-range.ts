/** Least and greatest. Both are capped where Kubernetes' 64-bit counters end. */
export interface Range {
  readonly min: number;
  readonly max: number;
}
export type Cost = Range;
export type SizeRange = Range;

export const UNBOUNDED: number = 2 ** 64;
/** Per character that a text is walked through, and per character of a regular expression. */
export const TEXT_FACTOR = 0.1;
export const REGEX_FACTOR = 0.25;
export const LIST_COST = 10;
export const MAP_COST = 30;
export const STRUCT_COST = 40;

const cap = (value: number): number => (value >= UNBOUNDED ? UNBOUNDED : value);

export function fixed(value: number): Range {
  return { min: value, max: value };
}
export const UNKNOWN_SIZE: SizeRange = { min: 0, max: UNBOUNDED };

export function plus(...ranges: Range[]): Range {
  let min = 0;
  let max = 0;
  for (const range of ranges) {
    min = cap(min + range.min);
    max = cap(max + range.max);
  }
  return { min, max };
}
export function times(a: Range, b: Range): Range {
  return { min: cap(a.min * b.min), max: cap(a.max * b.max) };
}
/** Scaled, rounded up. */
export function scale(range: Range, factor: number): Range {
  return { min: cap(Math.ceil(range.min * factor)), max: cap(Math.ceil(range.max * factor)) };
}
/** Either one or the other. */
export function either(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
