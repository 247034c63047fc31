import { type Command, Option } from 'commander';
import { CLUSTER_PROVIDERS } from '../engaged.ts';

/** The options of a hub that runs graphs on clusters without an engine, most of them as kro calls them. */
export function withEngagedOptions(command: Command): Command {
  return command
    .option(
      '--enable-multicluster',
      'run graphs on clusters without an engine, and reach targets by kubeconfigs, from here (docs/graphs.md)',
    )
    .addOption(
      new Option(
        '--cluster-provider <names...>',
        'where those clusters are told of (kubeconfig: Secrets of the hub)',
      ).choices([...CLUSTER_PROVIDERS]),
    )
    .option('--cluster-secrets-namespace <namespace>', 'where their kubeconfig Secrets are (kro-system)')
    .option(
      '--cluster-secrets-label <selector>',
      'which Secrets those are (multicluster.runtime/cluster=true)',
    )
    .option('--cluster-secrets-key <key>', 'the kubeconfig in a Secret (kubeconfig)')
    .option('--cluster-files <files...>', 'kubeconfigs or patterns, for the provider file')
    .option('--cluster-consumer <name>', 'whom credentials of ClusterProfiles are meant for (atoll)')
    .option(
      '--cluster-act-as <user>',
      'write objects of instances there as this user, such as system:serviceaccount:{namespace}:{graph}',
    );
}
