import type { Controller } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/index.ts';
import { isObject, type JsonObject } from '../../schema/json.ts';
import { namespacePrefix, objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import {
  ACCOUNT_NAME,
  ACCOUNT_UID,
  LEGACY_TOKEN_TYPE,
  mentions,
  type ServiceAccountTokens,
  secretText,
} from '../tokens/index.ts';
import type { ObjectActions } from './actions.ts';

export interface ServiceAccountSecretOptions {
  readonly store: Store;
  readonly actions: Pick<ObjectActions, 'delete' | 'change'>;
  readonly tokens: ServiceAccountTokens;
  /** PEM of the authority that this server's certificate comes from. */
  readonly caCertificate: string;
}

const SECRETS = resourcePrefix('', 'secrets');
const ACCOUNTS = resourcePrefix('', 'serviceaccounts');

/**
 * Fills Secrets of type `kubernetes.io/service-account-token` with a token of the account that they name, and removes
 * them when that account is not, or no longer, there.
 */
export function startServiceAccountSecrets(
  runtime: Runtime,
  { store, actions, tokens, caCertificate }: ServiceAccountSecretOptions,
): Pick<Controller, 'busy' | 'stop'> {
  const controller = startController(runtime, {
    name: 'service-account-secret',
    reconcile: async (key) => {
      const record = store.get(key);
      const secret = record?.object;
      if (secret?.type !== LEGACY_TOKEN_TYPE || secret.metadata.deletionTimestamp !== undefined) return;
      const account = accountOf(key, secret);
      if (account === undefined) await actions.delete(key, secret.metadata.uid ?? '', 'Background');
      else if (filled(secret, account) !== undefined)
        await actions.change(key, (object) => filled(object, account));
    },
  });

  /** The account that a Secret names, if it is the one that the Secret was made for. */
  function accountOf(key: string, secret: KubeObject): KubeObject | undefined {
    const { cluster, namespace } = parseKey(key);
    const { annotations = {} } = secret.metadata;
    const name = annotations[ACCOUNT_NAME] ?? '';
    const account = store.get(objectKey('', 'serviceaccounts', cluster, namespace, name))?.object;
    const expected = annotations[ACCOUNT_UID];
    return expected === undefined || expected === account?.metadata.uid ? account : undefined;
  }

  /** The Secret with all that it promises; `undefined` when it has it already. */
  function filled(secret: KubeObject, account: KubeObject): KubeObject | undefined {
    const { name = '', namespace = '', annotations = {} } = secret.metadata;
    const uid = account.metadata.uid ?? '';
    const missing: JsonObject = {};
    const fill = (key: string, text: string): void => {
      if (secretText(secret, key) !== text) missing[key] = Buffer.from(text).toString('base64');
    };
    const present = secretText(secret, 'token');
    // One that another key signed would be refused: it is from before the key was changed.
    if (present === undefined || !tokens.signed(present)) fill('token', tokens.issueForSecret(account, name));
    fill('namespace', namespace);
    if (caCertificate !== '') fill('ca.crt', caCertificate);
    if (Object.keys(missing).length === 0 && annotations[ACCOUNT_UID] === uid) return undefined;
    return {
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...annotations, [ACCOUNT_UID]: uid } },
      data: { ...(isObject(secret.data) ? secret.data : {}), ...missing },
    };
  }

  function observe(record: StoreRecord): void {
    if (mentions(record, LEGACY_TOKEN_TYPE)) controller.enqueue(record.key);
  }

  const watches = [
    store.watch(SECRETS, store.revision, (events) => {
      for (const { type, record } of events) if (type !== 'deleted') observe(record);
    }),
    store.watch(ACCOUNTS, store.revision, (events) => {
      for (const { type, record } of events) {
        if (type !== 'deleted') continue;
        const { cluster, namespace } = parseKey(record.key);
        for (const secret of store.list(namespacePrefix('', 'secrets', cluster, namespace)).records)
          observe(secret);
      }
    }),
  ];
  for (const record of store.list(SECRETS).records) observe(record);

  return {
    get busy() {
      return controller.busy;
    },
    stop() {
      for (const watch of watches) watch.stop();
      return controller.stop();
    },
  };
}
