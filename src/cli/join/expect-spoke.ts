import {
  createJoinToken,
  createSpokeCluster,
  type LinkNotice,
  type NewSpokeCluster,
  revokeJoinToken,
  setAccepted,
  spokeClusterNamed,
  tunnelCluster,
} from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import type { ProxySettings } from '../../kube/wire/index.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { JoinedHub } from './join-file.ts';

export interface ExpectedSpoke extends NewSpokeCluster {
  /** How long the token is good; an hour by default. */
  readonly lifetimeMs?: number;
}

/**
 * Has the hub expect a spoke: makes its SpokeCluster, where there is none, and a token for its first certificate, which takes the
 * place of one that was made before. What is there of another kind is left alone, and told.
 */
export async function expectSpoke(runtime: Runtime, client: Client, spoke: ExpectedSpoke): Promise<string> {
  const { name, accepted } = spoke;
  const present = await spokeClusterNamed(client, name);
  const at = `SpokeCluster ${present?.metadata.namespace ?? ''}/${name}`;
  if (present && present.spec.credential.type !== 'tunnel')
    throw new Error(
      `${at} has a credential of type ${present.spec.credential.type}: the hub reaches that cluster itself; choose another name`,
    );
  if (present?.metadata.deletionTimestamp !== undefined)
    throw new Error(`${at} is being deleted; wait for its end, or see: atoll detach ${name} --force`);
  const token = await createJoinToken(runtime, client, name, spoke.lifetimeMs);
  if (present) {
    if (accepted && present.spec.hubAcceptsClient === false) await setAccepted(client, present, true);
    return token;
  }
  try {
    await createSpokeCluster(client, tunnelCluster(spoke));
  } catch (error) {
    await revokeJoinToken(client, name);
    throw error;
  }
  return token;
}

export interface HubDescription {
  readonly tokens: Readonly<Record<string, string>>;
  /** `host:port` to dial instead of those that the hub tells. */
  readonly addresses?: readonly string[];
  readonly proxy?: ProxySettings;
}

/** What a spoke is told of a hub. */
export function joinedHub(notice: LinkNotice, { tokens, addresses = [], proxy }: HubDescription): JoinedHub {
  const dialled = addresses.length > 0 ? addresses : notice.addresses;
  const known = new Set(notice.names);
  // An address that its certificate does not hold: the hub is known by its own name then.
  const serverName = dialled.every((address) => known.has(hostOf(address))) ? undefined : notice.name;
  return {
    name: notice.name,
    addresses: dialled,
    ca: notice.ca,
    ...(serverName === undefined ? {} : { serverName }),
    ...(proxy === undefined ? {} : { proxy }),
    trust: notice.trust,
    tokens,
  };
}

function hostOf(address: string): string {
  const match = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || Number(match?.[3]) > 65_535)
    throw new Error(`--address ${JSON.stringify(address)} is not of the form host:port`);
  return host;
}
