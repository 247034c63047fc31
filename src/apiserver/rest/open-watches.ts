import type { Runtime } from '../../runtime/index.ts';
import type { ResourceRegistry } from '../crd/index.ts';
import { flushTurns } from './flush-turns.ts';
import type { Scope } from './scope.ts';
import { type OpenWatches, resourceGone } from './watch.ts';

export interface WatchRegister extends OpenWatches {
  readonly size: number;
  /** Ends the watches in a logical cluster that has gone. */
  endCluster(cluster: string): void;
  /** Ends all watches. */
  close(): void;
}

interface Open {
  readonly scope: Scope;
  readonly end: (error?: ReturnType<typeof resourceGone>) => void;
}

/**
 * The watches that are open now. Those of a custom resource end when its definition stops serving it as it was, so that
 * clients begin anew with what is served now.
 */
export function openWatches(registry: ResourceRegistry, runtime: Runtime): WatchRegister {
  const turns = flushTurns(runtime);
  const open = new Set<Open>();
  const stop = registry.onChange((cluster) => {
    const resources = registry.of(cluster);
    for (const watch of open) {
      const { scope } = watch;
      const { group, version, resource } = scope.resource;
      if ((scope.consumersOf ?? scope.cluster) !== cluster || !scope.resource.custom) continue;
      if (resources.find(group, version, resource) !== scope.resource) watch.end(resourceGone(scope));
    }
  });
  return {
    turns,
    get size() {
      return open.size;
    },
    add(scope, end) {
      const entry: Open = { scope, end };
      open.add(entry);
      return () => open.delete(entry);
    },
    endCluster(cluster) {
      for (const { scope, end } of [...open])
        if ((scope.consumersOf ?? scope.cluster) === cluster) end(resourceGone(scope));
    },
    close() {
      stop();
      for (const watch of [...open]) watch.end();
    },
  };
}
