/** Why a contract refuses something, with what it means and what can be done. */
export const CONTRACT_REASONS = {
  InvalidContract: {
    meaning: 'the contract cannot be understood, so nothing is allowed',
    next: 'mend the contract: kubectl describe spokecontract tells what is wrong',
  },
  SystemNamespace: {
    meaning: "it is in one of the cluster's own namespaces, which have to be named to be reached",
    next: 'name the namespace in spec.allow of every contract, without a leading wildcard',
  },
  NotAllowed: {
    meaning: 'nothing in spec.allow is about it',
    next: 'add it to spec.allow of the contract',
  },
  Denied: { meaning: 'it is in spec.deny', next: 'take it out of spec.deny of the contract' },
  MustNotDelete: {
    meaning: 'the owner of the cluster keeps it',
    next: 'delete it on the cluster, or take it out of spec.mustNotDelete of the contract',
  },
  RuleRefused: { meaning: 'an expression of the contract says no', next: 'change the object, or the rule' },
  RuleFailed: {
    meaning: 'an expression of the contract gave no answer about it',
    next: 'mend the rule: guard fields that may be absent with has()',
  },
  NoExecutor: {
    meaning: 'no service account acts for its author',
    next: 'map the author in spec.executors of the contract',
  },
  ExecutorConflict: {
    meaning: 'contracts map its author to different service accounts',
    next: 'map the author to one service account in all contracts',
  },
  Paused: { meaning: 'the owner of the cluster has paused all changes', next: 'set spec.paused to false' },
  OutsideWindow: {
    meaning: 'changes are made in the windows of the contract only',
    next: 'wait, or change spec.windows',
  },
  RateLimited: {
    meaning: 'as many objects were changed as the contract allows in a minute',
    next: 'wait, or raise spec.rate.objectsPerMinute',
  },
  ByteBudgetSpent: {
    meaning: 'as much was written as the contract allows in an hour',
    next: 'wait, or raise spec.rate.bytesPerHour',
  },
} as const;

export type ContractReason = keyof typeof CONTRACT_REASONS;

/** What a contract refuses, and why. */
export interface ContractRefusal {
  /** Name of the contract; '' for what holds where there is none. */
  readonly contract: string;
  /** The field of the contract that says so, such as `spec.deny[1]`. */
  readonly rule: string;
  readonly reason: ContractReason;
  readonly message: string;
  /** What the owner of the cluster, or the author, can do. */
  readonly next: string;
  /** When time alone may change it, in milliseconds since the epoch. */
  readonly retryAt?: number;
}

/** A refusal in one sentence. */
export function refusalText({ contract, message, next }: ContractRefusal): string {
  const who = contract === '' ? 'this cluster has no contract that allows it' : `SpokeContract ${contract}`;
  return `${who}: ${message}. Next: ${next}`;
}
