import type { KubeObject } from '../../kube/object.ts';
import { badRequest, type FieldError, invalid } from '../../kube/status-error.ts';
import { isObject, type JsonObject, type JsonValue, listAt, objectAt, stringAt } from '../../schema/json.ts';
import { validateQualifiedName } from '../../schema/names.ts';
import { goDump } from '../builtins/go-dump.ts';
import { type Authorizer, pathAttributes, type RequestAttributes, resourceAttributes } from './attributes.ts';
import type { PolicyRule } from './policy-rule.ts';
import type { RbacAuthorizer } from './rbac-authorizer.ts';
import type { UserInfo } from './user.ts';

const GROUP = 'authorization.k8s.io';

export interface ReviewContext {
  /** Who asks. */
  readonly user: UserInfo;
  readonly cluster: string;
  /** Of the request, for reviews that live in a namespace. */
  readonly namespace: string;
}

/** May I? Answers a SelfSubjectAccessReview. Throws 422 for one that asks nothing, or two things. */
export function selfSubjectAccessReview(
  authorizer: Authorizer,
  context: ReviewContext,
  body: KubeObject,
): KubeObject {
  checkQuestion(body, []);
  return decided(authorizer, body, attributesOf(body, context.user, context.cluster));
}

/** May that user? Answers a SubjectAccessReview. */
export function subjectAccessReview(
  authorizer: Authorizer,
  context: ReviewContext,
  body: KubeObject,
): KubeObject {
  checkQuestion(body, subjectErrors(body));
  return decided(authorizer, body, attributesOf(body, subjectOf(body), context.cluster));
}

/** May that user, in this namespace? Answers a LocalSubjectAccessReview. */
export function localSubjectAccessReview(
  authorizer: Authorizer,
  context: ReviewContext,
  body: KubeObject,
): KubeObject {
  const errors = subjectErrors(body);
  if (objectAt(body, 'spec', 'nonResourceAttributes') !== undefined) {
    errors.push(pathError(body, 'disallowed on this kind of request'));
  }
  const asked = stringAt(body, 'spec', 'resourceAttributes', 'namespace') ?? '';
  if (objectAt(body, 'spec', 'resourceAttributes') !== undefined && asked !== context.namespace) {
    errors.push(
      fieldError('Invalid', 'spec.resourceAttributes.namespace', 'must match metadata.namespace', asked),
    );
  }
  checkQuestion(body, errors);
  return decided(authorizer, body, attributesOf(body, subjectOf(body), context.cluster));
}

/** What may I do here? Answers a SelfSubjectRulesReview. Throws 400 without a namespace. */
export function selfSubjectRulesReview(
  authorizer: RbacAuthorizer,
  context: ReviewContext,
  body: KubeObject,
): KubeObject {
  const namespace = stringAt(body, 'spec', 'namespace') ?? '';
  if (namespace === '') throw badRequest('no namespace on request');
  const resourceRules: JsonObject[] = [];
  const nonResourceRules: JsonObject[] = [];
  const seen = new Set<string>();
  const add = (list: JsonObject[], rule: JsonObject): void => {
    const key = JSON.stringify(rule);
    if (seen.has(key)) return;
    seen.add(key);
    list.push(rule);
  };
  for (const rule of authorizer.rulesFor(context.user, context.cluster, namespace)) {
    const path = { verbs: [...rule.verbs], nonResourceURLs: [...(rule.nonResourceURLs ?? [])] };
    if ((rule.resources ?? []).length > 0) add(resourceRules, resourceRule(rule));
    if (path.nonResourceURLs.length > 0) add(nonResourceRules, path);
  }
  const missing = authorizer.missingFor(context.user, context.cluster, namespace);
  const [first = ''] = missing;
  const evaluationError = missing.length > 1 ? `[${missing.join(', ')}]` : first;
  // The question is not repeated in the answer.
  const { apiVersion, kind } = body;
  return {
    apiVersion,
    kind,
    metadata: {},
    spec: {},
    status: {
      resourceRules,
      nonResourceRules,
      incomplete: false,
      ...(evaluationError === '' ? {} : { evaluationError }),
    },
  };
}

/** Who am I? Answers a SelfSubjectReview (`kubectl auth whoami`). */
export function selfSubjectReview(context: ReviewContext, body: KubeObject): KubeObject {
  const { name, uid, groups, extra } = context.user;
  const { apiVersion, kind } = body;
  return {
    apiVersion,
    kind,
    metadata: {},
    status: {
      userInfo: {
        username: name,
        ...(uid === undefined ? {} : { uid }),
        groups: [...groups],
        ...(extra === undefined ? {} : { extra }),
      },
    },
  };
}

function decided(authorizer: Authorizer, body: KubeObject, attributes: RequestAttributes): KubeObject {
  const decision = authorizer.authorize(attributes);
  return {
    ...body,
    status: { allowed: decision.allowed, ...(decision.reason === '' ? {} : { reason: decision.reason }) },
  };
}

function attributesOf(body: KubeObject, user: UserInfo, cluster: string): RequestAttributes {
  const asked = objectAt(body, 'spec', 'resourceAttributes');
  if (asked === undefined) {
    const other = objectAt(body, 'spec', 'nonResourceAttributes');
    return pathAttributes(user, cluster, stringAt(other, 'verb') ?? '', stringAt(other, 'path') ?? '');
  }
  const field = (name: string): string => stringAt(asked, name) ?? '';
  return resourceAttributes(user, cluster, {
    verb: field('verb'),
    group: field('group'),
    version: field('version'),
    resource: field('resource'),
    subresource: field('subresource'),
    name: field('name'),
    namespace: field('namespace'),
  });
}

function subjectOf(body: KubeObject): UserInfo {
  const uid = stringAt(body, 'spec', 'uid') ?? '';
  const extra = objectAt(body, 'spec', 'extra');
  return {
    name: stringAt(body, 'spec', 'user') ?? '',
    groups: strings(listAt(body, 'spec', 'groups')),
    ...(uid === '' ? {} : { uid }),
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.keys(extra).map((key) => [key, strings(listAt(extra, key))])) }),
  };
}

function subjectErrors(body: KubeObject): FieldError[] {
  const subject = subjectOf(body);
  return subject.name === '' && subject.groups.length === 0
    ? [fieldError('Invalid', 'spec.user', 'at least one of user or group must be specified', '')]
    : [];
}

function checkQuestion(body: KubeObject, errors: FieldError[]): void {
  const resource = isObject(objectAt(body, 'spec', 'resourceAttributes'));
  const path = isObject(objectAt(body, 'spec', 'nonResourceAttributes'));
  const all = [...errors, ...selectorErrors(body, 'labelSelector'), ...selectorErrors(body, 'fieldSelector')];
  if (resource && path) {
    all.push(pathError(body, 'cannot be specified in combination with resourceAttributes'));
  }
  if (!resource && !path) {
    all.push(
      fieldError(
        'Invalid',
        'spec.resourceAttributes',
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    );
  }
  all.push(...metadataErrors(body));
  // Kubernetes names no kind here.
  if (all.length > 0) throw invalid(GROUP, '', '', all);
}

/** A question is no object: it has a namespace at most. */
function metadataErrors({ metadata }: KubeObject): FieldError[] {
  const { managedFields: _managedFields, ...given } = metadata;
  const { namespace: _namespace, ...rest } = given;
  if (Object.keys(rest).length === 0) return [];
  return [
    { type: 'Invalid', path: 'metadata', valueText: goDump('v1.ObjectMeta', given), detail: 'must be empty' },
  ];
}

/** A selector is either text, which is for the authorizer to read, or requirements, which are checked. */
function selectorErrors(body: KubeObject, which: 'labelSelector' | 'fieldSelector'): FieldError[] {
  const selector = objectAt(body, 'spec', 'resourceAttributes', which);
  if (selector === undefined) return [];
  const path = `spec.resourceAttributes.${which}`;
  const raw = stringAt(selector, 'rawSelector') ?? '';
  const requirements = listAt(selector, 'requirements').filter(isObject);
  if (raw !== '' && requirements.length > 0)
    return [
      fieldError('Invalid', `${path}.rawSelector`, 'may not specified at the same time as requirements', raw),
    ];
  if (raw === '' && requirements.length === 0)
    return [
      fieldError(
        'Required',
        `${path}.requirements`,
        `when ${path} is specified, requirements or rawSelector is required`,
      ),
    ];
  return requirements.flatMap((requirement, index) =>
    requirementErrors(requirement, `${path}.requirements[${index}]`, which === 'labelSelector'),
  );
}

function requirementErrors(requirement: JsonObject, path: string, isLabel: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const key = stringAt(requirement, 'key') ?? '';
  const values = listAt(requirement, 'values');
  if (!isLabel && key === '') errors.push(fieldError('Required', `${path}.key`, 'must be specified'));
  const operator = stringAt(requirement, 'operator') ?? '';
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      errors.push(
        fieldError('Required', `${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"),
      );
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(
        fieldError(
          'Forbidden',
          `${path}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
      );
  } else if (isLabel)
    errors.push(fieldError('Invalid', `${path}.operator`, 'not a valid selector operator', operator));
  if (isLabel)
    for (const detail of validateQualifiedName(key))
      errors.push(fieldError('Invalid', `${path}.key`, detail, key));
  return errors;
}

/** The question is printed in Go's syntax, as clients have it in their tests. */
function pathError(body: KubeObject, detail: string): FieldError {
  const asked = objectAt(body, 'spec', 'nonResourceAttributes');
  const text = (key: string): string => JSON.stringify(stringAt(asked, key) ?? '');
  return {
    type: 'Invalid',
    path: 'spec.nonResourceAttributes',
    detail,
    valueText: `authorization.NonResourceAttributes{Path:${text('path')}, Verb:${text('verb')}}`,
  };
}

function fieldError(type: FieldError['type'], path: string, detail: string, value?: unknown): FieldError {
  return { type, path, detail, ...(value === undefined ? {} : { value }) };
}

function resourceRule(rule: PolicyRule): JsonObject {
  return {
    verbs: [...rule.verbs],
    apiGroups: [...(rule.apiGroups ?? [])],
    resources: [...(rule.resources ?? [])],
    ...((rule.resourceNames ?? []).length === 0 ? {} : { resourceNames: [...(rule.resourceNames ?? [])] }),
  };
}

function strings(values: readonly JsonValue[]): string[] {
  return values.filter((value) => typeof value === 'string');
}
