import { existsSync, readFileSync } from 'node:fs';
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
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const several = clusters.length > 1;
  const config: Kubeconfig = {
    ...emptyKubeconfig(),
    clusters: clusters.map((name) => ({
      name,
      cluster: {
        server: `https://127.0.0.1:${port}${several ? `/clusters/${name}` : ''}`,
        'certificate-authority-data': base64(certificates.authority.certificate),
      },
    })),
    users: clusters.map((name) => ({
      name: `${name}-admin`,
      user: {
        'client-certificate-data': base64(certificates.admin.certificate),
        'client-key-data': base64(certificates.admin.key),
      },
    })),
    contexts: clusters.map((name) => ({ name, context: { cluster: name, user: `${name}-admin` } })),
    'current-context': clusters[0] ?? '',
  };
  // JSON is YAML: a member need not load a YAML library for it.
  writePrivate(path, `${JSON.stringify(config, null, 2)}\n`);
}

/** One kubeconfig for the fleet out of those of its members, hub first. */
export function mergeMemberKubeconfigs(paths: readonly string[], into: string): void {
  let merged = emptyKubeconfig();
  for (const path of paths)
    if (existsSync(path)) merged = mergeKubeconfigs(merged, parseKubeconfig(readFileSync(path, 'utf8')));
  const first = merged.contexts[0]?.name ?? '';
  writePrivate(into, formatKubeconfig({ ...merged, 'current-context': first }));
}
