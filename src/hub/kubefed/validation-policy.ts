import {
  FEATURE_GATES,
  FEDERATED_TYPE_CONFIG,
  KUBEFED_CLUSTER,
  KUBEFED_CONFIG,
} from '../../dialects/kubefed/index.ts';
import type { Client } from '../../kube/client.ts';
import type { AnyCustomKind } from '../../kube/custom-resource.ts';
import { keepApplied } from '../../kube/keep-applied.ts';
import type { KubeObject } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import type { Logger } from '../../runtime/log.ts';
import { whatIsWritten } from '../policies/match-constraints.ts';

const apiVersion = 'admissionregistration.k8s.io/v1';

interface Rule {
  readonly expression: string;
  readonly message: string;
}

interface Policy {
  readonly name: string;
  readonly groups: readonly string[];
  readonly resources: readonly string[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly rules: readonly Rule[];
  /** What is only warned of is found again when it is carried out, and told in a status then. */
  readonly action: 'Deny' | 'Warn';
}

const text = (path: string, otherwise = "''"): string => {
  const names = path.split('.');
  const steps = names.slice(2).map((_name, index) => `has(${names.slice(0, index + 3).join('.')})`);
  return `(${steps.join(' && ')} ? ${path} : ${otherwise})`;
};
const oneOf = (value: string, words: readonly string[]): string =>
  `${value} in [${words.map((word) => `'${word}'`).join(', ')}]`;
const rule = (expression: string, message: string): Rule => ({ expression, message });
const SCOPES = ['Cluster', 'Namespaced'];
const SWITCH = ['Enabled', 'Disabled'];

/** What must hold of a resource that a type config names. */
function resourceRules(field: string, optional = false): Rule[] {
  const path = `object.spec.${field}`;
  const unless = optional ? `!has(${path}) || ` : '';
  return [
    ...['version', 'kind'].map((name) =>
      rule(`${unless}${text(`${path}.${name}`)} != ''`, `spec.${field}.${name} is required`),
    ),
    rule(
      `${unless}${oneOf(text(`${path}.scope`), SCOPES)}`,
      `spec.${field}.scope must be Cluster or Namespaced`,
    ),
  ];
}

function typeConfigPolicy(): Policy {
  return {
    ...policyFor('typeconfigs', FEDERATED_TYPE_CONFIG),
    variables: [
      { name: 'plural', expression: "object.metadata.name.split('.')[0]" },
      {
        name: 'group',
        expression:
          "object.metadata.name.contains('.') ? object.metadata.name.substring(object.metadata.name.indexOf('.') + 1) : ''",
      },
    ],
    rules: [
      ...resourceRules('targetType'),
      ...resourceRules('federatedType'),
      rule(
        "object.spec.federatedType.?group.orValue('').contains('.')",
        'spec.federatedType.group is required and must be a domain with at least one dot',
      ),
      rule(
        "!has(object.spec.statusType) || object.spec.statusType.?group.orValue('') == '' || object.spec.statusType.group.contains('.')",
        'spec.statusType.group must be a domain with at least one dot',
      ),
      rule(
        `!has(object.spec.statusType) || ${text('object.spec.statusType.kind')} != ''`,
        'spec.statusType.kind is required',
      ),
      rule(
        `!has(object.spec.statusType) || ${oneOf(text('object.spec.statusType.scope'), SCOPES)}`,
        'spec.statusType.scope must be Cluster or Namespaced',
      ),
      rule(oneOf(text('object.spec.propagation'), SWITCH), 'spec.propagation must be Enabled or Disabled'),
      rule(
        oneOf(text('object.spec.statusCollection', "'Enabled'"), SWITCH),
        'spec.statusCollection must be Enabled or Disabled',
      ),
      rule(
        "object.spec.targetType.?pluralName.orValue('') in ['', variables.plural] && object.spec.targetType.?group.orValue('') in ['', variables.group]",
        'metadata.name must be the plural name of the target, and its group behind a dot where it has one',
      ),
      rule(
        "!has(object.status) || oldObject == null || object.status.?propagationController.orValue('Running') in ['Running', 'NotRunning']",
        'status.propagationController must be Running or NotRunning',
      ),
    ],
  };
}

function clusterPolicy(): Policy {
  const url = (value: string): string => `(${value}.contains('://') ? ${value} : 'https://' + ${value})`;
  const port = (value: string): string => `url(${value}).getPort()`;
  const isGood = (value: string, schemes: readonly string[]): string =>
    `isURL(${value}) && ${oneOf(`url(${value}).getScheme()`, schemes)} && url(${value}).getHostname() != '' && (${port(value)} == '' || (int(${port(value)}) > 0 && int(${port(value)}) < 65536))`;
  return {
    ...policyFor('clusters', KUBEFED_CLUSTER),
    variables: [
      { name: 'endpoint', expression: text('object.spec.apiEndpoint') },
      { name: 'server', expression: url('variables.endpoint') },
      { name: 'secret', expression: text('object.spec.secretRef.name') },
      { name: 'checks', expression: text('object.spec.disabledTLSValidations', '[]') },
      { name: 'proxy', expression: text('object.spec.proxyURL') },
    ],
    rules: [
      rule("variables.endpoint != ''", 'spec.apiEndpoint is required'),
      rule(
        `variables.endpoint == '' || (size(variables.endpoint) <= 2048 && ${isGood('variables.server', ['http', 'https'])})`,
        'spec.apiEndpoint must be an http or https URL, or host:port, with a port from 1 to 65535',
      ),
      rule("variables.secret != ''", 'spec.secretRef.name is required'),
      rule(
        "variables.secret == '' || (size(variables.secret) <= 253 && variables.secret.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",
        'spec.secretRef.name must be the name of a Secret',
      ),
      rule(
        "variables.checks.all(check, check in ['*', 'SubjectName', 'ValidityPeriod'])",
        'spec.disabledTLSValidations may have *, SubjectName and ValidityPeriod',
      ),
      rule(
        "!('*' in variables.checks) || size(variables.checks) == 1",
        'spec.disabledTLSValidations: * means all checks and must stand alone',
      ),
      rule(
        `variables.proxy == '' || (${isGood('variables.proxy', ['http', 'https', 'socks5'])})`,
        'spec.proxyURL must be an http, https or socks5 URL',
      ),
      rule(
        "!has(object.status) || !has(object.status.conditions) || object.status.conditions.all(condition, condition.type in ['Ready', 'Offline', 'ConfigMalformed'] && condition.status in ['True', 'False', 'Unknown'])",
        'status.conditions may be Ready, Offline and ConfigMalformed, and True, False or Unknown',
      ),
    ],
  };
}

function configPolicy(): Policy {
  const path = 'object.spec';
  const DURATION = "matches('^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$')";
  const durations: readonly (readonly [string, string])[] = [
    ['controllerDuration.availableDelay', '20s'],
    ['controllerDuration.unavailableDelay', '60s'],
    ['controllerDuration.cacheSyncTimeout', '5m'],
    ['leaderElect.leaseDuration', '15s'],
    ['leaderElect.renewDeadline', '10s'],
    ['leaderElect.retryPeriod', '5s'],
    ['clusterHealthCheck.period', '10s'],
    ['clusterHealthCheck.timeout', '3s'],
  ];
  const counts = [
    'clusterHealthCheck.failureThreshold',
    'clusterHealthCheck.successThreshold',
    'syncController.maxConcurrentReconciles',
    'statusController.maxConcurrentReconciles',
  ];
  const said = (field: string, otherwise: string): string => text(`${path}.${field}`, `'${otherwise}'`);
  // Durations can be added and compared; their milliseconds are those within a second.
  const times = (count: number, field: string, otherwise: string): string =>
    Array.from({ length: count }, () => `duration(${said(field, otherwise)})`).join(' + ');
  const gates = Object.keys(FEATURE_GATES);
  return {
    ...policyFor('configs', KUBEFED_CONFIG),
    rules: [
      rule(oneOf(text(`${path}.scope`), SCOPES), 'spec.scope must be Cluster or Namespaced'),
      rule(
        "oldObject == null || oldObject.spec.?scope.orValue('') in ['', object.spec.?scope.orValue('')]",
        'spec.scope cannot be changed',
      ),
      ...durations.map(([field, otherwise]) =>
        rule(
          `${said(field, otherwise)}.${DURATION} && duration(${said(field, otherwise)}) > duration('0s')`,
          `spec.${field} must be a duration above 0, such as 30s`,
        ),
      ),
      rule(
        `${times(1, 'leaderElect.leaseDuration', '15s')} > ${times(1, 'leaderElect.renewDeadline', '10s')}`,
        'spec.leaderElect.leaseDuration must be longer than renewDeadline',
      ),
      rule(
        `${times(5, 'leaderElect.renewDeadline', '10s')} > ${times(6, 'leaderElect.retryPeriod', '5s')}`,
        'spec.leaderElect.renewDeadline must be longer than 1.2 times retryPeriod',
      ),
      rule(
        oneOf(said('leaderElect.resourceLock', 'configmaps'), ['configmaps', 'endpoints']),
        'spec.leaderElect.resourceLock must be configmaps or endpoints',
      ),
      ...counts.map((field) =>
        rule(`${text(`${path}.${field}`, '1')} > 0`, `spec.${field} must be a whole number above 0`),
      ),
      rule(
        oneOf(said('syncController.adoptResources', 'Enabled'), SWITCH),
        'spec.syncController.adoptResources must be Enabled or Disabled',
      ),
      rule(
        `${text(`${path}.featureGates`, '[]')}.all(gate, ${oneOf('gate.name', gates)} && ${oneOf('gate.configuration', SWITCH)})`,
        `spec.featureGates may have ${gates.join(', ')}, Enabled or Disabled`,
      ),
      rule(
        `${text(`${path}.featureGates`, '[]')}.all(gate, object.spec.featureGates.exists_one(other, other.name == gate.name))`,
        'spec.featureGates has a gate twice',
      ),
    ],
  };
}

/** Federated objects are taken as they are, as KubeFed takes them: whoever writes one is told at once what will not work. */
function federatedPolicy(groups: readonly string[]): Policy {
  const overrides = '(has(object.spec) && has(object.spec.overrides) ? object.spec.overrides : [])';
  const forbidden = "['/metadata/namespace', '/metadata/name', '/metadata/generateName', '/kind']";
  return {
    name: 'atoll.dev-kubefed-objects',
    groups,
    resources: ['*'],
    action: 'Warn',
    variables: [{ name: 'overrides', expression: overrides }],
    rules: [
      rule(
        `variables.overrides.all(one, !has(one.clusterOverrides) || one.clusterOverrides.all(item, !(item.path in ${forbidden})))`,
        'spec.overrides names a path that says which object it is: that cluster keeps what it has',
      ),
      rule(
        'variables.overrides.all(one, variables.overrides.exists_one(other, other.clusterName == one.clusterName))',
        'spec.overrides has a cluster twice: it keeps what it has',
      ),
    ],
  };
}

function policyFor(what: string, { group, plural }: AnyCustomKind): Omit<Policy, 'rules'> {
  return {
    name: `atoll.dev-kubefed-${what}`,
    groups: [group],
    resources: [plural, `${plural}/status`],
    action: 'Deny',
  };
}

function objectsOf({ name, groups, resources, variables = [], rules, action }: Policy): KubeObject[] {
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        // What is only warned of must hold up nothing.
        failurePolicy: action === 'Deny' ? 'Fail' : 'Ignore',
        matchConstraints: whatIsWritten(groups, resources),
        ...(variables.length > 0 && { variables: variables.map((variable) => ({ ...variable })) }),
        validations: rules.map(({ expression, message }) => ({ expression, message, reason: 'Invalid' })),
      },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: [action] },
    },
  ];
}

/** What KubeFed's webhooks ask of its control objects, asked by the hub's API server itself. `groups` have federated kinds. */
export async function installValidation(
  client: Client,
  log: Logger,
  groups: readonly string[],
): Promise<void> {
  const policies = [typeConfigPolicy(), clusterPolicy(), configPolicy(), federatedPolicy(groups)];
  try {
    for (const object of policies.flatMap(objectsOf)) await keepApplied(client, object, 'atoll');
  } catch (error) {
    // What is not valid is told in a status where nobody refuses it.
    if (!(error instanceof StatusError) || (error.code !== 403 && error.code !== 404)) throw error;
    log.warn('the hub does not refuse objects of KubeFed that are not valid', { why: error.message });
  }
}
