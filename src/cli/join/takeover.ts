import type { Client } from '../../kube/client.ts';
import { whoAmI } from '../../kube/who-am-i.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { ensureSpokeNamespace, readTrust, takeOver } from '../../spoke/trust.ts';
import { failureText } from '../output.ts';
import { type ClusterAccessOptions, openCluster } from './cluster-access.ts';
import { type JoinedHub, readJoin } from './join-file.ts';
import { readJoins, saveJoin } from './join-secrets.ts';

export interface TakeoverOptions extends ClusterAccessOptions {
  readonly join?: string;
  readonly hub?: string;
}

/** `atoll takeover`: without a hub it only shows whose the spoke is. */
export async function takeover(options: TakeoverOptions): Promise<void> {
  const runtime = systemRuntime();
  try {
    const cluster = openCluster(runtime.clock, 'atoll-cli', options);
    try {
      process.stderr.write(`On the cluster at ${cluster.url}:\n`);
      process.stdout.write(await handOver(runtime, cluster.client, options));
    } finally {
      await cluster.close();
    }
  } catch (error) {
    process.stderr.write(failureText(error));
    process.exitCode = 1;
  }
}

/** Makes the spoke the hub's that is named. Resolves with what to tell. */
export async function handOver(
  runtime: Runtime,
  client: Client,
  { join, hub }: Pick<TakeoverOptions, 'join' | 'hub'>,
): Promise<string> {
  const known = await readJoins(runtime, client);
  const chosen = join === undefined ? known.find(({ name }) => name === hub) : readJoin(join).hubs[0];
  if (chosen === undefined) {
    if (hub !== undefined)
      throw new Error(
        `the spoke knows no hub ${hub}; it knows: ${namesOf(known)}. Bring its join data with --join`,
      );
    return `${await ownerText(client, known)}To make it another hub's: atoll takeover --hub <name>, or --join <join data>\n`;
  }
  await ensureSpokeNamespace(client);
  if (join !== undefined) await saveJoin(client, chosen);
  const before = await takeOver(runtime, client, chosen.trust, (await whoAmI(client))?.username ?? 'unknown');
  const { name, trust } = chosen;
  if (before?.lineage === trust.lineage) return `The spoke is ${name}'s already (${short(trust.lineage)}).\n`;
  const from =
    before === undefined ? '' : ` It was of hub ${short(before.lineage)}; what that ordered stays until`;
  const rest =
    before === undefined ? '' : ` ${name} orders the same, and is then kept for ${name}, without a restart.`;
  return `The spoke is ${name}'s now (${short(trust.lineage)}).${from}${rest}\n`;
}

async function ownerText(client: Client, known: readonly JoinedHub[]): Promise<string> {
  const trust = await readTrust(client);
  const name = known.find((hub) => hub.trust.lineage === trust?.lineage)?.name;
  const owner =
    trust === undefined
      ? 'The spoke is nobody’s yet.'
      : `The spoke is ${name === undefined ? "a hub's" : `${name}'s`} (${short(trust.lineage)}).`;
  const history = (trust?.history ?? []).map((line) => `  ${line}\n`).join('');
  return `${owner} It knows: ${namesOf(known)}.\n${history}`;
}

function namesOf(hubs: readonly JoinedHub[]): string {
  return hubs.map(({ name }) => name).join(', ') || 'none';
}

function short(lineage: string): string {
  return lineage.slice(0, 8);
}
