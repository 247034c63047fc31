import { Command, InvalidArgumentError, Option } from 'commander';
import { errorText, LOG_LEVELS, type LogLevel } from '../runtime/log.ts';
import { registerAccept } from './commands/accept.ts';
import { registerCel } from './commands/cel.ts';
import { registerCluster } from './commands/cluster.ts';
import { registerConfirm } from './commands/confirm.ts';
import { registerDesired } from './commands/desired.ts';
import { registerDetach } from './commands/detach.ts';
import { registerDiff } from './commands/diff.ts';
import { withEngagedOptions } from './commands/engaged-options.ts';
import { registerEngineRelease } from './commands/engine-release.ts';
import { registerFederate } from './commands/federate.ts';
import { registerGet } from './commands/get.ts';
import { registerGrant } from './commands/grant.ts';
import { registerGraph } from './commands/graph.ts';
import { withGraphOptions } from './commands/graph-options.ts';
import { registerJoin } from './commands/join.ts';
import { registerKubeconfig } from './commands/kubeconfig.ts';
import { registerPlan } from './commands/plan.ts';
import { registerPromote } from './commands/promote.ts';
import { registerRecover } from './commands/recover.ts';
import { registerRights } from './commands/rights.ts';
import { registerHistory, registerRollback, registerRollout } from './commands/rollout.ts';
import { registerSnapshot } from './commands/snapshot.ts';
import { registerStatus } from './commands/status.ts';
import { registerTakeover } from './commands/takeover.ts';
import { registerWhy } from './commands/why.ts';
import { STAND_INS } from './envtest/stand-ins.ts';
import { refuseOptionsBefore } from './hub-options.ts';
import { atollVersion } from './version.ts';
import { keepYoungGenerationSmall } from './young-generation.ts';

const program = new Command('atoll')
  .description('A fleet control plane for Kubernetes: one hub, many spokes that look after themselves.')
  .version(atollVersion())
  .showHelpAfterError('(atoll --help shows all commands)')
  // What follows the name of a command is that command's: `hub` has options, and commands with options of the same names.
  .enablePositionalOptions()
  .configureHelp({ sortSubcommands: false });

const DIRECTORY = ['--dir <directory>', 'directory of the fleet on this machine', '.atoll'] as const;

program
  .command('up')
  .description('start a hub and spokes on this machine, or go on with those of before')
  .option(...DIRECTORY)
  .option('--spokes <number>', 'spokes with a process each (3 for a new fleet)', wholeNumber)
  .option('--virtual <number>', 'further spokes that share one process', wholeNumber)
  .option('--foreground', 'stay, and stop the fleet at Ctrl-C', false)
  .action(async (options) => (await import('./commands/up.ts')).up(options));

program
  .command('down')
  .description('stop the fleet and keep its state')
  .option(...DIRECTORY)
  .action(async (options) => (await import('./commands/down.ts')).down(options));

program
  .command('reset')
  .description('stop the fleet and delete its state')
  .option(...DIRECTORY)
  .action(async (options) => (await import('./commands/down.ts')).reset(options));

program
  .command('start <name>')
  .description('start one process of the fleet: hub, spoke-1 …')
  .option(...DIRECTORY)
  .action(async (name, options) => (await import('./commands/down.ts')).start(name, options));

program
  .command('stop <name>')
  .description('stop one process of the fleet')
  .option(...DIRECTORY)
  .action(async (name, options) => (await import('./commands/down.ts')).stop(name, options));

registerStatus(program);
registerWhy(program);
registerDesired(program);
registerDiff(program);
registerPlan(program);
registerPromote(program);
registerRollout(program);
registerHistory(program);
registerRollback(program);
registerSnapshot(program);
registerJoin(program);
registerEngineRelease(program);
registerAccept(program);
registerDetach(program);
registerTakeover(program);
registerCluster(program);
registerFederate(program);
registerGet(program);
registerGrant(program);
registerCel(program);
registerGraph(program);
registerKubeconfig(program);

for (const role of ['hub', 'spoke'] as const) {
  const command = program
    .command(role)
    .description(
      `run the engine against an API server that is there already, as a ${role}${role === 'hub' ? '; with commands for when a hub is set up, restored or lost' : ''}`,
    )
    .option('--kubeconfig <file>', "$KUBECONFIG, the pod's service account, or ~/.kube/config by default")
    .option('--context <name>', 'context of the kubeconfig')
    .option(
      '--name <name>',
      role === 'hub'
        ? 'name of the hub (hub)'
        : 'name of the SpokeCluster that stands for this cluster at its hub',
    )
    .option('--data <directory>', 'where keys are kept; a spoke keeps its own in its cluster otherwise')
    .option(
      '--join <data...>',
      'hubs to dial, the first one first: what `atoll join` printed there, or files of it',
    )
    .option(
      '--switch-after <duration>',
      'after so long without its hub (10m) a spoke makes itself the next one of --join that lets it in',
    )
    .option('--stand-by', 'of several engines of this spoke one at a time runs: wait for a turn')
    .option('--link-port <port>', 'listen for spokes that dial', port)
    .option('--link-host <host>', 'address to listen on', '127.0.0.1')
    .option(
      '--link-address <host:port...>',
      'where spokes find this hub, where that is not the address to listen on',
    )
    .option(
      '--peer <addresses...>',
      'link addresses of all replicas of this hub: all listen, one at a time is the hub',
    )
    .option('--access-port <port>', 'let people get to the spokes on this port', port)
    .option('--access-host <host>', 'address of that port', '127.0.0.1')
    .option('--access-address <host:port>', 'where people find it, where that is another address')
    .option('--writes-without-grant', 'let people write on spokes who may create spokeclusters/proxy', false)
    .option('--allow-loopback', 'accept kubeconfigs of clusters on this machine', false)
    .option('--allow-unverified-tls', 'reach clusters that want no check of their certificate', false)
    .option('--gateway-namespace <namespace>', "register clusters with KubeVela's cluster gateway there")
    .option(
      '--scheduler-plugin <files...>',
      'modules with rules of your own for placing; they run in this process',
    )
    .addOption(logLevel('info'))
    .action(async (options) => (await import('./commands/engine.ts')).runEngine(role, options));
  withGraphOptions(command);
  if (role === 'spoke') continue;
  withEngagedOptions(command);
  command.enablePositionalOptions().hook('preSubcommand', refuseOptionsBefore);
  for (const register of [registerConfirm, registerRecover, registerRights]) register(command);
}

program
  .command('member <name>', { hidden: true })
  .description('run one process of the fleet in this one')
  .option(...DIRECTORY)
  .addOption(logLevel('info'))
  .action(async (name, options) => (await import('./commands/member.ts')).runMember(name, options));

program
  .command('apiserver')
  .description('run a Kubernetes API server alone')
  .option('--port <port>', 'where to listen; 0 takes a free port', port, 6443)
  .option('--host <address>', 'address to listen on', '127.0.0.1')
  .option('--data <directory>', 'where objects, certificates and the kubeconfig are kept')
  .option('--memory', 'keep nothing', false)
  .option('--etcd <url>', 'keep objects in etcd at this http:// address; certificates are kept in --data')
  .option('--admin-token <token>', 'bearer token of an administrator')
  .option('--token-file <file>', 'bearer tokens: lines of token,user,uid,"group,group"')
  .option('--controllers <set>', 'all, core (no workloads are simulated) or none', 'all')
  .option(
    '--disable-admission-plugins <names>',
    'admission plugins to switch off, separated by commas',
    names,
  )
  .option('--allow-privileged', 'take pods with privileged containers', false)
  .option('--emulated-version <release>', 'the Kubernetes release to look like, 1.28 to 1.36', '1.36')
  .option('--cluster <names...>', 'logical clusters to create, served below /clusters/<name>')
  .option(
    '--workspaces',
    'manage logical clusters by objects: Workspaces, their types, exports of APIs',
    false,
  )
  .option('--audit-policy-file <file>', 'what is recorded of which requests; without it one line of each')
  .option(
    '--audit-log-path <file>',
    'where requests are recorded, as lines of JSON; - is the standard output',
  )
  .option('--admission-control-config-file <file>', 'names the kubeconfig with credentials for webhooks')
  .option('--oidc-issuer-url <url>', 'OpenID Connect issuer whose ID tokens are believed')
  .option('--oidc-client-id <id>', 'whom those tokens have to be meant for')
  .option('--oidc-username-claim <name>', 'the claim that is the name of the user', 'sub')
  .option('--oidc-username-prefix <text>', 'what is put before the name; - is nothing')
  .option('--oidc-groups-claim <name>', "the claim that holds the user's groups")
  .option('--oidc-groups-prefix <text>', 'what is put before their names')
  .option('--oidc-required-claim <pairs...>', 'claims that tokens must have, as name=value')
  .option('--oidc-signing-algs <names>', 'algorithms that tokens may be signed with', names, ['RS256'])
  .option('--oidc-ca-file <file>', "authorities of the issuer's certificate, PEM")
  .option(
    '--no-anonymous-auth',
    'refuse requests without credentials; by default they are system:anonymous, as in any Kubernetes',
  )
  .option('--kubeconfig-out <file>', "a kubeconfig to add the administrator's to")
  .addOption(logLevel('warn'))
  .action(async (options) => {
    const started = keepYoungGenerationSmall();
    await (await import('./commands/apiserver.ts')).runApiServer(options, started);
  });

program
  .command('envtest')
  .description("print how controller-runtime's envtest is told to use Atoll for its API server")
  .option('--dir <directory>', 'write programs there that run on this Node')
  .action(async (options) => (await import('./commands/envtest.ts')).printEnvtest(options.dir));

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads it has seen enough, such as `head`.
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`atoll: the output cannot be written: ${errorText(error)}\n`);
  process.exit(1);
});

try {
  if (!(await standIn())) await program.parseAsync();
} catch (error) {
  process.stderr.write(`atoll: ${errorText(error)}\n`);
  // What it began before it failed must not go on, such as a listener or an engine.
  process.exit(1);
}

/** Runs as another program, whose flags are none of ours, where it was started by its name. */
async function standIn(): Promise<boolean> {
  const [, , name = '', ...args] = process.argv;
  const run = Object.hasOwn(STAND_INS, name) ? STAND_INS[name] : undefined;
  await run?.(args);
  return run !== undefined;
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port, from 0 to 65535.');
  return Number(text);
}

function logLevel(fallback: LogLevel): Option {
  return new Option('--log-level <level>', 'how much is logged').choices(LOG_LEVELS).default(fallback);
}

function names(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
