import { type HubTrust, SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { ignoring } from '../../kube/status-error.ts';
import { configMaps } from '../../kube/well-known.ts';
import { stringAt } from '../../schema/json.ts';
import { ensureSystemNamespace } from '../dispatch/identity.ts';

/** How spokes find a hub and know it: what a spoke is told when it joins. Nothing in it is secret. */
export interface LinkNotice {
  /** Of the hub, for people. */
  readonly name: string;
  /** `host:port` of its link listeners, in the order in which to try them. */
  readonly addresses: readonly string[];
  /** Host names and addresses that its certificate holds. */
  readonly names: readonly string[];
  /** PEM of the authority of its certificate. */
  readonly ca: string;
  readonly trust: HubTrust;
}

/** Where a hub tells it: a ConfigMap in the system namespace of the hub. */
export const LINK_NOTICE_NAME = 'hub-link';

/** Written by the hub when it listens; a no-op where it says the same already. */
export async function publishLinkNotice(client: Client, notice: LinkNotice): Promise<void> {
  await ensureSystemNamespace(client);
  await client.apply(
    configMaps,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: LINK_NOTICE_NAME, namespace: SYSTEM_NAMESPACE },
      data: {
        name: notice.name,
        addresses: notice.addresses.join('\n'),
        names: notice.names.join('\n'),
        ca: notice.ca,
        lineage: notice.trust.lineage,
        publicKey: notice.trust.publicKey,
      },
    },
    { fieldManager: 'atoll-hub', force: true },
  );
}

/** Undefined where the hub has never listened for spokes. */
export async function readLinkNotice(client: Client): Promise<LinkNotice | undefined> {
  const map = await ignoring(404, client.get(configMaps, SYSTEM_NAMESPACE, LINK_NOTICE_NAME));
  if (!map) return undefined;
  const value = (key: string): string => stringAt(map, 'data', key) ?? '';
  const lines = (key: string): string[] =>
    value(key)
      .split('\n')
      .filter((line) => line !== '');
  return {
    name: value('name'),
    addresses: lines('addresses'),
    names: lines('names'),
    ca: value('ca'),
    trust: { lineage: value('lineage'), publicKey: value('publicKey') },
  };
}
