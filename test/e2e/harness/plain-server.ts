import { inject } from 'vitest';
import { startApiServerProcess } from './api-server.ts';
import { type RealApiServers, startRealApiServers } from './real-api-server.ts';
import { startStandIns } from './stand-in-controllers.ts';

/** A cluster with nothing of Atoll in it yet, whichever API server the tests run on, and its administrator's kubeconfig. */
export interface PlainServer {
  /** The administrator's, with one context: {@link PLAIN_CONTEXT}. */
  readonly kubeconfig: string;
  /** For files about it. */
  readonly home: string;
  stop(): Promise<void>;
}

/** The context of the kubeconfig of every plain server. */
export const PLAIN_CONTEXT = 'atoll';

let real: Promise<RealApiServers> | undefined;
let started = 0;
let running = 0;

export async function startPlainServer(): Promise<PlainServer> {
  if (inject('servers') !== 'real') {
    return startApiServerProcess({ memory: true });
  }
  running += 1;
  started += 1;
  const name = `cluster-${started}`;
  real ??= startRealApiServers();
  const servers = await real;
  const server = await servers.start(name);
  const standIns = await startStandIns(name, server);
  return {
    kubeconfig: server.kubeconfigWith('admin', PLAIN_CONTEXT),
    home: server.directory,
    async stop(): Promise<void> {
      await standIns.stop();
      await server.kill();
      running -= 1;
      if (running > 0) return;
      real = undefined;
      await servers.stop();
    },
  };
}
