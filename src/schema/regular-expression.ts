import { type CharacterSet, characterSet, isWordCharacter } from './character-set.ts';
import { parseRegularExpression, type RegexNode, RegexSyntaxError } from './regex-parser.ts';

/** A compiled expression in the syntax of RE2. */
export interface RegularExpression {
  readonly source: string;
  /**
   * Whether the text contains a match. Time grows with `size` × length of the text, never faster. The steps that it takes are taken from
   * `budget.left`: once that is below 0 the answer is no.
   */
  readonly test: (text: string, budget?: { left: number }) => boolean;
  /** Instructions of the program. */
  readonly size: number;
}

const MAX_SIZE = 20_000;

/**
 * Compiles an RE2 expression (what `pattern` in a CustomResourceDefinition is). JavaScript's own engine differs in syntax and
 * backtracks, so that one short hostile pattern could stop the process; this one runs all alternatives side by side.
 */
export function compileRegularExpression(source: string): RegularExpression | { readonly error: string } {
  try {
    const program: Program = { op: [], a: [], b: [], sets: [] };
    emit(program, parseRegularExpression(source));
    push(program, MATCH, 0, 0);
    return { source, size: program.op.length, test: matcher(program) };
  } catch (error) {
    if (error instanceof RegexSyntaxError) return { error: `error parsing regexp: ${error.message}` };
    throw error;
  }
}

const MATCH = 0;
/** Consumes one character of set `a`. */
const SET = 1;
/** Goes on at `a` and at `b`. */
const SPLIT = 2;
/** Goes on where the assertion `a` holds. */
const ASSERT = 3;

const ASSERTIONS = ['begin', 'end', 'beginLine', 'endLine', 'word', 'notWord'] as const;

interface Program {
  readonly op: number[];
  readonly a: number[];
  readonly b: number[];
  readonly sets: CharacterSet[];
}

function push(program: Program, op: number, a: number, b: number): number {
  if (program.op.length >= MAX_SIZE) throw new RegexSyntaxError('expression is too large');
  program.op.push(op);
  program.a.push(a);
  program.b.push(b);
  return program.op.length - 1;
}

/** Appends instructions that fall through to the next one when the node has matched. */
function emit(program: Program, node: RegexNode): void {
  switch (node.kind) {
    case 'empty':
      return;
    case 'set':
      program.sets.push(characterSet(node.set));
      push(program, SET, program.sets.length - 1, 0);
      return;
    case 'assert':
      push(program, ASSERT, ASSERTIONS.indexOf(node.assertion), 0);
      return;
    case 'group':
      emit(program, node.item);
      return;
    case 'sequence':
      for (const item of node.items) emit(program, item);
      return;
    case 'choice': {
      const ends: number[] = [];
      for (const [index, item] of node.items.entries()) {
        if (index === node.items.length - 1) {
          emit(program, item);
          break;
        }
        const split = push(program, SPLIT, program.op.length + 1, 0);
        emit(program, item);
        ends.push(push(program, SPLIT, 0, 0));
        program.b[split] = program.op.length;
      }
      for (const end of ends) {
        program.a[end] = program.op.length;
        program.b[end] = program.op.length;
      }
      return;
    }
    case 'repeat': {
      for (let i = 0; i < node.min; i++) emit(program, node.item);
      if (node.max === undefined) {
        const split = push(program, SPLIT, program.op.length + 1, 0);
        emit(program, node.item);
        push(program, SPLIT, split, split);
        program.b[split] = program.op.length;
        return;
      }
      const splits: number[] = [];
      for (let i = node.min; i < node.max; i++) {
        splits.push(push(program, SPLIT, program.op.length + 1, 0));
        emit(program, node.item);
      }
      for (const split of splits) program.b[split] = program.op.length;
    }
  }
}

/** Thompson's simulation: the set of instructions that wait for the next character, one step per character. */
function matcher(program: Program): RegularExpression['test'] {
  const op = Uint8Array.from(program.op);
  const a = Uint32Array.from(program.a);
  const b = Uint32Array.from(program.b);
  const { sets } = program;
  const size = op.length;
  return (text, budget = { left: Number.POSITIVE_INFINITY }) => {
    let waiting = new Uint32Array(size);
    let coming = new Uint32Array(size);
    let waitingCount = 0;
    let comingCount = 0;
    // The position (plus one) at which an instruction was last put on a list, so that it is put there once.
    const seenAt = new Float64Array(size);
    const stack: number[] = [];
    let matched = false;

    const follow = (start: number, position: number): void => {
      stack.push(start);
      for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
        budget.left -= 1;
        if (seenAt[at] === position + 1) continue;
        seenAt[at] = position + 1;
        switch (op[at]) {
          case MATCH:
            matched = true;
            return;
          case SET:
            coming[comingCount++] = at;
            break;
          case SPLIT:
            stack.push(b[at] ?? 0, a[at] ?? 0);
            break;
          default:
            if (holds(a[at] ?? 0, text, position)) stack.push(at + 1);
        }
      }
    };

    // The lists are made anew for each text, which costs little.
    budget.left -= size >>> 4;
    for (let position = 0; ; ) {
      if (budget.left < 0) return false;
      // An expression may match from anywhere.
      follow(0, position);
      if (matched) return true;
      if (position >= text.length) return false;
      [waiting, coming] = [coming, waiting];
      waitingCount = comingCount;
      comingCount = 0;
      const character = text.codePointAt(position) ?? 0;
      position += character > 0xffff ? 2 : 1;
      for (let i = 0; i < waitingCount; i++) {
        const at = waiting[i] ?? 0;
        budget.left -= 1;
        if (!sets[a[at] ?? 0]?.has(character)) continue;
        follow(at + 1, position);
        if (matched) return true;
      }
    }
  };
}

function holds(assertion: number, text: string, position: number): boolean {
  switch (ASSERTIONS[assertion]) {
    case 'begin':
      return position === 0;
    case 'end':
      return position === text.length;
    case 'beginLine':
      return position === 0 || text[position - 1] === '\n';
    case 'endLine':
      return position === text.length || text[position] === '\n';
    case 'word':
      return atWordBoundary(text, position);
    default:
      return !atWordBoundary(text, position);
  }
}

function atWordBoundary(text: string, position: number): boolean {
  const before = position > 0 && isWordCharacter(text.charCodeAt(position - 1));
  const after = position < text.length && isWordCharacter(text.charCodeAt(position));
  return before !== after;
}
