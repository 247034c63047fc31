import { type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1035Label, validateDns1123Subdomain } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { webhookConditionProblems } from './admission-policy.ts';
import { strategy } from './base-strategy.ts';
import { labelSelector, oneOf, type Problems, port } from './field-checks.ts';
import { duplicate, invalidEach, invalidValue, required } from './field-errors.ts';
import { defaultWhenNull, integer, objectsOf, strings, text } from './fields.ts';
import { defaultRules, validateMatchConditions, validateRule } from './match-rules.ts';

const REVIEW_VERSIONS = ['v1', 'v1beta1'];
const TIMEOUT = { least: 1, most: 30 };

export const validatingWebhookConfigurationStrategy: Strategy = webhookStrategy(false);
export const mutatingWebhookConfigurationStrategy: Strategy = webhookStrategy(true);

function webhookStrategy(mutating: boolean): Strategy {
  return strategy({
    generation: 'all-but-metadata',
    allowUnconditionalUpdate: false,
    defaults(object) {
      for (const webhook of objectsOf(object, 'webhooks')) {
        defaultWhenNull(webhook, 'failurePolicy', 'Fail');
        defaultWhenNull(webhook, 'matchPolicy', 'Equivalent');
        defaultWhenNull(webhook, 'namespaceSelector', {});
        defaultWhenNull(webhook, 'objectSelector', {});
        defaultWhenNull(webhook, 'timeoutSeconds', 10);
        if (mutating) defaultWhenNull(webhook, 'reinvocationPolicy', 'Never');
        defaultRules(webhook, 'rules');
        const service = objectAt(webhook, 'clientConfig', 'service');
        if (service) defaultWhenNull(service, 'port', 443);
      }
    },
    validate(object) {
      const problems: Problems = [];
      const names = new Set<string>();
      for (const [index, webhook] of objectsOf(object, 'webhooks').entries()) {
        const at = `webhooks[${index}]`;
        const name = text(webhook, 'name');
        problems.push(...fullyQualifiedName(name, `${at}.name`));
        if (names.has(name)) problems.push(duplicate(`${at}.name`, name));
        names.add(name);
        problems.push(...webhookProblems(webhook, at, mutating));
      }
      return problems;
    },
  });
}

function fullyQualifiedName(name: string, path: string): Problems {
  if (name === '') return [required(path)];
  const messages = validateDns1123Subdomain(name);
  if (messages.length > 0) return invalidEach(path, name, messages);
  return name.split('.').length < 3
    ? [invalidValue(path, name, 'should be a domain with at least three segments separated by dots')]
    : [];
}

function webhookProblems(webhook: JsonObject, at: string, mutating: boolean): Problems {
  const problems: Problems = [];
  const versions = strings(webhook, 'admissionReviewVersions');
  if (versions.length === 0) {
    problems.push(
      required(`${at}.admissionReviewVersions`, `must specify one of ${REVIEW_VERSIONS.join(', ')}`),
    );
  } else if (!versions.some((version) => REVIEW_VERSIONS.includes(version))) {
    problems.push(
      invalidValue(
        `${at}.admissionReviewVersions`,
        versions,
        `must include at least one of ${REVIEW_VERSIONS.join(', ')}`,
      ),
    );
  }
  for (const [index, version] of versions.entries()) {
    const path = `${at}.admissionReviewVersions[${index}]`;
    if (versions.indexOf(version) < index) problems.push(invalidValue(path, version, 'duplicate version'));
    else problems.push(...invalidEach(path, version, validateDns1035Label(version)));
  }
  for (const [index, rule] of objectsOf(webhook, 'rules').entries()) {
    problems.push(...validateRule(rule, `${at}.rules[${index}]`));
  }
  problems.push(...oneOf(webhook, at, 'failurePolicy', ['Fail', 'Ignore']));
  problems.push(...oneOf(webhook, at, 'matchPolicy', ['Equivalent', 'Exact']));
  const effects = ['None', 'NoneOnDryRun'];
  if (text(webhook, 'sideEffects') === '') {
    problems.push(required(`${at}.sideEffects`, 'must specify one of None, NoneOnDryRun'));
  } else problems.push(...oneOf(webhook, at, 'sideEffects', effects));
  const timeout = integer(webhook, 'timeoutSeconds');
  if (timeout !== undefined && (timeout < TIMEOUT.least || timeout > TIMEOUT.most)) {
    problems.push(
      invalidValue(
        `${at}.timeoutSeconds`,
        timeout,
        `the timeout value must be between ${TIMEOUT.least} and ${TIMEOUT.most} seconds`,
      ),
    );
  }
  if (mutating) problems.push(...oneOf(webhook, at, 'reinvocationPolicy', ['IfNeeded', 'Never']));
  problems.push(...labelSelector(webhook.namespaceSelector, `${at}.namespaceSelector`));
  problems.push(...labelSelector(webhook.objectSelector, `${at}.objectSelector`));
  problems.push(...validateClientConfig(objectAt(webhook, 'clientConfig') ?? {}, `${at}.clientConfig`));
  problems.push(...validateMatchConditions(webhook, `${at}.matchConditions`));
  problems.push(...webhookConditionProblems(webhook, at));
  return problems;
}

/** Where a webhook is: a service or a URL, always TLS. */
export function validateClientConfig(config: JsonObject, path: string): Problems {
  const service = objectAt(config, 'service');
  const url = config.url;
  if ((service === undefined) === (url === undefined || url === null)) {
    return [required(path, 'exactly one of url or service is required')];
  }
  if (service === undefined) return urlProblems(String(url), `${path}.url`);
  const problems: Problems = [];
  const at = `${path}.service`;
  if (text(service, 'name') === '') problems.push(required(`${at}.name`, 'service name is required'));
  if (text(service, 'namespace') === '') {
    problems.push(required(`${at}.namespace`, 'service namespace is required'));
  }
  if (service.port !== undefined && port(service.port, '').length > 0) {
    problems.push(
      invalidValue(`${at}.port`, service.port, 'port is not valid: must be between 1 and 65535, inclusive'),
    );
  }
  problems.push(...pathProblems(text(service, 'path'), `${at}.path`));
  return problems;
}

function pathProblems(target: string, path: string): Problems {
  if (target === '' || target === '/') return [];
  if (target === '//') return [invalidValue(path, target, 'segment[0] may not be empty')];
  const problems: Problems = target.startsWith('/')
    ? []
    : [invalidValue(path, target, "must start with a '/'")];
  for (const [index, segment] of target.slice(1).replace(/\/$/, '').split('/').entries()) {
    const details =
      segment === '' ? [' may not be empty'] : validateDns1123Subdomain(segment).map((text) => `: ${text}`);
    problems.push(
      ...invalidEach(
        path,
        target,
        details.map((detail) => `segment[${index}]${detail}`),
      ),
    );
  }
  return problems;
}

/** Scheme, user, host, query and fragment of what may be relative. */
const URL_PARTS =
  /^(?:([a-zA-Z][-+.a-zA-Z0-9]*):)?(?:\/\/(?:([^@/?#]*)@)?([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/;

function urlProblems(url: string, path: string): Problems {
  const form = '; desired format: https://host[/path]';
  const parts = URL_PARTS.exec(url);
  const broken = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(url);
  if (broken !== null) {
    const why = `parse ${JSON.stringify(url)}: invalid URL escape ${JSON.stringify(broken[0])}`;
    return [required(path, `url must be a valid URL: ${why}${form}`)];
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (parts === null || /[\u0000- \u007f]/.test(url))
    return [required(path, `url must be a valid URL: ${url}${form}`)];
  const [, scheme = '', user = '', host = '', query = '', fragment = ''] = parts;
  const problems: Problems = [];
  if (scheme.toLowerCase() !== 'https')
    problems.push(invalidValue(path, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`));
  if (host === '') problems.push(invalidValue(path, '', `host must be specified${form}`));
  if (user !== '') problems.push(invalidValue(path, user, 'user information is not permitted in the URL'));
  if (fragment !== '') problems.push(invalidValue(path, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') problems.push(invalidValue(path, query, 'query parameters are not permitted in the URL'));
  // Nobody could be called by what this server itself cannot read.
  return problems.length > 0 || URL.canParse(url)
    ? problems
    : [required(path, `url must be a valid URL: ${url}${form}`)];
}
