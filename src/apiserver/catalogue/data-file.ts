import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** The same from `src/` and from `dist/`, which lie side by side. */
export const DATA_DIRECTORY: URL = new URL('../../../data/', import.meta.url);

/** Bounds what a damaged file could expand to. */
const MAX_EXPANDED_BYTES = 16 * 1024 * 1024;

export type DataFile =
  | 'definitions.json.gz'
  | 'resources.json.gz'
  | 'bootstrap-rbac.json.gz'
  | 'protobuf.json.gz';

export function readDataFile(name: DataFile): string {
  const file = new URL(name, DATA_DIRECTORY);
  try {
    return gunzipSync(readFileSync(file), { maxOutputLength: MAX_EXPANDED_BYTES }).toString('utf8');
  } catch (error) {
    throw new Error(`the catalogue of built-in kinds cannot be read from ${file.pathname}`, { cause: error });
  }
}

export function readData<T>(name: DataFile): T {
  return JSON.parse(readDataFile(name)) as T;
}
