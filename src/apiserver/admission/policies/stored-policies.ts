import type { KubeObject } from '../../../kube/object.ts';
import { type JsonObject, listAt, objectAt, stringAt } from '../../../schema/json.ts';
import { clusterPrefix, parseKey, resourcePrefix } from '../../store/key.ts';
import type { Store, StoreRecord } from '../../store/store.ts';
import { type Match, matchOf } from './match.ts';
import { type ParamRef, paramRefOf } from './params.ts';
import {
  type MutatingPolicy,
  mutatingPolicy,
  type Policy,
  type ValidatingPolicy,
  validatingPolicy,
} from './policy.ts';

const GROUP = 'admissionregistration.k8s.io';

export interface Binding {
  readonly name: string;
  /** `undefined` for all that its policy is about. */
  readonly match: Match | undefined;
  readonly paramRef: ParamRef | undefined;
  /** Deny, Warn, Audit. */
  readonly actions: readonly string[];
}

/** A policy with the bindings that put it to use. */
export interface BoundPolicy<P extends Policy> {
  readonly policy: P;
  readonly bindings: readonly Binding[];
}

/** The policies of a logical cluster in the order of their names. */
export interface ClusterPolicies {
  readonly validating: readonly BoundPolicy<ValidatingPolicy>[];
  readonly mutating: readonly BoundPolicy<MutatingPolicy>[];
}

export interface StoredPolicies {
  /** `undefined` for a cluster in which none is in force. */
  of(cluster: string): ClusterPolicies | undefined;
  close(): void;
}

const POLICIES = ['validatingadmissionpolicies', 'mutatingadmissionpolicies'] as const;
const BINDINGS = ['validatingadmissionpolicybindings', 'mutatingadmissionpolicybindings'] as const;

/** Keeps what the policies in the store say, cluster by cluster, as of now. A version of a policy is compiled once. */
export function storedPolicies(store: Store): StoredPolicies {
  const clusters = new Map<string, ClusterPolicies | undefined>();
  const compiled = new Map<string, { readonly revision: number; readonly policy: Policy }>();
  const watches = [...POLICIES, ...BINDINGS].map((resource) =>
    store.watch(resourcePrefix(GROUP, resource), store.revision, (events) => {
      for (const { type, record } of events) {
        clusters.delete(parseKey(record.key).cluster);
        if (type === 'deleted') compiled.delete(record.key);
      }
    }),
  );

  function compiledOf<P extends Policy>(record: StoreRecord, compile: (object: KubeObject) => P): P {
    const known = compiled.get(record.key);
    // Keys tell the two kinds of policies apart.
    if (known?.revision === record.revision) return known.policy as P;
    const policy = compiledOnce(record.object, compile);
    compiled.set(record.key, { revision: record.revision, policy });
    return policy;
  }

  function bound<P extends Policy>(
    cluster: string,
    policies: string,
    bindings: string,
    compile: (object: KubeObject) => P,
  ): BoundPolicy<P>[] {
    const byPolicy = new Map<string, Binding[]>();
    for (const { object } of store.list(clusterPrefix(GROUP, bindings, cluster)).records) {
      const name = stringAt(object, 'spec', 'policyName') ?? '';
      byPolicy.set(name, [...(byPolicy.get(name) ?? []), bindingOf(object)]);
    }
    if (byPolicy.size === 0) return [];
    return store.list(clusterPrefix(GROUP, policies, cluster)).records.flatMap((record) => {
      const own = byPolicy.get(record.object.metadata.name ?? '');
      return own ? [{ policy: compiledOf(record, compile), bindings: own }] : [];
    });
  }

  return {
    of(cluster) {
      if (clusters.has(cluster)) return clusters.get(cluster);
      const validating = bound(cluster, POLICIES[0], BINDINGS[0], (object) => validatingPolicy(object));
      const mutating = bound(cluster, POLICIES[1], BINDINGS[1], (object) => mutatingPolicy(object));
      const found = validating.length + mutating.length === 0 ? undefined : { validating, mutating };
      clusters.set(cluster, found);
      return found;
    },
    close() {
      for (const watch of watches) watch.stop();
    },
  };
}

/** Servers of one process that have read the same policy from one storage share it: a policy has no state. */
const policies = new WeakMap<KubeObject, Policy>();

function compiledOnce<P extends Policy>(object: KubeObject, compile: (object: KubeObject) => P): P {
  // An object is of one kind, and each kind has its one way to be compiled.
  const known = policies.get(object) as P | undefined;
  if (known) return known;
  const policy = compile(object);
  policies.set(object, policy);
  return policy;
}

function bindingOf(object: KubeObject): Binding {
  const spec: JsonObject = objectAt(object, 'spec') ?? {};
  const match = objectAt(spec, 'matchResources');
  return {
    name: object.metadata.name ?? '',
    match: match && matchOf(match),
    paramRef: paramRefOf(spec),
    actions: listAt(spec, 'validationActions').filter((action) => typeof action === 'string'),
  };
}
