import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyStore } from '../link/index.ts';
import { writePrivate } from './fleet-directory.ts';

/** Keeps a spoke's link key and certificate in files that only their owner can read. The key never leaves this machine. */
export function fileKeyStore(directory: string, name: string): KeyStore {
  const path = join(directory, `${name}.json`);
  return {
    load: async () =>
      existsSync(path)
        ? (JSON.parse(readFileSync(path, 'utf8')) as { certificate: string; key: string })
        : undefined,
    async save(pair): Promise<void> {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writePrivate(path, JSON.stringify(pair));
    },
  };
}
