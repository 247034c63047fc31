import { expect, it } from 'vitest';
import { type HubRightsOptions, hubRights } from './hub-rights.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** What the engine may do in the whole cluster, by its own role. */
function engineRules(more: Partial<HubRightsOptions> = {}): Rule[] {
  const objects = hubRights({ subject: { user: 'atoll-hub' }, usualKinds: true, ...more });
  const role = objects.find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'atoll:hub-engine',
  );
  return role?.['rules'] as Rule[];
}

/** What it may do with definitions of kinds that are there already. */
function changing(dialects: HubRightsOptions['dialects'] = []): Rule {
  const rules = engineRules({ dialects }).filter(
    ({ resources, verbs }) =>
      resources?.includes('customresourcedefinitions') === true && verbs.includes('patch'),
  );
  expect(rules).toHaveLength(1);
  return rules[0] as Rule;
}

it('gives nothing that is everything, and no way to more', () => {
  const dialects = ['kubefed', 'kubestellar', 'cluster-profile'] as const;
  const rules = engineRules({ accessPort: true, gatewayNamespace: 'gateway', dialects });
  for (const { apiGroups = [], resources = [], verbs } of rules) {
    for (const verb of ['*', 'escalate', 'bind', 'impersonate']) expect(verbs).not.toContain(verb);
    expect(apiGroups).not.toContain('*');
    if (apiGroups.includes('')) expect(resources).not.toContain('*');
    if (apiGroups.includes('')) expect(resources).not.toContain('secrets');
  }
});

it('lets it do nothing itself that its roles for people and its hubs are for, and change none of these', () => {
  const dialects = ['kubefed', 'kubestellar', 'cluster-profile'] as const;
  const rules = engineRules({ accessPort: true, dialects });
  const resources = rules.flatMap(({ resources: of = [] }) => of);
  for (const one of resources) expect(one).not.toMatch(/^(pods|services)|\/(proxy|exec|attach|portforward)$/);
  // Of no group but that of kinds that users name.
  for (const { apiGroups = [], resources: of = [] } of rules)
    if (of.includes('*')) expect([['kro.run'], ['types.kubefed.io']]).toContainEqual(apiGroups);
  const roles = rules.filter(({ apiGroups = [] }) => apiGroups.includes('rbac.authorization.k8s.io'));
  expect(roles.map(({ verbs }) => verbs)).toEqual([['get']]);
  expect(roles[0]?.resourceNames).toContain('atoll:exec');
});

it('lets it change the definitions of its own kinds and of those that are used, and delete none', () => {
  expect(changing().resourceNames).toContain('propagations.atoll.dev');
  expect(changing().resourceNames).not.toContain('bindingpolicies.control.kubestellar.io');
  expect(changing(['kubestellar']).resourceNames).toContain('bindingpolicies.control.kubestellar.io');
  // Of any group, as types are federated.
  expect(changing(['kubefed']).resourceNames).toBeUndefined();
  expect(changing(['kubefed']).verbs).toEqual(['update', 'patch']);
});
