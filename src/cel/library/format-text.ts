import { compareTexts } from '../values/equality.ts';
import { List } from '../values/list.ts';
import { CelMap } from '../values/map.ts';
import { formatDuration, formatTimestamp } from '../values/time.ts';
import { CelError, Double, Duration, Timestamp, TypeValue, Uint, type Value } from '../values/value.ts';

const CLAUSE = /%(?:(%)|(?:\.([0-9]{1,9}))?([a-zA-Z])?)/g;
const MAX_PRECISION = 100;
const MAX_TEXT = 16 * 1024 * 1024;

/** Unwinds formatting; becomes the result. */
class FormatProblem extends Error {}

/** `'%s is %d'.format([…])` */
export function formatText(template: Value, args: Value): Value {
  const list = args as List;
  let next = 0;
  let length = 0;
  try {
    return (template as string).replace(
      CLAUSE,
      (whole, percent?: string, precision?: string, clause?: string) => {
        if (percent !== undefined) return '%';
        if (clause === undefined) throw new FormatProblem(`unexpected end of format string at '${whole}'`);
        if (next >= list.size) throw new FormatProblem(`index ${next} out of range`);
        const places = precision === undefined ? 6 : Number(precision);
        if (places > MAX_PRECISION)
          throw new FormatProblem(`precision ${places} is greater than ${MAX_PRECISION}`);
        const part = formatOne(clause, places, list.get(next++));
        length += part.length;
        if (length > MAX_TEXT) throw new FormatProblem('the text would become too long');
        return part;
      },
    );
  } catch (error) {
    if (error instanceof FormatProblem) return new CelError(`error during formatting: ${error.message}`);
    throw error;
  }
}

function formatOne(clause: string, places: number, value: Value): string {
  switch (clause) {
    case 's':
      return plainText(value, 0);
    case 'd':
      if (typeof value === 'number' || typeof value === 'bigint') return String(value);
      if (value instanceof Uint) return String(value.value);
      if (value instanceof Double) return special(value.value) ?? decimalText(value.value);
      throw unfit('integers can be formatted with %d');
    case 'f':
      return special(amount(value, 'f')) ?? fixedText(amount(value, 'f'), places);
    case 'e':
      return special(amount(value, 'e')) ?? exponentText(amount(value, 'e'), places);
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      return integerText(value, 2, 'integers and bools can be formatted with %b');
    case 'o':
      return integerText(value, 8, 'integers can be formatted with %o');
    case 'x':
      return hexText(value);
    case 'X':
      return hexText(value).toUpperCase();
    default:
      throw new FormatProblem(
        `could not parse formatting clause: unrecognized formatting clause "${clause}"`,
      );
  }
}

function unfit(message: string): FormatProblem {
  return new FormatProblem(`only ${message}`);
}

function special(value: number): string | undefined {
  return Number.isFinite(value) ? undefined : String(value);
}

function amount(value: Value, clause: string): number {
  if (value instanceof Double) return value.value;
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  throw unfit(`numbers can be formatted with %${clause}`);
}

function integerText(value: Value, radix: number, message: string): string {
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString(radix);
  if (value instanceof Uint) return value.value.toString(radix);
  throw unfit(message);
}

function hexText(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return integerText(value, 16, 'integers, strings and bytes can be formatted with %x');
}

/** All digits, no exponent. */
export function decimalText(value: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(value).toString();
  const text = String(value);
  const exponent = /^(-?)([0-9])(?:\.([0-9]+))?e-([0-9]+)$/.exec(text);
  if (!exponent) return text;
  const [, sign = '', first = '', rest = '', power = '0'] = exponent;
  return `${sign}0.${'0'.repeat(Number(power) - 1)}${first}${rest}`;
}

/** Halves go to the even neighbour, unlike in JavaScript. */
function fixedText(value: number, places: number): string {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${places > 0 ? `.${'0'.repeat(places)}` : ''}`;
  const rounded = value.toFixed(places);
  if (places >= MAX_PRECISION) return rounded;
  const exact = Math.abs(value).toFixed(MAX_PRECISION);
  const cut = exact.indexOf('.') + 1 + places;
  if (!/^50*$/.test(exact.slice(cut))) return rounded;
  const down = places === 0 ? exact.slice(0, cut - 1) : exact.slice(0, cut);
  const even = Number(down.at(-1)) % 2 === 0;
  const sign = value < 0 ? '-' : '';
  return even ? `${sign}${down}` : rounded;
}

function exponentText(value: number, places: number): string {
  return value.toExponential(places).replace(/e([+-])([0-9])$/, 'e$10$2');
}

const MAX_DEPTH = 100;

function plainText(value: Value, depth: number, room: { left: number } = { left: MAX_TEXT }): string {
  const text = plainPart(value, depth, room);
  room.left -= text.length;
  if (room.left < 0) throw new FormatProblem('the text would become too long');
  return text;
}

function plainPart(value: Value, depth: number, room: { left: number }): string {
  if (depth > MAX_DEPTH) throw new FormatProblem('the value nests too deeply');
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof Double) return special(value.value) ?? decimalText(value.value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof List)
    return `[${value
      .toArray()
      .map((item) => plainText(item, depth + 1, room))
      .join(', ')}]`;
  if (value instanceof CelMap) {
    const entries = Array.from(
      value.entries(),
      ([key, item]) => [plainText(key, depth + 1, room), plainText(item, depth + 1, room)] as const,
    );
    entries.sort(([a], [b]) => compareTexts(a, b));
    return `{${entries.map(([key, item]) => `${key}: ${item}`).join(', ')}}`;
  }
  throw unfit('lists, maps, texts, numbers, bools, bytes, times, types and null can be formatted with %s');
}
