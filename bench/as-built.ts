/** Imported first: a process of a benchmark then runs what is built and shipped wherever it names a source. */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const SOURCES: string = new URL('../src/', import.meta.url).href;
const BUILT: string = new URL('../dist/', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (!found.url.startsWith(SOURCES)) return found;
    const url = BUILT + found.url.slice(SOURCES.length).replace(/\.ts$/, '.js');
    if (!existsSync(fileURLToPath(url))) throw new Error(`${url} is not built`);
    return { ...found, url, format: 'module' };
  },
});
