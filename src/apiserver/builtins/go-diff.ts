import { goQuote } from '../../kube/status-error.ts';
import { isObject, type JsonObject } from '../../schema/json.ts';
import { parseQuantity } from '../../schema/quantity.ts';
import { ABSENT, type Comparison, compareValues, isNothing, isZeroValue, type Part } from './go-compare.ts';
import { ELLIPSIS, type GoEntry, type GoText, type GoWrap, layOut, type Sign } from './go-text.ts';
import { goElement, goFields, goObject } from './go-types.ts';

/**
 * What has changed between two values of a type, as messages of Kubernetes show it: the fields that differ in the syntax of Go,
 * with the two beside them. Empty where nothing has.
 */
export function goDiff(type: string, old: unknown, now: unknown): string {
  const comparison = compareValues(type, old, now);
  return comparison.different === 0 ? '' : layOut(showComparison(comparison, UNDECIDED));
}

/** How something is shown: what the same in both, what one of them has, or both where they differ. */
interface Style {
  readonly mode: 'both' | 'same' | Exclude<Sign, ''>;
  /** How much detail: each level holds half of what the level above may. */
  readonly detail: number;
  /** Whether the type is told: always, never, or of structures, lists and maps that are not the same in both. */
  readonly types: 'always' | 'never' | 'some';
}

const UNDECIDED: Style = { mode: 'both', detail: 0, types: 'some' };
const MAX_DETAIL = 16;
const DIFFERENT_DETAIL = 3;
/** Parts that are the same are shown this far around those that are not. */
const CONTEXT = 2;

function deeper({ mode, detail, types }: Style): Style {
  return { mode, types, detail: detail - 1 };
}

function limit({ detail }: Style): number {
  return 2 ** Math.min(Math.max(detail, 0), MAX_DETAIL);
}

/** How many parts of one value are shown. */
function mostParts(style: Style): number {
  return Math.floor(limit(style) / 2) * 4;
}

function showComparison(comparison: Comparison, given: Style): GoText {
  const detail = given.mode === 'same' ? 1 : Math.max(given.detail, DIFFERENT_DETAIL);
  const style = { ...given, detail };
  const { type, old, now, depth } = comparison;
  if (depth === 0) {
    if (style.mode === '-') return showValue(type, old, style);
    if (style.mode === '+') return showValue(type, now, style);
    const [one, other] = [showValue(type, old, style), showValue(type, now, style)];
    return lengthOf(one) < lengthOf(other) ? one : other;
  }
  if (goElement(type)?.kind === 'pointer') {
    const [pointed] = comparison.parts;
    return pointed ? { prefix: '&', value: showComparison(pointed.comparison, style), suffix: '' } : 'nil';
  }
  const parts = style.mode === 'both' ? differing(comparison, style) : oneSided(comparison, style);
  return withType(type, braces(parts), style);
}

function lengthOf(text: GoText): number {
  return layOut(text).length;
}

function braces(entries: readonly GoEntry[]): GoWrap {
  return { prefix: '{', value: entries, suffix: '}' };
}

function withType(type: string, text: GoText, { mode, types }: Style): GoText {
  if (types === 'never' || text === 'nil') return text;
  if (types === 'some' && (mode === 'same' || !isComposite(type))) return text;
  return { prefix: type, value: text, suffix: '' };
}

function isComposite(type: string): boolean {
  const element = goElement(type);
  return element ? element.kind !== 'pointer' : type === 'resource.Quantity' || goFields(type) !== undefined;
}

/** How the parts of a type are shown, and what their keys are. */
function partStyle(
  type: string,
  style: Style,
): { style: Style; keyOf: (part: { key: string }) => string; noun: string } {
  const element = goElement(type);
  const own: Style = { ...deeper(style), types: element === undefined ? 'some' : 'never' };
  if (element === undefined) return { style: own, keyOf: ({ key }) => key, noun: 'field' };
  if (element.kind === 'slice') return { style: own, keyOf: () => '', noun: 'element' };
  return { style: own, keyOf: ({ key }) => mapKey(element.key, key), noun: 'entry' };
}

/** Names of resources are texts that print themselves. */
function mapKey(type: string, key: string): string {
  return type === 'core.ResourceName' ? `s${goText(key)}` : goText(key);
}

/** Parts of what is the same in both, or of what one side has. */
function oneSided({ type, parts }: Comparison, style: Style): GoEntry[] {
  const most = style.mode === 'same' ? mostParts(style) : limit(style) * 2;
  const { style: own, keyOf } = partStyle(type, style);
  const out: GoEntry[] = [];
  for (const part of parts) {
    if (out.length === most) return [...out, { key: '', value: ELLIPSIS }];
    const { comparison } = part;
    const value = style.mode === '+' ? comparison.now : comparison.old;
    if (value === ABSENT || (goElement(type) === undefined && isZeroValue(comparison.type, value))) continue;
    out.push({ key: keyOf(part), value: showComparison(comparison, own) });
  }
  return out;
}

/** Runs of parts that are all the same or all different. */
function runsOf(parts: readonly Part[]): Part[][] {
  const runs: Part[][] = [];
  let different: boolean | undefined;
  for (const part of parts) {
    const differs = part.comparison.different > 0;
    if (differs !== different) runs.push([]);
    different = differs;
    runs.at(-1)?.push(part);
  }
  return runs;
}

function differing({ type, parts }: Comparison, style: Style): GoEntry[] {
  const most = limit(style) * 2;
  const { style: own, keyOf, noun } = partStyle(type, style);
  const same: Style = { ...own, mode: 'same' };
  const out: GoEntry[] = [];
  const left = new Map<Change, number>();
  let shown = 0;
  const runs = runsOf(parts);
  runs.forEach((run, index) => {
    if (shown >= most) {
      for (const part of run) count(left, changeOf(part));
      return;
    }
    if ((run[0]?.comparison.different ?? 0) === 0) {
      const [head, tail] = context(run.length, index > 0, index < runs.length - 1);
      const show = (part: Part): void => {
        out.push({ key: keyOf(part), value: showComparison(part.comparison, same) });
      };
      run.slice(0, head).forEach(show);
      if (run.length > head + tail)
        out.push(leftOut(new Map([['identical', run.length - head - tail]]), noun));
      run.slice(run.length - tail).forEach(show);
      return;
    }
    for (const part of run) out.push(...showDifference(part, keyOf(part), own));
    shown += run.length;
  });
  if (left.size > 0) out.push(leftOut(left, noun));
  return out;
}

/** How many parts that are the same are shown at the beginning and at the end of their run. */
function context(length: number, follows: boolean, precedes: boolean): [number, number] {
  const head = follows ? Math.min(CONTEXT, length) : 0;
  let tail = precedes ? Math.min(CONTEXT, length - head) : 0;
  // One part takes no more room than the word that it was left out.
  if (length - head - tail === 1) tail += 1;
  return [head, tail];
}

function showDifference({ comparison }: Part, key: string, style: Style): GoEntry[] {
  // What is no more than one way down is shown twice.
  if (comparison.size !== comparison.depth) return [{ key, value: showComparison(comparison, style) }];
  const out: GoEntry[] = [];
  for (const [sign, value] of [
    ['-', comparison.old],
    ['+', comparison.now],
  ] as const)
    if (value !== ABSENT)
      out.push({ key, sign, value: showComparison(comparison, { ...style, mode: sign }) });
  return out;
}

type Change = 'identical' | 'removed' | 'inserted' | 'modified';
const CHANGES: readonly Change[] = ['identical', 'removed', 'inserted', 'modified'];

function changeOf({ comparison }: Part): Change {
  if (comparison.different === 0) return 'identical';
  return comparison.now === ABSENT ? 'removed' : comparison.old === ABSENT ? 'inserted' : 'modified';
}

function count(counts: Map<Change, number>, change: Change): void {
  counts.set(change, (counts.get(change) ?? 0) + 1);
}

function leftOut(counts: ReadonlyMap<Change, number>, noun: string): GoEntry {
  const texts = CHANGES.flatMap((change) => {
    const number = counts.get(change) ?? 0;
    return number > 0 ? [`${number} ${change}`] : [];
  });
  const total = [...counts.values()].reduce((sum, number) => sum + number, 0);
  const name = total === 1 ? noun : noun === 'entry' ? 'entries' : `${noun}s`;
  const last = texts.pop() ?? '';
  const list = texts.length < 2 ? [...texts, last].join(' and ') : `${texts.join(', ')}, and ${last}`;
  return { key: '', value: ELLIPSIS, comment: `${list} ${name}` };
}

/** One value by itself. */
function showValue(type: string, value: unknown, style: Style): GoText {
  const element = goElement(type);
  if (element?.kind === 'pointer') {
    if (isNothing(value)) return 'nil';
    if (element.element === 'v1.LabelSelector')
      return shortened(selectorText(goObject('', value)), style, 's');
    return { prefix: '&', value: showValue(element.element, value, style), suffix: '' };
  }
  if (element !== undefined && isNothing(value)) return 'nil';
  if (type === 'resource.Quantity') return withType(type, quantity(value, style), style);
  const fields = goFields(type);
  if (element === undefined && fields === undefined) return scalar(type, value, style);
  const { style: own, keyOf } = partStyle(type, style);
  const most = mostParts(style);
  const out: GoEntry[] = [];
  for (const { key, type: partType, value: part } of partsOf(type, value)) {
    if (element === undefined && isZeroValue(partType, part)) continue;
    if (out.length === most) {
      out.push({ key: '', value: ELLIPSIS });
      break;
    }
    out.push({ key: keyOf({ key }), value: showValue(partType, part, own) });
  }
  return withType(type, braces(out), style);
}

function partsOf(type: string, value: unknown): { key: string; type: string; value: unknown }[] {
  const element = goElement(type);
  if (element === undefined) {
    const object = goObject(type, value);
    return (goFields(type) ?? []).map(({ name, type: fieldType, json }) => ({
      key: name,
      type: fieldType,
      value: json === undefined ? object : object[json],
    }));
  }
  if (Array.isArray(value)) return value.map((item) => ({ key: '', type: element.element, value: item }));
  return Object.entries(isObject(value) ? value : {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => ({ key, type: element.element, value: item }));
}

function scalar(type: string, value: unknown, style: Style): string {
  if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint')
    return String(value);
  if (isNothing(value) && type === 'bool') return 'false';
  if (isNothing(value) && /^int(?:32|64)?$/.test(type)) return '0';
  return shortened(typeof value === 'string' ? value : '', style);
}

function shortened(text: string, style: Style, prefix: string = ''): string {
  const most = limit(style) * 32;
  if (Buffer.byteLength(text) <= most + ELLIPSIS.length) return prefix + goText(text);
  return `${prefix}${goText(Buffer.from(text).subarray(0, most).toString())}${ELLIPSIS}`;
}

/** Selectors print themselves. */
function selectorText({ matchLabels, matchExpressions }: JsonObject): string {
  const labels = Object.entries(isObject(matchLabels) ? matchLabels : {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${String(value)},`);
  const terms = (Array.isArray(matchExpressions) ? matchExpressions : []).filter(isObject).map((term) => {
    const values = Array.isArray(term.values) ? term.values.join(' ') : '';
    return `LabelSelectorRequirement{Key:${String(term.key)},Operator:${String(term.operator)},Values:[${values}],},`;
  });
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${terms.join('')}},}`;
}

/** In quotes, or in backquotes where quotes would need escapes that those do not. */
function goText(text: string): string {
  const quoted = goQuote(text);
  if (Buffer.byteLength(quoted) === Buffer.byteLength(text) + 2) return quoted;
  return /[`\n]|[^\t\P{C}]/u.test(text) ? quoted : `\`${text}\``;
}

const EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

/** A quantity is a whole number with its scale or, where that is too long, a decimal one; short texts are kept as they were. */
function quantity(value: unknown, style: Style): GoText {
  const { number, scale, long, kept } = amountOf(String(value ?? '0'));
  const own = deeper(style);
  const parts: GoEntry[] = [];
  if (long) parts.push({ key: 'd', value: `s${goText(number)}` });
  else {
    const amount = Object.entries({ value: number, scale: String(scale) })
      .filter(([, part]) => part !== '0')
      .map(([key, part]): GoEntry => ({ key, value: part }));
    const types = own.mode === 'same' ? 'never' : 'always';
    if (amount.length > 0)
      parts.push({
        key: 'i',
        value: withType('resource.int64Amount', braces(firstParts(amount, own)), { ...own, types }),
      });
  }
  if (kept !== '') parts.push({ key: 's', value: goText(kept) });
  parts.push({ key: 'Format', value: goText(parseQuantity(value)?.format ?? 'DecimalSI') });
  return braces(firstParts(parts, style));
}

function firstParts(parts: readonly GoEntry[], style: Style): readonly GoEntry[] {
  const most = mostParts(style);
  return parts.length > most ? [...parts.slice(0, most), { key: '', value: ELLIPSIS }] : parts;
}

interface Amount {
  readonly number: string;
  readonly scale: number;
  readonly long: boolean;
  /** The text, where it is not written again for being asked for. */
  readonly kept: string;
}

const MAX_DIGITS = 18;
const MAX_BINARY_DIGITS = 14;
const BITS_A_DIGIT = 3.32;

function amountOf(text: string): Amount {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE])|([KMGTPE])i|[eE]([+-]?\d+))?$/.exec(text);
  const [, sign = '', whole = '', fraction = '', decimal, binary, exponent] = match ?? [];
  const digits = `${whole}${fraction}`;
  const value = BigInt(digits || '0');
  const signed = (amount: bigint): string => String(sign === '-' ? -amount : amount);
  if (binary !== undefined) {
    const power = 10 * ('KMGTPE'.indexOf(binary) + 1);
    const number = signed((value << BigInt(power)) / 10n ** BigInt(fraction.length));
    const long = fraction !== '' || digits.length + Math.ceil(power / BITS_A_DIGIT) > MAX_BINARY_DIGITS;
    return { number, scale: 0, long, kept: !long && value % 8n !== 0n ? text : '' };
  }
  const scale = (decimal === undefined ? Number(exponent ?? 0) : (EXPONENTS[decimal] ?? 0)) - fraction.length;
  const kept =
    text === '0' || (scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0')) ? text : '';
  return { number: signed(value), scale, long: digits.length > MAX_DIGITS, kept };
}
