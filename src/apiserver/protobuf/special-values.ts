import { parseTime } from '../../runtime/clock.ts';
import { isObject, type JsonValue } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { SpecialForm } from './table.ts';
import { LENGTH, VARINT } from './wire.ts';
import type { WireWriter } from './wire-writer.ts';

/** Writes a nested message: the field of the special message that it is the value of, and its JSON. */
export type WriteNested = (field: number, value: JsonValue) => void;

/** The content of a message whose JSON is not an object of its fields. The inverse of what the decoder makes of it. */
export function writeSpecial(
  writer: WireWriter,
  form: SpecialForm,
  value: JsonValue | undefined,
  writeNested: WriteNested,
): void {
  switch (form) {
    case 'quantity':
      writeText(writer, 1, value === undefined || value === null || value === '' ? '0' : String(value));
      break;
    case 'int-or-string': {
      const isText = typeof value === 'string';
      writeText(writer, 3, isText ? value : '');
      writeInteger(writer, 2, isText ? 0 : value);
      writeInteger(writer, 1, isText ? 1 : 0);
      break;
    }
    case 'time':
      writeTime(writer, value, () => 0);
      break;
    case 'micro-time':
      writeTime(writer, value, nanosOf);
      break;
    case 'duration':
      writeInteger(writer, 1, typeof value === 'string' ? durationNanos(value) : 0);
      break;
    case 'raw-json':
      if (value !== undefined && value !== null) writeText(writer, 1, jsonText(value));
      break;
    case 'array':
      writeTexts(writer, 1, value);
      break;
    case 'schema-or-bool':
      if (isObject(value)) writeNested(2, value);
      writeInteger(writer, 1, isObject(value) || value === true ? 1 : 0);
      break;
    case 'schema-or-array':
      if (Array.isArray(value)) for (const item of value.toReversed()) writeNested(2, item);
      else if (isObject(value)) writeNested(1, value);
      break;
    case 'schema-or-string-array':
      if (isObject(value)) writeNested(1, value);
      else writeTexts(writer, 2, value);
  }
}

export function writeText(writer: WireWriter, field: number, value: string): void {
  const before = writer.size;
  writer.text(value);
  writer.varint(writer.size - before);
  writer.tag(field, LENGTH);
}

/** Any other value than a number is zero. */
export function writeInteger(writer: WireWriter, field: number, value: unknown): void {
  writer.varint(typeof value === 'bigint' ? value : typeof value === 'number' ? Math.trunc(value) || 0 : 0);
  writer.tag(field, VARINT);
}

function writeTexts(writer: WireWriter, field: number, value: JsonValue | undefined): void {
  if (!Array.isArray(value)) return;
  for (const item of value.toReversed()) writeText(writer, field, String(item));
}

/** No time is an empty message. */
function writeTime(
  writer: WireWriter,
  value: JsonValue | undefined,
  nanosOfTime: (text: string) => number,
): void {
  if (typeof value !== 'string') return;
  const time = parseTime(value);
  if (time === undefined) return;
  writeInteger(writer, 2, nanosOfTime(value));
  writeInteger(writer, 1, Math.floor(time / 1000));
}

/** Whole microseconds only. */
function nanosOf(text: string): number {
  const digits = /\.(\d+)/.exec(text)?.[1] ?? '';
  return Number(digits.slice(0, 6).padEnd(6, '0')) * 1000;
}

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Go's text of a duration in nanoseconds; 0 for any other text. */
export function durationNanos(text: string): bigint {
  if (!/^-?(?:\d+(?:\.\d*)?(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return 0n;
  let total = 0n;
  for (const [, whole = '0', fraction = '', unit = 'ns'] of text.matchAll(
    /(\d+)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    const nanos = UNIT_NANOS[unit] ?? 1n;
    total += BigInt(whole) * nanos + (BigInt(fraction || '0') * nanos) / 10n ** BigInt(fraction.length);
  }
  return text.startsWith('-') ? -total : total;
}
