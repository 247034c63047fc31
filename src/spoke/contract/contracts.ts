import {
  CONTRACT_REASONS,
  type Contract,
  type ContractRefusal,
  type ContractRequest,
  compileContract,
  type Executor,
  executorOf,
  judge,
  NOTHING_SPENT,
  SPOKE_CONTRACT,
  type Spent,
  type SpokeContract,
  spend,
} from '../../engine/contract/index.ts';
import { digestOf, shortDigest } from '../../engine/digest.ts';
import type { Author } from '../../engine/intent.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';
import { tellValidity } from '../validity.ts';
import { actingAs } from './executor.ts';

/** The contracts of the cluster's owner, enforced. */
export interface Contracts {
  /** Whether the owner has written any. */
  readonly any: boolean;
  /** Why something may not be done now. Undefined where it may: then it counts against rate and budget. */
  refusal(request: ContractRequest): ContractRefusal | undefined;
  /** The contract by which no newer order is taken now; undefined where none says so. */
  holding(): string | undefined;
  /** The cluster's API with the rights of whoever acts for an author. */
  clientFor(author: Author | undefined): Client;
  /** One word for all contracts, '' where there is none: a hub that knows it knows them. */
  digest(): string;
  whenSynced(): Promise<void>;
  stop(): void;
}

const CONTRACTS = resourceIdOf(SPOKE_CONTRACT);

/** Follows the contracts. What is wrong with one is said in its status. `onChange` hears of every change of their rules. */
export function followContracts(runtime: Runtime, client: Client, onChange: () => void): Contracts {
  const { clock } = runtime;
  const byName = new Map<string, { readonly contract: Contract; readonly spec: SpokeContract['spec'] }>();
  const spent = new Map<string, Spent>();
  const acting = new Map<string, Client>();
  let contracts: readonly Contract[] = [];
  let digest = '';

  const informer = startInformer<SpokeContract>(runtime, client, CONTRACTS);
  informer.onChange(({ type, object, previous }) => {
    if (type === 'updated' && deepEqual(object.spec, previous?.spec)) return;
    const name = object.metadata.name ?? '';
    if (type === 'deleted') {
      byName.delete(name);
      spent.delete(name);
    } else byName.set(name, { contract: compileContract(name, object.spec), spec: object.spec });
    const entries = [...byName].sort(([a], [b]) => (a < b ? -1 : 1));
    contracts = entries.map(([, { contract }]) => contract);
    digest = entries.length === 0 ? '' : shortDigest(digestOf(entries.map(([key, { spec }]) => [key, spec])));
    acting.clear();
    onChange();
    const known = byName.get(name);
    if (!known) return;
    const { problems } = known.contract;
    const ok = problems.length === 0;
    const message = ok
      ? 'the contract is in force'
      : `nothing is allowed until this is mended: ${problems.join('; ')}`;
    tellValidity(runtime, client, CONTRACTS, object, { ok, message });
  });

  /** Counts a change in every contract that bounds them, or in none. */
  function spendOn(request: ContractRequest): ContractRefusal | undefined {
    const bounded = contracts.filter(({ allowance }) => allowance !== undefined);
    if (bounded.length === 0) return undefined;
    const now = clock.now();
    const bytes = bounded.some(({ allowance }) => allowance?.bytesPerHour !== undefined)
      ? Buffer.byteLength(JSON.stringify(request.object ?? ''))
      : 0;
    const next: [string, Spent][] = [];
    for (const { name, allowance = {} } of bounded) {
      const result = spend(allowance, spent.get(name) ?? NOTHING_SPENT, now, bytes);
      if (result.refused !== undefined) {
        const { meaning, next: todo } = CONTRACT_REASONS[result.refused];
        const rule = result.refused === 'RateLimited' ? 'objectsPerMinute' : 'bytesPerHour';
        return {
          contract: name,
          rule: `spec.rate.${rule}`,
          reason: result.refused,
          message: meaning,
          next: todo,
          retryAt: result.retryAt,
        };
      }
      next.push([name, result.spent]);
    }
    for (const [name, value] of next) spent.set(name, value);
    return undefined;
  }

  function clientOf(executor: Executor): Client {
    const key = `${executor.namespace}/${executor.name}`;
    let found = acting.get(key);
    if (!found) {
      found = actingAs(client, clock, executor);
      acting.set(key, found);
    }
    return found;
  }

  return {
    get any() {
      return contracts.length > 0;
    },
    refusal(request): ContractRefusal | undefined {
      const judgement = judge(contracts, request, { now: clock.now() });
      if (judgement.verdict === 'refuse') return judgement;
      return request.changes ? spendOn(request) : undefined;
    },
    holding: () => contracts.find(({ hold }) => hold)?.name,
    clientFor(author): Client {
      const judgement = executorOf(contracts, author);
      // Where nobody acts for the author everything is refused before it is done.
      return judgement.verdict === 'allow' && judgement.executor ? clientOf(judgement.executor) : client;
    },
    digest: () => digest,
    whenSynced: informer.whenSynced,
    stop: informer.stop,
  };
}
