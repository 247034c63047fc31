import type { ObjectQuery } from '../../engine/graph/index.ts';
import type { Change } from '../../kube/informer.ts';
import { type KubeObject, parseApiVersion, refKey, refOf } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';

/** What an instance looked at, so that a change of it is a reason to look again. */
export interface Interest {
  /** By `refKey`. */
  readonly refs: ReadonlySet<string>;
  readonly queries: readonly ObjectQuery[];
}

/** Which instances a change concerns. */
export interface Interests {
  /** Tells of this from now on, besides what was asked before. */
  addRef(owner: string, key: string): void;
  addQuery(owner: string, query: ObjectQuery): void;
  /** Tells of nothing but this from now on. */
  set(owner: string, interest: Interest | undefined): void;
  of(change: Change): Set<string>;
  /** How many want to be told of objects of a kind, `apps/Deployment`, by name (scalar) and by labels (collection). */
  requests(): {
    readonly groupKind: string;
    readonly type: 'scalar' | 'collection';
    readonly count: number;
  }[];
}

export function createInterests(): Interests {
  const interests = new Map<string, { refs: Set<string>; queries: ObjectQuery[] }>();
  const byRef = new Map<string, Set<string>>();
  const byKind = new Map<string, Set<string>>();

  function add(index: Map<string, Set<string>>, key: string, owner: string): void {
    const owners = index.get(key);
    if (owners) owners.add(owner);
    else index.set(key, new Set([owner]));
  }
  function remove(index: Map<string, Set<string>>, key: string, owner: string): void {
    const owners = index.get(key);
    owners?.delete(owner);
    if (owners?.size === 0) index.delete(key);
  }

  function of(owner: string): { refs: Set<string>; queries: ObjectQuery[] } {
    const before = interests.get(owner);
    if (before) return before;
    const made = { refs: new Set<string>(), queries: [] };
    interests.set(owner, made);
    return made;
  }

  return {
    addRef(owner, key) {
      of(owner).refs.add(key);
      add(byRef, key, owner);
    },
    addQuery(owner, query) {
      const { queries } = of(owner);
      // Each look that fails asks the same anew.
      if (!queries.some((known) => deepEqual({ ...known }, { ...query }))) queries.push(query);
      add(byKind, kindKey(query), owner);
    },
    set(owner, interest) {
      const before = interests.get(owner);
      for (const key of before?.refs ?? []) if (!interest?.refs.has(key)) remove(byRef, key, owner);
      for (const query of before?.queries ?? []) remove(byKind, kindKey(query), owner);
      if (!interest) {
        interests.delete(owner);
        return;
      }
      interests.set(owner, { refs: new Set(interest.refs), queries: [...interest.queries] });
      for (const key of interest.refs) add(byRef, key, owner);
      for (const query of interest.queries) add(byKind, kindKey(query), owner);
    },
    requests() {
      const scalar = new Map<string, number>();
      for (const [key, owners] of byRef) {
        const [group = '', kind = ''] = key.split('/', 2);
        const groupKind = `${group}/${kind}`;
        scalar.set(groupKind, (scalar.get(groupKind) ?? 0) + owners.size);
      }
      return [
        ...[...scalar].map(([groupKind, count]) => ({ groupKind, type: 'scalar' as const, count })),
        ...[...byKind].map(([groupKind, { size: count }]) => ({
          groupKind,
          type: 'collection' as const,
          count,
        })),
      ];
    },
    of({ object, previous }) {
      const found = new Set(byRef.get(refKey(refOf(object))));
      for (const owner of byKind.get(kindKey(object)) ?? []) {
        if (found.has(owner)) continue;
        const queries = interests.get(owner)?.queries ?? [];
        // What no longer matches has left, which is a change as well.
        if (queries.some((query) => matches(query, object) || (previous && matches(query, previous))))
          found.add(owner);
      }
      return found;
    },
  };
}

/** Whether an object is one of those that a query asks for. */
export function matches(query: ObjectQuery, object: KubeObject): boolean {
  if (kindKey(query) !== kindKey(object)) return false;
  if (query.namespace !== '' && query.namespace !== object.metadata.namespace) return false;
  const { selector } = selectorFromObject(query.selector);
  return matchesSelector(selector, object.metadata.labels ?? {});
}

function kindKey({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  return `${parseApiVersion(apiVersion).group}/${kind}`;
}
