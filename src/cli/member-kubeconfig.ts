import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { contextKubeconfig } from '../kube/context-kubeconfig.ts';
import {
  emptyKubeconfig,
  formatKubeconfig,
  type Kubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
} from '../kube/kubeconfig.ts';
import { errorText } from '../runtime/log.ts';
import type { ServerCertificates } from './certificates.ts';
import { writePrivate } from './fleet-directory.ts';

/** Writes the administrator's kubeconfig of a member: one context for each of its clusters, named like it. */
export function writeMemberKubeconfig(
  path: string,
  clusters: readonly string[],
  port: number,
  certificates: ServerCertificates,
): void {
  const several = clusters.length > 1;
  const config = contextKubeconfig(
    clusters.map((name) => ({
      name,
      server: `https://127.0.0.1:${port}${several ? `/clusters/${name}` : ''}`,
      authority: certificates.authority.certificate,
      user: `${name}-admin`,
      credentials: certificates.admin,
    })),
  );
  // JSON is YAML: a member need not load a YAML library for it.
  writePrivate(path, jsonText(config));
}

/**
 * One kubeconfig for the fleet out of those of its members, hub first: a context for each cluster, and `<spoke>@hub` for each
 * spoke by way of the hub, as the user of the hub.
 */
export function mergeMemberKubeconfigs(paths: readonly string[], into: string): void {
  writePrivate(into, formatKubeconfig(ofMembers(paths)));
}

/** Brings into a merged kubeconfig what members renewed in theirs. What its user made of it otherwise stays. */
export function renewMergedKubeconfig(paths: readonly string[], into: string): void {
  if (!existsSync(into)) return;
  const present = parseKubeconfig(readFileSync(into, 'utf8'));
  const known = (list: readonly { readonly name: string }[], { name }: { readonly name: string }): boolean =>
    list.some((item) => item.name === name);
  const { clusters, users } = ofMembers(paths);
  const renewed = formatKubeconfig(
    mergeKubeconfigs(present, {
      ...emptyKubeconfig(),
      clusters: clusters.filter((cluster) => known(present.clusters, cluster)),
      users: users.filter((user) => known(present.users, user)),
    }),
  );
  if (renewed !== formatKubeconfig(present)) writePrivate(into, renewed);
}

function ofMembers(paths: readonly string[]): Kubeconfig {
  let merged = emptyKubeconfig();
  for (const path of paths)
    if (existsSync(path)) merged = mergeKubeconfigs(merged, parseKubeconfig(readFileSync(path, 'utf8')));
  const first = merged.contexts[0]?.name ?? '';
  return { ...withHubContexts(merged, first), 'current-context': first };
}

/**
 * Writes a kubeconfig into a file of the user: entries of the same name are replaced, the others stay, and its context becomes the
 * current one, unless it is only `renewed`. Throws an Error and leaves the file alone where it holds something else.
 */
export function addToKubeconfig(path: string, config: Kubeconfig, renewed: boolean = false): void {
  mkdirSync(dirname(path), { recursive: true });
  // What a link leads to is written, not the link.
  const file = existsSync(path) ? realpathSync(path) : path;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  writePrivate(file, text.trim() === '' ? jsonText(config) : mergedText(path, text, config, renewed));
}

function mergedText(path: string, text: string, config: Kubeconfig, renewed: boolean): string {
  let present: Kubeconfig;
  try {
    present = parseKubeconfig(text);
  } catch (error) {
    throw new Error(`${path} is left alone, as it is no kubeconfig: ${errorText(error)}`, { cause: error });
  }
  const merged = mergeKubeconfigs(present, config);
  return formatKubeconfig(renewed ? merged : { ...merged, 'current-context': config['current-context'] });
}

function jsonText(config: Kubeconfig): string {
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** Adds `<spoke>@<hub>` for every other context. */
export function withHubContexts(config: Kubeconfig, hub: string): Kubeconfig {
  const context = config.contexts.find(({ name }) => name === hub);
  const cluster = config.clusters.find(({ name }) => name === context?.context.cluster);
  if (!context || !cluster) return config;
  const spokes = config.contexts.filter(({ name }) => name !== hub && !name.includes('@'));
  const named = (spoke: string): string => `${spoke}@${hub}`;
  return mergeKubeconfigs(config, {
    ...emptyKubeconfig(),
    clusters: spokes.map(({ name }) => ({
      name: named(name),
      cluster: {
        ...cluster.cluster,
        server: `${cluster.cluster.server}/clusters/${encodeURIComponent(name)}`,
      },
    })),
    contexts: spokes.map(({ name }) => ({
      name: named(name),
      context: { ...context.context, cluster: named(name) },
    })),
  });
}
