import { type CharacterSet, characterSet, isWordCharacter } from '../../schema/character-set.ts';
import { parseRegularExpression, type RegexNode, RegexSyntaxError } from '../../schema/regex-parser.ts';

/** Beginning and end of the match and of each group, −1 for a group that took no part. */
export type Match = readonly number[];

/** An RE2 expression that says where it matches, in time that grows with its size times the length of the text. */
export interface Search {
  readonly groupCount: number;
  /** Instructions. */
  readonly size: number;
  /** The leftmost match from a place on, the one that a backtracking engine would find first. */
  readonly find: (text: string, from: number, budget: StepBudget) => Match | undefined;
}

/** Counts the steps of all searches of one call, as looking for the next match may begin anew at each character. */
export interface StepBudget {
  left: number;
}

export class StepsExceeded extends Error {
  constructor() {
    super('regular expression takes too many steps on this text');
    this.name = 'StepsExceeded';
  }
}

type Instruction =
  | { readonly op: 'set'; readonly set: CharacterSet }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'assert'; readonly holds: (text: string, at: number) => boolean }
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'match' };

const MAX_SIZE = 20_000;

export function compileSearch(source: string): Search | { readonly error: string } {
  try {
    const tree = parseRegularExpression(source);
    const program: Instruction[] = [];
    let groupCount = 0;
    const push = (instruction: Instruction): number => {
      if (program.length >= MAX_SIZE) throw new RegexSyntaxError('expression is too large');
      return program.push(instruction) - 1;
    };
    const emit = (node: RegexNode): void => {
      switch (node.kind) {
        case 'empty':
          return;
        case 'set':
          push({ op: 'set', set: characterSet(node.set) });
          return;
        case 'assert':
          push({ op: 'assert', holds: ASSERTIONS[node.assertion] });
          return;
        case 'group':
          groupCount = Math.max(groupCount, node.index);
          push({ op: 'save', slot: node.index * 2 });
          emit(node.item);
          push({ op: 'save', slot: node.index * 2 + 1 });
          return;
        case 'sequence':
          for (const item of node.items) emit(item);
          return;
        case 'choice':
          emitChoice(node.items);
          return;
        case 'repeat':
          emitRepeat(node);
      }
    };
    const emitChoice = (items: readonly RegexNode[]): void => {
      const exits: { first: number; second: number }[] = [];
      for (const [index, item] of items.entries()) {
        if (index === items.length - 1) {
          emit(item);
          break;
        }
        const split = { op: 'split' as const, first: program.length + 1, second: 0 };
        push(split);
        emit(item);
        const exit = { op: 'split' as const, first: 0, second: 0 };
        push(exit);
        exits.push(exit);
        split.second = program.length;
      }
      for (const exit of exits) {
        exit.first = program.length;
        exit.second = program.length;
      }
    };
    const branch = (lazy: boolean): { enter: number; leave: (to: number) => void } => {
      const split = { op: 'split' as const, first: 0, second: 0 };
      const enter = push(split);
      if (lazy) split.second = enter + 1;
      else split.first = enter + 1;
      return {
        enter,
        leave: (to) => {
          if (lazy) split.first = to;
          else split.second = to;
        },
      };
    };
    const emitRepeat = (node: RegexNode & { kind: 'repeat' }): void => {
      for (let i = 0; i < node.min; i++) emit(node.item);
      if (node.max === undefined) {
        const loop = branch(node.lazy === true);
        emit(node.item);
        push({ op: 'split', first: loop.enter, second: loop.enter });
        loop.leave(program.length);
        return;
      }
      const leaves = [];
      for (let i = node.min; i < node.max; i++) {
        leaves.push(branch(node.lazy === true));
        emit(node.item);
      }
      for (const { leave } of leaves) leave(program.length);
    };
    push({ op: 'save', slot: 0 });
    emit(tree);
    push({ op: 'save', slot: 1 });
    push({ op: 'match' });
    return { groupCount, size: program.length, find: searcher(program, groupCount) };
  } catch (error) {
    if (error instanceof RegexSyntaxError) return { error: `error parsing regexp: ${error.message}` };
    throw error;
  }
}

interface Thread {
  readonly at: number;
  readonly saved: Match;
}

/** Thompson's simulation with places: threads in order of preference, of which each instruction has one at most. */
function searcher(program: readonly Instruction[], groupCount: number): Search['find'] {
  const none: Match = new Array<number>((groupCount + 1) * 2).fill(-1);
  return (text, from, budget) => {
    const seenAt = new Float64Array(program.length).fill(-1);
    let waiting: Thread[] = [];
    let found: Match | undefined;
    for (let position = from; ; ) {
      const coming: Thread[] = [];
      const next: Thread[] = waiting;
      // Earlier beginnings are preferred, so a new one is tried last, and only while nothing was found.
      if (!found) follow(program, 0, none, position, text, seenAt, next, budget);
      const character = position < text.length ? (text.codePointAt(position) ?? 0) : -1;
      const after = position + (character > 0xffff ? 2 : 1);
      for (const thread of next) {
        const instruction = program[thread.at];
        if (instruction?.op === 'match') {
          found = thread.saved;
          break;
        }
        if (character === -1 || instruction?.op !== 'set' || !instruction.set.has(character)) continue;
        follow(program, thread.at + 1, thread.saved, after, text, seenAt, coming, budget);
      }
      if (character === -1 || (found && coming.length === 0)) return found;
      waiting = coming;
      position = after;
    }
  };
}

/** Puts on the list all instructions that can be reached without a character. */
function follow(
  program: readonly Instruction[],
  start: number,
  saved: Match,
  position: number,
  text: string,
  seenAt: Float64Array,
  list: Thread[],
  budget: StepBudget,
): void {
  const stack: Thread[] = [{ at: start, saved }];
  for (let thread = stack.pop(); thread; thread = stack.pop()) {
    const { at } = thread;
    if (seenAt[at] === position) continue;
    seenAt[at] = position;
    if (--budget.left < 0) throw new StepsExceeded();
    const instruction = program[at];
    switch (instruction?.op) {
      case 'split':
        stack.push(
          { at: instruction.second, saved: thread.saved },
          { at: instruction.first, saved: thread.saved },
        );
        break;
      case 'save':
        stack.push({ at: at + 1, saved: thread.saved.with(instruction.slot, position) });
        break;
      case 'assert':
        if (instruction.holds(text, position)) stack.push({ at: at + 1, saved: thread.saved });
        break;
      default:
        list.push(thread);
    }
  }
}

type Assertion = (RegexNode & { kind: 'assert' })['assertion'];

const ASSERTIONS: Readonly<Record<Assertion, (text: string, at: number) => boolean>> = {
  begin: (_, at) => at === 0,
  end: (text, at) => at === text.length,
  beginLine: (text, at) => at === 0 || text[at - 1] === '\n',
  endLine: (text, at) => at === text.length || text[at] === '\n',
  word: atWordBoundary,
  notWord: (text, at) => !atWordBoundary(text, at),
};

function atWordBoundary(text: string, at: number): boolean {
  const before = at > 0 && isWordCharacter(text.charCodeAt(at - 1));
  const after = at < text.length && isWordCharacter(text.charCodeAt(at));
  return before !== after;
}

/** All matches that do not overlap, at most `limit` of them. An empty match right after another one does not count. */
export function findAll(search: Search, text: string, limit: number, budget: StepBudget): Match[] {
  const found: Match[] = [];
  let from = 0;
  let lastEnd = -1;
  while (found.length < limit && from <= text.length) {
    const match = search.find(text, from, budget);
    if (!match) break;
    const [start = 0, end = 0] = match;
    if (end > start || start !== lastEnd) found.push(match);
    lastEnd = end;
    from = end > start ? end : end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1);
  }
  return found;
}
