import type { Controller } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { KubeObject } from '../../kube/object.ts';
import { type KeyPair, PkiError, signRequest } from '../../kube/pki.ts';
import { formatTime, parseTime, type Runtime } from '../../runtime/index.ts';
import { isObject, type JsonObject, listAt, stringAt } from '../../schema/json.ts';
import { type Authorizer, resourceAttributes } from '../auth/index.ts';
import { deadlines, type ObjectActions } from '../controllers/index.ts';
import { parseKey, resourcePrefix } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { RequestError } from './request-contents.ts';
import {
  isKubeletClient,
  isOwnSigner,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
  signerProblem,
} from './signers.ts';
import {
  CERTIFICATES_GROUP,
  certificateOf,
  conditionOf,
  contentsOf,
  requesterOf,
  requestPem,
  SIGNING_REQUESTS,
  secondsOf,
  signerOf,
  usagesOf,
} from './signing-request-object.ts';

export interface CertificateControllerOptions {
  readonly store: Store;
  readonly authorizer: Authorizer;
  readonly actions: Pick<ObjectActions, 'delete' | 'change'>;
  /** The authority whose client certificates this server believes. Without it nothing is signed. */
  readonly authority?: KeyPair;
  /**
   * The logical cluster for which it signs. A client certificate is believed in all of them, so that whoever approves
   * requests in another one must not be able to name anybody.
   */
  readonly cluster: string;
}

const PREFIX = resourcePrefix(CERTIFICATES_GROUP, SIGNING_REQUESTS);
const HOUR_MS = 3_600_000;
/** How long requests are kept: those that nobody has decided on, and all others. */
const PENDING_MS = 24 * HOUR_MS;
const SETTLED_MS = HOUR_MS;
const CLEANING_TOLERANCE_MS = 60_000;
const LONGEST_LIFETIME_MS = 365 * 24 * HOUR_MS;
const LEAST_LIFETIME_MS = 600_000;

/**
 * Sees certificate signing requests through: approves those of kubelets for themselves that may ask for it, signs what is
 * approved and meant for one of this server's signers, and removes what is done with.
 */
export function startCertificateController(
  runtime: Runtime,
  { store, authorizer, actions, authority, cluster: ownCluster }: CertificateControllerOptions,
): Pick<Controller, 'busy' | 'stop'> {
  const { clock } = runtime;
  const cleaning = deadlines(clock, CLEANING_TOLERANCE_MS, (keys) => {
    for (const key of keys) controller.enqueue(key);
  });
  const controller = startController(runtime, {
    name: 'certificate-signing-request',
    reconcile: async (key) => {
      const request = store.get(key)?.object;
      if (request === undefined) return;
      if (keptUntil(request) <= clock.now()) {
        await actions.delete(key, request.metadata.uid ?? '', 'Background');
        return;
      }
      const { cluster } = parseKey(key);
      if (isPending(request)) await approve(key, cluster, request);
      else if (isToSign(request) && cluster === ownCluster && authority) await sign(key, request, authority);
    },
  });

  async function approve(key: string, cluster: string, request: KubeObject): Promise<void> {
    const subresource = selfApproval(request);
    if (subresource === undefined) return;
    const ask = { verb: 'create', group: CERTIFICATES_GROUP, version: 'v1', resource: SIGNING_REQUESTS };
    const may = (name: string): boolean =>
      authorizer.authorize(resourceAttributes(requesterOf(request), cluster, { ...ask, subresource: name }))
        .allowed;
    if (!may(subresource) && !may('nodeclient')) return;
    const condition: JsonObject = {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message: 'The requester may have client certificates of kubelets.',
    };
    await actions.change(key, (object) => withCondition(object, request, condition), 'approval');
  }

  async function sign(key: string, request: KubeObject, by: KeyPair): Promise<void> {
    const signer = signerOf(request);
    try {
      const contents = contentsOf(request);
      const problem = signerProblem(signer, { contents, usages: usagesOf(request) });
      if (problem !== undefined) throw new RequestError(problem);
      const seconds = secondsOf(request);
      const asked = seconds === undefined ? LONGEST_LIFETIME_MS : seconds * 1000;
      const certificate = await signRequest(runtime, by, requestPem(request), {
        commonName: contents.commonName,
        organizations: contents.organizations,
        dnsNames: contents.dnsNames,
        ipAddresses: contents.ipAddresses,
        usage: signer === KUBELET_SERVING_SIGNER ? 'server' : 'client',
        lifetimeMs: Math.max(LEAST_LIFETIME_MS, Math.min(asked, LONGEST_LIFETIME_MS)),
      });
      await actions.change(
        key,
        (object) => {
          // Decided on anew: it may have been denied or replaced while it was being signed.
          if (!isToSign(object) || object.metadata.uid !== request.metadata.uid) return undefined;
          const status = isObject(object.status) ? object.status : {};
          return {
            ...object,
            status: { ...status, certificate: Buffer.from(certificate).toString('base64') },
          };
        },
        'status',
      );
    } catch (error) {
      // A request that cannot be signed now cannot be signed later: it is told so. All else is tried again.
      if (!(error instanceof RequestError) && !(error instanceof PkiError)) throw error;
      const condition = {
        type: 'Failed',
        status: 'True',
        reason: 'SignerValidationFailure',
        message: error.message,
      };
      await actions.change(key, (object) => withCondition(object, request, condition), 'status');
    }
  }

  /** `judged` is the request that the condition is about: another one may have its name by now. */
  function withCondition(
    object: KubeObject,
    judged: KubeObject,
    condition: JsonObject,
  ): KubeObject | undefined {
    if (object.metadata.uid !== judged.metadata.uid) return undefined;
    const type = String(condition.type) as 'Approved' | 'Failed';
    if (conditionOf(object, type) || (type === 'Approved' && !isPending(object))) return undefined;
    const status = isObject(object.status) ? object.status : {};
    const now = formatTime(clock.now());
    const stamped = { ...condition, lastUpdateTime: now, lastTransitionTime: now };
    return { ...object, status: { ...status, conditions: [...listAt(status, 'conditions'), stamped] } };
  }

  function observe(key: string, request: KubeObject): void {
    cleaning.set(key, keptUntil(request));
    if (isPending(request) ? selfApproval(request) !== undefined : isToSign(request)) controller.enqueue(key);
  }

  const watch = store.watch(PREFIX, store.revision, (events) => {
    for (const { type, record } of events) {
      if (type === 'deleted') cleaning.clear(record.key);
      else observe(record.key, record.object);
    }
  });
  for (const record of store.list(PREFIX).records) observe(record.key, record.object);

  return {
    get busy() {
      return controller.busy;
    },
    stop() {
      watch.stop();
      cleaning.stop();
      return controller.stop();
    },
  };
}

function isPending(request: KubeObject): boolean {
  return (
    certificateOf(request) === '' &&
    !conditionOf(request, 'Approved') &&
    !conditionOf(request, 'Denied') &&
    !conditionOf(request, 'Failed')
  );
}

function isToSign(request: KubeObject): boolean {
  return (
    certificateOf(request) === '' &&
    conditionOf(request, 'Approved') !== undefined &&
    !conditionOf(request, 'Denied') &&
    !conditionOf(request, 'Failed') &&
    isOwnSigner(signerOf(request))
  );
}

/** The right by which a request may be approved without a person: `undefined` for those that never are. */
function selfApproval(request: KubeObject): 'selfnodeclient' | 'nodeclient' | undefined {
  if (signerOf(request) !== KUBELET_CLIENT_SIGNER) return undefined;
  try {
    const contents = contentsOf(request);
    if (!isKubeletClient({ contents, usages: usagesOf(request) })) return undefined;
    return contents.commonName === requesterOf(request).name ? 'selfnodeclient' : 'nodeclient';
  } catch (error) {
    if (error instanceof RequestError) return undefined;
    throw error;
  }
}

/** When a request is removed. An approved one that nobody has signed yet waits like one that is undecided. */
function keptUntil(request: KubeObject): number {
  const made = parseTime(request.metadata.creationTimestamp ?? undefined) ?? 0;
  const settled =
    conditionOf(request, 'Denied') ?? conditionOf(request, 'Failed') ?? conditionOf(request, 'Approved');
  if (settled === undefined || (settled.type === 'Approved' && certificateOf(request) === ''))
    return made + PENDING_MS;
  return (parseTime(stringAt(settled, 'lastUpdateTime')) ?? made) + SETTLED_MS;
}
