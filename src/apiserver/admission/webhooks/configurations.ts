import type { KubeObject } from '../../../kube/object.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  stringAt,
} from '../../../schema/json.ts';
import { type Selector, selectorFromObject } from '../../../schema/label-selector.ts';
import { clusterPrefix, parseKey, resourcePrefix } from '../../store/key.ts';
import type { Store } from '../../store/store.ts';
import { type ClientConfig, clientConfigOf } from './client-config.ts';

export const ADMISSION_GROUP = 'admissionregistration.k8s.io';
const MUTATING = 'mutatingwebhookconfigurations';
const VALIDATING = 'validatingwebhookconfigurations';
const KINDS = [MUTATING, VALIDATING];

export interface Rule {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: string;
}

/** One webhook of a configuration, read once. */
export interface Webhook {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly ignoresFailure: boolean;
  readonly matchesEquivalent: boolean;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  readonly allowsDryRun: boolean;
  readonly timeoutMs: number;
  readonly reviewVersion: 'v1' | 'v1beta1';
  /** Called once more when the object changes after it was called. */
  readonly reinvoked: boolean;
  readonly client: ClientConfig;
}

/** The webhooks of a logical cluster, in the order in which they are called. */
export interface Webhooks {
  readonly mutating: readonly Webhook[];
  readonly validating: readonly Webhook[];
}

export interface Configurations {
  /** `undefined` for a cluster without webhooks. */
  of(cluster: string): Webhooks | undefined;
  close(): void;
}

/** Keeps what the configurations in the store say, cluster by cluster, as of now. */
export function webhookConfigurations(store: Store): Configurations {
  const known = new Map<string, Webhooks>();
  let total = 0;
  for (const resource of KINDS) total += store.count(resourcePrefix(ADMISSION_GROUP, resource));
  const watches = KINDS.map((resource) =>
    store.watch(resourcePrefix(ADMISSION_GROUP, resource), store.revision, (events) => {
      for (const { type, record } of events) {
        if (type === 'created') total += 1;
        if (type === 'deleted') total -= 1;
        known.delete(parseKey(record.key).cluster);
      }
    }),
  );
  const read = (resource: string, cluster: string): Webhook[] =>
    store
      .list(clusterPrefix(ADMISSION_GROUP, resource, cluster))
      .records.flatMap(({ object }) => webhooksOf(object));
  return {
    of(cluster) {
      if (total === 0) return undefined;
      const found = known.get(cluster);
      if (found) return found;
      // The usual case, which is not worth remembering for every cluster.
      if (KINDS.every((resource) => store.count(clusterPrefix(ADMISSION_GROUP, resource, cluster)) === 0))
        return undefined;
      const mutating = read(MUTATING, cluster);
      const validating = read(VALIDATING, cluster);
      const webhooks = { mutating, validating };
      known.set(cluster, webhooks);
      return webhooks;
    },
    close() {
      for (const watch of watches) watch.stop();
    },
  };
}

function webhooksOf(configuration: KubeObject): Webhook[] {
  return listAt(configuration, 'webhooks').filter(isObject).map(webhookOf);
}

function webhookOf(webhook: JsonObject): Webhook {
  return {
    name: stringAt(webhook, 'name') ?? '',
    rules: listAt(webhook, 'rules').filter(isObject).map(ruleOf),
    ignoresFailure: webhook.failurePolicy === 'Ignore',
    matchesEquivalent: webhook.matchPolicy !== 'Exact',
    namespaceSelector: selectorFromObject(objectAt(webhook, 'namespaceSelector') ?? {}).selector,
    objectSelector: selectorFromObject(objectAt(webhook, 'objectSelector') ?? {}).selector,
    matchConditions: listAt(webhook, 'matchConditions').map((condition) => ({
      name: stringAt(condition, 'name') ?? '',
      expression: stringAt(condition, 'expression') ?? '',
    })),
    allowsDryRun: webhook.sideEffects === 'None' || webhook.sideEffects === 'NoneOnDryRun',
    timeoutMs: (numberAt(webhook, 'timeoutSeconds') ?? 10) * 1000,
    reviewVersion: reviewVersionOf(texts(webhook.admissionReviewVersions)),
    reinvoked: webhook.reinvocationPolicy === 'IfNeeded',
    client: clientConfigOf(objectAt(webhook, 'clientConfig')),
  };
}

/** The first that both sides know. */
function reviewVersionOf(offered: readonly string[]): 'v1' | 'v1beta1' {
  return offered.find((version) => version === 'v1' || version === 'v1beta1') === 'v1beta1'
    ? 'v1beta1'
    : 'v1';
}

function ruleOf(rule: JsonObject): Rule {
  return {
    operations: texts(rule.operations),
    apiGroups: texts(rule.apiGroups),
    apiVersions: texts(rule.apiVersions),
    resources: texts(rule.resources),
    scope: stringAt(rule, 'scope') ?? '*',
  };
}

function texts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
