import { isIP } from 'node:net';
import type { FieldError } from '../../kube/status-error.ts';
import { childPath } from '../../schema/field-issue.ts';
import { deepEqual, isObject, type JsonObject, type JsonValue, stringsAt } from '../../schema/json.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import { validateDns1123Label, validateDns1123Subdomain } from '../../schema/names.ts';
import {
  goIntOrString,
  goStringMap,
  IMMUTABLE,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
} from './field-errors.ts';
import { integer, objectsOf, strings, text } from './fields.ts';

/** Checks that many kinds share. Each returns its problems; none means that all is well. */
export type Problems = FieldError[];

export const NOT_NEGATIVE = 'must be greater than or equal to 0';
const PORT_RANGE = 'must be between 1 and 65535, inclusive';
export const PROTOCOLS: readonly string[] = ['SCTP', 'TCP', 'UDP'];

/** Checks numbers of an object that, if set, may not be negative. */
export function notNegative(parent: JsonObject | undefined, path: string, ...keys: string[]): Problems {
  const problems: Problems = [];
  for (const key of keys) {
    const value = integer(parent, key);
    if (value !== undefined && value < 0)
      problems.push(invalidValue(childPath(path, key), value, NOT_NEGATIVE));
  }
  return problems;
}

/** Fields that an update may not change, by `field is immutable`. */
export function immutable(
  now: JsonObject | undefined,
  old: JsonObject | undefined,
  path: string,
  ...keys: string[]
): Problems {
  const problems: Problems = [];
  for (const key of keys) {
    if (!deepEqual(now?.[key] ?? undefined, old?.[key] ?? undefined)) {
      problems.push(invalidValue(childPath(path, key), now?.[key] ?? null, IMMUTABLE));
    }
  }
  return problems;
}

/** The same of texts that are never absent, only empty. */
export function immutableText(
  now: JsonObject | undefined,
  old: JsonObject | undefined,
  path: string,
  ...keys: string[]
): Problems {
  return keys
    .filter((key) => text(now, key) !== text(old, key))
    .map((key) => invalidValue(childPath(path, key), text(now, key), IMMUTABLE));
}

export function oneOf(
  parent: JsonObject | undefined,
  path: string,
  key: string,
  supported: readonly string[],
): Problems {
  const value = parent?.[key];
  if (value === undefined || value === null || (typeof value === 'string' && supported.includes(value)))
    return [];
  return [notSupported(childPath(path, key), value, supported)];
}

export function port(value: unknown, path: string): Problems {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535
    ? []
    : [invalidValue(path, value ?? 0, PORT_RANGE)];
}

/** A port by number or by name (IANA service name), as probes, services and policies take it. */
export function portOrName(value: unknown, path: string): Problems {
  return typeof value === 'string' ? invalidEach(path, value, portNameProblems(value)) : port(value, path);
}

/** RFC 6335 service names. */
export function portNameProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 15) problems.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(name)) {
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(name)) problems.push('must contain at least one letter (a-z)');
  if (name.includes('--')) problems.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

export function dns1123Label(value: string, path: string): Problems {
  return invalidEach(path, value, validateDns1123Label(value));
}

export function dns1123Subdomain(value: string, path: string): Problems {
  return invalidEach(path, value, validateDns1123Subdomain(value));
}

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** A count or a share of one: a non-negative integer, or `0%` to `100%`. */
export function countOrPercent(value: unknown, path: string, most100 = true): Problems {
  if (value === undefined || value === null) return [];
  if (typeof value === 'number') return value < 0 ? [invalidValue(path, value, NOT_NEGATIVE)] : [];
  if (typeof value !== 'string')
    return [invalidValue(path, value, "must be an integer or percentage (e.g '5%%')")];
  if (!/^[0-9]+%$/.test(value)) return [invalidAs(path, goIntOrString(value), PERCENT)];
  return most100 && Number(value.slice(0, -1)) > 100
    ? [invalidAs(path, goIntOrString(value), 'must not be greater than 100%')]
    : [];
}

/** Whether a count or percentage is zero; unset counts as zero. */
export function isZeroCount(value: unknown): boolean {
  return (
    value === undefined || value === null || value === 0 || (typeof value === 'string' && /^0+%$/.test(value))
  );
}

/** A `metav1.LabelSelector`; an absent one is fine here. */
export function labelSelector(selector: JsonValue | undefined, path: string): Problems {
  return selectorFromObject(selector, path).issues;
}

export function isEmptySelector(selector: JsonValue | undefined): boolean {
  return (
    isObject(selector) &&
    Object.keys(stringsAt(selector, 'matchLabels')).length === 0 &&
    objectsOf(selector, 'matchExpressions').length === 0
  );
}

/** The text of a LabelSelector in messages. */
export function selectorText(selector: JsonValue | undefined): string {
  if (selector === undefined || selector === null) return '"null"';
  const given = isObject(selector) ? selector : {};
  const matchLabels = isObject(given.matchLabels) ? stringsAt(given, 'matchLabels') : undefined;
  const expressions = objectsOf(given, 'matchExpressions').map((expression) => {
    const values = strings(expression, 'values');
    const list =
      values.length === 0 ? '[]string(nil)' : `[]string{${values.map((v) => JSON.stringify(v)).join(', ')}}`;
    return `v1.LabelSelectorRequirement{Key:${JSON.stringify(text(expression, 'key'))}, Operator:${JSON.stringify(
      text(expression, 'operator'),
    )}, Values:${list}}`;
  });
  const all =
    expressions.length === 0
      ? '[]v1.LabelSelectorRequirement(nil)'
      : `[]v1.LabelSelectorRequirement{${expressions.join(', ')}}`;
  return `v1.LabelSelector{MatchLabels:${goStringMap(matchLabels)}, MatchExpressions:${all}}`;
}

/** Whether labels satisfy a LabelSelector; an absent selector, or one that is not valid, matches nothing. */
export function selectorMatches(
  selector: JsonValue | undefined,
  given: Readonly<Record<string, string>>,
): boolean {
  return matchesSelector(selectorFromObject(selector).selector, given);
}

/**
 * The family of an address, 0 for what is none. Leading zeros are let pass, as they always were; an IPv4 address in the form of
 * IPv6 is one of IPv4; addresses with zones are none.
 */
export function ipFamily(value: string): number {
  if (value.includes('%')) return 0;
  const family = isIP(value.includes(':') ? value : value.replace(/\b0+(?=\d)/g, ''));
  return family === 6 && /^::ffff:[\d.]+$/i.test(value) ? 4 : family;
}

export function ipAddress(value: string, path: string): Problems {
  return ipFamily(value) === 0
    ? [invalidValue(path, value, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
    : [];
}

const PATH_SYNTAX = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const DOMAIN_PATH = new RegExp(`^${PATH_SYNTAX}$`);

/** `example.com/name`. */
export function domainPrefixedPath(value: string, path: string): Problems {
  const slash = value.indexOf('/');
  const [host, rest] = [value.slice(0, slash), value.slice(slash + 1)];
  if (slash <= 0 || rest === '')
    return [invalidValue(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const problems = dns1123Subdomain(host, path);
  if (!DOMAIN_PATH.test(rest)) {
    const why = `Invalid path (regex used for validation is '${PATH_SYNTAX}')`;
    problems.push(invalidValue(path, rest, why));
  }
  return problems;
}

/** An address block such as `10.0.0.0/8`. */
export function cidr(value: string, path: string): Problems {
  const match = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(value);
  const family = match ? ipFamily(match[1] ?? '') : 0;
  return family !== 0 && Number(match?.[2]) <= (family === 4 ? 32 : 128)
    ? []
    : [invalidValue(path, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')];
}
