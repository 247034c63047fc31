import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { secretValue } from '../../kube/secret-value.ts';
import { secrets } from '../../kube/well-known.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { hubKey } from '../link-ends.ts';
import { type JoinedHub, joinWord, mergeJoins, parseJoin } from './join-file.ts';

/** Secrets of a spoke in which it keeps the hubs that it knows. A hub has no right to read them. */
export const JOIN_SECRET_TYPE = 'atoll.dev/join';

const OURS = { fieldSelector: `type=${JOIN_SECRET_TYPE}` };

/** The Secret of one hub. Applying another with the same hub replaces what was known of it. */
export function joinSecret(hub: JoinedHub): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: JOIN_SECRET_TYPE,
    metadata: { name: `hub-${hubKey(hub.trust.lineage)}`, namespace: SYSTEM_NAMESPACE },
    stringData: { join: joinWord({ version: 2, hubs: [hub] }) },
  };
}

/** Durable when resolved. The namespace has to be there. */
export async function saveJoin(client: Client, hub: JoinedHub): Promise<void> {
  const { stringData, ...secret } = joinSecret(hub);
  const data = Object.fromEntries(
    Object.entries(stringData as Record<string, string>).map(([key, text]) => [
      key,
      Buffer.from(text).toString('base64'),
    ]),
  );
  await client.apply(secrets, { ...secret, data }, { fieldManager: 'atoll-spoke', force: true });
}

/** The hubs that a spoke knows, in the order in which it came to know them. */
export async function readJoins(
  runtime: Pick<Runtime, 'log'>,
  client: Client,
): Promise<readonly JoinedHub[]> {
  return hubsIn(runtime, (await client.list(secrets, SYSTEM_NAMESPACE, OURS)).items);
}

/** Calls back with all of them when one comes, goes or changes. Returns what stops that. */
export function followJoins(
  runtime: Runtime,
  client: Client,
  onChange: (hubs: readonly JoinedHub[]) => void,
): () => void {
  const copy = startInformer(runtime, client, secrets, { namespace: SYSTEM_NAMESPACE, ...OURS });
  copy.onChange(() => {
    if (copy.synced) onChange(hubsIn(runtime, copy.list()));
  });
  return () => copy.stop();
}

function hubsIn({ log }: Pick<Runtime, 'log'>, found: readonly KubeObject[]): readonly JoinedHub[] {
  const age = ({ metadata: { creationTimestamp = '', name = '' } }: KubeObject): string =>
    `${creationTimestamp} ${name}`;
  const files = [...found]
    .filter((secret) => secret['type'] === JOIN_SECRET_TYPE)
    .sort((a, b) => (age(a) < age(b) ? -1 : 1))
    .flatMap((secret) => {
      try {
        return [parseJoin(secretValue(secret, 'join'))];
      } catch (error) {
        log.warn('a Secret with join data cannot be used', {
          secret: secret.metadata.name,
          why: errorText(error),
        });
        return [];
      }
    });
  return mergeJoins(files);
}
