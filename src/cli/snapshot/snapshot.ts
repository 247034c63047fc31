import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { formatTime } from '../../runtime/clock.ts';
import { fleetDirectory, readFleet } from '../fleet-directory.ts';
import { clusterNamed } from '../fleet-reading.ts';
import { type AskingOptions, ask } from '../output.ts';
import { atollVersion } from '../version.ts';
import { gatherSnapshot } from './gather.ts';
import { tarArchive } from './tar.ts';

export interface SnapshotOptions extends AskingOptions {
  /** Named by the time by default. Never written over. */
  readonly file?: string;
  /** Spokes to ask; all that are connected by default. */
  readonly clusters?: readonly string[];
}

interface SnapshotReport {
  readonly file: string;
  readonly files: number;
  readonly bytes: number;
  readonly missing: readonly string[];
}

/** The end of a log is what tells what happened. */
const LOG_BYTES = 8 * 1024 * 1024;
/** More spokes are asked by name: an archive of a large fleet would take as long as it is large. */
const MOST_SPOKES = 50;

/** Ends with 2 where some of it could not be had. */
export function snapshot(options: SnapshotOptions): Promise<void> {
  return ask(options, async ({ hub, now, print }) => {
    const takenAt = formatTime(now);
    const file = options.file ?? `atoll-snapshot-${takenAt.replace(/[:]/g, '')}.tar.gz`;
    const list = await hub.client.list<SpokeCluster>(resourceIdOf(SPOKE_CLUSTER), '');
    for (const name of options.clusters ?? []) clusterNamed(list.items, name);
    const connected = list.items
      .filter(({ status }) => status?.connection === 'Connected')
      .map(({ metadata }) => metadata.name ?? '')
      .slice(0, MOST_SPOKES);
    const names = options.clusters ?? connected;
    const { files, missing } = await gatherSnapshot({
      hub: hub.client,
      spokes: new Map(names.map((name) => [name, hub.spokeClient(name)])),
      logs: logsOf(options.dir),
      version: atollVersion(),
      takenAt,
    });
    const archive = gzipSync(tarArchive(files, now));
    writeFileSync(file, archive, { mode: 0o600, flag: 'wx' });
    const report = { file, files: files.length, bytes: archive.byteLength, missing };
    print<SnapshotReport>(report, textOf);
    return missing.length === 0 ? 0 : 2;
  });
}

function textOf({ file, files, bytes, missing }: SnapshotReport): string {
  const lines = [`${file}: ${files} files, ${Math.ceil(bytes / 1024)} KiB. It holds no values of Secrets.`];
  if (missing.length > 0) lines.push('Could not be had:', ...missing.map((what) => `  ${what}`));
  return `${lines.join('\n')}\n`;
}

/** The logs of a fleet on this machine. */
function logsOf(path: string): Map<string, () => Uint8Array> {
  const directory = fleetDirectory(path);
  const members = readFleet(directory)?.members ?? [];
  return new Map(members.map(({ name }) => [name, () => tail(directory.logFile(name))]));
}

function tail(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const content = Buffer.alloc(Math.min(size, LOG_BYTES));
    const read = readSync(file, content, 0, content.byteLength, Math.max(0, size - LOG_BYTES));
    return content.subarray(0, read);
  } finally {
    closeSync(file);
  }
}
