import { errorText, type Runtime } from '../../../runtime/index.ts';
import { deepEqual, type JsonObject } from '../../../schema/json.ts';
import { formatQuantity, zeroQuantity } from '../../../schema/quantity.ts';
import type { ObjectActions } from '../../controllers/index.ts';
import { parseKey, resourcePrefix } from '../../store/key.ts';
import type { Store } from '../../store/store.ts';
import type { Account, QuotaLedger } from './ledger.ts';

const RETRY_MS = 1000;

/** Keeps `status` of quotas at what the ledger says. Many changes of one turn are one write. */
export function startQuotaStatus(
  runtime: Runtime,
  options: {
    readonly store: Store;
    readonly ledger: QuotaLedger;
    readonly actions: Pick<ObjectActions, 'change'>;
  },
): { stop(): void } {
  const { store, ledger, actions } = options;
  const due = new Set<string>();
  let running = false;
  let stopped = false;

  function enqueue(cluster: string, namespace: string): void {
    due.add(`${cluster}/${namespace}`);
    if (running || stopped) return;
    running = true;
    runtime.clock.defer(() => void run());
  }

  /** Never rejects. */
  async function run(): Promise<void> {
    while (due.size > 0 && !stopped) {
      const batch = [...due];
      due.clear();
      await Promise.all(batch.map(bringUpToDate));
    }
    running = false;
  }

  async function bringUpToDate(id: string): Promise<void> {
    const [cluster = '', namespace = ''] = id.split('/');
    try {
      await Promise.all(ledger.accounts(cluster, namespace).map(writeStatus));
    } catch (error) {
      if (stopped) return;
      runtime.log.warn('the status of a quota could not be written', {
        cluster,
        namespace,
        error: errorText(error),
      });
      runtime.clock.after(RETRY_MS, () => enqueue(cluster, namespace));
    }
  }

  async function writeStatus(account: Account): Promise<void> {
    const { key } = account.quota;
    const stored = store.get(key)?.object;
    if (!stored || deepEqual(stored.status, statusOf(account))) return;
    await actions.change(
      key,
      (object) => {
        const status = statusOf(account);
        return deepEqual(object.status, status) ? undefined : { ...object, status };
      },
      'status',
    );
  }

  ledger.onChange(enqueue);
  for (const { key } of store.list(resourcePrefix('', 'resourcequotas')).records) {
    const { cluster, namespace } = parseKey(key);
    enqueue(cluster, namespace);
  }
  return {
    stop() {
      stopped = true;
    },
  };
}

function statusOf({ quota, used }: Account): JsonObject {
  const status: { hard: JsonObject; used: JsonObject } = { hard: {}, used: {} };
  for (const [name, amount] of quota.hard) {
    status.hard[name] = formatQuantity(amount);
    status.used[name] = formatQuantity(used.get(name) ?? zeroQuantity);
  }
  return status;
}
