import { type Command, Option } from 'commander';
import { DEFAULT_DIRECTORY, type HubOptions, hubOptionsOf } from '../hub-options.ts';
import type { JoinOutput } from '../join/join.ts';

export interface JoinCommandOptions extends Omit<HubOptions, 'output'> {
  readonly namespace: string;
  readonly labels?: readonly string[];
  readonly address?: readonly string[];
  readonly proxy?: string;
  readonly bypassProxy?: string;
  readonly ttl: string;
  readonly accept: boolean;
  readonly image?: string;
  readonly usualKinds: boolean;
  readonly hubUsers?: readonly string[];
  readonly hubGroups?: readonly string[];
  readonly hubUpgrades?: boolean;
  readonly values?: string;
  readonly bootstrap: boolean;
  readonly approve: boolean;
  readonly names?: readonly string[];
  readonly spokeKubeconfig?: string;
  readonly spokeContext?: string;
  readonly asIs: boolean;
  readonly force: boolean;
  readonly output: JoinOutput;
}

export function registerJoin(program: Command): void {
  const command = program
    .command('join [name]')
    .description('let a cluster join: prints what to run there, or its YAML')
    .option('--dir <directory>', 'directory of the fleet on this machine', DEFAULT_DIRECTORY)
    .option('--kubeconfig <file>', 'kubeconfig of the hub ($KUBECONFIG, then the one in --dir, by default)')
    .option('--context <name>', 'context of the hub in the kubeconfig', 'hub')
    .option('-n, --namespace <namespace>', 'namespace of the SpokeCluster', 'default')
    .option('-l, --labels <key=value...>', 'labels of the SpokeCluster')
    .option('--address <host:port...>', 'where the spoke finds the hub, in place of what the hub tells')
    .option('--proxy <url>', 'the way out of the spoke’s network: http, https or socks5')
    .option('--bypass-proxy <hosts>', 'hosts that are reached without it, as in NO_PROXY')
    .option('--ttl <duration>', 'how long the token is good: 30m, 1h, 7d', '1h')
    .option('--accept', 'accept the spoke at once (the default)', true)
    .option('--no-accept', 'make it wait for: atoll accept <name>')
    .option('--image <image>', 'with -o yaml: the container image of atoll')
    .option(
      '--no-usual-kinds',
      'with -o yaml: no rights for workloads but those that labelled ClusterRoles add',
    )
    .option(
      '--hub-users <names...>',
      'with -o yaml: users of the hub who may look into the cluster through it',
    )
    .option('--hub-groups <names...>', 'with -o yaml: groups of the hub that these users may be in')
    .option('--hub-upgrades', 'with -o yaml: the hub may upgrade the engine there: atoll engine')
    .option(
      '--values <file>',
      'with -o yaml: how the engine is to run there, as values of a Helm chart say it',
    )
    .option('--bootstrap', 'make a token for many spokes, which have to be accepted one by one', false)
    .option('--approve', 'with --bootstrap: whoever comes with the token is accepted', false)
    .option('--names <names...>', 'with --bootstrap: names that spokes may take, whole or ending with *')
    .option('--spoke-kubeconfig <file>', 'reach the cluster by this kubeconfig, instead of it dialling')
    .option('--spoke-context <name>', 'context in that kubeconfig')
    .option('--as-is', 'keep that kubeconfig as it is, instead of an account with a hub’s rights only', false)
    .option('--force', 'take the place of a SpokeCluster that is there with another credential', false)
    .addOption(
      new Option('-o, --output <format>', 'a command, a YAML for kubectl apply, or a file for --join')
        .choices(['command', 'yaml', 'file'])
        .default('command'),
    );
  command.action(async (name: string | undefined) => {
    const { join } = await import('../join/join.ts');
    await join(name, hubOptionsOf<JoinCommandOptions & HubOptions>(command));
  });
}
