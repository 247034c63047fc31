import { deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Label } from '../../schema/names.ts';
import { mandatorySpec } from '../flow-objects.ts';
import type { Strategy } from '../resource.ts';
import { initialStatus, keepSpecAndMetadata, statusResetFields, strategy } from './base-strategy.ts';
import { dns1123Label, dns1123Subdomain, type Problems } from './field-checks.ts';
import {
  forbidden,
  goStrings,
  invalidAs,
  invalidEach,
  invalidValue,
  notSupported,
  notSupportedAs,
  required,
} from './field-errors.ts';
import {
  defaultWhenEmpty,
  defaultWhenNull,
  ensureObject,
  integer,
  objectsOf,
  strings,
  text,
} from './fields.ts';
import { goDump } from './go-dump.ts';

const PRECEDENCE = { least: 1, most: 10000, normal: 1000 };
const SUBJECT_KINDS = ['Group', 'ServiceAccount', 'User'];

export const flowSchemaStrategy: Strategy = strategy({
  generation: 'spec',
  resetFields: statusResetFields('spec', 'metadata'),
  defaults: (object) =>
    defaultWhenEmpty(ensureObject(object, 'spec'), 'matchingPrecedence', PRECEDENCE.normal),
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpecAndMetadata,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const problems: Problems = [];
    const precedence = integer(spec, 'matchingPrecedence') ?? 0;
    if (precedence < PRECEDENCE.least) {
      problems.push(invalidValue('spec.matchingPrecedence', precedence, 'must be a positive value'));
    }
    if (precedence > PRECEDENCE.most) {
      problems.push(
        invalidValue('spec.matchingPrecedence', precedence, `must not be greater than ${PRECEDENCE.most}`),
      );
    }
    if (precedence === PRECEDENCE.least && object.metadata.name !== 'exempt') {
      const detail = "only the schema named 'exempt' may have matchingPrecedence 1";
      problems.push(invalidValue('spec.matchingPrecedence', precedence, detail));
    }
    const level = text(objectAt(spec, 'priorityLevelConfiguration'), 'name');
    const levelPath = 'spec.priorityLevelConfiguration.name';
    if (level === '') problems.push(required(levelPath, 'must reference a priority level'));
    else problems.push(...dns1123Subdomain(level, levelPath));
    const method = objectAt(spec, 'distinguisherMethod');
    if (method && !['ByNamespace', 'ByUser'].includes(text(method, 'type'))) {
      problems.push(
        notSupportedAs(
          'spec.distinguisherMethod.type',
          goDump('flowcontrol.FlowDistinguisherMethod', method),
          ['ByNamespace', 'ByUser'],
        ),
      );
    }
    for (const [index, rule] of objectsOf(spec, 'rules').entries()) {
      problems.push(...ruleProblems(rule, `spec.rules[${index}]`));
    }
    const { name = '' } = object.metadata;
    const fixed = mandatorySpec('FlowSchema', name);
    if (fixed && !deepEqual(spec, fixed)) {
      const detail = `spec of '${name}' must equal the fixed value`;
      problems.push(invalidAs('spec', goDump('flowcontrol.FlowSchemaSpec', spec), detail));
    }
    return problems;
  },
});

function ruleProblems(rule: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const subjects = objectsOf(rule, 'subjects');
  if (subjects.length === 0) {
    problems.push(required(`${path}.subjects`, 'subjects must contain at least one value'));
  }
  for (const [index, subject] of subjects.entries()) {
    problems.push(...subjectProblems(subject, `${path}.subjects[${index}]`));
  }
  const resourceRules = objectsOf(rule, 'resourceRules');
  const urlRules = objectsOf(rule, 'nonResourceRules');
  if (resourceRules.length === 0 && urlRules.length === 0) {
    problems.push(required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  for (const [index, resources] of resourceRules.entries()) {
    problems.push(...resourceRuleProblems(resources, `${path}.resourceRules[${index}]`));
  }
  for (const [index, urls] of urlRules.entries()) {
    const at = `${path}.nonResourceRules[${index}]`;
    problems.push(
      ...verbProblems(urls, at),
      ...urlProblems(strings(urls, 'nonResourceURLs'), `${at}.nonResourceURLs`),
    );
  }
  return problems;
}

function subjectProblems(subject: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const kind = text(subject, 'kind');
  if (!SUBJECT_KINDS.includes(kind)) return [notSupported(`${path}.kind`, kind, SUBJECT_KINDS)];
  for (const other of SUBJECT_KINDS) {
    const key = `${other.slice(0, 1).toLowerCase()}${other.slice(1)}`;
    const at = `${path}.${key}`;
    const given = objectAt(subject, key);
    if (other !== kind) {
      if (given) problems.push(forbidden(at, `${key} is forbidden when subject kind is not '${other}'`));
      continue;
    }
    if (!given) {
      problems.push(required(at, `${key} is required when subject kind is '${kind}'`));
      continue;
    }
    const name = text(given, 'name');
    if (name === '') problems.push(required(`${at}.name`));
    if (kind !== 'ServiceAccount') continue;
    if (name !== '' && name !== '*') problems.push(...dns1123Subdomain(name, `${at}.name`));
    const namespace = text(given, 'namespace');
    if (namespace === '') {
      problems.push(required(`${at}.namespace`, 'must specify namespace for service account'));
    } else problems.push(...dns1123Label(namespace, `${at}.namespace`));
  }
  return problems;
}

function resourceRuleProblems(rule: JsonObject, path: string): Problems {
  const problems = verbProblems(rule, path);
  for (const [key, what] of [
    ['apiGroups', 'api group'],
    ['resources', 'resource'],
  ] as const) {
    const values = strings(rule, key);
    const at = `${path}.${key}`;
    if (values.length === 0) problems.push(required(at, `resource rules must supply at least one ${what}`));
    else if (values.length > 1 && values.includes('*')) {
      problems.push(invalidValue(at, values, `if '*' is present, must not specify other ${what}s`));
    }
  }
  const namespaces = strings(rule, 'namespaces');
  if (namespaces.length === 0 && rule.clusterScope !== true) {
    problems.push(
      required(
        `${path}.namespaces`,
        'resource rules that are not cluster scoped must supply at least one namespace',
      ),
    );
  } else if (namespaces.includes('*')) {
    if (namespaces.length > 1) {
      problems.push(
        invalidValue(
          `${path}.namespaces`,
          namespaces,
          "if '*' is present, must not specify other namespaces",
        ),
      );
    }
  } else {
    for (const [index, namespace] of namespaces.entries()) {
      problems.push(
        ...invalidEach(
          `${path}.namespaces[${index}]`,
          namespace,
          validateDns1123Label(namespace).map(
            (why) => `each member of this list must be '*' or a DNS-1123 label; ${why}`,
          ),
        ),
      );
    }
  }
  return problems;
}

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

function verbProblems(rule: JsonObject, path: string): Problems {
  const verbs = strings(rule, 'verbs');
  const at = `${path}.verbs`;
  if (verbs.length === 0) return [required(at, 'verbs must contain at least one value')];
  if (verbs.includes('*')) {
    return verbs.length > 1
      ? [invalidValue(at, verbs, "if '*' is present, must not specify other verbs")]
      : [];
  }
  return verbs.every((verb) => VERBS.includes(verb)) ? [] : [notSupportedAs(at, goStrings(verbs), VERBS)];
}

function urlProblems(urls: readonly string[], path: string): Problems {
  if (urls.length === 0) return [required(path, 'nonResourceURLs must contain at least one value')];
  if (urls.includes('*')) {
    const detail = "if '*' is present, must not specify other non-resource URLs";
    return urls.length > 1 ? [invalidValue(path, urls, detail)] : [];
  }
  return urls.flatMap((url, index) => {
    const problem = urlProblem(url);
    return problem === undefined ? [] : [invalidValue(`${path}[${index}]`, url, problem)];
  });
}

function urlProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  if (/\*[^*]*\*/.test(url) || (url.includes('*') && !url.endsWith('/*'))) {
    return 'wildcard can only do suffix matching';
  }
  return undefined;
}

/** What both types of a priority level say of their shares. */
function shareProblems(share: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const shares = integer(share, 'nominalConcurrencyShares') ?? 0;
  if (shares < 0) {
    problems.push(invalidValue(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer'));
  }
  const lendable = integer(share, 'lendablePercent') ?? 0;
  if (lendable < 0 || lendable > 100) {
    problems.push(invalidValue(`${path}.lendablePercent`, lendable, 'must be between 0 and 100, inclusive'));
  }
  const borrowing = integer(share, 'borrowingLimitPercent') ?? 0;
  if (borrowing < 0) {
    const detail = 'if specified, must be a non-negative integer';
    problems.push(invalidValue(`${path}.borrowingLimitPercent`, borrowing, detail));
  }
  return problems;
}

function responseProblems(response: JsonObject | undefined, path: string): Problems {
  const type = text(response, 'type');
  const queuing = objectAt(response, 'queuing');
  if (type === 'Reject') {
    return queuing
      ? [forbidden(`${path}.queuing`, 'must be nil if limited.limitResponse.type is not Limited')]
      : [];
  }
  if (type !== 'Queue') return [notSupported(`${path}.type`, type, ['Queue', 'Reject'])];
  if (!queuing) {
    return [required(`${path}.queuing`, 'must not be empty if limited.limitResponse.type is Limited')];
  }
  return queuingProblems(queuing, `${path}.queuing`);
}

/** Bits that the shuffling of queues may draw from one hash. */
const ENTROPY_BITS = 60;
const QUEUES_LIMIT = 10_000_000;

function queuingProblems(queuing: JsonObject, path: string): Problems {
  const problems: Problems = [];
  const length = integer(queuing, 'queueLengthLimit') ?? 0;
  const queues = integer(queuing, 'queues') ?? 0;
  const hand = integer(queuing, 'handSize') ?? 0;
  if (length <= 0) problems.push(invalidValue(`${path}.queueLengthLimit`, length, 'must be positive'));
  if (queues <= 0) problems.push(invalidValue(`${path}.queues`, queues, 'must be positive'));
  else if (queues > QUEUES_LIMIT) {
    problems.push(invalidValue(`${path}.queues`, queues, `must not be greater than ${QUEUES_LIMIT}`));
  }
  if (hand <= 0) problems.push(invalidValue(`${path}.handSize`, hand, 'must be positive'));
  else if (hand > queues) {
    problems.push(invalidValue(`${path}.handSize`, hand, `should not be greater than queues (${queues})`));
  } else {
    let bits = 0;
    for (let left = queues; left > queues - hand && bits <= ENTROPY_BITS; left--) bits += Math.log2(left);
    if (Math.ceil(bits) > ENTROPY_BITS) {
      problems.push(
        invalidValue(
          `${path}.handSize`,
          hand,
          `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${ENTROPY_BITS}`,
        ),
      );
    }
  }
  return problems;
}

export const priorityLevelConfigurationStrategy: Strategy = strategy({
  generation: 'spec',
  resetFields: statusResetFields('spec', 'metadata'),
  defaults(object) {
    const spec = ensureObject(object, 'spec');
    const exempt = objectAt(spec, 'exempt');
    if (exempt) {
      defaultWhenNull(exempt, 'nominalConcurrencyShares', 0);
      defaultWhenNull(exempt, 'lendablePercent', 0);
    }
    const limited = objectAt(spec, 'limited');
    if (!limited) return;
    defaultWhenNull(limited, 'nominalConcurrencyShares', 30);
    defaultWhenNull(limited, 'lendablePercent', 0);
    const queuing = objectAt(limited, 'limitResponse', 'queuing');
    if (queuing) {
      defaultWhenEmpty(queuing, 'handSize', 8);
      defaultWhenEmpty(queuing, 'queues', 64);
      defaultWhenEmpty(queuing, 'queueLengthLimit', 50);
    }
  },
  prepareForCreate: initialStatus({}),
  prepareForStatusUpdate: keepSpecAndMetadata,
  validate(object) {
    const spec = objectAt(object, 'spec') ?? {};
    const type = text(spec, 'type');
    if (type !== 'Exempt' && type !== 'Limited') {
      return [notSupported('spec.type', type, ['Exempt', 'Limited'])];
    }
    const problems: Problems = [];
    if ((type === 'Exempt') !== (object.metadata.name === 'exempt')) {
      problems.push(invalidValue('spec.type', type, "type must be 'Exempt' if and only if name is 'exempt'"));
    }
    if (type === 'Limited' && !isObject(spec.limited)) {
      problems.push(required('spec.limited', 'must not be empty when type is Limited'));
    }
    const exempt = objectAt(spec, 'exempt');
    const limited = objectAt(spec, 'limited');
    if (type === 'Exempt') {
      if (limited) problems.push(forbidden('spec.limited', 'must be nil if the type is not Limited'));
      if (exempt) problems.push(...shareProblems(exempt, 'spec.exempt'));
    } else {
      if (exempt) problems.push(forbidden('spec.exempt', 'must be nil if the type is Limited'));
      if (limited) {
        problems.push(
          ...shareProblems(limited, 'spec.limited'),
          ...responseProblems(objectAt(limited, 'limitResponse'), 'spec.limited.limitResponse'),
        );
      }
    }
    const { name = '' } = object.metadata;
    const fixed = mandatorySpec('PriorityLevelConfiguration', name);
    const besides = name === 'exempt' ? " except the 'spec.exempt' field" : '';
    const fixedPart = ({ exempt, ...rest }: JsonObject): JsonObject =>
      besides === '' && exempt !== undefined ? { ...rest, exempt } : rest;
    if (fixed && !deepEqual(fixedPart(spec), fixedPart(fixed))) {
      const detail = `spec of '${name}'${besides} must equal the fixed value`;
      problems.push(invalidAs('spec', goDump('flowcontrol.PriorityLevelConfigurationSpec', spec), detail));
    }
    return problems;
  },
});
