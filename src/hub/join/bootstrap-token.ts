import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { secretValue } from '../../kube/secret-value.ts';
import { ignoring } from '../../kube/status-error.ts';
import { secrets } from '../../kube/well-known.ts';
import { formatTime, parseTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { ensureSystemNamespace } from '../dispatch/identity.ts';
import { digestOf, equalText } from './join-token.ts';

const SECRET_TYPE = 'atoll.dev/bootstrap-token';
const TOKEN = /^([a-z0-9]{8})\.([A-Za-z0-9_-]{32})$/;

/** What a token for many spokes allows. */
export interface BootstrapToken {
  /** Names the token, and is no secret. */
  readonly id: string;
  /** Where SpokeClusters of those who come with it are made. */
  readonly namespace: string;
  /** Names that spokes may take: each whole, or with a `*` at its end. */
  readonly names: readonly string[];
  /** Whether who comes with it needs nobody's approval. */
  readonly approved: boolean;
}

export interface BootstrapTokenOptions extends Omit<BootstrapToken, 'id'> {
  readonly lifetimeMs: number;
}

/** Makes a token with which spokes may ask to join until it ends. The hub keeps its digest only. */
export async function createBootstrapToken(
  runtime: Runtime,
  client: Client,
  options: BootstrapTokenOptions,
): Promise<string> {
  const id = Buffer.from(runtime.random.bytes(4)).toString('hex');
  const token = `${id}.${Buffer.from(runtime.random.bytes(24)).toString('base64url')}`;
  await ensureSystemNamespace(client);
  await client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: SECRET_TYPE,
    metadata: { name: secretName(id), namespace: SYSTEM_NAMESPACE },
    stringData: {
      digest: digestOf(token),
      expires: formatTime(runtime.clock.now() + options.lifetimeMs),
      namespace: options.namespace,
      names: options.names.join(','),
      approved: String(options.approved),
    },
  });
  return token;
}

/** Whether a text has the form of a token for many spokes. */
export function isBootstrapToken(token: string): boolean {
  return TOKEN.test(token);
}

/** What a token allows; undefined where it is wrong or has ended. */
export async function readBootstrapToken(
  runtime: Runtime,
  client: Client,
  token: string,
): Promise<BootstrapToken | undefined> {
  const [, id = ''] = TOKEN.exec(token) ?? [];
  if (id === '') return undefined;
  const secret = await ignoring(404, client.get(secrets, SYSTEM_NAMESPACE, secretName(id)));
  if (!secret) return undefined;
  const value = (key: string): string => secretValue(secret, key);
  if (secret['type'] !== SECRET_TYPE || !equalText(value('digest'), digestOf(token))) return undefined;
  if ((parseTime(value('expires')) ?? 0) < runtime.clock.now()) return undefined;
  return {
    id,
    namespace: value('namespace'),
    names: value('names').split(','),
    approved: value('approved') === 'true',
  };
}

/** Whether a token lets a spoke take a name. */
export function mayBeNamed({ names }: Pick<BootstrapToken, 'names'>, spoke: string): boolean {
  return names.some((name) => (name.endsWith('*') ? spoke.startsWith(name.slice(0, -1)) : name === spoke));
}

function secretName(id: string): string {
  return `bootstrap-${id}`;
}
