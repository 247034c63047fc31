import { existsSync, readFileSync } from 'node:fs';
import { contextKubeconfig } from '../kube/context-kubeconfig.ts';
import {
  emptyKubeconfig,
  formatKubeconfig,
  type Kubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
} from '../kube/kubeconfig.ts';
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
  writePrivate(path, `${JSON.stringify(config, null, 2)}\n`);
}

/**
 * One kubeconfig for the fleet out of those of its members, hub first: a context for each cluster, and `<spoke>@hub` for each
 * spoke by way of the hub, as the user of the hub.
 */
export function mergeMemberKubeconfigs(paths: readonly string[], into: string): void {
  let merged = emptyKubeconfig();
  for (const path of paths)
    if (existsSync(path)) merged = mergeKubeconfigs(merged, parseKubeconfig(readFileSync(path, 'utf8')));
  const first = merged.contexts[0]?.name ?? '';
  writePrivate(into, formatKubeconfig({ ...withHubContexts(merged, first), 'current-context': first }));
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
