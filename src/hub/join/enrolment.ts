import { createHash } from 'node:crypto';
import type { Client } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { requestKeyDigest } from '../../kube/pki.ts';
import { ignoring } from '../../kube/status-error.ts';
import { certificateSigningRequests } from '../../kube/well-known.ts';
import type { SpokeDecision } from '../../link/index.ts';
import { formatTime, parseTime } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { listAt, stringAt } from '../../schema/json.ts';
import { createSpokeCluster, spokeClusterNamed, spokeClustersNamed, tunnelCluster } from './acceptance.ts';
import { type BootstrapToken, isBootstrapToken, mayBeNamed, readBootstrapToken } from './bootstrap-token.ts';
import { consumeJoinToken } from './join-token.ts';
import { certificatesFrom, RENEW_EXPIRED_FOR_MS } from './letting-go.ts';

/** Who signs certificates of links. Approving its requests is a right of its own (`approve` on this name). */
export const LINK_SIGNER = 'atoll.dev/spoke-link';

/** Requests of one spoke that may wait; with so many there, none is added (S16). */
const MOST_PENDING = 10;
/** Of all spokes: a token that got into wrong hands fills nothing. */
const MOST_PENDING_OF_ALL = 200;

export interface Enrolment {
  readonly spoke: string;
  readonly token: string;
  readonly keyDigest: string;
  /** What is to be signed, PEM. */
  readonly request: string;
}

/**
 * Whether a spoke gets its first certificate. A token that was made for the spoke is enough; with a token for many, its key has
 * to be approved: a CertificateSigningRequest waits at the hub until somebody does (`atoll accept`, `kubectl certificate
 * approve`), and a SpokeCluster that does not accept the spoke yet. False where the token is no good.
 */
export async function decideEnrolment(
  runtime: Runtime,
  client: Client,
  enrolment: Enrolment,
): Promise<boolean | SpokeDecision> {
  const { spoke, token, keyDigest } = enrolment;
  if (!isBootstrapToken(token)) return consumeJoinToken(runtime, client, spoke, token, keyDigest);
  const allowed = await readBootstrapToken(runtime, client, token);
  if (!allowed) return false;
  if (!mayBeNamed(allowed, spoke))
    return refuse(`the token is for spokes named ${allowed.names.join(', ')}: choose another --name`);
  const letGo = await certificatesFrom(client, spoke);
  const name = requestName(spoke, keyDigest, letGo);
  const present = await readRequest(client, name);
  if (present === undefined)
    return ask(runtime, client, enrolment, name, {
      ...allowed,
      approved: allowed.approved && letGo === undefined,
    });
  return decided(runtime, present, keyDigest, spoke);
}

async function ask(
  runtime: Runtime,
  client: Client,
  { spoke, request }: Enrolment,
  name: string,
  token: BootstrapToken,
): Promise<SpokeDecision> {
  const pending = (await linkRequests(client)).filter((item) => !isDecided(item));
  const own = pending.filter((item) => isOf(item, spoke));
  if (own.length >= MOST_PENDING || pending.length >= MOST_PENDING_OF_ALL) {
    const many = own.length >= MOST_PENDING ? `${own.length} requests of it` : `${pending.length} requests`;
    return refuse(`${many} wait at the hub already; at the hub: kubectl get csr`);
  }
  const cluster = await spokeClusterNamed(client, spoke);
  const accepted = token.approved && cluster === undefined;
  // First: a request without a SpokeCluster would be one that nobody sees.
  const isNew =
    cluster === undefined &&
    (await createSpokeCluster(client, tunnelCluster({ name: spoke, namespace: token.namespace, accepted })));
  await client.create(certificateSigningRequests, signingRequestObject(name, spoke, request, token.id));
  // A name that somebody has is given to nobody without being asked for, nor to either of two that come at once, which may
  // have come to different namespaces, or replicas.
  const approved = accepted && isNew && (await isTheOnlyOne(client, spoke));
  runtime.log.info('a spoke asks to join', { spoke, request: name, token: token.id, approved });
  if (!approved) return waiting(spoke, name);
  await decideRequest(runtime, client, name, 'Approved', `its token ${token.id} is approved`);
  return { allowed: true };
}

async function isTheOnlyOne(client: Client, spoke: string): Promise<boolean> {
  return (await spokeClustersNamed(client, spoke)).length === 1;
}

async function decided(
  { clock }: Pick<Runtime, 'clock'>,
  present: KubeObject,
  keyDigest: string,
  spoke: string,
): Promise<SpokeDecision> {
  const name = present.metadata.name ?? '';
  const all = listAt(present, 'status', 'conditions');
  const conditions = all.map((item) => stringAt(item, 'type'));
  if (conditions.includes('Denied') || conditions.includes('Failed'))
    return refuse(`the hub denied the request ${name}`);
  if (!conditions.includes('Approved')) return waiting(spoke, name);
  const approved = all.find((item) => stringAt(item, 'type') === 'Approved');
  // By then nobody knows any more whether the name was let go since.
  const at = stringAt(approved, 'lastUpdateTime') ?? present.metadata.creationTimestamp;
  if (clock.now() - (parseTime(at) ?? 0) > RENEW_EXPIRED_FOR_MS)
    return refuse(`the approval of the request ${name} is too old; at the hub: kubectl delete csr ${name}`);
  const asked = Buffer.from(stringAt(present, 'spec', 'request') ?? '', 'base64').toString('utf8');
  // Whoever may make requests can take the name of one: what was approved is the key in it.
  if (
    stringAt(present, 'spec', 'signerName') !== LINK_SIGNER ||
    (await requestKeyDigest(asked)) !== keyDigest
  )
    return refuse(`the request ${name} at the hub is for another key`);
  return { allowed: true };
}

/** Requests for certificates of links, decided or not. */
export async function linkRequests(client: Client): Promise<KubeObject[]> {
  const list = await client.list(certificateSigningRequests, '', {
    fieldSelector: `spec.signerName=${LINK_SIGNER}`,
  });
  return list.items;
}

/** Those of one spoke that nobody has decided on. */
export async function pendingRequests(client: Client, spoke: string): Promise<KubeObject[]> {
  return (await requestsOf(client, spoke)).pending;
}

/** Those of one spoke, by whether somebody has decided on them. */
export async function requestsOf(
  client: Client,
  spoke: string,
): Promise<{ readonly pending: KubeObject[]; readonly decided: KubeObject[] }> {
  const own = (await linkRequests(client)).filter((item) => isOf(item, spoke));
  return { pending: own.filter((item) => !isDecided(item)), decided: own.filter(isDecided) };
}

export async function decideRequest(
  runtime: Pick<Runtime, 'clock'>,
  client: Client,
  name: string,
  type: 'Approved' | 'Denied',
  message: string,
): Promise<void> {
  const present = await client.get(certificateSigningRequests, '', name);
  const condition = {
    type,
    status: 'True',
    reason: type === 'Approved' ? 'SpokeAccepted' : 'SpokeDenied',
    message,
    lastUpdateTime: formatTime(runtime.clock.now()),
  };
  const status = { ...(present['status'] as object | undefined), conditions: [condition] };
  await client.update(certificateSigningRequests, { ...present, status }, { subresource: 'approval' });
}

async function readRequest(client: Client, name: string): Promise<KubeObject | undefined> {
  return ignoring(404, client.get(certificateSigningRequests, '', name));
}

function signingRequestObject(name: string, spoke: string, request: string, token: string): KubeObject {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name, annotations: { 'atoll.dev/spoke': spoke, 'atoll.dev/bootstrap-token': token } },
    spec: {
      signerName: LINK_SIGNER,
      request: Buffer.from(request).toString('base64'),
      usages: ['digital signature', 'client auth'],
    },
  };
}

/** Stands for the spoke and the key, so that an approval is of both, and for when the name was let go, so that it ends then. */
function requestName(spoke: string, keyDigest: string, letGo: number | undefined): string {
  const of = letGo === undefined ? [spoke, keyDigest] : [spoke, keyDigest, letGo];
  const digest = createHash('sha256').update(of.join('\n')).digest('hex');
  return `${prefixOf(spoke)}${digest.slice(0, 32)}`;
}

function prefixOf(spoke: string): string {
  return `link-${spoke.slice(0, 180)}-`;
}

function isOf({ metadata: { name = '' } }: KubeObject, spoke: string): boolean {
  const prefix = prefixOf(spoke);
  return name.startsWith(prefix) && name.length === prefix.length + 32;
}

function isDecided(request: KubeObject): boolean {
  return listAt(request, 'status', 'conditions').length > 0;
}

/** With the name of the request, by which a person tells it from others under the name of the spoke. */
function waiting(spoke: string, request: string): SpokeDecision {
  return refuse(
    `the request ${request} to join as ${spoke} waits for approval; at the hub: atoll accept ${spoke}`,
  );
}

function refuse(message: string): SpokeDecision {
  return { allowed: false, message };
}
