import type { Intent } from '../../engine/intent.ts';
import type { ClusterFacts, PlacementExtension } from '../../engine/place/index.ts';
import { errorText, type Logger } from '../../runtime/log.ts';

/**
 * A rule for placing that whoever runs a hub adds to those of the engine. It must be a pure function of what it is given and of
 * what its owner keeps at hand: it is asked for each cluster, within a decision. One that throws refuses nothing that is placed
 * and lets nothing new in, and its score counts for nothing.
 */
export interface SchedulerPlugin {
  /** Of the plug-in, in explanations. */
  readonly name: string;
  /** Why a cluster must not be used for an intent. `placed`: whether the intent is there. */
  filter?(cluster: ClusterFacts, intent: Intent, placed: boolean): string | undefined;
  /** How good a cluster is for an intent, from -100 to 100. */
  score?(cluster: ClusterFacts, intent: Intent): number;
  /** Of its score; 1 by default. */
  readonly weight?: number;
}

/** The rules of plug-ins for an intent. */
export type PluginRules = (intent: Intent) => readonly PlacementExtension[];

const NO_RULES: readonly PlacementExtension[] = [];

export function pluginRules(plugins: readonly SchedulerPlugin[], log: Logger): PluginRules {
  if (plugins.length === 0) return () => NO_RULES;
  /** Failures that were told: a plug-in that fails fails for every cluster. */
  const told = new Set<string>();
  const failed = (plugin: SchedulerPlugin, error: unknown): string => {
    const why = errorText(error);
    if (!told.has(`${plugin.name} ${why}`)) {
      if (told.size < 100) told.add(`${plugin.name} ${why}`);
      log.error('a scheduler plug-in failed', { plugin: plugin.name, why });
    }
    return `it failed: ${why}`;
  };
  return (intent) =>
    plugins.map((plugin): PlacementExtension => {
      const { name, weight = 1 } = plugin;
      return {
        name,
        weight,
        ...(plugin.filter && {
          refuses(cluster, existing): string | undefined {
            try {
              return plugin.filter?.(cluster, intent, existing);
            } catch (error) {
              const why = failed(plugin, error);
              return existing ? undefined : why;
            }
          },
        }),
        ...(plugin.score && {
          score(cluster): number {
            try {
              return plugin.score?.(cluster, intent) ?? 0;
            } catch (error) {
              failed(plugin, error);
              return 0;
            }
          },
        }),
      };
    });
}
