import type { FieldIssue } from '../../schema/field-issue.ts';
import { validateDns1035Label, validateDns1123Subdomain } from '../../schema/names.ts';
import { CORE_GROUP, CORE_VERSION } from './core-kinds.ts';
import type {
  ApiResource,
  FederatedType,
  FederatedTypeConfig,
  FederatedTypeConfigStatus,
  PartialApiResource,
} from './types.ts';

export const FEDERATED_GROUP = 'types.kubefed.io';
export const FEDERATED_VERSION = 'v1beta1';

/** Types that a federation begins with, as `plural` or `plural.group`. */
export const DEFAULT_TYPES: readonly string[] = [
  'clusterroles.rbac.authorization.k8s.io',
  'configmaps',
  'deployments.apps',
  'ingresses.networking.k8s.io',
  'jobs.batch',
  'namespaces',
  'replicasets.apps',
  'secrets',
  'serviceaccounts',
  'services',
];

/** The plural of a kind by the rule that type configs use. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/(?:s|x|z|ch|sh|o)$/.test(lower)) return `${lower}es`;
  return lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

/** The name that a type config must have: `plural`, or `plural.group` outside the core group. */
export function typeConfigName(target: Pick<ApiResource, 'group' | 'pluralName'>): string {
  return target.group ? `${target.pluralName}.${target.group}` : target.pluralName;
}

/** A type config that says everything: what is left open comes from its name and from the other parts. */
export function withTypeConfigDefaults(config: FederatedTypeConfig): FederatedTypeConfig {
  const name = config.metadata.name ?? '';
  const dot = name.indexOf('.');
  const plural = dot < 0 ? name : name.slice(0, dot);
  const { targetType, federatedType, statusType } = config.spec;
  return {
    ...config,
    spec: {
      ...config.spec,
      targetType: filled(targetType, plural, dot < 0 ? '' : name.slice(dot + 1)),
      federatedType: filled(federatedType, pluralOf(federatedType.kind ?? ''), federatedType.group ?? ''),
      ...(statusType === undefined
        ? {}
        : {
            statusType: {
              ...statusType,
              group: statusType.group || (federatedType.group ?? ''),
              version: statusType.version || federatedType.version,
              pluralName: statusType.pluralName || pluralOf(statusType.kind ?? ''),
            },
          }),
    },
  };
}

function filled(resource: PartialApiResource, plural: string, group: string): ApiResource {
  return { ...resource, group: resource.group || group, pluralName: resource.pluralName || plural };
}

/** What is wrong with a type config, defaults filled in. */
export function validateTypeConfig(config: FederatedTypeConfig): FieldIssue[] {
  const issues: FieldIssue[] = [];
  const { targetType, federatedType, statusType, propagation, statusCollection } = config.spec;
  const check = (path: string, part: Partial<ApiResource>): void => {
    for (const field of ['version', 'kind', 'pluralName'] as const) {
      const value = part[field];
      if (!value) issues.push({ type: 'Required', path: `${path}.${field}`, detail: '' });
      else
        for (const detail of validateDns1035Label(field === 'kind' ? value.toLowerCase() : value))
          issues.push({ type: 'Invalid', path: `${path}.${field}`, value, detail });
    }
    if (part.group)
      for (const detail of validateDns1123Subdomain(part.group))
        issues.push({ type: 'Invalid', path: `${path}.group`, value: part.group, detail });
    if (part.scope !== 'Cluster' && part.scope !== 'Namespaced')
      issues.push({
        type: 'NotSupported',
        path: `${path}.scope`,
        value: part.scope,
        detail: '',
        supported: ['Cluster', 'Namespaced'],
      });
  };
  const ownGroup = (path: string, group: string | undefined): void => {
    if (!group) issues.push({ type: 'Required', path: `${path}.group`, detail: '' });
    else if (!group.includes('.'))
      issues.push({
        type: 'Invalid',
        path: `${path}.group`,
        value: group,
        detail: 'should be a domain with at least one dot',
      });
  };
  check('spec.targetType', targetType);
  check('spec.federatedType', federatedType);
  ownGroup('spec.federatedType', federatedType.group);
  if (statusType !== undefined) {
    check('spec.statusType', statusType);
    ownGroup('spec.statusType', statusType.group);
  }
  for (const [path, value] of Object.entries({ propagation, statusCollection }))
    if (value !== 'Enabled' && value !== 'Disabled' && (path === 'propagation' || value !== undefined))
      issues.push({
        type: 'NotSupported',
        path: `spec.${path}`,
        value,
        detail: '',
        supported: ['Enabled', 'Disabled'],
      });
  const expected = typeConfigName({ group: targetType.group ?? '', pluralName: targetType.pluralName ?? '' });
  if (config.metadata.name !== expected)
    issues.push({
      type: 'Invalid',
      path: 'metadata.name',
      value: config.metadata.name,
      detail: `should be "${expected}", the plural name of the target and its group`,
    });
  return issues;
}

/** The type that a config describes. */
export function federatedTypeOf(config: FederatedTypeConfig): FederatedType {
  const { spec } = withTypeConfigDefaults(config);
  return {
    target: { ...spec.targetType, pluralName: spec.targetType.pluralName ?? '' },
    federated: { ...spec.federatedType, pluralName: spec.federatedType.pluralName ?? '' },
    propagates: spec.propagation === 'Enabled',
    collectsStatus: spec.statusCollection === 'Enabled',
  };
}

/** The federated type of a resource. A FederatedNamespace lives in the namespace that it stands for. */
export function federatedTypeFor(
  target: ApiResource,
  group: string = FEDERATED_GROUP,
  version: string = FEDERATED_VERSION,
): FederatedType {
  const kind = `Federated${target.kind}`;
  const scope = isNamespaceType(target) ? 'Namespaced' : target.scope;
  return {
    target,
    federated: { group, version, kind, pluralName: pluralOf(kind), scope },
    propagates: true,
    collectsStatus: false,
  };
}

/** The config that enables a type. */
export function typeConfigOf(type: FederatedType, namespace: string): FederatedTypeConfig {
  const { group, ...target } = type.target;
  return {
    apiVersion: `${CORE_GROUP}/${CORE_VERSION}`,
    kind: 'FederatedTypeConfig',
    metadata: { name: typeConfigName(type.target), namespace },
    spec: {
      targetType: { ...(group ? { group } : {}), ...target },
      propagation: type.propagates ? 'Enabled' : 'Disabled',
      federatedType: type.federated,
      ...(type.collectsStatus ? { statusCollection: 'Enabled' as const } : {}),
    },
  };
}

/** Whether a resource is the Namespace of the core group. */
export function isNamespaceType({ group = '', kind }: Pick<ApiResource, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'Namespace';
}

/** Why a type cannot be enabled in place of what there is; `undefined` where it can. */
export function enableProblem(
  existing: FederatedTypeConfig | undefined,
  wanted: FederatedType,
): string | undefined {
  if (!existing) return undefined;
  const { federated } = federatedTypeOf(existing);
  const same = (['group', 'version', 'kind', 'pluralName', 'scope'] as const).every(
    (field) => (federated[field] ?? '') === (wanted.federated[field] ?? ''),
  );
  if (same) return undefined;
  const text = ({ group, version, kind }: ApiResource): string => `${group}/${version} ${kind}`;
  return `${existing.metadata.name} is federated as ${text(federated)}; disable it before it becomes ${text(wanted.federated)}`;
}

export interface TypeConfigFindings {
  readonly generation: number;
  readonly propagating: boolean;
  /** Absent where no status of the type is collected. */
  readonly collecting?: boolean;
  /** What the control plane may not do for it. */
  readonly refused?: { readonly message: string; readonly now: string };
}

/** The status of a type config. Equal for equal findings. */
export function reportTypeConfig(
  found: TypeConfigFindings,
  before?: FederatedTypeConfigStatus,
): FederatedTypeConfigStatus {
  const running = (is: boolean): 'Running' | 'NotRunning' => (is ? 'Running' : 'NotRunning');
  return {
    observedGeneration: found.generation,
    propagationController: running(found.propagating),
    ...(found.collecting === undefined ? {} : { statusController: running(found.collecting) }),
    ...(found.refused === undefined
      ? {}
      : {
          conditions: [
            {
              type: 'Authorized',
              status: 'False' as const,
              reason: 'Forbidden',
              message: found.refused.message,
              lastTransitionTime: before?.conditions?.[0]?.lastTransitionTime ?? found.refused.now,
            },
          ],
        }),
  };
}

/** Whether a federation of one namespace can federate a type, and if not why. */
export function scopeProblem(type: FederatedType, scope: 'Cluster' | 'Namespaced'): string | undefined {
  return scope === 'Namespaced' && type.target.scope === 'Cluster' && !isNamespaceType(type.target)
    ? `${type.target.kind} is cluster-scoped, and this control plane federates one namespace`
    : undefined;
}
