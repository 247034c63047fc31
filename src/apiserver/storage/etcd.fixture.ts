import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep, systemClock } from '../../runtime/index.ts';

/** A real etcd of a test. */
export interface RealEtcd {
  readonly url: string;
  stop(): Promise<void>;
}

const cached = fileURLToPath(new URL('../../../.cache/etcd/usr/bin/etcd', import.meta.url));
const START_MS = 15_000;

/** `$ATOLL_ETCD`, the one on PATH, or that which scripts/etcd.mjs has fetched; undefined where there is none. */
export function findEtcd(): string | undefined {
  const candidates = [process.env['ATOLL_ETCD'], 'etcd', cached].filter((path) => path !== undefined);
  return candidates.find(
    (path) =>
      (path === 'etcd' || existsSync(path)) &&
      /etcd Version: \d/.test(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? ''),
  );
}

export async function startEtcd(binary: string): Promise<RealEtcd> {
  const directory = mkdtempSync(join(tmpdir(), 'atoll-etcd-'));
  const [client, peer] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${client}`;
  const child: ChildProcess = spawn(
    binary,
    [
      `--data-dir=${directory}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      '--log-level=error',
    ],
    { stdio: 'ignore' },
  );
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(directory, { recursive: true, force: true });
  };
  const clock = systemClock();
  const deadline = clock.monotonic() + START_MS;
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return { url, stop };
    if (clock.monotonic() > deadline) {
      await stop();
      throw new Error(`${binary} does not start`);
    }
    await sleep(clock, 50);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}
