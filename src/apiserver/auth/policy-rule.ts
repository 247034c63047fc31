/** `rbac.authorization.k8s.io/v1` PolicyRule. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** What a rule is asked about a resource. */
export interface ResourceQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

export function ruleAllowsResource(rule: PolicyRule, asked: ResourceQuestion): boolean {
  return (
    holds(rule.verbs, asked.verb) &&
    holds(rule.apiGroups, asked.group) &&
    resourceMatches(rule.resources, asked.resource, asked.subresource) &&
    (isEmpty(rule.resourceNames) || (rule.resourceNames?.includes(asked.name) ?? false))
  );
}

export function ruleAllowsPath(rule: PolicyRule, verb: string, path: string): boolean {
  return (
    holds(rule.verbs, verb) && (rule.nonResourceURLs?.some((pattern) => urlCovers(pattern, path)) ?? false)
  );
}

/** Rules of foreign roles multiply out; one that makes more combinations than this counts as not covered. */
const MAX_COMBINATIONS = 50_000;

/**
 * Which of `wanted` are not within `held`: each rule is broken down to single verb, group, resource and name (or path),
 * and each of these must be covered by one held rule. Empty when everything is covered.
 */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: PolicyRule[] = [];
  for (const rule of wanted) {
    if (held.some((owned) => coversWhole(owned, rule))) continue;
    if (combinations(rule) > MAX_COMBINATIONS) {
      missing.push(rule);
      continue;
    }
    for (const single of breakDown(rule)) {
      if (!held.some((owned) => ruleCovers(owned, single))) missing.push(single);
    }
  }
  return missing;
}

/** Whether someone who holds `userRules` may do everything that `wanted` allow. */
export function coversRules(userRules: readonly PolicyRule[], wanted: readonly PolicyRule[]): boolean {
  return uncoveredRules(userRules, wanted).length === 0;
}

/** The quick way for what nearly always is the case: the same rule is held, or one for everything. */
function coversWhole(held: PolicyRule, wanted: PolicyRule): boolean {
  return (
    all(wanted.verbs, (verb) => holds(held.verbs, verb)) &&
    all(wanted.nonResourceURLs, (url) => held.nonResourceURLs?.some((own) => urlCovers(own, url)) ?? false) &&
    (isEmpty(wanted.resources) ||
      (all(wanted.apiGroups, (group) => holds(held.apiGroups, group)) &&
        all(wanted.resources, (resource) => resourceMatches(held.resources, ...split(resource))) &&
        (isEmpty(held.resourceNames) ||
          (!isEmpty(wanted.resourceNames) &&
            all(wanted.resourceNames, (name) => held.resourceNames?.includes(name) ?? false)))))
  );
}

function all(values: readonly string[] | undefined, holds: (value: string) => boolean): boolean {
  return values?.every(holds) ?? true;
}

function combinations(rule: PolicyRule): number {
  const groups = rule.apiGroups?.length ?? 0;
  const resources = rule.resources?.length ?? 0;
  const names = Math.max(1, rule.resourceNames?.length ?? 0);
  return rule.verbs.length * (groups * resources * names + (rule.nonResourceURLs?.length ?? 0));
}

function* breakDown(rule: PolicyRule): Generator<PolicyRule> {
  for (const verb of rule.verbs) {
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const base = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (isEmpty(rule.resourceNames)) yield base;
        else for (const name of rule.resourceNames ?? []) yield { ...base, resourceNames: [name] };
      }
    }
    for (const url of rule.nonResourceURLs ?? []) yield { verbs: [verb], nonResourceURLs: [url] };
  }
}

/** `single` is a rule broken down. */
function ruleCovers(held: PolicyRule, single: PolicyRule): boolean {
  if (!holds(held.verbs, single.verbs[0] ?? '')) return false;
  const url = single.nonResourceURLs?.[0];
  if (url !== undefined) return held.nonResourceURLs?.some((pattern) => urlCovers(pattern, url)) ?? false;
  const [resource, subresource] = split(single.resources?.[0] ?? '');
  const name = single.resourceNames?.[0];
  return (
    holds(held.apiGroups, single.apiGroups?.[0] ?? '') &&
    resourceMatches(held.resources, resource, subresource) &&
    (isEmpty(held.resourceNames) || (name !== undefined && (held.resourceNames?.includes(name) ?? false)))
  );
}

/** `pods/log` is named by itself, by a rule for any resource's `log` and by `*`; never by `pods`. */
function resourceMatches(
  rules: readonly string[] | undefined,
  resource: string,
  subresource: string,
): boolean {
  if (rules === undefined) return false;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  for (const rule of rules) {
    if (rule === '*' || rule === full) return true;
    if (subresource !== '' && rule.startsWith('*/') && rule.slice(2) === subresource) return true;
  }
  return false;
}

function urlCovers(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

function holds(values: readonly string[] | undefined, value: string): boolean {
  return values !== undefined && (values.includes(value) || values.includes('*'));
}

function isEmpty(values: readonly string[] | undefined): boolean {
  return values === undefined || values.length === 0;
}

function split(resource: string): [string, string] {
  const slash = resource.indexOf('/');
  return slash < 0 ? [resource, ''] : [resource.slice(0, slash), resource.slice(slash + 1)];
}

/** Joins broken-down rules for resources that differ in their verb only, and sorts them, for messages. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, { rule: PolicyRule; verbs: string[] }>();
  for (const rule of rules) {
    const { apiGroups, resources, resourceNames, nonResourceURLs } = rule;
    const apart = isEmpty(nonResourceURLs) ? undefined : rule.verbs;
    const key = JSON.stringify([apiGroups, resources, resourceNames, nonResourceURLs, apart]);
    const entry = joined.get(key);
    if (entry === undefined) joined.set(key, { rule, verbs: [...rule.verbs] });
    else for (const verb of rule.verbs) if (!entry.verbs.includes(verb)) entry.verbs.push(verb);
  }
  return [...joined.values()]
    .map(({ rule, verbs }) => ({ ...rule, verbs }))
    .sort((a, b) => (ruleText(a) < ruleText(b) ? -1 : 1));
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. */
export function ruleText(rule: PolicyRule): string {
  const parts: string[] = [];
  const add = (label: string, values: readonly string[] | undefined): void => {
    if (!isEmpty(values)) parts.push(`${label}:${listText(values ?? [])}`);
  };
  add('APIGroups', rule.apiGroups);
  add('Resources', rule.resources);
  add('NonResourceURLs', rule.nonResourceURLs);
  add('ResourceNames', rule.resourceNames);
  add('Verbs', rule.verbs);
  return `{${parts.join(', ')}}`;
}

/** As Go prints a list of strings: `["a" "b"]`. */
export function listText(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
}
