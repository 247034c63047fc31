import { gvkOf, type KubeObject } from '../../kube/object.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';
import type { ResourceSelector } from './select.ts';

/**
 * Finds sources by what their selectors can reach, so that a change of one object, or a claim to it, looks at those only that may
 * mean it, however many there are.
 */
export interface Reach {
  /** The selectors of a source, instead of those that it had. */
  set(key: string, selectors: readonly ResourceSelector[]): void;
  delete(key: string): void;
  /** The sources that may select an object: all that do, and perhaps some that do not. */
  of(object: KubeObject): ReadonlySet<string>;
}

const ANY = '*';

export function createReach(): Reach {
  const keysAt = new Map<string, Set<string>>();
  const placesOf = new Map<string, readonly string[]>();

  function drop(key: string): void {
    for (const place of placesOf.get(key) ?? []) {
      const keys = keysAt.get(place);
      if (keys?.delete(key) === true && keys.size === 0) keysAt.delete(place);
    }
    placesOf.delete(key);
  }

  /** Of the labels that an object must have, the one that the fewest others ask for. */
  function closest(base: string, selector: LabelSelector | undefined): readonly string[] {
    let best: readonly string[] = [base];
    let least = Infinity;
    for (const places of labelled(base, selector)) {
      const crowd = places.reduce((sum, place) => sum + (keysAt.get(place)?.size ?? 0), 0);
      if (crowd >= least) continue;
      best = places;
      least = crowd;
    }
    return best;
  }

  function collect(place: string, into: Set<string>): void {
    for (const key of keysAt.get(place) ?? []) into.add(key);
  }

  return {
    set(key, selectors): void {
      drop(key);
      const places = selectors.flatMap(({ apiVersion, kind, namespace = ANY, name, labelSelector }) => {
        const base = placeText(gvkOf({ apiVersion, kind }).group, kind, namespace, name ?? ANY);
        return name === undefined ? closest(base, labelSelector) : [base];
      });
      for (const place of places) {
        const keys = keysAt.get(place);
        if (keys) keys.add(key);
        else keysAt.set(place, new Set([key]));
      }
      placesOf.set(key, places);
    },
    delete: drop,
    of(object): ReadonlySet<string> {
      const found = new Set<string>();
      const { group, kind } = gvkOf(object);
      const { namespace = '', name = '', labels = {} } = object.metadata;
      for (const where of [namespace, ANY]) {
        collect(placeText(group, kind, where, name), found);
        const base = placeText(group, kind, where, ANY);
        collect(base, found);
        for (const label in labels) collect(labelText(base, label, labels[label] ?? ''), found);
      }
      return found;
    },
  };
}

/** Alternatives: the places of an object that has a label with one of its allowed values, for each label that must be there. */
function* labelled(base: string, selector: LabelSelector | undefined): Iterable<readonly string[]> {
  for (const [label, value] of Object.entries(selector?.matchLabels ?? {}))
    yield [labelText(base, label, value)];
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? [])
    if (operator === 'In') yield values.map((value) => labelText(base, key, value));
}

function placeText(group: string, kind: string, namespace: string, name: string): string {
  return `${group}/${kind}/${namespace}/${name}`;
}

function labelText(base: string, label: string, value: string): string {
  return `${base} ${label}=${value}`;
}
