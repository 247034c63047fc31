import type { KubeObject } from '../../src/kube/object.ts';
import { listAt } from '../../src/schema/json.ts';
import { conditionMessage, conditionOf } from './fleet.ts';
import type { GraphCluster } from './graph-cluster.ts';

const RBAC = 'rbac.authorization.k8s.io';
export const WRITE: readonly string[] = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
export const MAPS: object = { apiGroups: [''], resources: ['configmaps'], verbs: WRITE };
export const WIDGETS: object = { apiGroups: ['a.example'], resources: ['*'], verbs: WRITE };

/** A Role and its binding to a service account. */
export function rights(rules: readonly object[], account: string): KubeObject[] {
  const metadata = { name: `of-${account}` };
  return [
    { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'default' }],
    },
  ] as KubeObject[];
}

export function graphObject(nodes: readonly object[], spec: object = {}, name = 'mine'): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Graph', metadata: { name }, spec: { ...spec, nodes } };
}

export function plainMap(name: string, data: object): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

export function widgets(kind = 'Widget'): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.toLowerCase()}s.a.example` },
    spec: {
      group: 'a.example',
      scope: 'Namespaced',
      names: {
        kind,
        plural: `${kind.toLowerCase()}s`,
        singular: kind.toLowerCase(),
        listKind: `${kind}List`,
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
          subresources: { status: {} },
        },
      ],
    },
  };
}

/** Words of tests about Graphs in the namespace `default`. */
export interface GraphWords {
  /** Gives a service account, `default` by default, rights in the namespace. */
  allow(rules: readonly object[], account?: string): Promise<void>;
  graph(name?: string): KubeObject | undefined;
  ready(name?: string): Promise<void>;
  /** Waits for a text in what the Graph says. */
  told(text: string, name?: string): Promise<void>;
  message(name?: string): string;
  contributed(): number;
  leave(name?: string): Promise<void>;
}

export function graphWords(of: () => GraphCluster): GraphWords {
  async function until(condition: () => boolean, what: string, name: string): Promise<void> {
    await of()
      .until(condition, what)
      .catch((error: unknown) => {
        throw new Error(JSON.stringify(words.graph(name)?.['status']), { cause: error });
      });
  }
  const words: GraphWords = {
    async allow(rules, account = 'default') {
      for (const object of rights(rules, account)) await of().write(object);
    },
    graph: (name = 'mine') => of().stored(`kro.run/graphs/default/${name}`),
    ready: (name = 'mine') =>
      until(() => conditionOf(words.graph(name), 'Ready') === 'True/Ready', `${name} ready`, name),
    told: (text, name = 'mine') => until(() => words.message(name).includes(text), text, name),
    message: (name = 'mine') => conditionMessage(words.graph(name), 'ResourcesConverged'),
    contributed: () => listAt(words.graph(), 'status', 'contributions').length,
    async leave(name = 'mine') {
      await of().remove('kro.run/v1alpha1', 'Graph', name);
      await of().until(() => words.graph(name) === undefined, `${name} gone`);
    },
  };
  return words;
}
