import { createHmac } from 'node:crypto';
import type { Controller } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/index.ts';
import { deepEqual, stringsAt } from '../../schema/json.ts';
import { namespacePrefix, objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import { type BootstrapToken, bootstrapTokenOf, isBootstrapTokenName, isExpired } from '../tokens/index.ts';
import type { ObjectActions } from './actions.ts';
import { deadlines } from './deadlines.ts';

export interface BootstrapTokenOptions {
  readonly store: Store;
  readonly actions: Pick<ObjectActions, 'delete' | 'change'>;
}

const SECRETS = resourcePrefix('', 'secrets');
const CONFIG_MAPS = resourcePrefix('', 'configmaps');
const INFO_NAMESPACE = 'kube-public';
const INFO_NAME = 'cluster-info';
const SIGNATURE_PREFIX = 'jws-kubeconfig-';
const TOLERANCE_MS = 1000;

/**
 * Removes bootstrap tokens that have expired, and keeps the ConfigMap `kube-public/cluster-info` signed with each token
 * that is for signing: whoever joins with a token can tell by it that the kubeconfig there was not forged.
 */
export function startBootstrapTokens(
  runtime: Runtime,
  { store, actions }: BootstrapTokenOptions,
): Pick<Controller, 'busy' | 'stop'> {
  const { clock } = runtime;
  const expiring = deadlines(clock, TOLERANCE_MS, (keys) => {
    for (const key of keys) controller.enqueue(key);
  });
  const controller = startController(runtime, {
    name: 'bootstrap-token',
    reconcile: (key) => (key.startsWith(CONFIG_MAPS) ? sign(key) : expire(key)),
  });

  async function expire(key: string): Promise<void> {
    const record = store.get(key);
    const token = record && bootstrapTokenOf(record.object);
    if (!token || !isExpired(token, clock.now())) return;
    // Somebody may be prolonging it at this moment.
    await actions.delete(key, record.object.metadata.uid ?? '', 'Background', record.revision);
  }

  async function sign(key: string): Promise<void> {
    const info = store.get(key)?.object;
    if (info === undefined) return;
    const tokens = signingTokens(parseKey(key).cluster);
    if (signed(info, tokens) !== undefined) await actions.change(key, (object) => signed(object, tokens));
  }

  function signingTokens(cluster: string): BootstrapToken[] {
    return store
      .list(namespacePrefix('', 'secrets', cluster, 'kube-system'))
      .records.filter(({ key }) => isTokenKey(key))
      .flatMap(({ object }) => bootstrapTokenOf(object) ?? [])
      .filter((token) => token.signs && !isExpired(token, clock.now()));
  }

  function observe(record: StoreRecord, exists: boolean): void {
    const { key } = record;
    if (!isTokenKey(key)) return;
    const expiresAt = exists ? bootstrapTokenOf(record.object)?.expiresAt : undefined;
    if (expiresAt === undefined) expiring.clear(key);
    else expiring.set(key, expiresAt);
    const { cluster } = parseKey(key);
    const info = objectKey('', 'configmaps', cluster, INFO_NAMESPACE, INFO_NAME);
    if (store.get(info) !== undefined) controller.enqueue(info);
  }

  const watches = [
    store.watch(SECRETS, store.revision, (events) => {
      for (const { type, record } of events) observe(record, type !== 'deleted');
    }),
    store.watch(CONFIG_MAPS, store.revision, (events) => {
      for (const { type, record } of events)
        if (type !== 'deleted' && record.key.endsWith(`/${INFO_NAMESPACE}/${INFO_NAME}`))
          controller.enqueue(record.key);
    }),
  ];
  for (const record of store.list(SECRETS).records) observe(record, true);

  return {
    get busy() {
      return controller.busy;
    },
    stop() {
      for (const watch of watches) watch.stop();
      expiring.stop();
      return controller.stop();
    },
  };
}

function isTokenKey(key: string): boolean {
  const { namespace, name } = parseKey(key);
  return isBootstrapTokenName(namespace, name);
}

/** The ConfigMap with exactly the signatures that it should have; `undefined` when it has them. */
function signed(info: KubeObject, tokens: readonly BootstrapToken[]): KubeObject | undefined {
  const present = stringsAt(info, 'data');
  const data = Object.fromEntries(
    Object.entries(present).filter(([key]) => !key.startsWith(SIGNATURE_PREFIX)),
  );
  const { kubeconfig } = data;
  if (kubeconfig !== undefined)
    for (const { id, secret } of tokens)
      data[SIGNATURE_PREFIX + id] = detachedSignature(kubeconfig, id, secret);
  return deepEqual(data, present) ? undefined : { ...info, data };
}

/** JWS with HMAC and without its content (RFC 7515, appendix F). Verifiers compare the text, so the header has this form. */
export function detachedSignature(content: string, id: string, secret: string): string {
  const header = Buffer.from(`{"alg":"HS256","kid":${JSON.stringify(id)}}`).toString('base64url');
  const payload = Buffer.from(content).toString('base64url');
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
  return `${header}..${signature}`;
}
