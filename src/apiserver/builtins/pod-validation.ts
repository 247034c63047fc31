import { deepEqual, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import {
  validateAnnotations,
  validateDns1123Subdomain,
  validateLabels,
  validateLabelValue,
  validateQualifiedName,
} from '../../schema/names.ts';
import { idProblems, validateContainers, validateProfiles } from './container-validation.ts';
import {
  dns1123Label,
  dns1123Subdomain,
  ipAddress,
  labelSelector,
  oneOf,
  type Problems,
} from './field-checks.ts';
import {
  duplicate,
  forbidden,
  goStringMap,
  invalidAs,
  invalidEach,
  invalidValue,
  notFoundValue,
  notSupported,
  required,
} from './field-errors.ts';
import { integer, objectsOf, strings, text } from './fields.ts';
import { goDiff } from './go-diff.ts';
import { containerResourceName, notNegativeQuantity } from './resource-list.ts';
import { validateVolumes } from './volume-validation.ts';
import { linuxProblems, windowsProblems } from './windows-pod.ts';

const NAMESERVERS_LIMIT = 3;
const MAX_SECONDS = 2147483647;
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** What must hold of ephemeral containers that are added to a pod: those that are there stay as they are. */
export function ephemeralProblems(spec: JsonObject, old: JsonObject): Problems {
  const at = 'spec.ephemeralContainers';
  const problems = validatePodSpec(spec, 'spec').filter(({ path }) => path.startsWith(at));
  const now = objectsOf(spec, 'ephemeralContainers');
  const others = new Set(
    [...objectsOf(spec, 'containers'), ...objectsOf(spec, 'initContainers')].map((container) =>
      text(container, 'name'),
    ),
  );
  for (const [index, container] of now.entries()) {
    const target = text(container, 'targetContainerName');
    if (target !== '' && !others.has(target))
      problems.push(notFoundValue(`${at}[${index}].targetContainerName`, target));
  }
  for (const before of objectsOf(old, 'ephemeralContainers')) {
    const name = text(before, 'name');
    const found = now.find((container) => text(container, 'name') === name);
    const shown = JSON.stringify(name);
    if (found === undefined)
      problems.push(forbidden(at, `existing ephemeral containers ${shown} may not be removed\n`));
    else if (!deepEqual(found, before))
      problems.push(
        forbidden(
          at,
          `existing ephemeral containers ${shown} may not be changed\n${goDiff('core.EphemeralContainer', before, found)}`,
        ),
      );
  }
  return problems;
}

/**
 * Checks a pod spec, of a pod or of a template. `claims` are volumes that the pod will get besides its own: those of a
 * StatefulSet's claim templates.
 */
export function validatePodSpec(spec: JsonObject, path: string, claims: readonly string[] = []): Problems {
  const volumes = validateVolumes(spec, `${path}.volumes`);
  const problems = volumes.problems;
  const around = {
    volumes: new Map([
      ...volumes.names,
      ...claims.map((name): [string, string] => [name, 'persistentVolumeClaim']),
    ]),
    hostNetwork: spec.hostNetwork === true,
    grace: Math.max(integer(spec, 'terminationGracePeriodSeconds') ?? 0, 1),
    names: new Set<string>(),
  };
  if (objectsOf(spec, 'containers').length === 0) problems.push(required(`${path}.containers`));
  problems.push(...validateContainers(spec, 'containers', `${path}.containers`, around));
  problems.push(...validateContainers(spec, 'initContainers', `${path}.initContainers`, around));
  problems.push(...validateContainers(spec, 'ephemeralContainers', `${path}.ephemeralContainers`, around));
  problems.push(...oneOf(spec, path, 'restartPolicy', RESTART_POLICIES));
  problems.push(...dnsProblems(spec, path));
  problems.push(...validateLabels(stringsAt(spec, 'nodeSelector'), `${path}.nodeSelector`));
  problems.push(...podSecurityProblems(spec, objectAt(spec, 'securityContext'), `${path}.securityContext`));
  problems.push(...placementProblems(spec, path));
  problems.push(...hostnameProblems(spec, path));
  const deadline = integer(spec, 'activeDeadlineSeconds');
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_SECONDS)) {
    problems.push(
      invalidValue(
        `${path}.activeDeadlineSeconds`,
        deadline,
        `must be between 1 and ${MAX_SECONDS}, inclusive`,
      ),
    );
  }
  const gates = new Set<string>();
  for (const [index, gate] of objectsOf(spec, 'schedulingGates').entries()) {
    const name = text(gate, 'name');
    if (gates.has(name)) problems.push(duplicate(`${path}.schedulingGates[${index}]`, name));
    gates.add(name);
    problems.push(...invalidEach(`${path}.schedulingGates[${index}]`, name, validateQualifiedName(name)));
  }
  const os = objectAt(spec, 'os');
  if (os) {
    const name = text(os, 'name');
    if (name === '') problems.push(required(`${path}.os.name`, 'cannot be empty'));
    else if (name !== 'linux' && name !== 'windows') {
      problems.push(notSupported(`${path}.os`, name, ['linux', 'windows']));
    } else if (name === 'windows') problems.push(...windowsProblems(spec, path));
    else problems.push(...linuxProblems(spec, path));
  }
  const overhead = objectAt(spec, 'overhead') ?? {};
  for (const name in overhead) {
    const at = `${path}.overhead.limits[${name}]`;
    problems.push(...containerResourceName(name, at), ...notNegativeQuantity(overhead[name], at));
  }
  problems.push(...oneOf(spec, path, 'preemptionPolicy', ['PreemptLowerPriority', 'Never']));
  for (const [index, gate] of objectsOf(spec, 'readinessGates').entries()) {
    const name = text(gate, 'conditionType');
    problems.push(
      ...invalidEach(`${path}.readinessGates[${index}].conditionType`, name, validateQualifiedName(name)),
    );
  }
  return problems;
}

/**
 * Checks a pod template of a workload that runs forever: it must match the workload's selector (where the selector
 * is sound) and restart always.
 */
export function validateTemplate(
  template: JsonObject | undefined,
  path: string,
  rules: { kind: string; matches: boolean; restartPolicies?: readonly string[]; claims?: readonly string[] },
): Problems {
  const problems: Problems = [];
  if (!rules.matches) problems.push(templateMismatch(template, path));
  // What runs in the pods of a StatefulSet is checked when they are made.
  problems.push(
    ...(rules.kind === 'StatefulSet'
      ? templateMetadataProblems(template, path)
      : validatePodTemplate(template, path, rules.claims)),
  );
  const spec = objectAt(template, 'spec') ?? {};
  const policy = text(spec, 'restartPolicy');
  if (policy !== '' && policy !== 'Always' && rules.restartPolicies === undefined) {
    problems.push(notSupported(`${path}.spec.restartPolicy`, policy, ['Always']));
  }
  if (rules.restartPolicies === undefined && spec.activeDeadlineSeconds != null) {
    problems.push(
      forbidden(
        `${path}.spec.activeDeadlineSeconds`,
        `activeDeadlineSeconds in ${rules.kind} is not Supported`,
      ),
    );
  }
  return problems;
}

export function templateMismatch(template: JsonObject | undefined, path: string): Problems[number] {
  const given = objectAt(template, 'metadata', 'labels')
    ? stringsAt(template, 'metadata', 'labels')
    : undefined;
  return invalidAs(
    `${path}.metadata.labels`,
    goStringMap(given),
    '`selector` does not match template `labels`',
  );
}

export function validatePodTemplate(
  template: JsonObject | undefined,
  path: string,
  claims: readonly string[] = [],
): Problems {
  const ephemeral = objectsOf(objectAt(template, 'spec'), 'ephemeralContainers').length > 0;
  return [
    ...(ephemeral
      ? [forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')]
      : []),
    ...templateMetadataProblems(template, path),
    ...validatePodSpec(objectAt(template, 'spec') ?? {}, `${path}.spec`, claims),
  ];
}

function templateMetadataProblems(template: JsonObject | undefined, path: string): Problems {
  return [
    ...validateLabels(stringsAt(template, 'metadata', 'labels'), `${path}.labels`),
    ...validateAnnotations(stringsAt(template, 'metadata', 'annotations'), `${path}.annotations`),
  ];
}

const SEARCHES_LIMIT = 32;

function dnsProblems(spec: JsonObject, path: string): Problems {
  const problems = oneOf(spec, path, 'dnsPolicy', DNS_POLICIES);
  const config = objectAt(spec, 'dnsConfig');
  if (text(spec, 'dnsPolicy') === 'None') {
    if (config === undefined) {
      problems.push(required(`${path}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None'));
    } else if (strings(config, 'nameservers').length === 0) {
      problems.push(
        required(
          `${path}.dnsConfig.nameservers`,
          'must provide at least one DNS nameserver when `dnsPolicy` is None',
        ),
      );
    }
  }
  const servers = strings(config, 'nameservers');
  if (servers.length > NAMESERVERS_LIMIT) {
    const detail = `must not have more than ${NAMESERVERS_LIMIT} nameservers`;
    problems.push(invalidValue(`${path}.dnsConfig.nameservers`, servers, detail));
  }
  for (const [index, server] of servers.entries()) {
    problems.push(...ipAddress(server, `${path}.dnsConfig.nameservers[${index}]`));
  }
  const searches = strings(config, 'searches');
  if (searches.length > SEARCHES_LIMIT) {
    const detail = `must not have more than ${SEARCHES_LIMIT} search paths`;
    problems.push(invalidValue(`${path}.dnsConfig.searches`, searches, detail));
  }
  for (const [index, search] of searches.entries()) {
    // A trailing dot makes a name absolute, and a lone dot is the root. Names of services have underscores, as in `_sip._tcp`.
    if (search === '.') continue;
    const name = search.replace(/\.$/, '');
    const wrong = validateDns1123Subdomain(name.replaceAll('_', 'a'));
    problems.push(...invalidEach(`${path}.dnsConfig.searches[${index}]`, name, wrong));
  }
  for (const [index, option] of objectsOf(config, 'options').entries()) {
    if (text(option, 'name') === '') {
      problems.push(required(`${path}.dnsConfig.options[${index}]`, 'must not be empty'));
    }
  }
  return problems;
}

const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const SYSCTL_LIMIT = 253;

/** Parameters that a pod which shares that with its node may not set. */
const SHARED_SYSCTLS: readonly (readonly [string, string])[] = [
  ['net.', 'hostNetwork'],
  ['kernel.shm', 'hostIPC'],
  ['kernel.msg', 'hostIPC'],
  ['kernel.sem', 'hostIPC'],
  ['fs.mqueue.', 'hostIPC'],
];

function sysctlProblems(spec: JsonObject, context: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  const names = new Set<string>();
  for (const [index, sysctl] of objectsOf(context, 'sysctls').entries()) {
    const at = `${path}.sysctls[${index}].name`;
    const name = text(sysctl, 'name');
    if (name === '') problems.push(required(at));
    else if (name.length > SYSCTL_LIMIT || !SYSCTL.test(name)) {
      problems.push(
        invalidValue(
          at,
          name,
          `must have at most ${SYSCTL_LIMIT} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
        ),
      );
    } else if (names.has(name)) problems.push(duplicate(at, name));
    names.add(name);
    const shared = SHARED_SYSCTLS.find(([prefix, field]) => name.startsWith(prefix) && spec[field] === true);
    if (shared) problems.push(invalidValue(at, name, `may not be specified when '${shared[1]}' is true`));
  }
  return problems;
}

function podSecurityProblems(spec: JsonObject, context: JsonObject | undefined, path: string): Problems {
  const problems = idProblems(context, path, 'runAsUser', 'runAsGroup', 'fsGroup');
  problems.push(
    ...validateProfiles(context, path),
    ...oneOf(context, path, 'fsGroupChangePolicy', ['Always', 'OnRootMismatch']),
    ...sysctlProblems(spec, context, path),
  );
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    problems.push(invalidValue(`${path}.shareProcessNamespace`, true, detail));
  }
  const groups = context?.supplementalGroups;
  for (const [index, id] of (Array.isArray(groups) ? groups : []).entries()) {
    problems.push(
      ...idProblems({ [`supplementalGroups[${index}]`]: id }, path, `supplementalGroups[${index}]`),
    );
  }
  return problems;
}

function hostnameProblems(spec: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const check = (key: string, of: (value: string, path: string) => Problems): void => {
    const value = text(spec, key);
    if (value !== '') problems.push(...of(value, `${path}.${key}`));
  };
  check('serviceAccountName', dns1123Subdomain);
  check('nodeName', dns1123Subdomain);
  check('hostname', dns1123Label);
  check('subdomain', (value, at) =>
    // A dot is told apart from other mistakes, because fully qualified names are tried here often.
    value.includes('.') ? [invalidValue(at, value, 'must not contain dots')] : dns1123Label(value, at),
  );
  check('priorityClassName', dns1123Subdomain);
  check('runtimeClassName', (value, at) => invalidEach(at, value, validateDns1123Subdomain(value)));
  for (const [index, alias] of objectsOf(spec, 'hostAliases').entries()) {
    problems.push(...ipAddress(text(alias, 'ip'), `${path}.hostAliases[${index}].ip`));
    for (const [i, name] of strings(alias, 'hostnames').entries()) {
      problems.push(...dns1123Subdomain(name, `${path}.hostAliases[${index}].hostnames[${i}]`));
    }
  }
  return problems;
}

function placementProblems(spec: JsonObject, path: string): Problems {
  const problems: Problems = [];
  for (const [index, toleration] of objectsOf(spec, 'tolerations').entries()) {
    problems.push(...validateToleration(toleration, `${path}.tolerations[${index}]`));
  }
  const constraints = objectsOf(spec, 'topologySpreadConstraints');
  const pairOf = (constraint: JsonObject): string =>
    `{${text(constraint, 'topologyKey')}, ${text(constraint, 'whenUnsatisfiable')}}`;
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}.topologySpreadConstraints[${index}]`;
    const skew = integer(constraint, 'maxSkew') ?? 0;
    if (skew <= 0) problems.push(invalidValue(`${at}.maxSkew`, skew, 'must be greater than zero'));
    const key = text(constraint, 'topologyKey');
    if (key === '') problems.push(required(`${at}.topologyKey`, 'can not be empty'));
    const when = text(constraint, 'whenUnsatisfiable');
    if (when !== 'DoNotSchedule' && when !== 'ScheduleAnyway') {
      problems.push(notSupported(`${at}.whenUnsatisfiable`, when, ['DoNotSchedule', 'ScheduleAnyway']));
    }
    // Told of the first of two.
    const pair = pairOf(constraint);
    if (constraints.slice(index + 1).some((other) => pairOf(other) === pair))
      problems.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, pair));
    const domains = integer(constraint, 'minDomains');
    if (domains !== undefined) {
      if (domains <= 0) problems.push(invalidValue(`${at}.minDomains`, domains, 'must be greater than zero'));
      if (when !== 'DoNotSchedule') {
        const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${when}`;
        problems.push(invalidValue(`${at}.minDomains`, domains, detail));
      }
    }
    problems.push(
      ...oneOf(constraint, at, 'nodeAffinityPolicy', ['Honor', 'Ignore']),
      ...oneOf(constraint, at, 'nodeTaintsPolicy', ['Honor', 'Ignore']),
      ...matchKeyProblems(constraint, at, 'matchLabelKeys', (index) => `${at}.matchLabelKeys[${index}]`),
    );
    problems.push(...labelSelector(constraint.labelSelector, `${at}.labelSelector`));
  }
  problems.push(...affinityProblems(objectAt(spec, 'affinity'), `${path}.affinity`));
  return problems;
}

/** Checks a toleration, of a pod or of a runtime class. */
export function validateToleration(toleration: JsonObject, at: string): Problems {
  const problems: Problems = [];
  const key = text(toleration, 'key');
  const operator = text(toleration, 'operator');
  const effect = text(toleration, 'effect');
  if (key !== '') problems.push(...invalidEach(`${at}.key`, key, validateQualifiedName(key)));
  else if (operator !== 'Exists') {
    problems.push(
      invalidValue(
        `${at}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    );
  }
  if (toleration.tolerationSeconds != null && effect !== 'NoExecute') {
    problems.push(
      invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"),
    );
  }
  const value = text(toleration, 'value');
  if (operator === 'Equal' || operator === '') {
    problems.push(...invalidEach(`${at}.operator`, value, validateLabelValue(value)));
  } else if (operator === 'Exists') {
    if (value !== '') {
      problems.push(invalidValue(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
    }
  } else {
    problems.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']));
  }
  if (effect !== '' && !EFFECTS.includes(effect))
    problems.push(notSupported(`${at}.effect`, effect, EFFECTS));
  return problems;
}

const REQUIRED_TERMS = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED_TERMS = 'preferredDuringSchedulingIgnoredDuringExecution';

function affinityProblems(affinity: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  const node = objectAt(affinity, 'nodeAffinity');
  const hard = objectAt(node, REQUIRED_TERMS);
  if (hard) {
    problems.push(...validateNodeSelector(hard, `${path}.nodeAffinity.${REQUIRED_TERMS}`));
  }
  for (const [index, soft] of objectsOf(node, PREFERRED_TERMS).entries()) {
    const at = `${path}.nodeAffinity.${PREFERRED_TERMS}[${index}]`;
    problems.push(...weightProblems(soft, at));
    problems.push(...nodeTermProblems(objectAt(soft, 'preference'), `${at}.preference`));
  }
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const pod = objectAt(affinity, kind);
    for (const [index, term] of objectsOf(pod, REQUIRED_TERMS).entries()) {
      problems.push(...podTermProblems(term, `${path}.${kind}.${REQUIRED_TERMS}[${index}]`));
    }
    for (const [index, soft] of objectsOf(pod, PREFERRED_TERMS).entries()) {
      const at = `${path}.${kind}.${PREFERRED_TERMS}[${index}]`;
      problems.push(...weightProblems(soft, at));
      problems.push(...podTermProblems(objectAt(soft, 'podAffinityTerm') ?? {}, `${at}.podAffinityTerm`));
    }
  }
  return problems;
}

/** Checks a `NodeSelector`, of an affinity or of a persistent volume. */
export function validateNodeSelector(selector: JsonObject, path: string): Problems {
  const terms = objectsOf(selector, 'nodeSelectorTerms');
  if (terms.length === 0) {
    return [required(`${path}.nodeSelectorTerms`, 'must have at least one node selector term')];
  }
  return terms.flatMap((term, index) => nodeTermProblems(term, `${path}.nodeSelectorTerms[${index}]`));
}

function nodeTermProblems(term: JsonObject | undefined, path: string): Problems {
  const problems: Problems = [];
  for (const [index, expression] of objectsOf(term, 'matchExpressions').entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const operator = text(expression, 'operator');
    const values = strings(expression, 'values');
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) {
        problems.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      }
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0) {
        problems.push(
          forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        );
      }
    } else if (operator === 'Gt' || operator === 'Lt') {
      if (values.length !== 1) {
        problems.push(
          required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"),
        );
      }
    } else {
      problems.push(invalidValue(`${at}.operator`, operator, 'not a valid selector operator'));
    }
    const key = text(expression, 'key');
    problems.push(...invalidEach(`${at}.key`, key, validateQualifiedName(key)));
  }
  for (const [index, expression] of objectsOf(term, 'matchFields').entries()) {
    problems.push(...matchFieldProblems(expression, `${path}.matchFields[${index}]`));
  }
  return problems;
}

/** Keys of labels whose values a pod takes from itself: a selector may not say them again, or not more often than `most`. */
function matchKeyProblems(
  term: JsonObject,
  path: string,
  list: string,
  conflict: (index: number) => string,
  most?: number,
): Problems {
  const keys = strings(term, list);
  if (keys.length === 0) return [];
  const selector = objectAt(term, 'labelSelector');
  const problems: Problems = [];
  if (selector === undefined) {
    problems.push(forbidden(`${path}.${list}`, 'must not be specified when labelSelector is not set'));
    if (most !== undefined) return problems;
  }
  const selected = [
    ...Object.keys(stringsAt(selector, 'matchLabels')),
    ...objectsOf(selector, 'matchExpressions').map((expression) => text(expression, 'key')),
  ];
  for (const [index, key] of keys.entries()) {
    problems.push(...invalidEach(`${path}.${list}[${index}]`, key, validateQualifiedName(key)));
    if (list === 'matchLabelKeys' && selected.filter((one) => one === key).length > (most ?? 0)) {
      problems.push(invalidValue(conflict(index), key, 'exists in both matchLabelKeys and labelSelector'));
    }
  }
  return problems;
}

/** Fields of a node by which it is selected: its name only. */
function matchFieldProblems(expression: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const operator = text(expression, 'operator');
  const values = strings(expression, 'values');
  if (operator !== 'In' && operator !== 'NotIn') {
    problems.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  } else if (values.length !== 1) {
    problems.push(
      required(
        `${path}.values`,
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ),
    );
  }
  const key = text(expression, 'key');
  if (key !== 'metadata.name') {
    problems.push(invalidValue(`${path}.key`, key, 'not a valid field selector key'));
    return problems;
  }
  for (const [index, value] of values.entries()) {
    problems.push(...dns1123Subdomain(value, `${path}.values[${index}]`));
  }
  return problems;
}

function weightProblems(term: JsonObject, path: string): Problems {
  const weight = integer(term, 'weight') ?? 0;
  return weight < 1 || weight > 100
    ? [invalidValue(`${path}.weight`, weight, 'must be in the range 1-100')]
    : [];
}

function podTermProblems(term: JsonObject, path: string): Problems {
  const problems = labelSelector(term.labelSelector, `${path}.labelSelector`);
  problems.push(...labelSelector(term.namespaceSelector, `${path}.namespaceSelector`));
  for (const namespace of strings(term, 'namespaces')) {
    problems.push(...dns1123Label(namespace, `${path}.namespace`));
  }
  const key = text(term, 'topologyKey');
  if (key === '') problems.push(required(`${path}.topologyKey`, 'can not be empty'));
  problems.push(...invalidEach(`${path}.topologyKey`, key, validateQualifiedName(key)));
  // The selector of a pod, unlike that of a template, is given a requirement for each key when the pod is made.
  const most = path.startsWith('spec.affinity.') ? 0 : 1;
  for (const keys of ['matchLabelKeys', 'mismatchLabelKeys']) {
    problems.push(...matchKeyProblems(term, path, keys, (index) => `${path}[${index}]`, most));
  }
  const others = strings(term, 'mismatchLabelKeys');
  for (const [index, key] of strings(term, 'matchLabelKeys').entries())
    if (others.includes(key))
      problems.push(
        invalidValue(
          `${path}.matchLabelKeys[${index}]`,
          key,
          'exists in both matchLabelKeys and mismatchLabelKeys',
        ),
      );
  return problems;
}
