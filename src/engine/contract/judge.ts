import { gvkOf, type KubeObject, type ObjectRef, refText } from '../../kube/object.ts';
import type { JsonValue } from '../../schema/json.ts';
import type { Author, SourceRef } from '../intent.ts';
import {
  type Asked,
  authorFits,
  type Clause,
  type Contract,
  clauseFits,
  DEFAULT_CONTRACT,
  isKept,
} from './contract.ts';
import { matchesGlob } from './glob.ts';
import type { ContractVerb, ExecutorSpec } from './kind.ts';
import { CONTRACT_REASONS, type ContractReason, type ContractRefusal } from './reasons.ts';
import { isOpen, nextOpening } from './window.ts';

/** Something that an order of the hub wants done to one object. */
export interface ContractRequest {
  /** `adopt` where the object is there and somebody else made it: then `apply` must be allowed as well. */
  readonly verb: ContractVerb;
  /** The namespace is '' for kinds that are in none, whatever the object says. */
  readonly ref: ObjectRef;
  /** As it shall be; undefined for a deletion. */
  readonly object?: KubeObject | undefined;
  /** As it is; undefined where it is not there. */
  readonly oldObject?: KubeObject | undefined;
  readonly author: Author | undefined;
  readonly source: SourceRef;
  /** Whether it brings something new. What was carried out before is kept up outside of windows as well. */
  readonly changes: boolean;
}

export interface JudgeOptions {
  /** Milliseconds since the epoch. Without it windows say nothing. */
  readonly now?: number;
  /** The object on the cluster is not known: expressions that depend on it say nothing. */
  readonly preview?: boolean;
}

/** Whose rights are used. */
export type Executor = ExecutorSpec['serviceAccount'];

export type Judgement =
  | { readonly verdict: 'allow'; readonly executor: Executor | undefined }
  | ({ readonly verdict: 'refuse' } & ContractRefusal);

/** Cost units for all expressions of all contracts about one object. */
const OBJECT_BUDGET = 1_000_000;
const MAX_MESSAGE = 1024;
const SYSTEM_NAMESPACE_PREFIX = 'kube-';

type Finding = Omit<ContractRefusal, 'contract' | 'next'>;

/**
 * Whether the owner of a cluster lets an order of the hub do something: all contracts must. Where there is none, what holds is
 * {@link DEFAULT_CONTRACT}. Everything that cannot be told is refused. Rate and budget are apart (`spend`), since they remember.
 */
export function judge(
  contracts: readonly Contract[],
  request: ContractRequest,
  options: JudgeOptions = {},
): Judgement {
  const budget = { left: OBJECT_BUDGET };
  const all = contracts.length === 0 ? [DEFAULT_CONTRACT] : contracts;
  for (const contract of all) {
    const found =
      standing(contract, request) ??
      expressed(contract, request, options, budget) ??
      timely(contract, request, options);
    if (found) return refused(contract.name, found);
  }
  return executorOf(all, request.author);
}

/** Whose rights act for an author: `undefined` for those of the engine itself. */
export function executorOf(contracts: readonly Contract[], author: Author | undefined): Judgement {
  let chosen: { readonly executor: Executor; readonly contract: string } | undefined;
  for (const { name, executors } of contracts) {
    if (executors.length === 0) continue;
    const mapped = executors.find(({ authors }) => authorFits(authors, author));
    if (!mapped) {
      const message = `no service account acts for ${author?.username ?? 'an intent without author'}`;
      return refused(name, { rule: 'spec.executors', reason: 'NoExecutor', message });
    }
    const { namespace, name: account } = mapped.serviceAccount;
    if (chosen && (chosen.executor.namespace !== namespace || chosen.executor.name !== account)) {
      const message = `it maps ${author?.username ?? 'an intent without author'} to ${namespace}/${account}, and SpokeContract ${chosen.contract} to ${chosen.executor.namespace}/${chosen.executor.name}`;
      return refused(name, { rule: 'spec.executors', reason: 'ExecutorConflict', message });
    }
    chosen = { executor: mapped.serviceAccount, contract: name };
  }
  return { verdict: 'allow', executor: chosen?.executor };
}

function refused(contract: string, finding: Finding): Extract<Judgement, { verdict: 'refuse' }> {
  const message =
    finding.message.length > MAX_MESSAGE ? `${finding.message.slice(0, MAX_MESSAGE)}…` : finding.message;
  return { verdict: 'refuse', contract, ...finding, message, next: CONTRACT_REASONS[finding.reason].next };
}

/** What does not depend on the time. */
function standing(contract: Contract, request: ContractRequest): Finding | undefined {
  const [problem] = contract.problems;
  if (problem !== undefined) return found('spec', 'InvalidContract', problem);
  const { verb, ref, object, oldObject, author } = request;
  const shallBe = (object ?? oldObject)?.metadata.labels;
  const both = oldObject === undefined ? [shallBe] : [shallBe, oldObject.metadata.labels];
  const what = refText(ref);
  for (const one of verb === 'adopt' ? (['apply', 'adopt'] as const) : [verb]) {
    // What somebody else made is not brought into the scope by whoever takes it over.
    const asked: Asked = { verb: one, ref, labels: verb === 'adopt' ? both : [shallBe], author };
    const named = contract.allow.filter((clause) => reaches(clause, ref));
    if (named.length === 0)
      return found('spec.allow', 'SystemNamespace', `${what} belongs to the cluster itself`);
    if (!named.some((clause) => clauseFits(clause, asked, true)))
      return found('spec.allow', 'NotAllowed', `${byWhom(author)} may not ${one} ${what}`);
    const denied = contract.deny.findIndex((clause) => clauseFits(clause, { ...asked, labels: both }, false));
    if (denied >= 0)
      return found(`spec.deny[${denied}]`, 'Denied', `${byWhom(author)} may not ${one} ${what}`);
  }
  return kept(contract, request);
}

/** Of the namespaces of the cluster itself only those are meant that are meant on purpose. */
function reaches({ spec }: Clause, ref: ObjectRef): boolean {
  const isNamespace = ref.kind === 'Namespace' && gvkOf(ref).group === '';
  const place = isNamespace ? ref.name : ref.namespace;
  if (!place.startsWith(SYSTEM_NAMESPACE_PREFIX)) return true;
  return (spec.namespaces ?? []).some(
    (pattern) => pattern.startsWith(SYSTEM_NAMESPACE_PREFIX) && matchesGlob(pattern, place),
  );
}

/** An object that must not be deleted keeps the labels that say so. */
function kept(contract: Contract, { verb, ref, object, oldObject }: ContractRequest): Finding | undefined {
  const labels = oldObject?.metadata.labels;
  const index = contract.mustNotDelete.findIndex((one) => isKept(one, ref, labels));
  const rule = contract.mustNotDelete[index];
  if (!rule) return undefined;
  const at = `spec.mustNotDelete[${index}]`;
  if (verb === 'delete') return found(at, 'MustNotDelete', `${refText(ref)} must not be deleted`);
  const after = { ...labels, ...object?.metadata.labels };
  if (oldObject === undefined || isKept(rule, ref, after)) return undefined;
  return found(at, 'MustNotDelete', `${refText(ref)} must keep the labels by which it must not be deleted`);
}

function expressed(
  { rules }: Contract,
  request: ContractRequest,
  { preview = false }: JudgeOptions,
  budget: { left: number },
): Finding | undefined {
  if (rules.length === 0) return undefined;
  const { object, oldObject, author, source, verb } = request;
  const bindings = {
    object: (object ?? null) as unknown as JsonValue,
    oldObject: (oldObject ?? null) as unknown as JsonValue,
    author: { username: author?.username ?? '', groups: [...(author?.groups ?? [])] },
    source: { ...source },
    verb,
  };
  for (const [index, { program, message }] of rules.entries()) {
    const at = `spec.rules[${index}]`;
    const options = { budget: budget.left, ...(preview ? { unknowns: ['oldObject'] } : {}) };
    const { value, error, unknown, cost } = program.evaluate(bindings, options);
    budget.left -= cost;
    // What went wrong may quote what it went wrong with.
    if (error) return found(at, 'RuleFailed', isSecret(request.ref) ? 'the expression fails' : error.message);
    if (budget.left <= 0) return found(at, 'RuleFailed', 'the expressions cost too much to evaluate');
    if (unknown === undefined && value !== true) return found(at, 'RuleRefused', message);
  }
  return undefined;
}

function timely(
  { paused, windows }: Contract,
  { changes }: ContractRequest,
  { now }: JudgeOptions,
): Finding | undefined {
  if (paused) return found('spec.paused', 'Paused', 'all changes are paused');
  if (!changes || now === undefined || windows.length === 0) return undefined;
  if (windows.some((window) => isOpen(window, now))) return undefined;
  const retryAt = nextOpening(windows, now);
  const message = 'no window for changes is open now';
  return {
    ...found('spec.windows', 'OutsideWindow', message),
    ...(retryAt === undefined ? {} : { retryAt }),
  };
}

function found(rule: string, reason: ContractReason, message: string): Finding {
  return { rule, reason, message };
}

function isSecret(ref: ObjectRef): boolean {
  return ref.kind === 'Secret' && gvkOf(ref).group === '';
}

function byWhom(author: Author | undefined): string {
  return author === undefined ? 'an intent without author' : author.username;
}
