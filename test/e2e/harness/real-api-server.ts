import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, inject } from 'vitest';
import { emptyKubeconfig, formatKubeconfig } from '../../../src/kube/kubeconfig.ts';
import { must, type Outcome, run } from './command.ts';
import { until, within } from './until.ts';

/** The folder with kube-apiserver, etcd and kubectl, as envtest has it; undefined where there is none. */
const assets: string | undefined = process.env['KUBEBUILDER_ASSETS'] || undefined;

/** `describe` of what needs a kube-apiserver: skipped where `KUBEBUILDER_ASSETS` names none, which the global setup says loudly. */
export const describeReal: typeof describe.skip = assets === undefined ? describe.skip : describe;

/** The name of the one context of each kubeconfig. */
export const REAL_CONTEXT = 'real';

/** One write that a server has recorded. */
export interface RecordedWrite {
  readonly user: string;
  readonly verb: string;
  readonly path: string;
  readonly code: number;
}

/** One kube-apiserver with RBAC and without any controller: what is not written by somebody does not happen. */
export interface RealApiServer {
  readonly directory: string;
  readonly url: string;
  /** A kubeconfig of an administrator. */
  readonly kubeconfig: string;
  /** The authority of its certificate: a file. */
  readonly certificateAuthority: string;
  /** What signs the tokens of service accounts: a file. */
  readonly accountKey: string;
  readonly pid: number;
  /** What is written to it, by whom: a file with one event a line. */
  readonly audit: string;
  /** A kubeconfig with another token: of {@link USERS}, or of a service account. */
  kubeconfigWith(token: string, context?: string): string;
  /** kubectl as the administrator, or with another kubeconfig; it must succeed. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The same with any kubeconfig, whatever its exit code. */
  tryKubectl(kubeconfig: string, args: readonly string[], input?: string): Promise<Outcome>;
  apply(manifests: string | object, ...args: readonly string[]): Promise<string>;
  /** All writes so far, oldest first, but for those of the server itself. */
  writes(): readonly RecordedWrite[];
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Once more after `kill`, at the same address with the same objects. */
  start(): Promise<void>;
}

export interface RealApiServers {
  readonly directory: string;
  start(name: string): Promise<RealApiServer>;
  stop(): Promise<void>;
}

/** Users with static tokens, which are their names: nobody but these tests reaches the servers. */
const USERS: Readonly<Record<string, readonly string[]>> = {
  admin: ['system:masters'],
  'atoll-hub': ['atoll-hubs'],
  ann: ['devs'],
  // Whoever stands in for the controllers and kubelets of a cluster.
  controllers: ['system:masters'],
};

const READY_MS = 40_000;
const STOP_MS = 10_000;
let count = 0;
/** What changes anything; no bodies. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', users: ['system:apiserver'] },
    { level: 'Metadata', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
  ],
};

interface Running {
  readonly child: ChildProcess;
  readonly closed: Promise<void>;
  log(): string;
}

/** envtest has a kubectl as well; where there is none, that of the path does. */
function kubectlOf(folder: string): string {
  const own = join(folder, 'kubectl');
  const newest = inject('kubectls').at(-1)?.path;
  if (existsSync(own)) return own;
  if (newest === undefined)
    throw new Error(`neither KUBEBUILDER_ASSETS (${folder}) nor the path has a kubectl`);
  return newest;
}

/** Starts one etcd, which all servers share, each below a prefix of its own. */
export async function startRealApiServers(): Promise<RealApiServers> {
  if (assets === undefined) throw new Error('KUBEBUILDER_ASSETS is not set');
  const folder = assets;
  for (const binary of ['etcd', 'kube-apiserver'])
    if (!existsSync(join(folder, binary))) throw new Error(`KUBEBUILDER_ASSETS has no ${binary}: ${folder}`);
  const kubectlBinary = kubectlOf(folder);
  count += 1;
  const home = join(inject('temporaryRoot'), `real-${process.pid}-${count}`);
  // Whoever cleans up after a test that was interrupted finds the processes here.
  mkdirSync(join(home, 'run'), { recursive: true });
  const running: Running[] = [];
  const start = (name: string, binary: string, args: readonly string[]): Running => {
    const child = spawn(join(folder, binary), args, { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
    writeFileSync(join(home, 'run', `${name}.pid`), String(child.pid));
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        text = (text + chunk).slice(-20_000);
      });
    const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
    const made = { child, closed, log: () => text };
    running.push(made);
    return made;
  };

  const [port, peerPort] = [await freePort(), await freePort()];
  const etcd = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  start('etcd', 'etcd', [
    ...['--data-dir', join(home, 'etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
    ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `default=${peer}`],
  ]);

  // Each its own, so that an address tells whose it is.
  let servers = 0;
  return {
    directory: home,
    async start(name): Promise<RealApiServer> {
      const directory = join(home, name);
      mkdirSync(directory, { recursive: true });
      const secure = await freePort();
      const files = writeFiles(directory);
      const flags = [
        `--etcd-servers=${etcd}`,
        `--etcd-prefix=/${name}`,
        `--cert-dir=${join(directory, 'pki')}`,
        `--secure-port=${secure}`,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        // No endpoints of its own to keep: nothing here runs in pods.
        '--endpoint-reconciler-type=none',
        `--token-auth-file=${files.tokens}`,
        '--authorization-mode=RBAC',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-signing-key-file=${files.key}`,
        `--service-account-key-file=${files.publicKey}`,
        `--service-cluster-ip-range=10.${servers++}.0.0/24`,
        // Those who stand in for kubelets are here, wherever a Node says that it is.
        '--kubelet-preferred-address-types=ExternalIP',
        // It would write a Lease every ten seconds: nothing is written at rest.
        '--feature-gates=APIServerIdentity=false',
        '--disable-admission-plugins=ServiceAccount',
        `--audit-policy-file=${files.auditPolicy}`,
        `--audit-log-path=${files.audit}`,
        '--audit-log-mode=blocking-strict',
      ];
      let server = start(name, 'kube-apiserver', flags);
      const url = `https://127.0.0.1:${secure}`;
      const certificate = join(directory, 'pki', 'apiserver.crt');
      const kubeconfigWith = (token: string, context = REAL_CONTEXT): string => {
        const path = join(
          directory,
          `${USERS[token] ? token : 'account'}${context === REAL_CONTEXT ? '' : `-${context}`}.kubeconfig`,
        );
        const authority = readFileSync(certificate).toString('base64');
        const config = {
          ...emptyKubeconfig(),
          clusters: [{ name: 'server', cluster: { server: url, 'certificate-authority-data': authority } }],
          users: [{ name: 'user', user: { token } }],
          contexts: [{ name: context, context: { cluster: 'server', user: 'user' } }],
          'current-context': context,
        };
        writeFileSync(path, formatKubeconfig(config), { mode: 0o600 });
        return path;
      };
      await until(
        `${name} to have a certificate`,
        () => {
          if (server.child.exitCode !== null) throw new Error(server.log());
          return existsSync(certificate);
        },
        { withinMs: READY_MS },
      );
      const kubeconfig = kubeconfigWith('admin');
      const kubectl = (args: readonly string[], input?: string): Promise<string> =>
        must(kubectlBinary, ['--kubeconfig', kubeconfig, ...args], {
          env: { HOME: directory },
          ...(input === undefined ? {} : { input }),
        });
      const whenReady = (): Promise<unknown> =>
        until(
          `${name} to be ready`,
          async () => {
            if (server.child.exitCode !== null) throw new Error(server.log());
            return (await kubectl(['get', '--raw', '/readyz'])) === 'ok';
          },
          { withinMs: READY_MS, everyMs: 200 },
        );
      await whenReady();
      return {
        directory,
        url,
        kubeconfig,
        certificateAuthority: certificate,
        accountKey: files.key,
        get pid() {
          return server.child.pid ?? 0;
        },
        audit: files.audit,
        kubeconfigWith,
        kubectl: (...args) => kubectl(args),
        tryKubectl: (config, args, input) =>
          run(kubectlBinary, ['--kubeconfig', config, ...args], {
            env: { HOME: directory },
            ...(input === undefined ? {} : { input }),
          }),
        apply: (manifests, ...args) =>
          kubectl(
            ['apply', '-f', '-', ...args],
            typeof manifests === 'string' ? manifests : JSON.stringify(manifests),
          ),
        writes: () => recordedWrites(files.audit),
        async kill(): Promise<void> {
          server.child.kill('SIGKILL');
          await within(`the end of ${name}`, STOP_MS, server.closed);
        },
        async start(): Promise<void> {
          server = start(name, 'kube-apiserver', flags);
          await whenReady();
        },
      };
    },
    async stop(): Promise<void> {
      // Servers before their storage.
      for (const { child, closed } of [...running].reverse()) {
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
        await within(`the end of ${child.spawnfile}`, STOP_MS, closed);
      }
    },
  };
}

interface ServerFiles {
  readonly tokens: string;
  readonly key: string;
  readonly publicKey: string;
  readonly auditPolicy: string;
  readonly audit: string;
}

function writeFiles(directory: string): ServerFiles {
  const file = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const audit = join(directory, 'audit.log');
  appendFileSync(audit, '');
  return {
    tokens: file(
      'tokens.csv',
      Object.entries(USERS)
        .map(([name, groups]) => `${name},${name},${name},"${groups.join(',')}"\n`)
        .join(''),
    ),
    key: file('sa.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    publicKey: file('sa.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    auditPolicy: file('audit-policy.json', JSON.stringify(AUDIT_POLICY)),
    audit,
  };
}

function recordedWrites(path: string): RecordedWrite[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter(({ stage }) => stage === 'ResponseComplete')
    .map(({ user, verb, requestURI, responseStatus }) => ({
      user: user.username,
      verb,
      path: requestURI,
      code: responseStatus?.code ?? 0,
    }));
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
