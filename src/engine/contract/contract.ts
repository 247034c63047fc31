import {
  BOOL,
  createEnvironment,
  DYN,
  type Environment,
  formatIssues,
  type Program,
  STRING,
} from '../../cel/index.ts';
import { gvkOf, type KubeObject, type ObjectRef } from '../../kube/object.ts';
import { matchesSelector, type Selector, selectorFromObject } from '../../schema/label-selector.ts';
import { parseQuantity, quantityUnits } from '../../schema/quantity.ts';
import type { Author } from '../intent.ts';
import type { Allowance } from './allowance.ts';
import { matchesAny, matchesGlob } from './glob.ts';
import type {
  AuthorSelector,
  ContractClause,
  ContractVerb,
  ExecutorSpec,
  KeptObject,
  SpokeContractSpec,
} from './kind.ts';
import { compileWindow, type Window } from './window.ts';

/** A contract ready to judge by. */
export interface Contract {
  readonly name: string;
  /** All that is wrong with it, each with its place: then nothing is allowed. */
  readonly problems: readonly string[];
  readonly allow: readonly Clause[];
  readonly deny: readonly Clause[];
  readonly mustNotDelete: readonly Kept[];
  readonly rules: readonly Rule[];
  readonly executors: readonly ExecutorSpec[];
  readonly paused: boolean;
  /** No newer order is taken; what was taken is kept up. */
  readonly hold: boolean;
  readonly windows: readonly Window[];
  readonly allowance: Allowance | undefined;
}

export interface Clause {
  readonly spec: ContractClause;
  readonly selector: Selector | undefined;
}

export interface Kept {
  readonly spec: KeptObject;
  readonly selector: Selector | undefined;
}

export interface Rule {
  readonly program: Program;
  readonly message: string;
}

let environment: Environment | undefined;

/** Compiles a contract once. Never throws for what one holds. */
export function compileContract(name: string, spec: SpokeContractSpec): Contract {
  const problems: string[] = [];
  const selectorAt = (labelSelector: ContractClause['labelSelector'], at: string): Selector | undefined => {
    if (labelSelector === undefined) return undefined;
    const { selector, issues } = selectorFromObject(labelSelector);
    for (const { detail } of issues) problems.push(`${at}.labelSelector: ${detail}`);
    return selector;
  };
  const clauses = (list: readonly ContractClause[] | undefined, field: string): Clause[] =>
    (list ?? []).map((clause, index) => ({
      spec: clause,
      selector: selectorAt(clause.labelSelector, `spec.${field}[${index}]`),
    }));
  const windows: Window[] = [];
  for (const [index, written] of (spec.windows ?? []).entries()) {
    const window = compileWindow(written);
    if (typeof window === 'string') problems.push(`spec.windows[${index}].${window}`);
    else windows.push(window);
  }
  return {
    name,
    // Without clauses, all that is not the cluster's own is allowed.
    allow: spec.allow === undefined ? [EVERYTHING] : clauses(spec.allow, 'allow'),
    deny: clauses(spec.deny, 'deny'),
    mustNotDelete: (spec.mustNotDelete ?? []).map((kept, index) => ({
      spec: kept,
      selector: selectorAt(kept.labelSelector, `spec.mustNotDelete[${index}]`),
    })),
    rules: rulesOf(spec, problems),
    executors: spec.executors ?? [],
    paused: spec.paused === true,
    hold: spec.hold === true,
    windows,
    allowance: allowanceOf(spec, problems),
    problems,
  };
}

const EVERYTHING: Clause = { spec: {}, selector: undefined };

/** What holds where the owner has written no contract: everything outside of the namespaces of the cluster itself. */
export const DEFAULT_CONTRACT: Contract = compileContract('', {});

function rulesOf({ rules = [] }: SpokeContractSpec, problems: string[]): Rule[] {
  if (rules.length === 0) return [];
  // Not made before a contract has an expression: the libraries take memory.
  environment ??= createEnvironment({
    variables: { object: DYN, oldObject: DYN, author: DYN, source: DYN, verb: STRING },
  });
  const out: Rule[] = [];
  for (const [index, { expression, message }] of rules.entries()) {
    const compiled = environment.compile(expression);
    if (!compiled.program)
      problems.push(`spec.rules[${index}].expression: ${formatIssues(expression, compiled.issues)}`);
    else if (compiled.type !== DYN && compiled.type.kind !== BOOL.kind)
      problems.push(`spec.rules[${index}].expression: it gives no bool`);
    else out.push({ program: compiled.program, message: message ?? `${expression} does not hold` });
  }
  return out;
}

function allowanceOf({ rate }: SpokeContractSpec, problems: string[]): Allowance | undefined {
  if (!rate) return undefined;
  const { objectsPerMinute, bytesPerHour } = rate;
  const quantity = bytesPerHour === undefined ? undefined : parseQuantity(bytesPerHour);
  if (bytesPerHour !== undefined && (quantity === undefined || quantity.nanos <= 0n))
    problems.push(`spec.rate.bytesPerHour: ${JSON.stringify(bytesPerHour)} is no size such as 10Mi`);
  return {
    ...(objectsPerMinute === undefined ? {} : { objectsPerMinute }),
    ...(quantity === undefined ? {} : { bytesPerHour: Number(quantityUnits(quantity)) }),
  };
}

/** What a clause is asked about. */
export interface Asked {
  readonly verb: ContractVerb;
  readonly ref: ObjectRef;
  /** As they shall be, and as they are where that counts: what is allowed fits with all of them, what is denied with one. */
  readonly labels: readonly Labels[];
  readonly author: Author | undefined;
}

export type Labels = KubeObject['metadata']['labels'];

/**
 * Whether a clause is about something. Where it leaves the group of a kind out, `narrow` takes it for the core group and
 * otherwise for every group: what is allowed is less, and what is denied more.
 */
export function clauseFits({ spec, selector }: Clause, asked: Asked, narrow: boolean): boolean {
  const { kinds, namespaces, verbs, authors } = spec;
  if (verbs !== undefined && !verbs.includes(asked.verb)) return false;
  if (namespaces !== undefined && !matchesAny(namespaces, asked.ref.namespace)) return false;
  if (kinds !== undefined) {
    const { group, kind } = gvkOf(asked.ref);
    const fits = kinds.some(
      (one) => matchesGlob(one.group ?? (narrow ? '' : '*'), group) && matchesGlob(one.kind, kind),
    );
    if (!fits) return false;
  }
  if (selector !== undefined) {
    const fits = (labels: Labels): boolean => matchesSelector(selector, labels);
    if (narrow ? !asked.labels.every(fits) : !asked.labels.some(fits)) return false;
  }
  return authorFits(authors, asked.author);
}

/** Nobody is meant by a selector who is not known by name. */
export function authorFits(selector: AuthorSelector | undefined, author: Author | undefined): boolean {
  if (selector === undefined) return true;
  if (author === undefined) return false;
  const { users = [], groups = [] } = selector;
  return (
    matchesAny(users, author.username) || (author.groups ?? []).some((group) => matchesAny(groups, group))
  );
}

/** Whether the owner keeps an object, by what it is and by these labels. */
export function isKept({ spec, selector }: Kept, ref: ObjectRef, labels: Labels): boolean {
  const { group, kind } = gvkOf(ref);
  return (
    matchesGlob(spec.group ?? '*', group) &&
    matchesGlob(spec.kind ?? '*', kind) &&
    matchesGlob(spec.namespace ?? '*', ref.namespace) &&
    matchesGlob(spec.name ?? '*', ref.name) &&
    (selector === undefined || matchesSelector(selector, labels))
  );
}
