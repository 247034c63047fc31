import { affinitySchema } from '../../dialects/propagation/placement-schema.ts';
import type { Intent } from '../../engine/intent.ts';
import { type ClusterAffinity, type CompiledAllow, compileAllow } from '../../engine/place/index.ts';
import type { Client } from '../../kube/client.ts';
import { type CustomKind, resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { list, record, text } from '../../schema/schema-of.ts';

/** Whose intents may be on which clusters, whatever they ask for. */
export interface PlacementPolicy extends KubeObject {
  readonly spec: {
    readonly namespaces?: readonly string[];
    readonly usernames?: readonly string[];
    readonly groups?: readonly string[];
    readonly clusters: ClusterAffinity;
  };
}

export const PLACEMENT_POLICY: CustomKind = {
  group: 'atoll.dev',
  version: 'v1alpha1',
  kind: 'PlacementPolicy',
  plural: 'placementpolicies',
  categories: ['atoll'],
  scope: 'Cluster',
  description:
    'Which clusters intents may be placed on, whatever they ask for. Where several apply to one, all of them must allow a cluster; where none does, every cluster is allowed.',
  spec: record(
    {
      namespaces: list(text(), 'Intents of these namespaces. Of all, and of none, where it is left out.', {
        maxItems: 10_000,
      }),
      usernames: list(
        text(),
        'Intents that one of them wrote. Whoever wrote it, where this and groups are left out.',
        {
          maxItems: 10_000,
        },
      ),
      groups: list(text(), 'Intents of authors who are in one of them.', { maxItems: 10_000 }),
      clusters: affinitySchema,
    },
    undefined,
    { required: ['clusters'] },
  ),
  columns: [
    { name: 'Namespaces', type: 'string', jsonPath: '.spec.namespaces' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

export interface PlacementPolicies {
  /** Those that apply to an intent, in name order. */
  allowing(intent: Intent): readonly CompiledAllow[];
  whenSynced(): Promise<void>;
  stop(): void;
}

export function followPlacementPolicies(
  runtime: Runtime,
  client: Client,
  onChange: () => void,
): PlacementPolicies {
  const policies = startInformer<PlacementPolicy>(runtime, client, resourceIdOf(PLACEMENT_POLICY));
  const compiled = new WeakMap<PlacementPolicy, CompiledAllow>();
  policies.onChange(onChange);

  function compiledOf(policy: PlacementPolicy): CompiledAllow {
    let allow = compiled.get(policy);
    if (!allow) {
      allow = compileAllow({ name: policy.metadata.name ?? '', clusters: policy.spec.clusters });
      compiled.set(policy, allow);
    }
    return allow;
  }

  return {
    allowing(intent): readonly CompiledAllow[] {
      const found = policies.list().filter((policy) => appliesTo(policy, intent));
      found.sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
      return found.map(compiledOf);
    },
    whenSynced: () => policies.whenSynced(),
    stop: () => policies.stop(),
  };
}

function appliesTo({ spec }: PlacementPolicy, { source, author }: Intent): boolean {
  const { namespaces, usernames, groups } = spec;
  if (namespaces !== undefined && !namespaces.includes(source.namespace)) return false;
  if (usernames === undefined && groups === undefined) return true;
  // Whom nobody knows no limit for anybody must let through.
  if (!author) return true;
  return (
    usernames?.includes(author.username) === true ||
    (author.groups ?? []).some((group) => groups?.includes(group) === true)
  );
}
