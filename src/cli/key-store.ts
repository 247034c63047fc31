import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { secretValue } from '../kube/secret-value.ts';
import { ignoring } from '../kube/status-error.ts';
import { secrets } from '../kube/well-known.ts';
import type { KeyStore, LinkCredentials } from '../link/index.ts';
import { writePrivate } from './fleet-directory.ts';

/** Link credentials, with the digest of the token that they were had for. */
export interface KeptCredentials extends LinkCredentials {
  readonly spent?: string;
}

/** Where a spoke keeps the key and certificate of one link. */
export interface CredentialPlace {
  load(): Promise<KeptCredentials | undefined>;
  /** Durable when resolved; the old ones are replaced as a whole or not at all. */
  save(credentials: KeptCredentials): Promise<void>;
}

/** What a dialer needs, over a place: a token that has led to a certificate is not shown again. */
export interface SpokeKeys {
  readonly keyStore: KeyStore;
  readonly joinToken: () => string | undefined;
}

/**
 * A hub that does not take a certificate for a while (it stopped accepting the spoke, say) must not make the spoke throw its
 * good key away for a token that is used up: only a token that is new brings a new key.
 */
export function spokeKeys(place: CredentialPlace, token: () => string | undefined): SpokeKeys {
  let spent: string | undefined;
  const fresh = (): string | undefined => {
    const given = token();
    return given === undefined || digestOf(given) === spent ? undefined : given;
  };
  return {
    joinToken: fresh,
    keyStore: {
      async load(): Promise<LinkCredentials | undefined> {
        const kept = await place.load();
        if (!kept) return undefined;
        const { spent: used, ...credentials } = kept;
        spent = used;
        return credentials;
      },
      async save(credentials): Promise<void> {
        const given = fresh();
        if (credentials.certificate !== undefined && given !== undefined) spent = digestOf(given);
        await place.save({ ...credentials, ...(spent === undefined ? {} : { spent }) });
      },
    },
  };
}

/** In a file that only its owner can read. The key never leaves this machine. */
export function fileCredentials(directory: string, name: string): CredentialPlace {
  const path = join(directory, `${name}.json`);
  return {
    load: async () =>
      existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as KeptCredentials) : undefined,
    async save(credentials): Promise<void> {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writePrivate(path, JSON.stringify(credentials));
    },
  };
}

/** The type of Secrets that hold the key and certificate of a link. */
export const LINK_SECRET_TYPE = 'atoll.dev/link';

/** In a Secret of the spoke itself, which a hub has no right to read: an engine that is moved needs nothing else. */
export function secretCredentials(client: Client, name: string): CredentialPlace {
  return {
    async load(): Promise<KeptCredentials | undefined> {
      const secret = await ignoring(404, client.get(secrets, SYSTEM_NAMESPACE, name));
      if (!secret) return undefined;
      const [certificate, spent] = [secretValue(secret, 'certificate'), secretValue(secret, 'spent')];
      return {
        key: secretValue(secret, 'key'),
        ...(certificate === '' ? {} : { certificate }),
        ...(spent === '' ? {} : { spent }),
      };
    },
    async save({ key, certificate = '', spent = '' }): Promise<void> {
      const encode = (text: string): string => Buffer.from(text).toString('base64');
      await client.apply(
        secrets,
        {
          apiVersion: 'v1',
          kind: 'Secret',
          type: LINK_SECRET_TYPE,
          metadata: { name, namespace: SYSTEM_NAMESPACE },
          data: { key: encode(key), certificate: encode(certificate), spent: encode(spent) },
        },
        { fieldManager: 'atoll-spoke', force: true },
      );
    },
  };
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 32);
}
