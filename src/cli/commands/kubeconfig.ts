import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { formatKubeconfig, type Kubeconfig, parseKubeconfig } from '../../kube/kubeconfig.ts';

export interface KubeconfigOptions {
  /** That of a fleet, or of an API server that runs alone. */
  readonly dir: string;
  readonly context?: string;
}

export function registerKubeconfig(program: Command): void {
  program
    .command('kubeconfig')
    .description('print the kubeconfig of the fleet on this machine, or of an API server that runs alone')
    .option('--dir <directory>', 'directory of the fleet, or the data of the API server', '.atoll')
    .option('--context <name>', 'only this one, such as hub or spoke-1')
    .action((options: KubeconfigOptions) => void process.stdout.write(kubeconfigText(options)));
}

/** The kubeconfig as YAML. Throws an Error that says what there is instead. */
export function kubeconfigText({ dir, context }: KubeconfigOptions): string {
  const path = join(dir, 'kubeconfig');
  if (!existsSync(path))
    throw new Error(
      `there is no kubeconfig in ${dir}: neither a fleet (atoll up) nor an API server (atoll apiserver --data ${dir}) began there`,
    );
  const config = parseKubeconfig(readFileSync(path, 'utf8'));
  return formatKubeconfig(context === undefined ? config : onlyContext(config, context, path));
}

function onlyContext(config: Kubeconfig, name: string, path: string): Kubeconfig {
  const contexts = config.contexts.filter((context) => context.name === name);
  const [found] = contexts;
  if (!found) {
    const names = config.contexts.map((context) => context.name);
    throw new Error(
      `${path} has no context ${name}; there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`,
    );
  }
  return {
    ...config,
    clusters: config.clusters.filter((cluster) => cluster.name === found.context.cluster),
    users: config.users.filter((user) => user.name === found.context.user),
    contexts,
    'current-context': name,
  };
}
