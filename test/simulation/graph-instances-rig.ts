// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionMessage } from './fleet.ts';
import { configMap, type GraphCluster, shopWords } from './graph-cluster.ts';

export const SPEC: object = { colour: 'string | default=red' };

export const CHAIN: readonly object[] = [
  configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' }),
  configMap('second', '${first.metadata.name}-2', { colour: '${first.data.colour}' }),
  configMap('third', '${second.metadata.name}-3', { colour: '${second.data.colour}' }),
];

export const plainMap = (name: string, data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

export const managers = (object: KubeObject | undefined): string[] =>
  (object?.metadata.managedFields ?? []).map(({ manager = '', operation = '', subresource = '' }) =>
    [manager, operation, subresource].filter((item) => item !== '').join(' '),
  );

/** Words of tests about instances of Shops. */
export interface InstanceWords {
  message(name?: string): string;
  maps(): string[];
  leave(name?: string): Promise<void>;
}

export function instanceWords(of: () => GraphCluster): InstanceWords {
  const { shop } = shopWords(of);
  const message = (name = 'one'): string => conditionMessage(shop(name), 'ResourcesReady');
  const maps = (): string[] =>
    of()
      .below('core/configmaps/default')
      .flatMap(({ metadata: { name = '' } }) => (name === 'kube-root-ca.crt' ? [] : [name]));
  const leave = (name = 'one'): Promise<void> => of().remove('kro.run/v1alpha1', 'Shop', name);
  return { message, maps, leave };
}
