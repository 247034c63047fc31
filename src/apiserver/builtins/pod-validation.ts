import { deepEqual, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import {
  validateAnnotations,
  validateDns1123Subdomain,
  validateLabels,
  validateQualifiedName,
} from '../../schema/names.ts';
import { validateContainers } from './container-validation.ts';
import { dns1123Label, dns1123Subdomain, ipAddress, oneOf, type Problems } from './field-checks.ts';
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
import { validatePlacement } from './pod-placement.ts';
import { containerResourceName, notNegativeQuantity } from './resource-list.ts';
import { validatePodSecurity } from './security-context.ts';
import { validateVolumes } from './volume-validation.ts';
import { linuxProblems, windowsProblems } from './windows-pod.ts';

const NAMESERVERS_LIMIT = 3;
const MAX_SECONDS = 2147483647;
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];

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
  problems.push(...validatePodSecurity(spec, objectAt(spec, 'securityContext'), `${path}.securityContext`));
  problems.push(...validatePlacement(spec, path));
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
