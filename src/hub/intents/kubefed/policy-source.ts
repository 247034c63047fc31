import { compileFederationPlacement, type FederationPlacement } from '../../../dialects/kubefed/index.ts';
import type { Compiled } from '../../../engine/compiled.ts';
import type { Intent } from '../../../engine/intent.ts';
import type { Result } from '../../../kube/controller.ts';
import type { EventRecorder } from '../../../kube/events.ts';
import { formatApiVersion } from '../../../kube/object.ts';
import {
  authorOf,
  type ControlPlane,
  type Early,
  earlyKeyOf,
  type Federation,
  POLICY_KEY,
} from '../../kubefed/index.ts';
import { setFinalizers } from '../finalizers.ts';
import type { IntentSource } from '../intent-source.ts';
import type { IntentRecords } from '../records.ts';
import { recordedSource, rememberDecision } from './recorded.ts';

const FINALIZER = 'federation.k8s.io/federationplacement';

/** Kinds that a policy looks for in its namespace, beside those that are federated. */
const KINDS: readonly (readonly [apiVersion: string, kind: string])[] = [
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'Service'],
  ['v1', 'ServiceAccount'],
  ['apps/v1', 'Deployment'],
  ['batch/v1', 'Job'],
  ['networking.k8s.io/v1', 'Ingress'],
];

export interface PolicySourceOptions {
  readonly controlPlane: ControlPlane;
  readonly early: Early;
  readonly federation: Federation;
  readonly records: IntentRecords;
  readonly events: EventRecorder;
  readonly authorsBelieved: () => boolean;
}

/** FederationPlacements: objects of their namespace with some labels, on clusters with some labels. */
export function openPolicySource(
  options: PolicySourceOptions,
  onChange: (key: string) => void,
): IntentSource<FederationPlacement> {
  const { controlPlane, early, federation, records, events } = options;
  const { client } = controlPlane;
  const told = new Map<string, string>();
  const unsubscribe = early.onWish((key) => {
    if (key.startsWith(`${POLICY_KEY}/`)) onChange(key);
  });

  function authorIn(policy: FederationPlacement): Intent['author'] {
    return (options.authorsBelieved() ? authorOf(policy) : undefined) ?? controlPlane.author;
  }

  function kinds(): readonly (readonly [string, string])[] {
    const out = new Map(KINDS.map((item) => [item.join(), item]));
    for (const { type } of federation.types()) {
      if (type?.target.scope !== 'Namespaced') continue;
      const item = [
        formatApiVersion(type.target.group ?? '', type.target.version),
        type.target.kind,
      ] as const;
      out.set(item.join(), item);
    }
    return [...out.values()];
  }

  return {
    finalizer: FINALIZER,
    get synced() {
      return early.synced;
    },
    owns: (key) => key.startsWith(`${POLICY_KEY}/`),
    get(key) {
      const [, namespace = '', name = ''] = key.split('/');
      return early.synced && !early.blind ? early.policies.get(namespace, name) : undefined;
    },
    *entries(): Iterable<[string, FederationPlacement]> {
      if (!early.synced || early.blind) return;
      for (const policy of early.policies.list()) yield [earlyKeyOf(POLICY_KEY, policy), policy];
    },
    compile(policy, { objects }): Compiled {
      const { intent, skipped, hold } = compileFederationPlacement(
        policy,
        kinds().flatMap(([apiVersion, kind]) => objects(apiVersion, kind)),
        authorIn(policy),
      );
      return { intent, skipped, emptySelectors: [], problems: hold === undefined ? [] : [hold] };
    },
    concernedBy: ({ metadata }, _compiled, changed) => changed.metadata.namespace === metadata.namespace,
    author: authorIn,
    record: (policy) => records.get(recordedSource(policy)),
    writeRecord: async (policy, record) => records.write(recordedSource(policy), record),
    async report(policy, findings): Promise<Result | undefined> {
      await rememberDecision(records, policy, findings);
      const { selection, summary } = findings;
      const [bad] = summary.notReady.filter(({ word }) => word === 'Degraded');
      const text = selection.ok || selection.reason === 'Reading' ? (bad?.message ?? '') : selection.message;
      const key = earlyKeyOf(POLICY_KEY, policy);
      if ((told.get(key) ?? '') === text) return undefined;
      told.set(key, text);
      if (text !== '')
        events.record(policy, 'Warning', selection.ok ? 'CheckClusters' : selection.reason, text);
      return undefined;
    },
    async setFinalizers(policy, finalizers): Promise<void> {
      const { resource } = early.policies;
      if (!resource) return;
      await setFinalizers(client, resource, policy, finalizers);
      if (!finalizers.includes(FINALIZER) && policy.metadata.deletionTimestamp !== undefined)
        await records.remove(recordedSource(policy));
    },
    stop(): void {
      unsubscribe();
    },
  };
}
