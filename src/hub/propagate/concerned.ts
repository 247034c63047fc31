import type { Compiled } from '../../engine/compiled.ts';
import { createReach } from '../../engine/select/index.ts';
import type { Change } from '../../kube/informer.ts';
import type { Intents } from '../intents/index.ts';

/** Which intents a change of an object of the hub may concern. */
export interface Concerned {
  /** An intent came, went or changed. */
  touch(key: string): void;
  /** Of those that read the kind. */
  by(change: Change, readers: ReadonlySet<string>): Iterable<string>;
}

/** Those that say what they select are found by it; of the others each is asked. */
export function createConcerned(
  intents: () => Intents,
  compiledOf: (key: string) => Compiled | undefined,
): Concerned {
  const reach = createReach();
  /** Those that anything may concern. */
  const others = new Set<string>();
  const touched = new Set<string>();

  function takeIn(): void {
    for (const key of touched) {
      const intent = intents().get(key);
      const selectors = intent?.source.reach?.(intent.object);
      reach.delete(key);
      others.delete(key);
      if (selectors) reach.set(key, selectors);
      else if (intent) others.add(key);
    }
    touched.clear();
  }

  return {
    touch: (key) => void touched.add(key),
    *by({ object, previous }, readers): Iterable<string> {
      takeIn();
      const states = previous ? [object, previous] : [object];
      const isHit = (key: string): boolean => {
        const intent = readers.has(key) ? intents().get(key) : undefined;
        return (
          intent !== undefined &&
          states.some((state) => intent.source.concernedBy(intent.object, compiledOf(key), state))
        );
      };
      const found = new Set(states.flatMap((state) => [...reach.of(state)]));
      for (const key of found) if (isHit(key)) yield key;
      for (const key of others) if (isHit(key)) yield key;
    },
  };
}
