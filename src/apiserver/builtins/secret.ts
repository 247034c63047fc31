import { asJson, type KubeObject } from '../../kube/object.ts';
import { isObject, type JsonValue, stringsAt } from '../../schema/json.ts';
import { jsonProblem } from '../../schema/json-problem.ts';
import { validateConfigMapKey } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import { DATA_LIMIT, decodedLength, frozenProblems } from './config-map.ts';
import { immutable, type Problems } from './field-checks.ts';
import { invalidEach, invalidValue, required, tooLong } from './field-errors.ts';
import { defaultWhenEmpty, ensureObject, text } from './fields.ts';

const REDACTED = '<secret contents redacted>';
const SERVICE_ACCOUNT_NAME = 'kubernetes.io/service-account.name';

export const secretStrategy: Strategy = strategy({
  fieldLabelNames: ['type'],
  fieldLabels: (secret) => ({ type: text(asJson(secret), 'type') }),
  defaults(secret) {
    mergeStringData(secret);
    defaultWhenEmpty(asJson(secret), 'type', 'Opaque');
  },
  validate(secret) {
    const data = stringsAt(secret, 'data');
    const problems: Problems = [];
    let size = 0;
    for (const key in data) {
      problems.push(...invalidEach(`data[${key}]`, key, validateConfigMapKey(key)));
      size += decodedLength(data[key] ?? '');
    }
    if (size > DATA_LIMIT) problems.push(tooLong('data', DATA_LIMIT));
    problems.push(...typeProblems(secret, data));
    return problems;
  },
  warnings: tlsWarnings,
  validateUpdate: (secret, old) => [
    ...immutable(asJson(secret), asJson(old), '', 'type'),
    ...frozenProblems(secret, old, ['data']),
  ],
});

/** A pair of certificate and key that nobody could serve with. */
function tlsWarnings(secret: KubeObject): string[] {
  if (text(asJson(secret), 'type') !== 'kubernetes.io/tls') return [];
  const data = stringsAt(secret, 'data');
  for (const [key, name] of [
    ['tls.crt', 'certificate'],
    ['tls.key', 'key'],
  ] as const) {
    const content = Buffer.from(data[key] ?? '', 'base64').toString('latin1');
    if (!/-----BEGIN [^-]+-----/.test(content)) return [`tls: failed to find any PEM data in ${name} input`];
  }
  return [];
}

/** `stringData` is for writing only: its texts become values of `data`, over those that are there. */
function mergeStringData(secret: KubeObject): void {
  if (isObject(secret.stringData)) {
    const given = stringsAt(secret, 'stringData');
    const keys = Object.keys(given);
    if (keys.length > 0) {
      const data = ensureObject(secret, 'data');
      for (const key of keys) data[key] = Buffer.from(given[key] ?? '', 'utf8').toString('base64');
    }
  }
  delete secret.stringData;
}

/** Types that promise certain keys. Contents never appear in messages. */
function typeProblems(secret: KubeObject, data: Readonly<Record<string, string>>): Problems {
  switch (text(asJson(secret), 'type')) {
    case 'kubernetes.io/service-account-token':
      return secret.metadata.annotations?.[SERVICE_ACCOUNT_NAME]
        ? []
        : [required(`metadata.annotations[${SERVICE_ACCOUNT_NAME}]`)];
    case 'kubernetes.io/dockercfg':
      return jsonProblems(data, '.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return jsonProblems(data, '.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      return Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')
        ? []
        : [required('data[username]'), required('data[password]')];
    case 'kubernetes.io/ssh-auth':
      return data['ssh-privatekey'] ? [] : [required('data[ssh-privatekey]')];
    case 'kubernetes.io/tls':
      return ['tls.crt', 'tls.key']
        .filter((key) => !Object.hasOwn(data, key))
        .map((key) => required(`data[${key}]`));
    default:
      return [];
  }
}

function jsonProblems(data: Readonly<Record<string, string>>, key: string): Problems {
  const encoded = data[key];
  if (encoded === undefined) return [required(`data[${key}]`)];
  const content = Buffer.from(encoded, 'base64').toString('utf8');
  const path = `data[${key}]`;
  try {
    const value = JSON.parse(content) as JsonValue;
    const kind = Array.isArray(value) ? 'array' : value === true || value === false ? 'bool' : typeof value;
    if (isObject(value) || value === null) return [];
    const why = `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
    return [invalidValue(path, REDACTED, why)];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The parser's own message quotes the text, which is secret; what follows shows no more than one character of it.
    return [invalidValue(path, REDACTED, jsonProblem(content) ?? error.message)];
  }
}
