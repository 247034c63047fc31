import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { flag, record, text } from '../../schema/schema-of.ts';

/** Something that is wrong somewhere, as whoever watches over things says. */
export interface Incident extends KubeObject {
  readonly spec: {
    readonly severity: string;
    readonly message?: string;
    readonly closed?: boolean;
  };
}

export const INCIDENT: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'Incident',
  plural: 'incidents',
  categories: ['atoll'],
  scope: 'Namespaced',
  description:
    'Something that is wrong, until it is closed or gone: rollouts of its namespace that name its severity pause; one in atoll-system concerns all rollouts.',
  spec: record(
    {
      severity: text('Such as critical.', { minLength: 1, maxLength: 63 }),
      message: text('For people.', { maxLength: 1024 }),
      closed: flag('It is over.'),
    },
    undefined,
    { required: ['severity'] },
  ),
  columns: [
    { name: 'Severity', type: 'string', jsonPath: '.spec.severity' },
    { name: 'Closed', type: 'boolean', jsonPath: '.spec.closed' },
    { name: 'Message', type: 'string', jsonPath: '.spec.message' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export interface Incidents {
  /** Severities of what is open for an intent of a namespace, sorted. */
  openIn(namespace: string): readonly string[];
  /** Before it resolves nobody knows whether something is open. */
  whenSynced(): Promise<void>;
  stop(): void;
}

/** `onChange` hears of namespaces in which something was opened or closed; `undefined` is all of them. */
export function followIncidents(
  runtime: Runtime,
  client: Client,
  onChange: (namespace: string | undefined) => void,
): Incidents {
  const informer = startInformer<Incident>(runtime, client, resourceIdOf(INCIDENT));
  informer.onChange(({ object }) => {
    const { namespace } = object.metadata;
    if (informer.synced) onChange(namespace === SYSTEM_NAMESPACE ? undefined : namespace);
  });
  return {
    openIn(namespace): readonly string[] {
      const found = [SYSTEM_NAMESPACE, ...(namespace === '' ? [] : [namespace])].flatMap((one) =>
        informer.list(one),
      );
      const open = found.filter(({ spec }) => spec.closed !== true).map(({ spec }) => spec.severity);
      return [...new Set(open)].sort();
    },
    whenSynced: () => informer.whenSynced(),
    stop: () => informer.stop(),
  };
}
