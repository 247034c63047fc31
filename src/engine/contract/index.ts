/**
 * The contract of a cluster's owner with its hub: what the hub may do there, for whom, when and how fast. The spoke judges
 * every apply, adoption and deletion by it; the hub judges the same beforehand, to tell and never to enforce. Pure: compiling,
 * judging, spending. What cannot be understood or told is refused.
 */
export { type Allowance, NOTHING_SPENT, type Spending, type Spent, spend } from './allowance.ts';
export { type Contract, compileContract, DEFAULT_CONTRACT } from './contract.ts';
export { type Foreseen, type ForeseenOrder, foresee, foreseenText } from './foresee.ts';
export {
  type ContractRequest,
  type Executor,
  executorOf,
  type Judgement,
  type JudgeOptions,
  judge,
} from './judge.ts';
export {
  type AuthorSelector,
  type ContractClause,
  type ContractVerb,
  SPOKE_CONTRACT,
  type SpokeContract,
  type SpokeContractSpec,
} from './kind.ts';
export { CONTRACT_REASONS, type ContractReason, type ContractRefusal, refusalText } from './reasons.ts';
export { allowsService, CONTRACTS_PATH, serviceRefusal } from './services.ts';
