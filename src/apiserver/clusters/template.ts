import { createHash } from 'node:crypto';
import type { KubeObject } from '../../kube/object.ts';
import { resourcePrefix } from '../store/key.ts';

/** An object that every logical cluster has from its beginning, in the form in which it is stored. */
export interface SharedObject {
  /** Group and plural of its key in the store. */
  readonly group: string;
  readonly resource: string;
  readonly object: KubeObject;
}

/** A shared object without what differs between clusters: uid, times, resource version. */
export interface Template {
  /** The end of its key: `<namespace or ->/<name>`. */
  readonly suffix: string;
  readonly object: KubeObject;
}

/** The templates of one resource. */
export interface ResourceTemplates {
  /** In order of their suffix. */
  readonly sorted: readonly Template[];
  readonly bySuffix: ReadonlyMap<string, Template>;
}

export interface TemplateSet {
  /** Names the content: another digest, other objects. */
  readonly digest: string;
  /** By prefix of the resource. */
  readonly byResource: ReadonlyMap<string, ResourceTemplates>;
  /** Whether any shared object is in a namespace of this name. */
  hasNamespace(namespace: string): boolean;
}

/** Takes shared objects over: they must not be changed afterwards. */
export function templateSet(objects: readonly SharedObject[]): TemplateSet {
  const lists = new Map<string, Template[]>();
  for (const { group, resource, object } of objects) {
    const { name = '', namespace = '' } = object.metadata;
    const template: Template = {
      suffix: `${namespace === '' ? '-' : namespace}/${name}`,
      object: { ...object, metadata: withoutIdentity(object.metadata) },
    };
    const prefix = resourcePrefix(group, resource);
    const list = lists.get(prefix);
    if (list) list.push(template);
    else lists.set(prefix, [template]);
  }
  const hash = createHash('sha256');
  const byResource = new Map<string, ResourceTemplates>();
  for (const prefix of [...lists.keys()].sort()) {
    const sorted = (lists.get(prefix) ?? []).sort((a, b) => (a.suffix < b.suffix ? -1 : 1));
    hash.update(prefix);
    for (const template of sorted) hash.update(JSON.stringify(template.object));
    byResource.set(prefix, {
      sorted,
      bySuffix: new Map(sorted.map((template) => [template.suffix, template])),
    });
  }
  const namespaces = new Set(objects.map(({ object }) => object.metadata.namespace));
  return {
    digest: hash.digest('hex').slice(0, 16),
    byResource,
    hasNamespace: (namespace) => namespaces.has(namespace),
  };
}

/** Keeps the places of what is filled in later, so that every object has its fields in the usual order. */
function withoutIdentity(metadata: KubeObject['metadata']): KubeObject['metadata'] {
  const { managedFields } = metadata;
  return {
    ...metadata,
    uid: '',
    resourceVersion: '',
    creationTimestamp: '',
    ...(managedFields ? { managedFields: managedFields.map((entry) => ({ ...entry, time: '' })) } : {}),
  };
}
