import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';

let library: typeof Yaml | undefined;

/**
 * The YAML library, loaded when YAML is first met: it takes 12 MB, and most processes speak JSON only.
 */
export function yamlLibrary(): typeof Yaml {
  library ??= createRequire(import.meta.url)('yaml') as typeof Yaml;
  return library;
}
