import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SchedulerPlugin } from '../hub/placement/index.ts';
import { errorText } from '../runtime/log.ts';

/**
 * Loads rules for placing from modules that whoever starts a hub names: files, whose default export is a plug-in or a list of them.
 * They run in the process of the hub, with all that it may. Throws where one cannot be used: a hub without a rule that it was
 * given would place what that rule keeps away.
 */
export async function loadSchedulerPlugins(files: readonly string[]): Promise<readonly SchedulerPlugin[]> {
  const loaded = await Promise.all(files.map(loadFile));
  const plugins = loaded.flat();
  const names = plugins.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`--scheduler-plugin: two plug-ins have the name ${twice}`);
  return plugins;
}

async function loadFile(file: string): Promise<readonly SchedulerPlugin[]> {
  let module: { readonly default?: unknown };
  try {
    module = await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    throw new Error(`--scheduler-plugin ${file}: it cannot be loaded: ${errorText(error)}`, { cause: error });
  }
  const found = Array.isArray(module.default) ? module.default : [module.default];
  for (const [index, plugin] of found.entries())
    if (!isPlugin(plugin))
      throw new Error(
        `--scheduler-plugin ${file}: export ${index} of its default is no plug-in: an object with name, and filter(cluster, intent, placed), score(cluster, intent) or both`,
      );
  return found;
}

function isPlugin(value: unknown): value is SchedulerPlugin {
  if (typeof value !== 'object' || value === null) return false;
  const { name, filter, score, weight } = value as Record<string, unknown>;
  const parts = [filter, score].filter((part) => part !== undefined);
  return (
    typeof name === 'string' &&
    name !== '' &&
    parts.length > 0 &&
    parts.every((part) => typeof part === 'function') &&
    (weight === undefined || (typeof weight === 'number' && Number.isFinite(weight)))
  );
}
