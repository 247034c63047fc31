import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import { bootstrapRbac } from '../catalogue/index.ts';
import {
  aggregateRules,
  bindingEscalation,
  coversRules,
  createRbacAuthorizer,
  forbidden,
  impersonate,
  localSubjectAccessReview,
  type PolicyRule,
  pathAttributes,
  type RbacAuthorizer,
  resourceAttributes,
  roleEscalation,
  selfSubjectAccessReview,
  selfSubjectReview,
  selfSubjectRulesReview,
  subjectAccessReview,
  type UserInfo,
  uncoveredRules,
} from './index.ts';

const API = 'rbac.authorization.k8s.io/v1';
const user = (name: string, ...groups: string[]): UserInfo => ({
  name,
  groups: [...groups, 'system:authenticated'],
});

function role(
  kind: 'Role' | 'ClusterRole',
  name: string,
  rules: PolicyRule[],
  namespace?: string,
): KubeObject {
  return { apiVersion: API, kind, metadata: { name, ...(namespace ? { namespace } : {}) }, rules };
}

/** `subject` is `User/ann`, `Group/dev` or `ServiceAccount/shop/default`; `ref` is `ClusterRole/edit`. */
function binding(name: string, ref: string, subject: string, namespace?: string): KubeObject {
  const [refKind = '', refName = ''] = ref.split('/');
  const [kind = '', ...rest] = subject.split('/');
  return {
    apiVersion: API,
    kind: namespace ? 'RoleBinding' : 'ClusterRoleBinding',
    metadata: { name, ...(namespace ? { namespace } : {}) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: refKind, name: refName },
    subjects: [
      kind === 'ServiceAccount' ? { kind, namespace: rest[0], name: rest[1] } : { kind, name: rest[0] },
    ],
  };
}

function authorizerOf(objects: KubeObject[]): RbacAuthorizer {
  const of = (kind: string, namespace?: string): KubeObject[] =>
    objects.filter((object) => object.kind === kind && object.metadata.namespace === namespace);
  return createRbacAuthorizer({
    clusterRoles: () => of('ClusterRole'),
    clusterRoleBindings: () => of('ClusterRoleBinding'),
    roles: (_cluster, namespace) => of('Role', namespace),
    roleBindings: (_cluster, namespace) => of('RoleBinding', namespace),
  });
}

const readPods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'] };
const objects = [
  role('ClusterRole', 'read-pods', [readPods]),
  role('ClusterRole', 'scale', [{ verbs: ['update'], apiGroups: ['apps'], resources: ['*/scale'] }]),
  role('ClusterRole', 'metrics', [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/logs/*'] }]),
  role(
    'Role',
    'one-map',
    [
      {
        verbs: ['get', 'watch', 'create'],
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: ['one'],
      },
    ],
    'shop',
  ),
  binding('pods', 'ClusterRole/read-pods', 'Group/dev'),
  binding('scale', 'ClusterRole/scale', 'User/ann', 'shop'),
  binding('maps', 'Role/one-map', 'ServiceAccount/ci/runner', 'shop'),
  binding('urls', 'ClusterRole/metrics', 'User/ann'),
  binding('urls', 'ClusterRole/metrics', 'User/bob', 'shop'),
  binding('gone', 'ClusterRole/gone', 'User/eve'),
];

describe('RBAC', () => {
  const authorizer = authorizerOf(objects);
  /** `can(ann, 'get', 'apps', 'deployments/scale', 'shop', 'name')` */
  const can = (
    who: UserInfo,
    verb: string,
    group: string,
    resource: string,
    namespace = '',
    name = '',
  ): boolean => {
    const [main = '', subresource = ''] = resource.split('/');
    return authorizer.authorize(
      resourceAttributes(who, 'root', { verb, group, resource: main, subresource, namespace, name }),
    ).allowed;
  };
  const ann = user('ann');
  const dev = user('dan', 'dev');
  const runner = user('system:serviceaccount:ci:runner');

  it('[V62] grants what a cluster role binding names, everywhere, and nothing beside it', () => {
    expect(can(dev, 'get', '', 'pods', 'shop', 'x')).toBe(true);
    expect(can(dev, 'list', '', 'pods')).toBe(true);
    expect(can(dev, 'get', '', 'pods/log', 'shop', 'x')).toBe(true);
    expect(can(dev, 'get', '', 'pods/exec', 'shop', 'x')).toBe(false);
    expect(can(dev, 'watch', '', 'pods')).toBe(false);
    expect(can(dev, 'get', 'apps', 'pods')).toBe(false);
    expect(can(user('dev'), 'get', '', 'pods')).toBe(false);
  });

  it('[V62] grants what a role binding names in its namespace only; a star names a subresource of all', () => {
    expect(can(ann, 'update', 'apps', 'deployments/scale', 'shop', 'x')).toBe(true);
    expect(can(ann, 'update', 'apps', 'deployments', 'shop', 'x')).toBe(false);
    expect(can(ann, 'update', 'apps', 'deployments/scale', 'other', 'x')).toBe(false);
    expect(can(ann, 'update', 'apps', 'deployments/scale')).toBe(false);
  });

  it('[V62] holds resource names to the name of the request, which a create has not', () => {
    expect(can(runner, 'get', '', 'configmaps', 'shop', 'one')).toBe(true);
    expect(can(runner, 'get', '', 'configmaps', 'shop', 'two')).toBe(false);
    expect(can(runner, 'watch', '', 'configmaps', 'shop', 'one')).toBe(true);
    expect(can(runner, 'watch', '', 'configmaps', 'shop')).toBe(false);
    expect(can(runner, 'create', '', 'configmaps', 'shop')).toBe(false);
  });

  it('[V62] matches paths exactly or by a trailing star, granted for the whole cluster only', () => {
    const get = (who: UserInfo, path: string): boolean =>
      authorizer.authorize(pathAttributes(who, 'root', 'get', path)).allowed;
    expect(get(ann, '/metrics')).toBe(true);
    expect(get(ann, '/metrics/x')).toBe(false);
    expect(get(ann, '/logs/a/b')).toBe(true);
    expect(get(ann, '/logs')).toBe(false);
    expect(get(user('bob'), '/metrics')).toBe(false);
  });

  it('[V62] lets system:masters do everything and tells why others may or may not', () => {
    expect(can(user('root', 'system:masters'), 'delete', 'x', 'y')).toBe(true);
    const ask = (who: UserInfo) =>
      authorizer.authorize(
        resourceAttributes(who, 'root', { verb: 'get', resource: 'pods', namespace: 'a' }),
      );
    expect(ask(dev).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "pods" of ClusterRole "read-pods" to Group "dev"',
    );
    expect(ask(ann)).toEqual({ allowed: false, reason: '' });
    expect(ask(user('eve')).reason).toBe('RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found');
  });

  it('[V62] sees changed bindings after invalidate, and logical clusters apart', () => {
    const live: KubeObject[] = [role('ClusterRole', 'read-pods', [readPods])];
    const source = {
      clusterRoles: (cluster: string) =>
        (cluster === 'a' ? live : []).filter(({ kind }) => kind === 'ClusterRole'),
      clusterRoleBindings: (cluster: string) =>
        (cluster === 'a' ? live : []).filter(({ kind }) => kind === 'ClusterRoleBinding'),
      roles: () => [],
      roleBindings: (cluster: string) =>
        (cluster === 'a' ? live : []).filter(({ kind }) => kind === 'RoleBinding'),
    };
    const changing = createRbacAuthorizer(source);
    const ask = (cluster: string): boolean =>
      changing.authorize(resourceAttributes(ann, cluster, { verb: 'get', resource: 'pods', namespace: 'n' }))
        .allowed;
    expect(ask('a')).toBe(false);
    live.push(binding('b', 'ClusterRole/read-pods', 'User/ann', 'n'));
    changing.invalidate('a', 'n');
    expect([ask('a'), ask('b')]).toEqual([true, false]);
    live.pop();
    changing.invalidate('a');
    expect(ask('a')).toBe(false);
  });

  it('[V62] words a denial as Kubernetes does', () => {
    const text = (attributes: Parameters<typeof forbidden>[0], reason = ''): string =>
      forbidden(attributes, reason).message;
    const who = user('a<b');
    expect(
      text(
        resourceAttributes(who, 'root', {
          verb: 'get',
          group: 'apps',
          resource: 'deployments',
          subresource: 'scale',
          name: 'x',
          namespace: 'shop',
        }),
      ),
    ).toBe(
      'deployments.apps "x" is forbidden: User "a&lt;b" cannot get resource "deployments/scale" in API group "apps" in the namespace "shop"',
    );
    expect(text(resourceAttributes(ann, 'root', { verb: 'list', resource: 'nodes' }), 'why')).toBe(
      'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope: why',
    );
    expect(text(pathAttributes(ann, 'root', 'get', '/metrics'))).toBe(
      'forbidden: User "ann" cannot get path "/metrics"',
    );
    expect(
      forbidden(resourceAttributes(ann, 'root', { verb: 'get', group: 'apps', resource: 'x', name: 'n' }))
        .status,
    ).toMatchObject({ code: 403, reason: 'Forbidden', details: { name: 'n', group: 'apps', kind: 'x' } });
  });

  it('[V62] gives edit and admin the rules of roles labelled for them', () => {
    const roles = bootstrapRbac().filter(({ kind }) => kind === 'ClusterRole');
    roles.push({
      ...role('ClusterRole', 'crd', [{ verbs: ['*'], apiGroups: ['example.com'], resources: ['widgets'] }]),
      metadata: { name: 'crd', labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } },
    });
    const find = (name: string): KubeObject => roles.find(({ metadata }) => metadata.name === name)!;
    const edit = aggregateRules(find('edit'), roles)!;
    expect(coversRules(edit, [{ verbs: ['get'], apiGroups: ['example.com'], resources: ['widgets'] }])).toBe(
      true,
    );
    expect(coversRules(edit, [{ verbs: ['create'], apiGroups: ['apps'], resources: ['deployments'] }])).toBe(
      true,
    );
    expect(
      coversRules(aggregateRules(find('view'), roles)!, [
        { verbs: ['get'], apiGroups: [''], resources: ['secrets'] },
      ]),
    ).toBe(false);
    expect(aggregateRules(find('cluster-admin'), roles)).toBeUndefined();
  });
});

describe('escalation', () => {
  const held = [
    role('ClusterRole', 'base', [
      readPods,
      {
        verbs: ['*'],
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['*'],
        resourceNames: ['nothing'],
      },
    ]),
    role('ClusterRole', 'more', [{ verbs: ['delete', 'get'], apiGroups: ['apps', ''], resources: ['pods'] }]),
    role('ClusterRole', 'binder', [
      {
        verbs: ['bind'],
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles'],
        resourceNames: ['more'],
      },
    ]),
    role('ClusterRole', 'escalator', [
      { verbs: ['escalate'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] },
    ]),
    binding('base', 'ClusterRole/base', 'User/ann'),
    binding('base2', 'ClusterRole/base', 'User/bob'),
    binding('binder', 'ClusterRole/binder', 'User/bob'),
    binding('escalator', 'ClusterRole/escalator', 'User/bob', 'shop'),
  ];
  const authorizer = authorizerOf(held);
  const ann = user('ann', 'dev');

  it('[V63] covers a rule only when each of its combinations is held', () => {
    expect(coversRules([readPods], [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }])).toBe(true);
    expect(coversRules([readPods], [{ ...readPods, resourceNames: ['x'] }])).toBe(true);
    expect(coversRules([{ ...readPods, resourceNames: ['x'] }], [readPods])).toBe(false);
    expect(coversRules([readPods], [{ ...readPods, verbs: ['*'] }])).toBe(false);
    expect(
      coversRules(
        [{ verbs: ['*'], apiGroups: ['*'], resources: ['*/log'] }],
        [{ ...readPods, resources: ['pods/log'] }],
      ),
    ).toBe(true);
    expect(
      coversRules(
        [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
        [{ verbs: ['get'], nonResourceURLs: ['/a/b', '/a/c*'] }],
      ),
    ).toBe(true);
    expect(
      coversRules(
        [{ verbs: ['get'], nonResourceURLs: ['/a'] }],
        [{ verbs: ['get'], nonResourceURLs: ['/a*'] }],
      ),
    ).toBe(false);
    const halves = ['get', 'list'].map((verb) => ({ ...readPods, verbs: [verb] }));
    expect(coversRules(halves, [readPods])).toBe(true);
  });

  it('[V63] covers exactly what asking one by one would allow', () => {
    const of = (values: string[]) =>
      fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
    const rule = fc.record({
      verbs: of(['get', 'list', 'put']),
      apiGroups: of(['', 'apps']),
      resources: of(['pods', 'pods/log', 'jobs']),
    });
    const naive = (rules: PolicyRule[], wanted: PolicyRule): boolean =>
      wanted.verbs.every((verb) =>
        wanted.apiGroups!.every((group) =>
          wanted.resources!.every((resource) =>
            rules.some(
              (r) =>
                r.verbs.includes(verb) && r.apiGroups!.includes(group) && r.resources!.includes(resource),
            ),
          ),
        ),
      );
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), rule, (rules, wanted) => {
        expect(coversRules(rules, [wanted])).toBe(naive(rules, wanted));
      }),
    );
  });

  it('[V63] does not multiply out a rule without bound', () => {
    const many = (text: string): string[] => Array.from({ length: 2000 }, (_, i) => `${text}${i}`);
    const huge = { verbs: many('v'), apiGroups: many('g'), resources: many('r'), resourceNames: many('n') };
    expect(uncoveredRules([readPods], [huge])).toEqual([huge]);
    expect(coversRules([huge], [huge])).toBe(true);
  });

  it('[V63] refuses a role with rules that its writer does not hold, naming them', () => {
    const wanted = role('ClusterRole', 'new', [
      readPods,
      { verbs: ['get', 'delete'], apiGroups: ['apps'], resources: ['deployments'] },
    ]);
    const refusal = roleEscalation(authorizer, ann, 'root', wanted);
    expect(refusal).toBeInstanceOf(StatusError);
    expect(refusal?.code).toBe(403);
    expect(refusal?.message).toBe(
      'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "ann" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "delete"]}',
    );
    expect(roleEscalation(authorizer, ann, 'root', role('ClusterRole', 'new', [readPods]))).toBeUndefined();
    expect(roleEscalation(authorizer, ann, 'root', wanted, wanted)).toBeUndefined();
    expect(roleEscalation(authorizer, user('r', 'system:masters'), 'root', wanted)).toBeUndefined();
    expect(
      roleEscalation(authorizer, ann, 'root', { ...role('ClusterRole', 'agg', []), aggregationRule: {} }),
    ).toBeDefined();
    const local = role('Role', 'new', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], 'shop');
    expect(roleEscalation(authorizer, user('bob'), 'root', local)).toBeUndefined();
    expect(
      roleEscalation(authorizer, user('bob'), 'root', {
        ...local,
        metadata: { name: 'new', namespace: 'b' },
      }),
    ).toBeDefined();
  });

  it('[V63] refuses a binding to a role that its writer does not hold, unless it may bind it', () => {
    const to = (ref: string): KubeObject => binding('b', ref, 'User/ann', 'shop');
    expect(bindingEscalation(authorizer, ann, 'root', to('ClusterRole/base'))).toBeUndefined();
    expect(bindingEscalation(authorizer, ann, 'root', to('ClusterRole/more'))?.message).toContain(
      'rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "ann"',
    );
    expect(bindingEscalation(authorizer, user('bob'), 'root', to('ClusterRole/more'))).toBeUndefined();
    expect(bindingEscalation(authorizer, ann, 'root', to('ClusterRole/none'))?.code).toBe(404);
  });
});

describe('impersonation', () => {
  const rule = (resources: string[], names: string[], group = ''): PolicyRule => ({
    verbs: ['impersonate'],
    apiGroups: [group],
    resources,
    resourceNames: names,
  });
  const authorizer = authorizerOf([
    role('ClusterRole', 'act', [
      rule(['users'], ['jane']),
      rule(['groups'], ['dev', 'ops']),
      rule(['serviceaccounts'], ['default']),
      rule(['userextras/scopes'], ['view'], 'authentication.k8s.io'),
      rule(['uids'], ['7'], 'authentication.k8s.io'),
    ]),
    binding('act', 'ClusterRole/act', 'User/ann'),
  ]);
  const ann = user('ann');
  const as = (headers: Record<string, string>) =>
    impersonate(authorizer, ann, 'root', { method: 'GET', path: '/', headers: { accept: 'x', ...headers } });

  it('[V61] acts as the user, groups, uid and extras that it may', () => {
    const acted = as({
      'impersonate-user': 'jane',
      'impersonate-group': 'dev, ops',
      'impersonate-uid': '7',
      'impersonate-extra-scopes': 'view',
    });
    expect(acted?.user).toEqual({
      name: 'jane',
      uid: '7',
      groups: ['dev', 'ops', 'system:authenticated'],
      extra: { scopes: ['view'] },
      within: 'root',
    });
    expect(acted?.impersonator).toBe(ann);
    expect(acted?.request.headers).toEqual({ accept: 'x' });
    expect(as({})).toBeUndefined();
    expect(as({ 'impersonate-user': 'system:serviceaccount:shop:default' })?.user.groups).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:shop',
      'system:authenticated',
    ]);
  });

  it('[V61] is denied for each part that it may not', () => {
    const denial = (headers: Record<string, string>): string => {
      try {
        as(headers);
      } catch (error) {
        return (error as StatusError).message;
      }
      return 'allowed';
    };
    expect(denial({ 'impersonate-user': 'root' })).toBe(
      'users "root" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
    expect(denial({ 'impersonate-user': 'jane', 'impersonate-group': 'dev, system:masters' })).toContain(
      'groups "system:masters"',
    );
    expect(denial({ 'impersonate-user': 'jane', 'impersonate-extra-scopes': 'view, edit' })).toContain(
      'userextras.authentication.k8s.io "edit"',
    );
    expect(denial({ 'impersonate-user': 'jane', 'impersonate-uid': '8' })).toContain(
      'uids.authentication.k8s.io "8"',
    );
    expect(denial({ 'impersonate-group': 'dev' })).toContain('without impersonating a user');
    expect(denial({ 'impersonate-user': 'system:serviceaccount:a:other' })).toContain('in the namespace "a"');
  });
});

describe('access reviews', () => {
  const authorizer = authorizerOf(objects);
  const context = { user: user('dan', 'dev'), cluster: 'root', namespace: 'shop' };
  const review = (kind: string, spec: unknown): KubeObject => ({
    apiVersion: 'authorization.k8s.io/v1',
    kind,
    metadata: {},
    spec,
  });
  const pods = { verb: 'get', resource: 'pods', namespace: 'shop' };

  it('[V64] answers for oneself, for others and for a namespace', () => {
    expect(
      selfSubjectAccessReview(
        authorizer,
        context,
        review('SelfSubjectAccessReview', { resourceAttributes: pods }),
      ).status,
    ).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by ClusterRoleBinding "pods" of ClusterRole "read-pods" to Group "dev"',
    });
    const about = (spec: object) =>
      subjectAccessReview(authorizer, context, review('SubjectAccessReview', spec)).status;
    expect(about({ user: 'zoe', resourceAttributes: pods })).toEqual({ allowed: false });
    expect(about({ groups: ['dev'], resourceAttributes: pods })).toMatchObject({ allowed: true });
    expect(about({ user: 'ann', nonResourceAttributes: { verb: 'get', path: '/metrics' } })).toMatchObject({
      allowed: true,
    });
    expect(
      localSubjectAccessReview(
        authorizer,
        context,
        review('LocalSubjectAccessReview', {
          user: 'ann',
          resourceAttributes: {
            verb: 'update',
            group: 'apps',
            resource: 'deployments',
            subresource: 'scale',
            namespace: 'shop',
          },
        }),
      ).status,
    ).toMatchObject({ allowed: true });
  });

  it('[V64] refuses a review that asks nothing, two things, about nobody, or about another namespace', () => {
    const code = (act: () => unknown): [number, string] | undefined => {
      try {
        act();
      } catch (error) {
        return [(error as StatusError).code, (error as StatusError).message];
      }
      return undefined;
    };
    const both = { resourceAttributes: pods, nonResourceAttributes: { verb: 'get', path: '/' } };
    expect(
      code(() => selfSubjectAccessReview(authorizer, context, review('SelfSubjectAccessReview', {})))?.[1],
    ).toContain('.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: ');
    expect(
      code(() => selfSubjectAccessReview(authorizer, context, review('SelfSubjectAccessReview', both)))?.[0],
    ).toBe(422);
    expect(
      code(() =>
        subjectAccessReview(authorizer, context, review('SubjectAccessReview', { resourceAttributes: pods })),
      )?.[0],
    ).toBe(422);
    expect(
      code(() =>
        localSubjectAccessReview(
          authorizer,
          { ...context, namespace: 'b' },
          review('LocalSubjectAccessReview', { user: 'a', resourceAttributes: pods }),
        ),
      )?.[0],
    ).toBe(422);
    expect(
      code(() => selfSubjectRulesReview(authorizer, context, review('SelfSubjectRulesReview', {}))),
    ).toEqual([400, 'no namespace on request']);
  });

  it('[V64] lists what one may do in a namespace, and who one is', () => {
    const rules = selfSubjectRulesReview(
      authorizer,
      { ...context, user: user('ann', 'dev') },
      review('SelfSubjectRulesReview', { namespace: 'shop' }),
    );
    expect(rules.status).toEqual({
      resourceRules: [
        { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'] },
        { verbs: ['update'], apiGroups: ['apps'], resources: ['*/scale'] },
      ],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/logs/*'] }],
      incomplete: false,
    });
    expect(selfSubjectReview(context, review('SelfSubjectReview', undefined)).status).toEqual({
      userInfo: { username: 'dan', groups: ['dev', 'system:authenticated'] },
    });
  });
});
