/** Makes a thousand empty logical clusters over SQLite, and prints how fast and with what memory. Runs the built package. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { residentMiB, root } from './measure.ts';

const CLUSTERS = 1_000;
const AT_A_TIME = 16;

type Room<T> = Promise<T>;
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href;
const { createApiServer, sqliteDriver } = await (import(built('apiserver/index.js')) as Room<
  typeof import('../src/apiserver/index.ts')
>);
const { systemRuntime } = await (import(built('runtime/index.js')) as Room<
  typeof import('../src/runtime/index.ts')
>);

const server = await createApiServer({
  runtime: systemRuntime(),
  storage: sqliteDriver(process.argv[2] ?? ''),
});
let next = 0;
const began = performance.now();
await Promise.all(
  Array.from({ length: AT_A_TIME }, async () => {
    while (next < CLUSTERS) await server.createCluster(`cluster-${next++}`);
  }),
);
const perSecond = (CLUSTERS / (performance.now() - began)) * 1_000;
(globalThis as { gc?: () => void }).gc?.();
process.stdout.write(JSON.stringify({ perSecond, rssMiB: residentMiB(process.pid) }));
await server.close();
process.exit(0);
