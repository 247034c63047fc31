import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ApiServer,
  type Authenticator,
  clientCertificateAuthenticator,
  createApiServer,
  DEFAULT_VERSION,
  memoryDriver,
  serveHttps,
  staticTokenAuthenticator,
  unionAuthenticator,
} from '../../apiserver/index.ts';
import { startWorkloads } from '../../apiserver/workloads/index.ts';
import type { KeyPair } from '../../kube/pki.ts';
import { createClient } from '../../kube/rest-client.ts';
import { errorText } from '../../runtime/log.ts';
import { PROCESS_TITLE } from '../../runtime/pid-file.ts';
import { pinoLogger } from '../../runtime/pino-logger.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { serverCertificates } from '../certificates.ts';
import { parseTokenFile } from '../token-file.ts';
import { type GoFlags, parseGoFlags } from './flags.ts';

/** What is heeded; the help names these, since callers look there for what they may pass. */
const HEEDED: Readonly<Record<string, string>> = {
  'advertise-address': 'the address that the server tells of itself',
  'allow-privileged': 'whether containers may be privileged (false)',
  'anonymous-auth': 'whether requests without credentials are those of system:anonymous (true)',
  'authorization-mode':
    'RBAC, or AlwaysAllow for a server on which everybody may do everything (AlwaysAllow)',
  'bind-address': 'the address to listen on (127.0.0.1)',
  'cert-dir': 'where apiserver.crt and apiserver.key are, unless the next two say',
  'client-ca-file': 'PEM of the authorities whose client certificates are believed',
  controllers:
    'none, core (garbage, namespaces, service accounts) or all (core and workloads); not of Kubernetes (none)',
  'disable-admission-plugins': 'admission plugins to switch off, separated by commas',
  'secure-port': 'the port to listen on (6443)',
  'service-account-issuer': 'who service account tokens say they are from',
  'service-account-signing-key-file': 'the private key of service account tokens',
  'tls-cert-file': 'the certificate of the server',
  'tls-private-key-file': 'its key',
  'token-auth-file': 'bearer tokens: lines of token,user,uid,"group,group"',
};

/** Flags of kube-apiserver that make no difference here, taken without a word. */
const TAKEN: ReadonlySet<string> = new Set([
  'enable-admission-plugins',
  'enable-aggregator-routing',
  'etcd-servers',
  'etcd-prefix',
  'insecure-port',
  'profiling',
  'runtime-config',
  'service-account-key-file',
  'service-cluster-ip-range',
  'storage-backend',
  'v',
  'vmodule',
]);

const BOOLEANS: ReadonlySet<string> = new Set([
  'allow-privileged',
  'anonymous-auth',
  'enable-aggregator-routing',
  'enable-bootstrap-token-auth',
  'help',
  'h',
  'profiling',
  'version',
]);
const CONTROLLERS: readonly string[] = ['none', 'core', 'all'];
const ADMINISTRATORS = 'system:masters';
const GRACE_MS = 500;

/** Runs an API server in memory as envtest starts one, until it is told to stop. Rejects with an Error that names the flag that is wrong. */
export async function runKubeApiServer(args: readonly string[]): Promise<void> {
  const flags = parseGoFlags(args, BOOLEANS);
  if (flags.boolean('help') || flags.boolean('h')) {
    process.stdout.write(help());
    return;
  }
  if (flags.boolean('version')) {
    process.stdout.write(`Kubernetes ${DEFAULT_VERSION}\n`);
    return;
  }
  const ignored = flags.names.filter((name) => HEEDED[name] === undefined && !TAKEN.has(name));
  if (ignored.length > 0)
    process.stderr.write(
      `these flags make no difference here: ${ignored.map((name) => `--${name}`).join(' ')}\n`,
    );
  const log = pinoLogger('warn');
  const stop = await start(systemRuntime(log), flags);
  process.title = `${PROCESS_TITLE} kube-apiserver`;
  process.on('unhandledRejection', (error) =>
    log.error('a promise was rejected and nobody listened', { why: errorText(error) }),
  );
  await untilStopped(log, stop);
}

async function start(runtime: Runtime, flags: GoFlags): Promise<() => Promise<void>> {
  const host = flags.text('bind-address') ?? '127.0.0.1';
  const port = portOf(flags.text('secure-port') ?? '6443');
  const controllers = flags.text('controllers') ?? 'none';
  if (!CONTROLLERS.includes(controllers))
    throw new Error(`--controllers is one of ${CONTROLLERS.join(', ')}`);
  const authorize = allowsAll(flags)
    ? { authorize: { authorize: () => ({ allowed: true, reason: '' }) } }
    : {};
  const authenticate = authenticatorOf(runtime, flags);
  const serving = await servingPair(runtime, flags, host);
  const clientCa = fileOf(flags, 'client-ca-file');
  let server: ApiServer | undefined;
  const https = await serveHttps(runtime, {
    port,
    host,
    certificate: serving.certificate,
    key: serving.key,
    // Without an authority of clients their certificates are not believed: the server's own vouches for none.
    clientCa: clientCa ?? serving.certificate,
    handle: async (request, connection) => server?.handle(request, connection) ?? STARTING,
  }).catch((error: unknown) => {
    throw new Error(`cannot listen on ${host}:${port}: ${errorText(error)}`, { cause: error });
  });
  const advertised =
    flags.text('advertise-address') ?? (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host);
  const stops: (() => Promise<void>)[] = [() => https.close(GRACE_MS)];
  const stop = async (): Promise<void> => {
    for (const end of stops) await end();
  };
  try {
    const signingKey = fileOf(flags, 'service-account-signing-key-file');
    const issuer = flags.text('service-account-issuer');
    const opened = await createApiServer({
      runtime,
      storage: memoryDriver(),
      authenticate,
      anonymous: flags.boolean('anonymous-auth') ?? true,
      allowPrivileged: flags.boolean('allow-privileged') ?? false,
      address: `${advertised.includes(':') ? `[${advertised}]` : advertised}:${https.port}`,
      caCertificate: serving.certificate,
      controllers: controllers !== 'none',
      disableAdmissionPlugins: flags.list('disable-admission-plugins'),
      ...(signingKey === undefined ? {} : { serviceAccountKey: signingKey }),
      ...(issuer === undefined ? {} : { serviceAccountIssuer: issuer }),
      ...authorize,
    });
    stops.push(() => opened.close());
    if (controllers === 'all') {
      const user = { name: 'system:kube-controller-manager', groups: [ADMINISTRATORS] };
      const client = createClient(opened.as(user), { userAgent: user.name, clock: runtime.clock });
      const workloads = startWorkloads(runtime, client);
      stops.unshift(() => workloads.stop());
    }
    server = opened;
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What is answered between listening and being ready. */
const STARTING = {
  status: 503,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' },
  body: Buffer.from('the server is starting\n'),
};

function authenticatorOf(runtime: Runtime, flags: GoFlags): Authenticator {
  const certificates = fileOf(flags, 'client-ca-file') !== undefined;
  const path = flags.text('token-auth-file');
  const text = fileOf(flags, 'token-auth-file');
  return unionAuthenticator(
    ...(certificates ? [clientCertificateAuthenticator(runtime.clock)] : []),
    ...(path === undefined || text === undefined
      ? []
      : [staticTokenAuthenticator(parseTokenFile(path, text))]),
  );
}

/** As with kube-apiserver, everybody may do everything where no mode is named. */
function allowsAll(flags: GoFlags): boolean {
  const modes = flags.list('authorization-mode');
  const unknown = modes.filter((mode) => !['RBAC', 'AlwaysAllow', 'Node'].includes(mode));
  if (unknown.length > 0)
    throw new Error(
      `--authorization-mode: ${unknown.join(', ')} is not there; there are RBAC, Node and AlwaysAllow`,
    );
  return modes.length === 0 || modes.includes('AlwaysAllow');
}

/** The certificate that is named, or that of the certificate directory, where a new one is left for clients to believe. */
async function servingPair(runtime: Runtime, flags: GoFlags, host: string): Promise<KeyPair> {
  const certificate = fileOf(flags, 'tls-cert-file');
  const key = fileOf(flags, 'tls-private-key-file');
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const directory = flags.text('cert-dir');
  if (directory === undefined) return newPair(runtime, host);
  const [certificatePath, keyPath] = [join(directory, 'apiserver.crt'), join(directory, 'apiserver.key')];
  if (existsSync(certificatePath) && existsSync(keyPath))
    return { certificate: readFileSync(certificatePath, 'utf8'), key: readFileSync(keyPath, 'utf8') };
  const made = await newPair(runtime, host);
  mkdirSync(directory, { recursive: true });
  writeFileSync(keyPath, made.key, { mode: 0o600 });
  writeFileSync(certificatePath, made.certificate);
  return made;
}

/** Of an authority of its own, which comes after it: whoever believes the file believes the server. */
async function newPair(runtime: Runtime, host: string): Promise<KeyPair> {
  const home = mkdtempSync(join(tmpdir(), 'atoll-kube-apiserver-'));
  try {
    const { server, authority } = await serverCertificates(runtime, home, 'kube-apiserver', host);
    return { certificate: `${server.certificate.trimEnd()}\n${authority.certificate}`, key: server.key };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function fileOf(flags: GoFlags, name: string): string | undefined {
  const path = flags.text(name);
  if (path === undefined || path === '') return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`--${name}: ${errorText(error)}`, { cause: error });
  }
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new Error(`--secure-port: ${text} is no port`);
  return Number(text);
}

function help(): string {
  const lines = Object.entries(HEEDED).map(([name, what]) => `      --${name}  ${what}`);
  return `A Kubernetes API server in memory, that takes the flags of kube-apiserver.

Usage:
  kube-apiserver [flags]

Flags that make a difference:
${lines.join('\n')}

Others are taken, and named on standard error.
`;
}
