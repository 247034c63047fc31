import { clusterFactsOf } from '../dialects/kubevela/cluster-facts.ts';
import { clusterInfoOf } from '../dialects/kubevela/cluster-info.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { type LocalFacts, localFactsOf } from '../engine/render/local-facts.ts';
import type { Client } from '../kube/client.ts';
import { apiVersionOf } from '../kube/custom-resource.ts';
import type { KubeObject } from '../kube/object.ts';
import { deepEqual } from '../schema/json.ts';

/** What the cluster knows of itself, for values of overrides that depend on it. Needs no hub. */
export interface OwnFacts {
  /** The same object as long as nothing of it changes. */
  current(): LocalFacts | undefined;
  /** Looks again; true where something is different. */
  refresh(): Promise<boolean>;
}

export interface OwnFactsOptions {
  readonly client: Client;
  readonly name: string;
  readonly nodes: () => readonly KubeObject[];
  readonly properties: () => Record<string, string>;
}

/** The facts are made as the hub makes them from what the cluster reports, so that both come to the same values. */
export function ownFactsOf(
  name: string,
  gitVersion: string,
  nodes: readonly KubeObject[],
  properties: Record<string, string>,
): LocalFacts {
  return localFactsOf(
    clusterFactsOf({
      apiVersion: apiVersionOf(SPOKE_CLUSTER),
      kind: SPOKE_CLUSTER.kind,
      metadata: { name },
      spec: { credential: { type: 'tunnel' } },
      status: {
        clusterInfo: clusterInfoOf(gitVersion, nodes),
        ...(Object.keys(properties).length === 0 ? {} : { properties }),
      },
    }),
  );
}

export function ownFacts({ client, name, nodes, properties }: OwnFactsOptions): OwnFacts {
  let facts: LocalFacts | undefined;
  return {
    current: () => facts,
    async refresh(): Promise<boolean> {
      const { gitVersion = '' } = await client.getJson<{ gitVersion?: string }>('/version');
      const next = ownFactsOf(name, gitVersion, nodes(), properties());
      if (facts && deepEqual(facts, next)) return false;
      facts = next;
      return true;
    },
  };
}
