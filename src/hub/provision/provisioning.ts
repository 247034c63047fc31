import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { errorText } from '../../runtime/log.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ClusterProvider } from './provider.ts';

/** Where the making of a cluster stands. */
export type Provisioned =
  | { readonly phase: 'Ready' }
  | {
      readonly phase: 'Provisioning' | 'ProvisioningFailed';
      readonly message: string;
      readonly againInMs?: number;
    };

/** Has clusters made that are to be, one attempt at a time for each. */
export interface Provisioning {
  /** Begins where nothing was begun, and tells how far it is; never waits. */
  ensure(spoke: SpokeCluster): Provisioned;
  /** Waits for what was begun, then takes away what was made. */
  remove(spoke: SpokeCluster): Promise<void>;
}

const RETRY_MS = 10_000;

interface Attempt {
  readonly work: Promise<void>;
  made: boolean;
  failure?: string;
  /** When it failed, by the steady clock. */
  failedAt?: number;
}

/** `onChange` hears of clusters of which something else is to be told. */
export function createProvisioning(
  runtime: Runtime,
  provider: ClusterProvider,
  onChange: (cluster: string) => void,
): Provisioning {
  const { clock, log } = runtime;
  /** By the uid of the object: another one of the same name is another cluster. */
  const attempts = new Map<string, Attempt>();

  function begin(spoke: SpokeCluster): void {
    const { name = '', uid = '' } = spoke.metadata;
    log.info('a cluster is being made', { spoke: name, provider: provider.name });
    const attempt: Attempt = {
      made: false,
      work: provider.create(spoke).then(
        () => {
          attempt.made = true;
          onChange(name);
        },
        (error: unknown) => {
          attempt.failure = errorText(error);
          attempt.failedAt = clock.monotonic();
          log.warn('a cluster could not be made', { spoke: name, why: attempt.failure });
          onChange(name);
        },
      ),
    };
    attempts.set(uid, attempt);
  }

  return {
    ensure(spoke): Provisioned {
      const { uid = '' } = spoke.metadata;
      const attempt = attempts.get(uid);
      if (attempt?.made) return { phase: 'Ready' };
      const { failure, failedAt = 0 } = attempt ?? {};
      const waitMs = failedAt + RETRY_MS - clock.monotonic();
      if (!attempt || (failure !== undefined && waitMs <= 0)) begin(spoke);
      if (failure !== undefined)
        return {
          phase: 'ProvisioningFailed',
          message: failure,
          ...(waitMs > 0 ? { againInMs: waitMs } : {}),
        };
      return { phase: 'Provisioning', message: `the cluster is being made (${provider.name})` };
    },
    async remove(spoke): Promise<void> {
      const { uid = '' } = spoke.metadata;
      await attempts.get(uid)?.work;
      await provider.remove(spoke);
      attempts.delete(uid);
    },
  };
}
