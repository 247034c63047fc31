import type { Dispatch, DispatchSpec } from '../../engine/dispatch/index.ts';
import { deepEqual } from '../../schema/json.ts';

/** What the orders of one intent have in common, in memory once. */
export interface SharedSpecs {
  /**
   * Takes in what was read of a dispatch: a spec that did not change stays the object that it was, and parts that are as another
   * cluster was told are the same values.
   */
  share(dispatch: Dispatch, previous: Dispatch | undefined): void;
  /** A dispatch of this name is gone from a cluster. */
  forget(name: string): void;
}

/** Orders of an intent say nearly the same to all of its clusters, and the hub keeps a copy of each. */
export function sharedSpecs(): SharedSpecs {
  /** The spec seen last under each name. The clusters' copies keep it. */
  const models = new Map<string, WeakRef<DispatchSpec>>();
  return {
    share(dispatch, previous): void {
      const { name = '' } = dispatch.metadata;
      if (previous && deepEqual(dispatch.spec, previous.spec)) {
        Object.assign(dispatch, { spec: previous.spec });
        return;
      }
      const model: object | undefined = models.get(name)?.deref();
      if (model) takeOver(dispatch.spec, model);
      models.set(name, new WeakRef(dispatch.spec));
    },
    forget: (name) => void models.delete(name),
  };
}

function takeOver(spec: object, model: object): void {
  const parts = spec as Record<string, unknown>;
  const known = model as Readonly<Record<string, unknown>>;
  for (const part in parts) {
    const value = known[part];
    if (value !== undefined && Object.hasOwn(known, part) && deepEqual(parts[part], value))
      parts[part] = value;
  }
}
