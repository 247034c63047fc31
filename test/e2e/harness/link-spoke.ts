/**
 * A spoke's end of a link in a process of its own, for tests that kill, stop and partition it. Its API answers `{path, pid}`; upgrades
 * are echoed. It listens on nothing. Settings come as JSON in the first argument.
 */
import { readFileSync } from 'node:fs';
import { duplexPair } from 'node:stream';
import { startTunnelDialer, type Transport } from '../../../src/link/index.ts';
import { systemRuntime } from '../../../src/runtime/index.ts';

export interface LinkSpokeSettings {
  readonly hubAddress: readonly string[];
  readonly spoke: string;
  /** Files with PEM. */
  readonly hubCa: string;
  readonly key: string;
  readonly certificate: string;
  readonly hubName?: string;
  readonly proxyUrl?: string;
  readonly transports?: readonly Transport[];
  readonly pollIntervalMs?: number;
}

const settings = JSON.parse(process.argv[2] ?? '{}') as LinkSpokeSettings;
const { hubName, proxyUrl, transports, pollIntervalMs } = settings;
startTunnelDialer(systemRuntime(), {
  hubAddress: settings.hubAddress,
  hubCaPem: readFileSync(settings.hubCa, 'utf8'),
  spoke: settings.spoke,
  keyStore: {
    load: async () => ({
      key: readFileSync(settings.key, 'utf8'),
      certificate: readFileSync(settings.certificate, 'utf8'),
    }),
    save: async () => {},
  },
  serve: async ({ path }) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ path, pid: process.pid })),
  }),
  serveUpgrade: async () => {
    const [near, far] = duplexPair();
    far.on('error', () => {});
    far.pipe(far);
    return { status: 101, headers: {}, socket: near };
  },
  onState: (state) => process.stdout.write(`${JSON.stringify(state)}\n`),
  pingIntervalMs: 500,
  pingTimeoutMs: 500,
  ...(hubName === undefined ? {} : { hubName }),
  ...(proxyUrl === undefined ? {} : { proxy: { url: proxyUrl } }),
  ...(transports === undefined ? {} : { transports }),
  ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
});
