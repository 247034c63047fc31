import { isWordCharacter } from '../../schema/character-set.ts';
import { RegexSyntaxError } from '../../schema/regex-parser.ts';
import { automaton } from './automaton.ts';
import { type Assertion, compileProgram, type Instruction, type RegexProgram } from './program.ts';

/** Beginning and end of the match and of each group, −1 for a group that took no part. */
export type Match = readonly number[];

/** An RE2 expression, in time that grows with its size times the length of the text, never faster. */
export interface Search {
  readonly groupCount: number;
  /** Instructions. */
  readonly size: number;
  /** Whether there is a match anywhere: much faster than finding it. */
  readonly test: (text: string) => boolean;
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

export function compileSearch(source: string): Search | { readonly error: string } {
  try {
    const program = compileProgram(source);
    const { groupCount, instructions } = program;
    let test: Search['test'] | undefined;
    return {
      groupCount,
      size: instructions.length,
      // Many expressions are only looked at, or only asked where they match.
      test: (text) => {
        test ??= automaton(instructions);
        return test(text);
      },
      find: searcher(program),
    };
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
function searcher({ instructions, groupCount }: RegexProgram): Search['find'] {
  const none: Match = new Array<number>((groupCount + 1) * 2).fill(-1);
  return (text, from, budget) => {
    const seenAt = new Float64Array(instructions.length).fill(-1);
    let waiting: Thread[] = [];
    let found: Match | undefined;
    for (let position = from; ; ) {
      const coming: Thread[] = [];
      const next: Thread[] = waiting;
      // Earlier beginnings are preferred, so a new one is tried last, and only while nothing was found.
      if (!found) follow(instructions, 0, none, position, text, seenAt, next, budget);
      const character = position < text.length ? (text.codePointAt(position) ?? 0) : -1;
      const after = position + (character > 0xffff ? 2 : 1);
      for (const thread of next) {
        const instruction = instructions[thread.at];
        if (instruction?.op === 'match') {
          found = thread.saved;
          break;
        }
        if (character === -1 || instruction?.op !== 'set' || !instruction.set.has(character)) continue;
        follow(instructions, thread.at + 1, thread.saved, after, text, seenAt, coming, budget);
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
        if (ASSERTIONS[instruction.assertion](text, position))
          stack.push({ at: at + 1, saved: thread.saved });
        break;
      default:
        list.push(thread);
    }
  }
}

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
