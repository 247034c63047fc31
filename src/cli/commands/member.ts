import { join } from 'node:path';
import type { ClusterProvider } from '../../hub/provision/index.ts';
import { errorText, type LogLevel } from '../../runtime/log.ts';
import { AlreadyRunning, PROCESS_TITLE, takePidFile } from '../../runtime/pid-file.ts';
import { pinoLogger } from '../../runtime/pino-logger.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { graphSettingsOf } from '../../spoke/graphs/settings.ts';
import { type FleetDirectory, fleetDirectory, readFleet } from '../fleet-directory.ts';
import { startMember } from '../member.ts';
import { renewMergedKubeconfig } from '../member-kubeconfig.ts';
import { giveMemoryBackAtRest } from '../memory-at-rest.ts';
import { hasBursts } from '../processes.ts';
import { atollVersion } from '../version.ts';

/** Runs one member of a fleet in this process until it is told to stop. What `atoll up` and `atoll start` spawn. */
export async function runMember(name: string, options: { dir: string; logLevel?: LogLevel }): Promise<void> {
  process.title = `${PROCESS_TITLE} ${name}`;
  const log = pinoLogger(options.logLevel ?? 'info', { member: name });
  const runtime = systemRuntime(log);
  const directory = fleetDirectory(options.dir);
  const member = readFleet(directory)?.members.find((item) => item.name === name);
  if (!member) throw new Error(`${directory.root} has no member ${name}; see: atoll status`);
  let release: () => void;
  try {
    release = takePidFile(directory.pidFile(name));
  } catch (error) {
    if (error instanceof AlreadyRunning)
      throw new Error(`${name} runs already (pid ${error.pid}); stop it with: atoll stop ${name}`, {
        cause: error,
      });
    throw error;
  }
  process.on('unhandledRejection', (error) =>
    log.error('a promise was rejected and nobody listened', {
      why: errorText(error),
      stack: error instanceof Error ? error.stack : undefined,
    }),
  );
  const running = await startMember(runtime, {
    name,
    clusters: member.clusters,
    role: member.role,
    directory: directory.home(name),
    port: member.port,
    ...(member.linkPort === undefined ? {} : { linkPort: member.linkPort }),
    ...(member.role === 'spoke' ? { joinFile: directory.joinFile(name) } : {}),
    auditFile: directory.auditFile(name),
    simulate: member.role === 'spoke',
    version: atollVersion(),
    graphs: graphSettingsOf(process.env),
    ...(member.role === 'hub'
      ? {
          provider: providerAt(runtime, directory),
          renewFleetKubeconfig: () => {
            const members = readFleet(directory)?.members ?? [];
            renewMergedKubeconfig(
              members.map((item) => join(directory.home(item.name), 'kubeconfig')),
              directory.kubeconfig,
            );
          },
        }
      : {}),
  });
  const stopGivingBack = hasBursts(member) ? giveMemoryBackAtRest(runtime.clock) : undefined;
  await untilStopped(log, async () => {
    stopGivingBack?.();
    await running.stop();
    release();
  });
}

/** Not loaded before somebody wants a cluster: it takes memory. */
function providerAt(runtime: Runtime, directory: FleetDirectory): ClusterProvider {
  let loaded: Promise<ClusterProvider> | undefined;
  const provider = (): Promise<ClusterProvider> => {
    loaded ??= import('../provision/index.ts').then((room) => room.embeddedProvider(runtime, directory));
    return loaded;
  };
  return {
    name: 'embedded',
    create: async (spoke) => (await provider()).create(spoke),
    remove: async (spoke) => (await provider()).remove(spoke),
  };
}
