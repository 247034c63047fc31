import { createServer, type Server } from 'node:http';
import { PROCESS_TITLE } from '../../runtime/pid-file.ts';
import { pinoLogger } from '../../runtime/pino-logger.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { parseGoFlags } from './flags.ts';

const BOOLEANS: ReadonlySet<string> = new Set([
  'help',
  'h',
  'version',
  'unsafe-no-fsync',
  'force-new-cluster',
]);
const DEFAULT_CLIENT_URL = 'http://localhost:2379';
/** The version whose health and version documents these are. */
const VERSION = '3.6.0';

const HELP = `Stands in for etcd beside the kube-apiserver of \`atoll envtest\`, which keeps its objects itself. Stores nothing.

Usage:
  etcd [flags]

Flags:
  --listen-client-urls urls   where health is answered (${DEFAULT_CLIENT_URL})
  --unsafe-no-fsync           taken, as are all other flags of etcd
`;

/** Runs until it is told to stop. Rejects with an Error when an address cannot be had. */
export async function runEtcd(args: readonly string[]): Promise<void> {
  const flags = parseGoFlags(args, BOOLEANS);
  if (flags.boolean('help') || flags.boolean('h')) {
    process.stdout.write(HELP);
    return;
  }
  if (flags.boolean('version')) {
    process.stdout.write(`etcd Version: ${VERSION} (atoll)\n`);
    return;
  }
  const urls = flags.list('listen-client-urls');
  const servers = await Promise.all((urls.length > 0 ? urls : [DEFAULT_CLIENT_URL]).map(listen));
  process.title = `${PROCESS_TITLE} etcd`;
  await untilStopped(pinoLogger('warn'), async () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  });
}

function listen(address: string): Promise<Server> {
  if (!URL.canParse(address) || new URL(address).protocol !== 'http:')
    throw new Error(`--listen-client-urls: ${address} is no http:// address`);
  const { hostname, port } = new URL(address);
  const server = createServer((request, response) => {
    const answer = ANSWERS[(request.url ?? '').split('?')[0] ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(answer ?? '{"error":"this stand-in for etcd stores nothing"}');
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`cannot listen on ${address}: ${error.message}`)));
    server.listen(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), () => resolve(server));
  });
}

const ANSWERS: Readonly<Record<string, string>> = {
  '/health': '{"health":"true","reason":""}',
  '/livez': 'ok',
  '/readyz': 'ok',
  '/version': JSON.stringify({ etcdserver: VERSION, etcdcluster: VERSION.replace(/\d+$/, '0') }),
};
