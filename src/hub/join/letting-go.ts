import { createHash } from 'node:crypto';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { BACKDATE_MS } from '../../kube/pki.ts';
import { ignoring } from '../../kube/status-error.ts';
import { configMaps } from '../../kube/well-known.ts';
import { formatTime, parseTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import { ensureSystemNamespace } from '../dispatch/identity.ts';
import { revokeJoinToken } from './join-token.ts';

const DAY_MS = 86_400_000;
/** A spoke that was off for less than this comes back with its ended certificate, to have it renewed and for nothing else. */
export const RENEW_EXPIRED_FOR_MS: number = 30 * DAY_MS;
/** A certificate lives for a day; one more, for clocks. After that nobody has one that could be renewed. */
const KEPT_MS = RENEW_EXPIRED_FOR_MS + 2 * DAY_MS;
/**
 * Certificates are dated back, so those that were made until now end before this, and a clock that is wrong by no more than half
 * of that makes neither an old one good nor a new one one that is not good yet.
 */
const MARGIN_MS = BACKDATE_MS / 2;
const LABEL = 'atoll.dev/let-go';

/**
 * Records that the spoke of a name was let go: its certificates, its token and the approval of its key are void from now on,
 * whoever may have the name later. To be done before the SpokeCluster is gone, since then the name is free.
 */
export async function recordLetGo(
  runtime: Pick<Runtime, 'clock'>,
  client: Client,
  spoke: string,
): Promise<void> {
  const before = await certificatesFrom(client, spoke);
  const now = runtime.clock.now() - MARGIN_MS;
  // Certificates count in seconds. Those that were had after the last time begin where that ended.
  const from = before === undefined ? now : Math.max(before + 1_000, now);
  await ensureSystemNamespace(client);
  await client.apply(
    configMaps,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: recordName(spoke), namespace: SYSTEM_NAMESPACE, labels: { [LABEL]: 'true' } },
      data: { spoke, certificatesFrom: formatTime(from) },
    },
    { fieldManager: 'atoll-hub', force: true },
  );
  await revokeJoinToken(client, spoke);
}

/** When certificates of the name must begin at the earliest; undefined where the name was not let go for as long as one lasts. */
export async function certificatesFrom(client: Client, spoke: string): Promise<number | undefined> {
  const record = await ignoring(404, client.get(configMaps, SYSTEM_NAMESPACE, recordName(spoke)));
  return parseTime(stringAt(record, 'data', 'certificatesFrom'));
}

/** Drops what is recorded of certificates that nobody can have any more. */
export async function dropOldRecords(runtime: Pick<Runtime, 'clock'>, client: Client): Promise<void> {
  const { items } = await client.list(configMaps, SYSTEM_NAMESPACE, { labelSelector: `${LABEL}=true` });
  for (const record of items) {
    const from = parseTime(stringAt(record, 'data', 'certificatesFrom'));
    if (from === undefined || runtime.clock.now() - from < KEPT_MS) continue;
    const { name = '', resourceVersion = '' } = record.metadata;
    // One that was just recorded anew stays.
    await ignoring(
      [404, 409],
      client.delete(configMaps, SYSTEM_NAMESPACE, name, { preconditions: { resourceVersion } }),
    );
  }
}

/** Names of spokes can be as long as names of objects. */
function recordName(spoke: string): string {
  return `let-go-${createHash('sha256').update(spoke).digest('hex').slice(0, 32)}`;
}
