import { readFileSync } from 'node:fs';
import { inject } from 'vitest';
import type { Client } from '../../../src/kube/client.ts';
import { type HttpHandler, httpHandler } from '../../../src/kube/http-handler.ts';
import { endpointFromKubeconfig } from '../../../src/kube/kubeconfig-endpoint.ts';
import { createClient } from '../../../src/kube/rest-client.ts';
import { type CommandOptions, expectSuccess, type Outcome, run } from './command.ts';

export interface KubectlOptions extends CommandOptions {
  readonly binary?: string;
}

/** What the user of a fleet types, whatever its servers are. */
export interface FleetCommands {
  /** `atoll <args>` for this fleet, whatever its exit code. */
  atoll(args: readonly string[], options?: CommandOptions): Promise<Outcome>;
  /** The same, which must succeed. */
  mustAtoll(...args: string[]): Promise<string>;
  /** kubectl with a context, whatever its exit code; the newest one unless `binary` says otherwise. */
  tryKubectl(context: string, args: readonly string[], options?: KubectlOptions): Promise<Outcome>;
  /** The same, which must succeed: its standard output. */
  kubectl(context: string, ...args: string[]): Promise<string>;
  /** `kubectl apply -f -`, which must succeed. */
  apply(context: string, manifests: string, ...args: string[]): Promise<string>;
  /** `kubectl create -f -` of one object, which must succeed. */
  create(context: string, object: object): Promise<string>;
  /** An API client with the administrator's rights, for watching what kubectl cannot time. Closed with the fleet. */
  client(context: string): Client;
}

export interface FleetCommandsOptions {
  readonly directory: string;
  readonly kubeconfig: string;
  readonly atoll: FleetCommands['atoll'];
  /** What becomes of manifests before they are applied. */
  readonly written?: (manifests: string) => string;
}

/** The commands, and what closes the clients that were made. */
export function fleetCommands({
  directory,
  kubeconfig,
  atoll,
  written = (manifests) => manifests,
}: FleetCommandsOptions): { readonly commands: FleetCommands; close(): Promise<void> } {
  const newest = inject('kubectls').at(-1)?.path ?? 'kubectl';
  const handlers: HttpHandler[] = [];
  const commands: FleetCommands = {
    atoll,
    async mustAtoll(...args): Promise<string> {
      return expectSuccess(`atoll ${args.join(' ')}`, await atoll(args));
    },
    tryKubectl(context, args, options = {}): Promise<Outcome> {
      const { binary = newest, env = {}, ...rest } = options;
      return run(binary, ['--context', context, ...args], {
        ...rest,
        env: { KUBECONFIG: kubeconfig, HOME: `${directory}.home`, ...env },
      });
    },
    async kubectl(context, ...args): Promise<string> {
      return expectSuccess(`kubectl ${args.join(' ')}`, await commands.tryKubectl(context, args));
    },
    async apply(context, manifests, ...args): Promise<string> {
      const input = written(manifests);
      return expectSuccess(
        'kubectl apply',
        await commands.tryKubectl(context, ['apply', '-f', '-', ...args], { input }),
      );
    },
    async create(context, object): Promise<string> {
      return expectSuccess(
        'kubectl create',
        await commands.tryKubectl(context, ['create', '-f', '-'], { input: JSON.stringify(object) }),
      );
    },
    client(context): Client {
      const endpoint = endpointFromKubeconfig(readFileSync(kubeconfig, 'utf8'), { stored: false, context });
      const handler = httpHandler(endpoint);
      handlers.push(handler);
      return createClient(handler, { userAgent: 'e2e' });
    },
  };
  return {
    commands,
    async close(): Promise<void> {
      await Promise.all(handlers.map((handler) => handler.close()));
    },
  };
}
