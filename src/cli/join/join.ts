import { createBootstrapToken, type LinkNotice, readLinkNotice } from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import { type ProxySettings, parseProxy } from '../../kube/wire/index.ts';
import { isSpokeName } from '../../link/index.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import type { JoinCommandOptions } from '../commands/join.ts';
import type { AccessOptions } from '../hub-access.ts';
import { ask } from '../output.ts';
import { atollVersion } from '../version.ts';
import { durationOf } from './duration.ts';
import { ENGINE_LABEL } from './engine-release.ts';
import { expectSpoke, joinedHub } from './expect-spoke.ts';
import { joinDirectly } from './join-directly.ts';
import { type JoinFile, joinWord } from './join-file.ts';
import { labelsOf } from './labels.ts';
import { manifestText, spokeManifests } from './spoke-manifests.ts';
import { type ManifestChanges, readValues } from './values.ts';

export type JoinOutput = 'command' | 'yaml' | 'file';

/** `atoll join`: what is to be run is printed on stdout, what is to be known on stderr. */
export function join(
  name: string | undefined,
  options: JoinCommandOptions & Omit<AccessOptions, 'kubeconfig'>,
): Promise<void> {
  const { output, ...access } = options;
  return ask(access, async ({ hub }) => {
    const runtime = systemRuntime();
    refuseUnused(options);
    if (options.spokeKubeconfig !== undefined) {
      const cluster = named(name);
      const message = await joinDirectly(runtime, hub.client, {
        name: cluster,
        namespace: options.namespace,
        labels: labelsOf(options.labels),
        file: options.spokeKubeconfig,
        ...(options.spokeContext === undefined ? {} : { context: options.spokeContext }),
        asIs: options.asIs,
        force: options.force,
      });
      process.stdout.write(message);
      return 0;
    }
    const changed = changesOf(options);
    const notice = await readLinkNotice(hub.client);
    if (!notice)
      throw new Error('this hub does not listen for spokes: start it with --link-port (atoll hub --help)');
    const file = options.bootstrap
      ? await forMany(runtime, hub.client, notice, options)
      : await forOne(runtime, hub.client, notice, named(name), options);
    process.stdout.write(textOf(file, options.bootstrap ? name : named(name), options, changed));
    process.stderr.write(options.bootstrap ? bootstrapNote(options) : note(named(name), options));
    process.stderr.write(reachNote(file.hubs[0]?.addresses ?? []));
    return 0;
  });
}

async function forOne(
  runtime: Runtime,
  client: Client,
  notice: LinkNotice,
  name: string,
  options: JoinCommandOptions,
): Promise<JoinFile> {
  const proxy = proxyOf(options);
  const lifetimeMs = durationOf(options.ttl, '--ttl');
  const labels = {
    ...labelsOf(options.labels),
    ...(options.hubUpgrades === true ? { [ENGINE_LABEL]: 'dispatched' } : {}),
  };
  // What is wrong with an address is told before anything is made.
  joinedHub(notice, { tokens: {}, addresses: options.address ?? [] });
  const { namespace, accept: accepted } = options;
  const token = await expectSpoke(runtime, client, { name, namespace, labels, accepted, lifetimeMs });
  const hub = joinedHub(notice, {
    tokens: { [name]: token },
    addresses: options.address ?? [],
    ...(proxy === undefined ? {} : { proxy }),
  });
  return { version: 2, hubs: [hub] };
}

async function forMany(
  runtime: Runtime,
  client: Client,
  notice: LinkNotice,
  options: JoinCommandOptions,
): Promise<JoinFile> {
  const proxy = proxyOf(options);
  const token = await createBootstrapToken(runtime, client, {
    namespace: options.namespace,
    names: options.names ?? ['*'],
    approved: options.approve,
    lifetimeMs: durationOf(options.ttl, '--ttl'),
  });
  const hub = joinedHub(notice, {
    tokens: { '*': token },
    addresses: options.address ?? [],
    ...(proxy === undefined ? {} : { proxy }),
  });
  return { version: 2, hubs: [hub] };
}

/** An option that says nothing where it stands is meant for something: it is not passed over. */
export function refuseUnused(options: Omit<JoinCommandOptions, 'kubeconfig' | 'context' | 'dir'>): void {
  const direct = options.spokeKubeconfig !== undefined;
  const yaml = options.output === 'yaml' && !direct;
  const given: readonly (readonly [string, unknown, boolean, string])[] = [
    ['--names', options.names, options.bootstrap, '--bootstrap'],
    ['--approve', options.approve || undefined, options.bootstrap, '--bootstrap'],
    ['--image', options.image, yaml, '-o yaml'],
    ['--no-usual-kinds', options.usualKinds ? undefined : true, yaml, '-o yaml'],
    ['--hub-users', options.hubUsers, yaml, '-o yaml'],
    ['--hub-groups', options.hubGroups, yaml, '-o yaml'],
    ['--hub-upgrades', options.hubUpgrades, yaml, '-o yaml'],
    ['--bypass-proxy', options.bypassProxy, options.proxy !== undefined, '--proxy'],
    ['--spoke-context', options.spokeContext, direct, '--spoke-kubeconfig'],
    ['--as-is', options.asIs || undefined, direct, '--spoke-kubeconfig'],
  ];
  for (const [option, value, counts, other] of given)
    if (value !== undefined && !counts) throw new Error(`${option} says nothing without ${other}`);
}

/** What a values file changes, read before anything is made. */
function changesOf({ values, output, hubUpgrades }: JoinCommandOptions): ManifestChanges {
  if (values === undefined) return (manifests) => [...manifests];
  if (output !== 'yaml') throw new Error('--values says how the manifests of -o yaml are to be');
  if (hubUpgrades === true)
    throw new Error('--values means nothing with --hub-upgrades: the engine is what atoll engine prints');
  return readValues(values);
}

function textOf(
  file: JoinFile,
  name: string | undefined,
  options: JoinCommandOptions,
  changed: ManifestChanges,
): string {
  const [hub] = file.hubs;
  if (options.output === 'file' || !hub) return `${JSON.stringify(file, null, 2)}\n`;
  if (options.output === 'command')
    return `npx atoll spoke${options.bootstrap ? ` --name ${name ?? '<name>'}` : ''} --join ${joinWord(file)}\n`;
  const manifests = spokeManifests({
    cluster: named(name),
    hub,
    image: options.image ?? `atoll:${atollVersion()}`,
    usualKinds: options.usualKinds,
    hubUsers: options.hubUsers ?? [],
    hubGroups: options.hubGroups ?? [],
    hubUpgrades: options.hubUpgrades === true,
  });
  return manifestText(changed(manifests));
}

function note(name: string, { output, ttl, accept }: JoinCommandOptions): string {
  const how = {
    command: `Run this where the kubeconfig of ${name} is (--kubeconfig, $KUBECONFIG, or in a pod there).`,
    yaml: `Apply this on ${name} with kubectl; its image is to be one that holds atoll (--image).`,
    file: `Bring this to ${name} and name it with: atoll spoke --join <file>`,
  }[output];
  const next = accept ? '' : `It waits for: atoll accept ${name}\n`;
  return `\n${how}\nIt holds a token: good for ${ttl}, for one key, and to be kept secret.\n${next}`;
}

/** A hub that listens on this machine alone makes join data that are of no use elsewhere, and nothing else says so. */
export function reachNote(addresses: readonly string[]): string {
  if (!addresses.every((address) => /^(127\.|\[::1\]:|localhost:)/.test(address))) return '';
  return `It says that the hub is at ${addresses.join(', ')}, which only this machine reaches. For another one the hub has to listen elsewhere (atoll hub --link-host, --link-address), or be told of by --address.\n`;
}

function bootstrapNote({ ttl, approve }: JoinCommandOptions): string {
  const next = approve
    ? 'Whoever comes with it is accepted.'
    : 'Each spoke then waits for: atoll accept <name>';
  return `\nThis token is good for many spokes, for ${ttl}; keep it secret.\n${next}\n`;
}

function named(name: string | undefined): string {
  if (name === undefined) throw new Error('a name is needed: atoll join <name>');
  if (!isSpokeName(name))
    throw new Error(
      `${JSON.stringify(name)} cannot be the name of a cluster: lower-case letters, digits, - and .`,
    );
  return name;
}

function proxyOf({ proxy, bypassProxy }: JoinCommandOptions): ProxySettings | undefined {
  if (proxy === undefined) return undefined;
  // Throws for what is no proxy.
  parseProxy(proxy);
  return { url: proxy, ...(bypassProxy === undefined ? {} : { noProxy: bypassProxy }) };
}
