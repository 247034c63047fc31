import { isIPv6 } from 'node:net';
import { isDns1123Label, isDns1123Subdomain } from './names.ts';

type Check = (text: string) => boolean;

/** One label, or several of which the last is a top-level domain: two letters at least. */
const HOST_LABEL = /^[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?$/u;
const HOST_NAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:[-a-zA-Z0-9\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63}$/u;
const MAX_TEXT = 64 * 1024;

/** The string formats that Kubernetes checks in custom resources. All others say something to people only. */
const FORMATS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['bsonobjectid', (text) => /^[0-9a-fA-F]{24}$/.test(text)],
  ['byte', (text) => /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0],
  ['cidr', isCidr],
  ['creditcard', (text) => /^[0-9]{13,19}$/.test(text.replace(/[ -]/g, ''))],
  ['date', isDate],
  ['date-time', isDateTime],
  ['datetime', isDateTime],
  ['duration', isDuration],
  ['email', isEmail],
  ['hexcolor', (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text)],
  ['hostname', isHostName],
  ['ipv4', isSloppyIPv4],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['ipv6', (text) => text.includes(':') && isSloppyIP(text)],
  ['k8s-long-name', isDns1123Subdomain],
  ['k8s-short-name', isDns1123Label],
  ['mac', isMac],
  ['rgbcolor', isRgbColor],
  ['ssn', (text) => /^[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}$/.test(text)],
  ['uri', isUri],
  ['uuid', isUuid],
  ['uuid3', (text) => isUuid(text, '3')],
  ['uuid4', (text) => isUuid(text, '4')],
  ['uuid5', (text) => isUuid(text, '5')],
]);

/** Whether a text has a format. Unknown formats and `password` hold for every text. */
export function hasFormat(format: string, text: string): boolean {
  const check = FORMATS.get(format) ?? FORMATS.get(format.replaceAll('-', ''));
  if (!check) return true;
  return text.length <= MAX_TEXT || format === 'byte' ? check(text) : false;
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (!match) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (DAYS[month - 1] ?? 0) + (leap ? 1 : 0);
}

function isDateTime(text: string): boolean {
  const match =
    /^(.{10})[tT]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[zZ]|[+-][0-9]{2}:[0-9]{2})$/.exec(text);
  if (!match) return false;
  const [, date = '', hour = '', minute = '', second = ''] = match;
  return isDate(date) && hour <= '23' && minute <= '59' && second <= '59';
}

/** An address, as the header of a mail has it: with a name before it, or without. */
function isEmail(text: string): boolean {
  if (text.length > 320) return false;
  const address = /^(?:[^<>@]*[^<>@\s])?\s*<([^<>]*)>$/.exec(text)?.[1] ?? text;
  return /^(?:[^\s@<>()[\],;:\\"]+|"[^"\\]*")@[^\s@<>()[\],;:\\"]+$/.test(address);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^[0-9]{9}[0-9X]$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^[0-9]{13}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 13; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
}

/** Go's durations (`1h30m`, `-1.5s`), and texts in which a number has the name of a unit (`3 days`, `P1D`). */
function isDuration(text: string): boolean {
  return (
    /^[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(text) ||
    /(?<![0-9])[0-9]+\s*(?:ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-zµ])/i.test(
      text,
    )
  );
}

function isHostName(text: string): boolean {
  return text.length <= 255 && (HOST_LABEL.test(text) || HOST_NAME.test(text));
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const address = text.slice(0, slash);
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^[0-9]{1,16}$/.test(length) || !isSloppyIP(address)) return false;
  return Number(length) <= (address.includes(':') ? 128 : 32);
}

/** Addresses as Go once read them: their numbers may begin with zeros. */
function isSloppyIP(text: string): boolean {
  const dotted = /^(.*:)?([0-9]{1,16}(?:\.[0-9]{1,16}){3})$/.exec(text);
  if (dotted === null) return isIPv6(text) && !text.includes('%');
  const [, head, tail = ''] = dotted;
  const parts = tail.split('.').map(Number);
  return parts.every((part) => part <= 255) && (head === undefined || isIPv6(head + parts.join('.')));
}

/** With a dot in it, wherever that is. */
function isSloppyIPv4(text: string): boolean {
  return text.includes('.') && isSloppyIP(text);
}

/** 6, 8 or 20 bytes, separated by one kind of colon or dash, or in groups of four digits by dots; or 6 with nothing between them. */
function isMac(text: string): boolean {
  if (/^[0-9a-fA-F]{12}$/.test(text)) return true;
  const digits = text.replace(/[:.-]/g, '');
  if (![12, 16, 40].includes(digits.length)) return false;
  return (
    /^[0-9a-fA-F]{2}(?:(:[0-9a-fA-F]{2})+|(-[0-9a-fA-F]{2})+)$/.test(text) ||
    /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+$/.test(text)
  );
}

function isRgbColor(text: string): boolean {
  const match = /^rgb\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)$/.exec(text);
  return match?.slice(1).every((part) => Number(part) <= 255) === true;
}

/** An absolute URI, or an absolute path. */
function isUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text)) return false;
  return text[0] === '/' || /^[A-Za-z][A-Za-z0-9+.-]*:.+/.test(text);
}

function isUuid(text: string, version = '.'): boolean {
  if (!/^[0-9a-fA-F]{8}(-?)[0-9a-fA-F]{4}\1[0-9a-fA-F]{4}\1[0-9a-fA-F]{4}\1[0-9a-fA-F]{12}$/.test(text))
    return false;
  const digits = text.replaceAll('-', '');
  if (version === '.') return true;
  return digits[12] === version && (version === '3' || /[89abAB]/.test(digits[16] ?? ''));
}
