/** Where a process of the fleet benchmark spends its time and its memory. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { writeHeapSnapshot } from 'node:v8';

/** Begins a CPU profile. The function ends it and writes a `.cpuprofile`. */
export async function startProfile(): Promise<(path: string) => Promise<void>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 500 });
  await session.post('Profiler.start');
  return async (path) => {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    writeFileSync(path, JSON.stringify(profile));
  };
}

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] } };
  readonly nodes: number[];
  readonly strings: string[];
}

/** Bytes and number of the objects in the heap by type and class. `path` is for the snapshot while it is read. */
export function heapByClass(path: string): Record<string, { bytes: number; count: number }> {
  writeHeapSnapshot(path);
  const { snapshot, nodes, strings } = JSON.parse(readFileSync(path, 'utf8')) as Snapshot;
  rmSync(path);
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const at = (field: string): number => fields.indexOf(field);
  const [type, name, size] = [at('type'), at('name'), at('self_size')];
  const out: Record<string, { bytes: number; count: number }> = {};
  for (let node = 0; node < nodes.length; node += fields.length) {
    const kind = types[0][nodes[node + type] ?? 0] ?? '';
    // Names of strings are their content.
    const named = kind === 'object' || kind === 'closure' || kind === 'native';
    const key = named ? `${kind} ${strings[nodes[node + name] ?? 0]?.slice(0, 60)}` : kind;
    out[key] ??= { bytes: 0, count: 0 };
    out[key].bytes += nodes[node + size] ?? 0;
    out[key].count += 1;
  }
  return out;
}
