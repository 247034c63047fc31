import { parseDuration } from '../../cel/values/time.ts';
import type { FieldIssue } from '../../schema/field-issue.ts';
import { isObject } from '../../schema/json.ts';
import type { KubeFedConfigSpec } from './types.ts';

/** The gates that there are, and whether they are on where nothing is said. */
export const FEATURE_GATES = {
  PushReconciler: 'Enabled',
  RawResourceStatusCollection: 'Disabled',
  SchedulerPreferences: 'Enabled',
} as const;

export type FeatureGate = keyof typeof FEATURE_GATES;

/** The namespace of the control plane where nothing else is said. */
export const DEFAULT_NAMESPACE = 'kube-federation-system';
/** The name of the one KubeFedConfig. */
export const CONFIG_NAME = 'kubefed';

type Complete<T> = {
  readonly [K in keyof T]-?: NonNullable<T[K]> extends readonly unknown[]
    ? NonNullable<T[K]>
    : NonNullable<T[K]> extends object
      ? Complete<NonNullable<T[K]>>
      : NonNullable<T[K]>;
};

/** Settings that leave nothing open. */
export type FullKubeFedConfig = Complete<KubeFedConfigSpec>;

/** Settings with everything filled in that is left open; gates are in the order of their names. */
export function withConfigDefaults(
  spec: KubeFedConfigSpec = {},
  scope: 'Cluster' | 'Namespaced' = 'Cluster',
): FullKubeFedConfig {
  const gates = [...(spec.featureGates ?? [])];
  for (const [name, configuration] of Object.entries(FEATURE_GATES))
    if (!gates.some((gate) => gate.name === name)) gates.push({ name, configuration });
  return {
    scope: spec.scope ?? scope,
    controllerDuration: {
      availableDelay: '20s',
      unavailableDelay: '60s',
      cacheSyncTimeout: '5m',
      ...spec.controllerDuration,
    },
    leaderElect: {
      leaseDuration: '15s',
      renewDeadline: '10s',
      retryPeriod: '5s',
      resourceLock: 'configmaps',
      ...spec.leaderElect,
    },
    featureGates: gates.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
    clusterHealthCheck: {
      period: '10s',
      failureThreshold: 3,
      successThreshold: 1,
      timeout: '3s',
      ...spec.clusterHealthCheck,
    },
    syncController: { maxConcurrentReconciles: 1, adoptResources: 'Enabled', ...spec.syncController },
    statusController: { maxConcurrentReconciles: 1, ...spec.statusController },
  };
}

/** What is wrong with settings, defaults filled in; `previous` is what they were before. */
export function validateConfig(spec: FullKubeFedConfig, previous?: KubeFedConfigSpec): FieldIssue[] {
  const issues: FieldIssue[] = [];
  const word = (path: string, value: unknown, supported: readonly string[]): void => {
    if (!supported.includes(String(value)))
      issues.push({ type: 'NotSupported', path, value, detail: '', supported });
  };
  const nanos = (path: string, value: string): bigint => {
    const parsed = parseDuration(value);
    const length = 'nanos' in parsed ? parsed.nanos : 0n;
    if (length <= 0n)
      issues.push({ type: 'Invalid', path, value, detail: 'should be a duration above 0, such as 30s' });
    return length;
  };
  const count = (path: string, value: number): void => {
    if (!Number.isInteger(value) || value <= 0)
      issues.push({ type: 'Invalid', path, value, detail: 'should be a whole number above 0' });
  };
  word('spec.scope', spec.scope, ['Cluster', 'Namespaced']);
  if (previous?.scope !== undefined && previous.scope !== spec.scope)
    issues.push({ type: 'Invalid', path: 'spec.scope', value: spec.scope, detail: 'field is immutable' });
  const { availableDelay, unavailableDelay, cacheSyncTimeout } = spec.controllerDuration;
  nanos('spec.controllerDuration.availableDelay', availableDelay);
  nanos('spec.controllerDuration.unavailableDelay', unavailableDelay);
  nanos('spec.controllerDuration.cacheSyncTimeout', cacheSyncTimeout);
  const at = 'spec.leaderElect';
  const lease = nanos(`${at}.leaseDuration`, spec.leaderElect.leaseDuration);
  const renew = nanos(`${at}.renewDeadline`, spec.leaderElect.renewDeadline);
  const retry = nanos(`${at}.retryPeriod`, spec.leaderElect.retryPeriod);
  if (lease <= renew)
    issues.push({
      type: 'Invalid',
      path: `${at}.leaseDuration`,
      value: spec.leaderElect.leaseDuration,
      detail: 'should be longer than renewDeadline',
    });
  // Tries are spread by a fifth, and the last one must still be in time.
  if (renew * 5n <= retry * 6n)
    issues.push({
      type: 'Invalid',
      path: `${at}.renewDeadline`,
      value: spec.leaderElect.renewDeadline,
      detail: 'should be longer than 1.2 times retryPeriod',
    });
  word(`${at}.resourceLock`, spec.leaderElect.resourceLock, ['configmaps', 'endpoints']);
  const seen = new Set<string>();
  for (const [index, gate] of spec.featureGates.entries()) {
    const path = `spec.featureGates[${index}]`;
    if (!isObject(gate)) continue;
    word(`${path}.name`, gate.name, Object.keys(FEATURE_GATES));
    word(`${path}.configuration`, gate.configuration, ['Enabled', 'Disabled']);
    if (seen.has(gate.name))
      issues.push({ type: 'Duplicate', path: `${path}.name`, value: gate.name, detail: '' });
    seen.add(gate.name);
  }
  nanos('spec.clusterHealthCheck.period', spec.clusterHealthCheck.period);
  nanos('spec.clusterHealthCheck.timeout', spec.clusterHealthCheck.timeout);
  count('spec.clusterHealthCheck.failureThreshold', spec.clusterHealthCheck.failureThreshold);
  count('spec.clusterHealthCheck.successThreshold', spec.clusterHealthCheck.successThreshold);
  count('spec.syncController.maxConcurrentReconciles', spec.syncController.maxConcurrentReconciles);
  count('spec.statusController.maxConcurrentReconciles', spec.statusController.maxConcurrentReconciles);
  word('spec.syncController.adoptResources', spec.syncController.adoptResources, ['Enabled', 'Disabled']);
  return issues;
}
