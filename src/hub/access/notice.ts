import { createHash } from 'node:crypto';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/dispatch.ts';
import type { Client } from '../../kube/client.ts';
import { hasCode } from '../../kube/status-error.ts';
import { configMaps } from '../../kube/well-known.ts';
import { isObject, stringAt } from '../../schema/json.ts';

/** Where people get to the spokes of a hub whose API server cannot lead there itself. Nothing in it is secret. */
export interface AccessNotice {
  /** `https://host:port`. */
  readonly server: string;
  /** PEM of the authority of its certificate. */
  readonly ca: string;
}

/** A ConfigMap in the system namespace of the hub, beside the one for spokes. */
const NAME = 'hub-access';
const SERVER = 'server';
/** Of replicas, each with a key of its own. */
const SERVER_PREFIX = 'server.';
/** Replicas that were killed may have left theirs. */
const MOST_SERVERS = 16;

/** Writes where a hub listens for people, or one of its replicas. The namespace is there. */
export interface AccessNoticeWriter {
  /** A no-op where it says the same already. */
  publish(notice: AccessNotice): Promise<void>;
  withdraw(notice: AccessNotice): Promise<void>;
}

export function accessNotice(client: Client, isReplica: boolean): AccessNoticeWriter {
  async function write(notice: AccessNotice, isThere: boolean): Promise<void> {
    const own = createHash('sha256').update(notice.server).digest('hex').slice(0, 8);
    const key = isReplica ? `${SERVER_PREFIX}${own}` : SERVER;
    await client.apply(
      configMaps,
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: NAME, namespace: SYSTEM_NAMESPACE },
        ...(isThere && { data: { [key]: notice.server, ca: notice.ca } }),
      },
      { fieldManager: isReplica ? `atoll-hub-${own}` : 'atoll-hub', force: true },
    );
  }
  return {
    publish: (notice) => write(notice, true),
    withdraw: (notice) => write(notice, false),
  };
}

/** Empty where the hub has never listened for people, or the user may not read where. Of replicas any is good. */
export async function readAccessNotices(client: Client): Promise<readonly AccessNotice[]> {
  try {
    const map = await client.get(configMaps, SYSTEM_NAMESPACE, NAME);
    const { data } = map as { readonly data?: unknown };
    const ca = stringAt(map, 'data', 'ca');
    if (!isObject(data) || ca === undefined) return [];
    return Object.keys(data)
      .filter((key) => key === SERVER || key.startsWith(SERVER_PREFIX))
      .slice(0, MOST_SERVERS)
      .flatMap((key) => {
        const server = data[key];
        return typeof server === 'string' ? [{ server, ca }] : [];
      });
  } catch (error) {
    if (hasCode(error, 404) || hasCode(error, 403)) return [];
    throw error;
  }
}
