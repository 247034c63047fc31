import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { hasCode } from '../../kube/status-error.ts';
import { configMaps } from '../../kube/well-known.ts';
import { stringAt } from '../../schema/json.ts';

/** Where people get to the spokes of a hub whose API server cannot lead there itself. Nothing in it is secret. */
export interface AccessNotice {
  /** `https://host:port`. */
  readonly server: string;
  /** PEM of the authority of its certificate. */
  readonly ca: string;
}

/** A ConfigMap in the system namespace of the hub, beside the one for spokes. */
const NAME = 'hub-access';

/** Written by the hub when it listens; a no-op where it says the same already. The namespace is there. */
export async function publishAccessNotice(client: Client, { server, ca }: AccessNotice): Promise<void> {
  await client.apply(
    configMaps,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: NAME, namespace: SYSTEM_NAMESPACE },
      data: { server, ca },
    },
    { fieldManager: 'atoll-hub', force: true },
  );
}

/** Undefined where the hub has never listened for people, or the user may not read where. */
export async function readAccessNotice(client: Client): Promise<AccessNotice | undefined> {
  try {
    const map = await client.get(configMaps, SYSTEM_NAMESPACE, NAME);
    const server = stringAt(map, 'data', 'server');
    const ca = stringAt(map, 'data', 'ca');
    return server === undefined || ca === undefined ? undefined : { server, ca };
  } catch (error) {
    if (hasCode(error, 404) || hasCode(error, 403)) return undefined;
    throw error;
  }
}
