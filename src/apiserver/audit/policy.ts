import { at, isObject, type JsonObject, listAt, stringAt } from '../../schema/json.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import type { RequestAttributes } from '../auth/index.ts';
import type { AuditLevel, AuditStage } from './audit-event.ts';

/** What of a request is recorded. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omittedStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** Decides what of a request is recorded: by who asks, as they have shown themselves, and for what. */
export type AuditPolicy = (request: RequestAttributes) => AuditDecision;

interface Rule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly { group: string; resources: readonly string[]; names: readonly string[] }[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

const LEVELS: readonly AuditLevel[] = ['None', 'Metadata', 'Request', 'RequestResponse'];
const STAGES: readonly AuditStage[] = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'];
const VERSIONS = ['audit.k8s.io/v1', 'audit.k8s.io/v1beta1'];
const MAX_BYTES = 1024 * 1024;

/** What is recorded without a policy: one event of each request, when it is answered. */
export const DEFAULT_AUDIT_POLICY: AuditPolicy = () => DEFAULT_DECISION;
const DEFAULT_DECISION: AuditDecision = {
  level: 'Metadata',
  omittedStages: new Set(['RequestReceived']),
  omitManagedFields: false,
};
const NOTHING: AuditDecision = { level: 'None', omittedStages: new Set(), omitManagedFields: false };

/**
 * Reads an audit policy (`audit.k8s.io/v1` Policy, YAML or JSON): the first rule that matches counts, and what none matches is
 * not recorded. Credentials are never recorded beyond Metadata, whatever a rule says. Throws an Error that names what is wrong.
 */
export function parseAuditPolicy(text: string): AuditPolicy {
  const decoded = parseYamlBody(text, { maxBytes: MAX_BYTES });
  if (!decoded.ok) throw new Error(`the audit policy cannot be read: ${decoded.message}`);
  const { value } = decoded;
  if (!isObject(value) || value.kind !== 'Policy' || !VERSIONS.includes(String(value.apiVersion)))
    throw new Error(`the audit policy is no Policy of ${VERSIONS[0]}`);
  const everywhere = stagesOf(value, 'omitStages', 'omitStages');
  const omitManagedFields = value.omitManagedFields === true;
  const rules = listAt(value, 'rules').map((rule, index) =>
    ruleOf(rule, `rules[${index}]`, omitManagedFields),
  );
  if (rules.length === 0) throw new Error('the audit policy has no rules: nothing would be recorded');
  const decisions = rules.map((rule): [Rule, AuditDecision] => [
    rule,
    {
      level: rule.level,
      omittedStages: new Set([...everywhere, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields,
    },
  ]);
  return (request) => {
    const decision = decisions.find(([rule]) => matches(rule, request))?.[1] ?? NOTHING;
    return holdsCredentials(request) && decision.level !== 'None'
      ? { ...decision, level: 'Metadata' }
      : decision;
  };
}

/** Bodies of these are, or hold, what lets somebody in. */
function holdsCredentials({ group, resource, subresource }: RequestAttributes): boolean {
  if (group === '')
    return resource === 'secrets' || (resource === 'serviceaccounts' && subresource === 'token');
  return group === 'authentication.k8s.io' && resource === 'tokenreviews';
}

function ruleOf(value: unknown, path: string, omitManagedFields: boolean): Rule {
  if (!isObject(value)) throw new Error(`${path} of the audit policy is no object`);
  const level = LEVELS.find((one) => one === value.level);
  if (level === undefined)
    throw new Error(`${path}.level of the audit policy is none of ${LEVELS.join(', ')}`);
  const rule: Rule = {
    level,
    users: texts(value, 'users', path),
    userGroups: texts(value, 'userGroups', path),
    verbs: texts(value, 'verbs', path),
    resources: listAt(value, 'resources').map((item, index) => ({
      group: stringAt(item, 'group') ?? '',
      resources: texts(item, 'resources', `${path}.resources[${index}]`),
      names: texts(item, 'resourceNames', `${path}.resources[${index}]`),
    })),
    namespaces: texts(value, 'namespaces', path),
    nonResourceURLs: texts(value, 'nonResourceURLs', path),
    omitStages: stagesOf(value, 'omitStages', `${path}.omitStages`),
    omitManagedFields:
      typeof value.omitManagedFields === 'boolean' ? value.omitManagedFields : omitManagedFields,
  };
  if (rule.nonResourceURLs.length > 0 && rule.resources.length + rule.namespaces.length > 0)
    throw new Error(`${path} of the audit policy is about resources and about other paths at once`);
  for (const url of rule.nonResourceURLs)
    if (url !== '*' && (!url.startsWith('/') || url.slice(0, -1).includes('*')))
      throw new Error(
        `${path}.nonResourceURLs: ${JSON.stringify(url)} is no path, with a star at its end or none`,
      );
  return rule;
}

function stagesOf(value: JsonObject, key: string, path: string): AuditStage[] {
  return texts(value, key, '').map((text) => {
    const stage = STAGES.find((one) => one === text);
    if (stage === undefined)
      throw new Error(`${path} of the audit policy: ${JSON.stringify(text)} is no stage`);
    return stage;
  });
}

function texts(value: unknown, key: string, path: string): string[] {
  const list = at(value, key) ?? [];
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string'))
    throw new Error(`${path === '' ? '' : `${path}.`}${key} of the audit policy is no list of texts`);
  return list;
}

function matches(rule: Rule, request: RequestAttributes): boolean {
  const { user, verb, isResource } = request;
  if (rule.users.length > 0 && !rule.users.includes(user.name)) return false;
  if (rule.userGroups.length > 0 && !rule.userGroups.some((group) => user.groups.includes(group)))
    return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0)
    return isResource && matchesResource(rule, request);
  if (rule.nonResourceURLs.length > 0)
    return !isResource && rule.nonResourceURLs.some((url) => hasPath(url, request.path));
  return true;
}

function matchesResource({ namespaces, resources }: Rule, request: RequestAttributes): boolean {
  const { group, resource, subresource, namespace, name } = request;
  if (namespaces.length > 0 && !namespaces.includes(namespace)) return false;
  if (resources.length === 0) return true;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some((one) => {
    if (one.group !== group) return false;
    if (one.resources.length === 0) return true;
    if (one.names.length > 0 && !one.names.includes(name)) return false;
    return one.resources.some(
      (pattern) =>
        pattern === '*' ||
        pattern === combined ||
        (subresource !== '' && (pattern === `*/${subresource}` || pattern === `${resource}/*`)),
    );
  });
}

function hasPath(pattern: string, path: string): boolean {
  if (pattern === '*') return true;
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
