import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { readLinkNotice } from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { httpHandler } from '../../kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../kube/kubeconfig-endpoint.ts';
import { createClient } from '../../kube/rest-client.ts';
import { type Clock, sleep } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';
import { AlreadyRunning, isAlive, PROCESS_TITLE, takePidFile } from '../../runtime/pid-file.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { linkCertificates, serverCertificates } from '../certificates.ts';
import {
  type FleetDirectory,
  type FleetFile,
  fleetDirectory,
  type Member,
  prepareDirectory,
  readFleet,
  writeFleet,
  writePrivate,
} from '../fleet-directory.ts';
import { expectSpoke, joinedHub } from '../join/expect-spoke.ts';
import type { JoinFile } from '../join/join-file.ts';
import { linkFileName } from '../link-ends.ts';
import { mergeMemberKubeconfigs } from '../member-kubeconfig.ts';
import { logTail, runningPid, spawnMember, stopMember } from '../processes.ts';
import { type Progress, startProgress } from '../progress.ts';

export interface UpOptions {
  readonly dir: string;
  readonly spokes: number | undefined;
  readonly virtual: number | undefined;
  readonly foreground: boolean;
}

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
/** Where the inventory of a laptop fleet is, so that `kubectl get spokeclusters` needs no namespace. */
const INVENTORY_NAMESPACE = 'default';
const MEMBER_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 60_000;
const NODES_TIMEOUT_MS = 5_000;
const MAX_SPOKES = 50;
const MAX_VIRTUAL = 1000;
const DAY_MS = 86_400_000;

/** Starts a fleet on this machine, or what is missing of it, and waits until every spoke is connected. */
export async function up(options: UpOptions): Promise<void> {
  process.title = `${PROCESS_TITLE} up`;
  // From the beginning: a Ctrl-C while the fleet starts must not leave half of it behind. A second one ends at once.
  const interrupted = options.foreground ? untilInterrupted() : undefined;
  checkCount('--spokes', options.spokes, MAX_SPOKES);
  checkCount('--virtual', options.virtual, MAX_VIRTUAL);
  const runtime = systemRuntime();
  const directory = fleetDirectory(options.dir);
  prepareDirectory(directory);
  const release = await lockFleet(directory);
  const progress = startProgress(runtime.clock);
  let fleet: FleetFile;
  try {
    fleet = await planFleet(directory, options);
    const hub = fleet.members.find((member) => member.role === 'hub');
    if (!hub) throw new Error(`${directory.fleetFile} names no hub; forget the fleet with: npm run reset`);
    const spokes = fleet.members.filter((member) => member.role === 'spoke');
    const fresh = await startMembers(runtime, directory, [hub], progress);
    const client = memberClient(directory, hub.name);
    await enrol(runtime, directory, client, hub, spokes);
    fresh.push(...(await startMembers(runtime, directory, spokes, progress)));
    mergeMemberKubeconfigs(
      [hub, ...spokes].map((member) => join(directory.home(member.name), 'kubeconfig')),
      directory.kubeconfig,
    );
    const names = spokes.flatMap((member) => member.clusters);
    await waitConnected(runtime, client, names, progress);
    progress.done(
      `${names.length} spokes are connected${fresh.length === 0 ? ' (everything was running already)' : ''}`,
    );
  } finally {
    progress.stop();
    release();
  }
  process.stdout.write(nextSteps(directory, options));
  if (interrupted) {
    process.stdout.write('Running in the foreground; Ctrl-C stops the fleet.\n');
    const letGo = keepAlive(runtime.clock);
    await interrupted;
    letGo();
    await stopFleet(runtime, directory, fleet);
  }
  // Connections that are kept alive would hold the process for a while.
  process.exit(0);
}

function checkCount(option: string, value: number | undefined, most: number): void {
  if (value !== undefined && (!Number.isInteger(value) || value < 0 || value > most)) {
    throw new Error(`${option} must be a whole number from 0 to ${most}, not ${value}`);
  }
}

/** Only one command at a time changes a fleet. */
export async function lockFleet(directory: FleetDirectory): Promise<() => void> {
  try {
    return takePidFile(directory.lockFile);
  } catch (error) {
    if (error instanceof AlreadyRunning) {
      throw new Error(
        `another atoll command (pid ${error.pid}) is changing the fleet in ${directory.root}; wait for it, then try again`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** The fleet of before, with the members that were asked for in addition. Members are never taken away here. */
async function planFleet(directory: FleetDirectory, options: UpOptions): Promise<FleetFile> {
  const before = readFleet(directory);
  const members: Member[] = [...(before?.members ?? [])];
  const has = (name: string): boolean => members.some((member) => member.name === name);
  if (!has('hub'))
    members.push({
      name: 'hub',
      role: 'hub',
      clusters: ['hub'],
      port: await freePort(),
      linkPort: await freePort(),
    });
  const spokes = options.spokes ?? (before ? 0 : 3);
  for (let i = 1; i <= spokes; i++) {
    const name = `spoke-${i}`;
    if (!has(name)) members.push({ name, role: 'spoke', clusters: [name], port: await freePort() });
  }
  const virtual = options.virtual ?? 0;
  if (virtual > 0) {
    const clusters = Array.from({ length: virtual }, (_, i) => `virtual-${i + 1}`);
    const index = members.findIndex((member) => member.name === 'virtual');
    const present = members[index];
    if (!present) members.push({ name: 'virtual', role: 'spoke', clusters, port: await freePort() });
    else if (present.clusters.length < virtual) {
      // A process that hosts spokes learns of more of them at its start.
      await stopMember(systemRuntime().clock, directory, 'virtual');
      members[index] = { ...present, clusters };
    }
  }
  const fleet: FleetFile = { version: 1, members };
  writeFleet(directory, fleet);
  return fleet;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1');
  return address.port;
}

/** Starts those that do not run and waits until their API answers. Returns the names of those it started. */
export async function startMembers(
  runtime: Runtime,
  directory: FleetDirectory,
  members: readonly Member[],
  progress: Progress,
): Promise<string[]> {
  const started = members.filter((member) => runningPid(directory, member.name) === undefined);
  const pids = new Map<string, number>();
  for (const member of started) {
    // Made here, not by the member: the library that writes certificates would stay in its memory.
    await serverCertificates(runtime, join(directory.home(member.name), 'pki'), member.name);
    if (member.linkPort !== undefined)
      await linkCertificates(runtime, join(directory.home(member.name), 'pki'), member.name);
    // The kubeconfig is written when the member is ready; an old one says nothing.
    rmSync(join(directory.home(member.name), 'ready'), { force: true });
    pids.set(member.name, spawnMember(directory, member));
  }
  const deadline = runtime.clock.monotonic() + MEMBER_TIMEOUT_MS;
  for (const member of members) {
    progress.step(`waiting for ${member.name}`);
    const answers = readiness(directory, member.name);
    for (let problem = await answers(); problem !== undefined; problem = await answers()) {
      const pid = pids.get(member.name);
      const ended = pid !== undefined && runningPid(directory, member.name) === undefined && !isAlive(pid);
      if (ended || runtime.clock.monotonic() > deadline) {
        const what = ended
          ? 'ended while starting'
          : `did not get ready within ${MEMBER_TIMEOUT_MS / 1000} s (${problem})`;
        throw new Error(
          `${member.name} ${what}. Its log (${directory.logFile(member.name)}) ends with:\n${logTail(directory, member.name)}`,
        );
      }
      await sleep(runtime.clock, 40);
    }
  }
  return started.map((member) => member.name);
}

/** Looks whether a member answers: why it does not, or undefined when it does. */
function readiness(directory: FleetDirectory, name: string): () => Promise<string | undefined> {
  let client: Client | undefined;
  return async () => {
    if (runningPid(directory, name) === undefined) return 'its process has not begun';
    if (!existsSync(join(directory.home(name), 'ready'))) return 'it is still starting';
    try {
      client ??= memberClient(directory, name);
      await client.getJson('/version');
      return undefined;
    } catch (error) {
      return errorText(error);
    }
  };
}

/** A client with the administrator's rights on a member. */
export function memberClient(directory: FleetDirectory, name: string): Client {
  const text = readFileSync(join(directory.home(name), 'kubeconfig'), 'utf8');
  return createClient(httpHandler(endpointFromKubeconfig(text, { stored: false })), { userAgent: 'atoll' });
}

/** Has the hub expect its spokes, and gives each the data to join with; a token for those that have no certificate yet. */
export async function enrol(
  runtime: Runtime,
  directory: FleetDirectory,
  client: Client,
  hub: Member,
  spokes: readonly Member[],
): Promise<void> {
  const notice = await readLinkNotice(client);
  if (!notice) throw new Error(`${hub.name} does not listen for spokes; see ${directory.logFile(hub.name)}`);
  const known = new Set(
    (await client.list<SpokeCluster>(SPOKE_CLUSTERS, '')).items.map((item) => item.metadata.name),
  );
  for (const member of spokes) {
    const tokens: Record<string, string> = {};
    for (const cluster of member.clusters) {
      const file = `${linkFileName(cluster, notice.trust.lineage)}.json`;
      const enrolled = existsSync(join(directory.home(member.name), 'link', file));
      if (enrolled && known.has(cluster)) continue;
      const token = await expectSpoke(runtime, client, {
        name: cluster,
        namespace: INVENTORY_NAMESPACE,
        accepted: true,
      });
      // One that has a certificate shows the token where that is not believed any more.
      tokens[cluster] = token;
    }
    const file: JoinFile = { version: 2, hubs: [joinedHub(notice, { tokens })] };
    mkdirSync(directory.home(member.name), { recursive: true, mode: 0o700 });
    writePrivate(directory.joinFile(member.name), JSON.stringify(file));
  }
}

async function waitConnected(
  runtime: Runtime,
  client: Client,
  names: readonly string[],
  progress: Progress,
): Promise<void> {
  const waiting = new Set(names);
  const unknown = new Set(names);
  const timeout = new AbortController();
  const end = (): void => timeout.abort(new Error('timeout'));
  const timers = [runtime.clock.after(CONNECT_TIMEOUT_MS, end)];
  try {
    progress.step(`${names.length - waiting.size} of ${names.length} spokes are connected`);
    for await (const event of client.watch<SpokeCluster>(SPOKE_CLUSTERS, '', {
      sendInitialEvents: true,
      signal: timeout.signal,
    })) {
      if (event.type === 'ERROR')
        throw new Error(`watching the spokes failed: ${event.object.message ?? ''}`);
      const { name = '' } = event.object.metadata;
      const { connection, clusterInfo } = event.object.status ?? {};
      if (connection === 'Connected') waiting.delete(name);
      if ((clusterInfo?.nodeCount ?? 0) > 0) unknown.delete(name);
      progress.step(`${names.length - waiting.size} of ${names.length} spokes are connected`);
      if (waiting.size > 0) continue;
      // Nodes come a moment after their cluster. Somebody may have deleted them all.
      if (unknown.size === 0) return;
      if (timers.length === 1) timers.push(runtime.clock.after(NODES_TIMEOUT_MS, end));
    }
  } catch (error) {
    if (!timeout.signal.aborted) throw error;
  } finally {
    for (const timer of timers) timer.cancel();
    timeout.abort();
  }
  if (waiting.size > 0)
    throw new Error(
      `not connected within ${CONNECT_TIMEOUT_MS / 1000} s: ${[...waiting].slice(0, 5).join(', ')}. See: atoll status, and the logs beside ${'log/'}`,
    );
}

function nextSteps(directory: FleetDirectory, options: UpOptions): string {
  const dir = options.dir === '.atoll' ? '' : ` --dir ${options.dir}`;
  return `
The fleet is up. Next:

  export KUBECONFIG=${directory.kubeconfig}
  kubectl --context hub get spokeclusters
  kubectl --context hub apply -n shop -f examples/shop/
  kubectl --context hub apply -f examples/shop-propagation.yaml
  kubectl --context hub get propagations -n shop -w
  npx atoll status${dir}

Stop it with \`npm run down\`; \`npm run up\` goes on where it stopped; \`npm run reset\` forgets it.
`;
}

function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}

/** Waiting for a signal is nothing that keeps a process alive, a timer is. Returns how to end it. */
function keepAlive(clock: Clock): () => void {
  let timer = clock.after(DAY_MS, again);
  function again(): void {
    timer = clock.after(DAY_MS, again);
  }
  return () => timer.cancel();
}

/** Stops every member, spokes first: they need the hub least. */
export async function stopFleet(
  runtime: Runtime,
  directory: FleetDirectory,
  fleet: FleetFile,
): Promise<string[]> {
  const order = [...fleet.members].sort((a, b) => (a.role === b.role ? 0 : a.role === 'spoke' ? -1 : 1));
  const results = await Promise.all(
    order.map(async (member) => ({
      name: member.name,
      how: await stopMember(runtime.clock, directory, member.name),
    })),
  );
  return results.filter((result) => result.how !== 'absent').map((result) => result.name);
}
