import {
  DNS_ENDPOINT,
  DOMAIN,
  FEDERATED_TYPE_CONFIG,
  INGRESS_DNS_RECORD,
  KUBEFED_CLUSTER,
  KUBEFED_CONFIG,
  REPLICA_SCHEDULING_PREFERENCE,
  SERVICE_DNS_RECORD,
} from '../../dialects/kubefed/index.ts';
import { digestOf } from '../../engine/digest.ts';
import type { Client } from '../../kube/client.ts';
import { type AnyCustomKind, customResourceDefinition } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { ignoring } from '../../kube/status-error.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';

/** The kinds of KubeFed that are there whatever is federated. */
export const KUBEFED_KINDS: readonly AnyCustomKind[] = [
  KUBEFED_CLUSTER,
  FEDERATED_TYPE_CONFIG,
  KUBEFED_CONFIG,
  REPLICA_SCHEDULING_PREFERENCE,
  DOMAIN,
  SERVICE_DNS_RECORD,
  INGRESS_DNS_RECORD,
  DNS_ENDPOINT,
];

/** On definitions that Atoll made, with a digest of what they were made from. Those of others are left as they are. */
export const MADE_ANNOTATION = 'atoll.dev/kubefed';
const FIELD_MANAGER = 'atoll';

/** The digest that a definition has once it was made from this. */
export function madeFrom(from: unknown): string {
  return digestOf(from).slice(-16);
}

/** Whether a definition is somebody else's, or is up to date. */
export function isMade(
  present: KubeObject | undefined,
  digest: string,
  annotation: string = MADE_ANNOTATION,
): boolean {
  const made = present?.metadata.annotations?.[annotation];
  return present !== undefined && (made === undefined || made === digest);
}

/** Serves a kind, unless somebody else serves it already. `digest` as of {@link madeFrom}, `annotation` says where it is written. */
export async function installKind(
  client: Client,
  kind: AnyCustomKind,
  digest: string = madeFrom(kind),
  annotation: string = MADE_ANNOTATION,
): Promise<void> {
  const definition = customResourceDefinition({
    ...kind,
    annotations: { ...kind.annotations, [annotation]: digest },
  });
  const { name = '' } = definition.metadata;
  const present = await ignoring(404, client.get(customResourceDefinitions, '', name));
  if (!isMade(present, digest, annotation))
    await client.apply(customResourceDefinitions, definition, { fieldManager: FIELD_MANAGER, force: true });
}
