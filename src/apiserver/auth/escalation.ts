import type { KubeObject } from '../../kube/object.ts';
import { notFound, type StatusError } from '../../kube/status-error.ts';
import { deepEqual } from '../../schema/json.ts';
import { forbiddenBecause, resourceAttributes } from './attributes.ts';
import { compactRules, listText, type PolicyRule, ruleText, uncoveredRules } from './policy-rule.ts';
import type { RbacAuthorizer } from './rbac-authorizer.ts';
import { aggregateRules, roleRefOf, rulesOf } from './rbac-objects.ts';
import { isMaster, type UserInfo } from './user.ts';

const GROUP = 'rbac.authorization.k8s.io';
/** A role is foreign input; what a message repeats of it is bounded. */
const MAX_RULES_SHOWN = 100;
const MAX_RULE_TEXT = 1000;

/** `user "u" (groups=["g"]) is attempting to grant RBAC permissions not currently held:` and the rules, one a line. */
export function escalationText(user: UserInfo, missing: readonly PolicyRule[]): string {
  const texts = compactRules(missing).map((rule) => ruleText(rule).slice(0, MAX_RULE_TEXT));
  const more = texts.length > MAX_RULES_SHOWN ? `\nand ${texts.length - MAX_RULES_SHOWN} more` : '';
  const rules = `${texts.slice(0, MAX_RULES_SHOWN).join('\n')}${more}`;
  return `user ${JSON.stringify(user.name)} (groups=${listText(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${rules}`;
}

/**
 * The 403 for writing `role` (a Role or ClusterRole) with rules that the writer does not hold; `undefined` when it may.
 * Holders of the verb `escalate` may. With an aggregation rule the writer must be able to do everything, since what the
 * role will hold is not known now. `before` is the stored role: an update for garbage collection alone needs nothing.
 */
export function roleEscalation(
  authorizer: RbacAuthorizer,
  user: UserInfo,
  cluster: string,
  role: KubeObject,
  before?: KubeObject,
): StatusError | undefined {
  if (isMaster(user)) return undefined;
  const aggregated = role.kind === 'ClusterRole' && aggregateRules(role, []) !== undefined;
  if (before !== undefined && onlyForCollection(role, before)) return undefined;
  const resource = role.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
  const { name = '', namespace = '' } = role.metadata;
  const where = resource === 'roles' ? namespace : '';
  // A request that creates names nothing, so a right by name is none.
  const asked = before === undefined ? '' : name;
  const ask = { verb: 'escalate', group: GROUP, version: 'v1', resource, name: asked, namespace: where };
  if (authorizer.authorize(resourceAttributes(user, cluster, ask)).allowed) return undefined;
  const held = authorizer.rulesFor(user, cluster, where);
  const missing = uncoveredRules(held, rulesOf(role));
  if (missing.length > 0)
    return forbiddenBecause({ group: GROUP, resource, name }, escalationText(user, missing));
  // Whatever such a role may come to hold, its author holds.
  return aggregated && uncoveredRules(held, UNLIMITED).length > 0
    ? forbiddenBecause(
        { group: GROUP, resource, name },
        'must have cluster-admin privileges to use the aggregationRule',
      )
    : undefined;
}

/**
 * The 403 for writing `binding` to a role whose rules the writer does not hold; `undefined` when it may. Holders of the
 * verb `bind` on the role may. A role that does not exist cannot be judged: 404.
 */
export function bindingEscalation(
  authorizer: RbacAuthorizer,
  user: UserInfo,
  cluster: string,
  binding: KubeObject,
  before?: KubeObject,
): StatusError | undefined {
  if (isMaster(user)) return undefined;
  if (before !== undefined && onlyForCollection(binding, before)) return undefined;
  const resource = binding.kind === 'ClusterRoleBinding' ? 'clusterrolebindings' : 'rolebindings';
  const { name = '', namespace = '' } = binding.metadata;
  const where = resource === 'rolebindings' ? namespace : '';
  const ref = roleRefOf(binding);
  const ask = {
    verb: 'bind',
    group: GROUP,
    version: 'v1',
    resource: ref.kind === 'ClusterRole' ? 'clusterroles' : 'roles',
    name: ref.name,
    namespace: where,
  };
  if (authorizer.authorize(resourceAttributes(user, cluster, ask)).allowed) return undefined;
  const wanted = authorizer.rulesOfRef(cluster, where, ref.kind, ref.name);
  if (wanted === undefined) {
    return notFound(GROUP, resource, ref.name);
  }
  const missing = uncoveredRules(authorizer.rulesFor(user, cluster, where), wanted);
  return missing.length === 0
    ? undefined
    : forbiddenBecause({ group: GROUP, resource, name }, escalationText(user, missing));
}

const UNLIMITED: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Whether an update changes at most finalizers and owners, so that an object can go whoever made it. */
function onlyForCollection(object: KubeObject, before: KubeObject): boolean {
  const rest = ({ metadata, ...content }: KubeObject): unknown => {
    const {
      finalizers: _finalizers,
      ownerReferences: _owners,
      managedFields: _managers,
      resourceVersion: _version,
      ...kept
    } = metadata;
    return { ...content, metadata: kept };
  };
  return deepEqual(rest(object), rest(before));
}
