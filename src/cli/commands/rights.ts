import { type Command, Option } from 'commander';
import type { OptionalDialect } from '../join/hub-rights.ts';

interface RightsOptions {
  readonly user?: string;
  readonly serviceAccount?: string;
  readonly accessPort: boolean;
  readonly gatewayNamespace?: string;
  readonly credentialNamespaces?: readonly string[];
  readonly dialects?: readonly OptionalDialect[];
  readonly usualKinds: boolean;
}

export function registerRights(hub: Command): void {
  hub
    .command('rights')
    .description(
      "print the rights of a hub's engine on an API server that is there already, for kubectl apply",
    )
    .addOption(new Option('--user <name>', 'the user that the engine is there').conflicts('serviceAccount'))
    .option('--service-account <namespace/name>', 'the service account that it is')
    .option('--access-port', 'it leads people to the spokes: atoll hub --access-port', false)
    .option('--gateway-namespace <namespace>', 'as of: atoll hub --gateway-namespace')
    .option(
      '--credential-namespaces <names...>',
      'namespaces of SpokeClusters that are reached by kubeconfig: their credentials are Secrets there',
    )
    .addOption(
      new Option('--dialects <names...>', 'dialects that are used there beside its own kinds').choices([
        'kubefed',
        'kubestellar',
        'cluster-profile',
      ]),
    )
    .option('--no-usual-kinds', 'no kinds to propagate but those that labelled ClusterRoles add')
    .action(async (options: RightsOptions) => {
      const { user, serviceAccount, ...rest } = options;
      const [namespace = '', account = '', ...more] = serviceAccount?.split('/') ?? [];
      if (serviceAccount !== undefined && (namespace === '' || account === '' || more.length > 0))
        throw new Error(
          `--service-account ${JSON.stringify(serviceAccount)} is not of the form namespace/name`,
        );
      if (user === undefined && serviceAccount === undefined)
        throw new Error('whose rights? Name the engine by --user or --service-account');
      const { printHubRights } = await import('../join/hub-rights.ts');
      printHubRights({
        ...rest,
        subject: user === undefined ? { serviceAccount: account, namespace } : { user },
      });
    });
}
