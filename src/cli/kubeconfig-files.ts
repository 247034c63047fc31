import { globSync, readFileSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { KubeconfigFiles } from '../hub/engaged/index.ts';
import type { Timer } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Editors and tools write a file in several steps. */
const GATHER_MS = 200;
/** Where the system does not tell of changes they are found by looking. */
const LOOK_MS = 10_000;

/** The kubeconfigs that paths and patterns (`/etc/clusters/*.yaml`) name. */
export function watchedKubeconfigs(runtime: Runtime, patterns: readonly string[]): KubeconfigFiles {
  const { clock, log } = runtime;

  function read(): { path: string; text: string }[] {
    const paths = new Set(patterns.flatMap((pattern) => globSync(resolve(pattern))));
    return [...paths].sort().flatMap((path) => {
      try {
        return [{ path, text: readFileSync(path, 'utf8') }];
      } catch (error) {
        log.warn('a kubeconfig cannot be read', { path, error: errorText(error) });
        return [];
      }
    });
  }

  return {
    read,
    readFile: (path) => readFileSync(path, 'utf8'),
    onChange(listener) {
      let gathering: Timer | undefined;
      let looking: Timer | undefined;
      const soon = (): void => {
        gathering ??= clock.after(GATHER_MS, () => {
          gathering = undefined;
          listener();
        });
      };
      const look = (): void => {
        looking = clock.after(LOOK_MS, () => {
          listener();
          look();
        });
      };
      const directories = new Set(
        patterns.map((pattern) => dirname(resolve(pattern.replace(/[*?[{].*$/, 'x')))),
      );
      const watchers = [...directories].flatMap((directory) => {
        try {
          const watcher = watch(directory, soon);
          watcher.on('error', (error) =>
            log.warn('changes of files are not told', { directory, error: errorText(error) }),
          );
          return [watcher];
        } catch (error) {
          log.warn('changes of files are not told', { directory, error: errorText(error) });
          return [];
        }
      });
      look();
      return () => {
        gathering?.cancel();
        looking?.cancel();
        for (const watcher of watchers) watcher.close();
      };
    },
  };
}
