import type { KubeObject } from '../../../kube/object.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
  stringAt,
} from '../../../schema/json.ts';
import { type Selector, selectorFromObject } from '../../../schema/label-selector.ts';
import type { Resource } from '../../resource.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { equivalents, matchesNamespace, matchesObject, matchesRule } from '../webhooks/match.ts';

const GROUP = 'admissionregistration.k8s.io';
const EXEMPT: ReadonlySet<string> = new Set([
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
]);

/** Groups of questions, which change nothing. */
const REVIEWS: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/** Policies are not about policies: else one could lock everybody out, itself included. Nor are they about reviews. */
export function isPolicyResource({ group, resource }: Resource): boolean {
  return (group === GROUP && EXEMPT.has(resource)) || REVIEWS.has(group);
}

interface NamedRule {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: string;
  /** Empty for any. */
  readonly resourceNames: readonly string[];
}

/** `matchConstraints` of a policy or `matchResources` of a binding, read once. */
export interface Match {
  readonly rules: readonly NamedRule[];
  readonly excluded: readonly NamedRule[];
  readonly matchesEquivalent: boolean;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
}

function texts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function rulesOf(match: JsonObject, key: string): NamedRule[] {
  return listAt(match, key)
    .filter(isObject)
    .map((rule) => ({
      operations: texts(rule.operations),
      apiGroups: texts(rule.apiGroups),
      apiVersions: texts(rule.apiVersions),
      resources: texts(rule.resources),
      scope: stringAt(rule, 'scope') ?? '*',
      resourceNames: texts(rule.resourceNames),
    }));
}

export function matchOf(match: JsonObject): Match {
  return {
    rules: rulesOf(match, 'resourceRules'),
    excluded: rulesOf(match, 'excludeResourceRules'),
    matchesEquivalent: match.matchPolicy !== 'Exact',
    namespaceSelector: selectorFromObject(objectAt(match, 'namespaceSelector') ?? {}).selector,
    objectSelector: selectorFromObject(objectAt(match, 'objectSelector') ?? {}).selector,
  };
}

/**
 * The resource as which a policy sees a request: what was asked for, or where the rules name only another version or group
 * of it, that one. `undefined` where it is not about the request. Without rules it is about any.
 */
export function matchedResource(match: Match, request: AdmissionRequest): Resource | undefined {
  const { scope } = request;
  const excluded = ruled(match.excluded, match, request);
  if (excluded) return undefined;
  const found = match.rules.length === 0 ? scope.resource : ruled(match.rules, match, request);
  if (!found || !matchesNamespace(match, request)) return undefined;
  return matchesObject(match, request.object, request.old) ? found : undefined;
}

function ruled(rules: readonly NamedRule[], match: Match, request: AdmissionRequest): Resource | undefined {
  if (rules.length === 0) return undefined;
  const { scope, operation, name } = request;
  const subresource = scope.subresource?.name ?? '';
  const fits = (resource: Resource): boolean =>
    rules.some(
      (rule) =>
        (rule.resourceNames.length === 0 || rule.resourceNames.includes(name)) &&
        matchesRule(rule, operation, resource, subresource),
    );
  if (fits(scope.resource)) return scope.resource;
  const other = match.matchesEquivalent ? equivalents(scope).find(fits) : undefined;
  // Nothing can wait here for a webhook that converts, and no write may slip past in another version: it is seen as it came.
  return other && scope.resource.conversion ? scope.resource : other;
}

/** An object as a resource shows it. Versions differ in nothing but their name here. */
export function shownAs(
  shown: Resource,
  resource: Resource,
  object: KubeObject | undefined,
): KubeObject | undefined {
  if (object === undefined || shown === resource) return object;
  const apiVersion = shown.group === '' ? shown.version : `${shown.group}/${shown.version}`;
  return { ...object, apiVersion };
}
