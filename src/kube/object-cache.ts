import type { Change } from './informer.ts';
import type { KubeObject } from './object.ts';

/** Objects of one resource by namespace and name. Every change is told to the function given with it. */
export interface ObjectCache<T extends KubeObject> {
  get(namespace: string, name: string): T | undefined;
  /** In key order. */
  list(namespace?: string): T[];
  put(object: T, tell: (change: Change<T>) => void): void;
  remove(object: T, tell: (change: Change<T>) => void): void;
  /** Makes `objects` the whole content; tells the difference. An object made anew under its name is deleted first. */
  replace(objects: readonly T[], tell: (change: Change<T>) => void): void;
}

interface Bucket<T> {
  readonly objects: Map<string, T>;
  /** Names in order; made when first listed, dropped when a name comes or goes. */
  order: string[] | undefined;
}

export function createObjectCache<T extends KubeObject>(): ObjectCache<T> {
  const buckets = new Map<string, Bucket<T>>();
  let namespaces: string[] | undefined;

  const get = (namespace: string, name: string): T | undefined => buckets.get(namespace)?.objects.get(name);

  function set(object: T): T | undefined {
    const namespace = object.metadata.namespace ?? '';
    const name = object.metadata.name ?? '';
    let bucket = buckets.get(namespace);
    if (!bucket) {
      bucket = { objects: new Map(), order: undefined };
      buckets.set(namespace, bucket);
      namespaces = undefined;
    }
    const previous = bucket.objects.get(name);
    if (!previous) bucket.order = undefined;
    bucket.objects.set(name, object);
    return previous;
  }

  function unset(object: T): T | undefined {
    const namespace = object.metadata.namespace ?? '';
    const name = object.metadata.name ?? '';
    const bucket = buckets.get(namespace);
    const previous = bucket?.objects.get(name);
    if (!bucket || !previous) return undefined;
    bucket.objects.delete(name);
    bucket.order = undefined;
    if (bucket.objects.size === 0) {
      buckets.delete(namespace);
      namespaces = undefined;
    }
    return previous;
  }

  function collect(namespace: string, into: T[]): void {
    const bucket = buckets.get(namespace);
    if (!bucket) return;
    bucket.order ??= [...bucket.objects.keys()].sort();
    for (const name of bucket.order) {
      const object = bucket.objects.get(name);
      if (object) into.push(object);
    }
  }

  function put(object: T, tell: (change: Change<T>) => void): void {
    const previous = set(object);
    if (!previous) tell({ type: 'added', object });
    else if (previous.metadata.uid !== object.metadata.uid) {
      tell({ type: 'deleted', object: previous });
      tell({ type: 'added', object });
    } else if (
      previous.metadata.resourceVersion !== object.metadata.resourceVersion ||
      object.metadata.resourceVersion === undefined
    )
      tell({ type: 'updated', object, previous });
  }

  function remove(object: T, tell: (change: Change<T>) => void): void {
    const previous = unset(object);
    if (previous) tell({ type: 'deleted', object, previous });
  }

  function list(namespace?: string): T[] {
    const out: T[] = [];
    if (namespace !== undefined && namespace !== '') collect(namespace, out);
    else {
      namespaces ??= [...buckets.keys()].sort();
      for (const each of namespaces) collect(each, out);
    }
    return out;
  }

  return {
    get,
    list,
    put,
    remove,
    replace(objects, tell) {
      const present = new Set<string>();
      for (const object of objects) present.add(`${object.metadata.namespace ?? ''}/${object.metadata.name}`);
      for (const object of list()) {
        if (!present.has(`${object.metadata.namespace ?? ''}/${object.metadata.name}`)) remove(object, tell);
      }
      for (const object of objects) put(object, tell);
    },
  };
}
