import { isWordCharacter } from '../../schema/character-set.ts';
import type { Assertion, Instruction } from './program.ts';

/** Numbers of the two states that need no instructions. */
const MATCHED = 0;
const DEAD = 1;
const UNKNOWN = -1;
/** Stands for the end of the text, where others stand for characters that the expression does not tell apart. */
const END_CLASS = 0;

/** What one expression may take of memory: entries of the table of transitions, instructions held by states, rare characters. */
const MAX_ENTRIES = 1 << 14;
const MAX_HELD = 1 << 14;
const MAX_OTHERS = 1024;
/** The state in which every text begins, made whenever the table is emptied. */
const START = 2;
const FIRST_STATES = 16;

/** Places between characters at which assertions differ. */
const AT_START = 0;
const AFTER_LINE = 1;
const AFTER_WORD = 2;
const AFTER_OTHER = 3;
type Before = typeof AT_START | typeof AFTER_LINE | typeof AFTER_WORD | typeof AFTER_OTHER;

/** Instructions that wait for the next character, before those that need none are followed. */
interface State {
  readonly pending: Uint32Array;
  readonly before: Before;
}

const NOTHING = new Uint32Array(0);
const INITIAL = Uint32Array.of(0);

interface CharacterClass {
  readonly sample: number;
  readonly isWord: boolean;
  readonly isLine: boolean;
}

const LINE = 10;

/**
 * Whether an expression matches anywhere in a text, by a deterministic automaton whose states are made when they are first
 * reached. Making a transition takes time in proportion to the program, following one takes a look into a table, so a text never
 * takes longer than its length times the program. The table is emptied when it is full.
 */
export function automaton(program: readonly Instruction[]): (text: string) => boolean {
  const sets = [...new Set(program.flatMap((item) => (item.op === 'set' ? [item.set] : [])))];
  const asserts = new Set(program.flatMap((item) => (item.op === 'assert' ? [item.assertion] : [])));
  const mindsWords = asserts.has('word') || asserts.has('notWord');
  const mindsLines = asserts.has('beginLine') || asserts.has('endLine');
  const mindsStart = asserts.has('begin') || mindsLines;

  const classes: CharacterClass[] = [{ sample: -1, isWord: false, isLine: false }];
  const classBySignature = new Map<string, number>();
  const others = new Map<number, number>();

  function classOf(character: number): number {
    const isWord = mindsWords && isWordCharacter(character);
    const isLine = mindsLines && character === LINE;
    let signature = `${isWord}${isLine}`;
    for (const set of sets) signature += set.has(character) ? '1' : '0';
    let found = classBySignature.get(signature);
    if (found === undefined) {
      found = classes.push({ sample: character, isWord, isLine }) - 1;
      classBySignature.set(signature, found);
    }
    return found;
  }
  const ascii = Uint16Array.from({ length: 128 }, (_, character) => classOf(character));

  function classBeyond(character: number): number {
    let found = others.get(character);
    if (found === undefined) {
      if (others.size >= MAX_OTHERS) others.clear();
      found = classOf(character);
      others.set(character, found);
    }
    return found;
  }

  let width = classes.length;
  let table = new Int32Array(0);
  let held = 0;
  let states: State[] = [];
  let numbers = new Map<string, number>();
  // The mark of an instruction is the number of the walk that met it last.
  const marks = new Float64Array(program.length + 1);
  let walk = 0;

  function clear(): void {
    width = classes.length;
    table = new Int32Array(FIRST_STATES * width).fill(UNKNOWN);
    held = 0;
    states = [];
    numbers = new Map();
    // Two states that are never left, and the first.
    states.push({ pending: NOTHING, before: AT_START }, { pending: NOTHING, before: AT_START });
    numberOf(INITIAL, AT_START);
  }

  function isFull(): boolean {
    return held > MAX_HELD || table.length > Math.max(MAX_ENTRIES, FIRST_STATES * width);
  }

  function numberOf(pending: Uint32Array, before: Before): number {
    const key = `${before}:${pending.join()}`;
    let number = numbers.get(key);
    if (number === undefined) {
      if ((states.length + 1) * width > table.length) {
        const larger = new Int32Array(table.length * 2).fill(UNKNOWN);
        larger.set(table);
        table = larger;
      }
      number = states.push({ pending, before }) - 1;
      numbers.set(key, number);
      held += pending.length;
    }
    return number;
  }

  function holds(assertion: Assertion, before: Before, next: CharacterClass | undefined): boolean {
    switch (assertion) {
      case 'begin':
        return before === AT_START;
      case 'end':
        return next === undefined;
      case 'beginLine':
        return before === AT_START || before === AFTER_LINE;
      case 'endLine':
        return next === undefined || next.isLine;
      case 'word':
        return (before === AFTER_WORD) !== (next?.isWord ?? false);
      case 'notWord':
        return (before === AFTER_WORD) === (next?.isWord ?? false);
    }
  }

  const reached: number[] = [];
  const stack: number[] = [];

  /** Gathers the sets that the state comes to without a character; true where it comes to a match. */
  function follow(state: State, next: CharacterClass | undefined): boolean {
    walk++;
    reached.length = 0;
    for (const start of state.pending) {
      stack.length = 0;
      stack.push(start);
      for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
        if (marks[at] === walk) continue;
        marks[at] = walk;
        const instruction = program[at];
        switch (instruction?.op) {
          case 'match':
            return true;
          case 'set':
            reached.push(at);
            break;
          case 'split':
            stack.push(instruction.second, instruction.first);
            break;
          case 'save':
            stack.push(at + 1);
            break;
          case 'assert':
            if (holds(instruction.assertion, state.before, next)) stack.push(at + 1);
        }
      }
    }
    return false;
  }

  function after(next: CharacterClass): Before {
    if (next.isWord) return AFTER_WORD;
    if (next.isLine) return AFTER_LINE;
    return mindsStart || mindsWords ? AFTER_OTHER : AT_START;
  }

  /** A match may begin anywhere, unless the expression says that it begins with the text. */
  const anchored = beginsWithText(program);

  function transition(from: number, group: number): number {
    const state = states[from];
    const next = group === END_CLASS ? undefined : classes[group];
    if (state === undefined) return DEAD;
    let to: number;
    if (follow(state, next)) to = MATCHED;
    else if (next === undefined) to = DEAD;
    else {
      const coming: number[] = anchored ? [] : [0];
      for (const at of reached) {
        const instruction = program[at];
        if (instruction?.op === 'set' && instruction.set.has(next.sample)) coming.push(at + 1);
      }
      const pending = Uint32Array.from(coming).sort();
      to = pending.length === 0 ? DEAD : numberOf(pending, after(next));
    }
    table[from * width + group] = to;
    return to;
  }

  /** The same state in an empty table. */
  function renew(number: number): number {
    const state = states[number];
    clear();
    return state === undefined ? DEAD : numberOf(state.pending, state.before);
  }

  clear();
  return (text) => {
    const { length } = text;
    let state = START;
    for (let at = 0; at < length; at++) {
      const unit = text.charCodeAt(at);
      let group: number;
      if (unit < 128) group = ascii[unit] as number;
      else {
        const character = text.codePointAt(at) ?? unit;
        if (character > 0xffff) at++;
        group = classBeyond(character);
      }
      let next = group < width ? (table[state * width + group] as number) : UNKNOWN;
      if (next === UNKNOWN) {
        if (group >= width || isFull()) state = renew(state);
        next = transition(state, group);
      }
      if (next <= DEAD) return next === MATCHED;
      state = next;
    }
    const last = table[state * width + END_CLASS] as number;
    return (last === UNKNOWN ? transition(state, END_CLASS) : last) === MATCHED;
  };
}

/** Every way through the program asks for the beginning of the text before it does anything else. */
function beginsWithText(program: readonly Instruction[]): boolean {
  const seen = new Set<number>();
  const stack = [0];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const instruction = program[at];
    if (instruction?.op === 'split') stack.push(instruction.first, instruction.second);
    else if (instruction?.op === 'save') stack.push(at + 1);
    else if (instruction?.op !== 'assert') return false;
    else if (instruction.assertion !== 'begin') stack.push(at + 1);
  }
  return true;
}
