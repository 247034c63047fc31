import type { KubeObject } from '../../kube/object.ts';
import { humanDuration } from '../../schema/human-duration.ts';
import { at, listAt } from '../../schema/json.ts';
import {
  age,
  type Cells,
  countAt,
  NONE,
  nameOf,
  objectsAt,
  orElse,
  textAt,
  textsAt,
  UNSET,
} from './cell-text.ts';

function subjectsOf(object: KubeObject, kind: string): string {
  return objectsAt(object, 'subjects')
    .filter((item) => item.kind === kind)
    .map((item) =>
      kind === 'ServiceAccount'
        ? `${textAt(item, 'namespace')}/${textAt(item, 'name')}`
        : textAt(item, 'name'),
    )
    .join(', ');
}

const roleBinding: Cells = (object, now) => [
  nameOf(object),
  `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`,
  age(object, now),
  subjectsOf(object, 'User'),
  subjectsOf(object, 'Group'),
  subjectsOf(object, 'ServiceAccount'),
];

function requestState(object: KubeObject): string {
  const types = new Set(objectsAt(object, 'status', 'conditions').map((item) => item.type));
  const states = types.has('Denied') ? ['Denied'] : types.has('Approved') ? ['Approved'] : ['Pending'];
  if (types.has('Failed')) states.push('Failed');
  if (textAt(object, 'status', 'certificate') !== '') states.push('Issued');
  return states.join(',');
}

const certificateRequest: Cells = (object, now) => [
  nameOf(object),
  age(object, now),
  orElse(textAt(object, 'spec', 'signerName'), NONE),
  textAt(object, 'spec', 'username'),
  at(object, 'spec', 'expirationSeconds') === undefined
    ? NONE
    : humanDuration(countAt(object, 'spec', 'expirationSeconds') * 1000),
  requestState(object),
];

const webhooks: Cells = (object, now) => [
  nameOf(object),
  listAt(object, 'webhooks').length,
  age(object, now),
];

/** A policy with its number of validations or mutations. */
function policy(rules: string): Cells {
  return (object, now) => {
    const kind = at(object, 'spec', 'paramKind');
    return [
      nameOf(object),
      listAt(object, 'spec', rules).length,
      kind ? `${textAt(kind, 'apiVersion')}/${textAt(kind, 'kind')}` : UNSET,
      age(object, now),
    ];
  };
}

/** The selector of a reference as Go prints it: that is what this column has. */
function selectorStructure(ref: unknown): string {
  const selector = at(ref, 'selector');
  if (selector === undefined) return '';
  const labels = Object.entries(at(selector, 'matchLabels') ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${String(value)},`);
  const expressions = objectsAt(selector, 'matchExpressions').map(
    (item) =>
      `LabelSelectorRequirement{Key:${textAt(item, 'key')},Operator:${textAt(item, 'operator')},Values:[${textsAt(item, 'values').join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}

const policyBinding: Cells = (object, now) => {
  const ref = at(object, 'spec', 'paramRef');
  const namespace = textAt(ref, 'namespace');
  const name = textAt(ref, 'name');
  return [
    nameOf(object),
    textAt(object, 'spec', 'policyName'),
    ref
      ? name === ''
        ? selectorStructure(ref)
        : `${namespace === '' ? '' : `${namespace}/`}${name}`
      : UNSET,
    age(object, now),
  ];
};

export const ACCESS_CELLS: Readonly<Record<string, Cells>> = {
  'admissionregistration.k8s.io/mutatingadmissionpolicies': policy('mutations'),
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': policyBinding,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': webhooks,
  'admissionregistration.k8s.io/validatingadmissionpolicies': policy('validations'),
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': policyBinding,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': webhooks,
  'certificates.k8s.io/certificatesigningrequests': certificateRequest,
  'rbac.authorization.k8s.io/clusterrolebindings': roleBinding,
  'rbac.authorization.k8s.io/rolebindings': roleBinding,
};
