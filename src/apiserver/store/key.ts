/**
 * Keys are `/<group or core>/<resource>/<cluster>/<namespace or ->/<name>`: one order serves lists of a namespace, of a
 * logical cluster and over all logical clusters.
 */
export function objectKey(
  group: string,
  resource: string,
  cluster: string,
  namespace: string,
  name: string,
): string {
  return `${namespacePrefix(group, resource, cluster, namespace)}${name}`;
}

export function resourcePrefix(group: string, resource: string): string {
  return `/${group === '' ? 'core' : group}/${resource}/`;
}

export function clusterPrefix(group: string, resource: string, cluster: string): string {
  return `${resourcePrefix(group, resource)}${cluster}/`;
}

/** `namespace` '' is for cluster-scoped objects. */
export function namespacePrefix(group: string, resource: string, cluster: string, namespace: string): string {
  return `${clusterPrefix(group, resource, cluster)}${namespace === '' ? '-' : namespace}/`;
}

/** The logical cluster of a key. */
export function clusterOfKey(key: string): string {
  const start = key.indexOf('/', key.indexOf('/', 1) + 1) + 1;
  return key.slice(start, key.indexOf('/', start));
}

/** The group of what is the server's own and no part of the API: no group of the API can have this name. */
export const SERVER_GROUP = '_server';

export interface KeyParts {
  group: string;
  resource: string;
  cluster: string;
  namespace: string;
  name: string;
}

export function parseKey(key: string): KeyParts {
  const [, group = '', resource = '', cluster = '', namespace = '', ...name] = key.split('/');
  return {
    group: group === 'core' ? '' : group,
    resource,
    cluster,
    namespace: namespace === '-' ? '' : namespace,
    name: name.join('/'),
  };
}
