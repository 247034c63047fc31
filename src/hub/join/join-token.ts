import { createHash, timingSafeEqual } from 'node:crypto';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { secretValue } from '../../kube/secret-value.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import { formatTime, parseTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { ensureSystemNamespace } from '../dispatch/identity.ts';

const SECRET_TYPE = 'atoll.dev/join-token';
const LIFETIME_MS = 60 * 60_000;

/**
 * Makes a token with which one spoke, of this name, may get its first certificate, once and within an hour (or
 * `lifetimeMs`). The hub keeps its digest only. A token made before for the same name is good no more.
 */
export async function createJoinToken(
  runtime: Runtime,
  client: Client,
  spoke: string,
  lifetimeMs: number = LIFETIME_MS,
): Promise<string> {
  const token = Buffer.from(runtime.random.bytes(24)).toString('base64url');
  await ensureSystemNamespace(client);
  await revokeJoinToken(client, spoke);
  await client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: SECRET_TYPE,
    metadata: { name: secretName(spoke), namespace: SYSTEM_NAMESPACE },
    stringData: { digest: digestOf(token), expires: formatTime(runtime.clock.now() + lifetimeMs) },
  });
  return token;
}

/**
 * Whether the token is good for the spoke. It is good for one key: the first that comes with it. The same key again is the
 * same enrolment tried again after its answer was lost; another key is refused.
 */
export async function consumeJoinToken(
  runtime: Runtime,
  client: Client,
  spoke: string,
  token: string,
  keyDigest: string,
): Promise<boolean> {
  try {
    const secret = await client.get(secrets, SYSTEM_NAMESPACE, secretName(spoke));
    const value = (key: string): string => secretValue(secret, key);
    if (secret['type'] !== SECRET_TYPE || (parseTime(value('expires')) ?? 0) < runtime.clock.now())
      return false;
    if (!equalText(value('digest'), digestOf(token))) return false;
    const usedBy = value('usedBy');
    if (usedBy !== '') return equalText(usedBy, keyDigest);
    // The resourceVersion that was read makes sure that of two keys one comes first.
    await client.update(secrets, { ...secret, stringData: { usedBy: keyDigest } });
    return true;
  } catch (error) {
    if (hasCode(error, 404) || hasCode(error, 409)) return false;
    throw error;
  }
}

/** Takes the token for a spoke back, where there is one. */
export async function revokeJoinToken(client: Client, spoke: string): Promise<void> {
  await ignoring(404, client.delete(secrets, SYSTEM_NAMESPACE, secretName(spoke)));
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function equalText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function secretName(spoke: string): string {
  return `join-${spoke}`;
}
