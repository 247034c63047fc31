import { type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import { validateLabelValue, validateQualifiedName } from '../../schema/names.ts';
import { dns1123Label, dns1123Subdomain, labelSelector, oneOf, type Problems } from './field-checks.ts';
import { duplicate, forbidden, invalidEach, invalidValue, notSupported, required } from './field-errors.ts';
import { integer, objectsOf, strings, text } from './fields.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Checks what a pod asks of the node that it runs on. */
export function validatePlacement(spec: JsonObject, path: string): Problems {
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
