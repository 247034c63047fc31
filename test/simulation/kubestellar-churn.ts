import type { KubeObject } from '../../src/kube/object.ts';

/** What a history of policies, objects, namespaces and clusters comes to, kept in the plainest way. */
export interface ChurnOracle {
  /** By `namespace/name`. */
  readonly maps: Map<string, Labels>;
  readonly namespaces: Map<string, Labels>;
  readonly clusters: Map<string, Labels>;
  readonly policies: Map<string, ChurnPolicy>;
}

type Labels = Readonly<Record<string, string>>;

export interface ChurnPolicy {
  /** The clusters that it goes to by their label `tier`; all where it is `*`. */
  readonly tier: string;
  readonly by: 'label' | 'namespace' | 'name';
  readonly value: string;
}

export function churnOracle(): ChurnOracle {
  return { maps: new Map(), namespaces: new Map(), clusters: new Map(), policies: new Map() };
}

/** The config maps that a cluster is to have, sorted. */
export function expectedOn(oracle: ChurnOracle, cluster: string): string[] {
  const { maps, namespaces, clusters, policies } = oracle;
  const goesThere = [...policies.values()].filter(
    ({ tier }) => tier === '*' || clusters.get(cluster)?.['tier'] === tier,
  );
  return [...maps]
    .filter(([key, labels]) => {
      const [namespace = '', name = ''] = key.split('/');
      return goesThere.some(({ by, value }) => {
        if (by === 'label') return labels['l'] === value;
        return by === 'namespace' ? namespaces.get(namespace)?.['l'] === value : name === value;
      });
    })
    .map(([key]) => key)
    .sort();
}

export function churnObject(name: string, { tier, by, value }: ChurnPolicy): KubeObject {
  const labelled = [{ matchLabels: { l: value } }];
  const clause = {
    label: { objectSelectors: labelled },
    namespace: { namespaceSelectors: labelled },
    name: { objectNames: [value] },
  }[by];
  return {
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'BindingPolicy',
    metadata: { name },
    spec: {
      clusterSelectors: [tier === '*' ? {} : { matchLabels: { tier } }],
      downsync: [{ resources: ['configmaps'], ...clause }],
    },
  };
}
