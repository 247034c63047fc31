import { type CharacterSet, type CharacterSetSource, characterSet } from '../../schema/character-set.ts';
import { parseRegularExpression, type RegexNode, RegexSyntaxError } from '../../schema/regex-parser.ts';

export type Assertion = (RegexNode & { kind: 'assert' })['assertion'];

export type Instruction =
  /** Consumes one character. */
  | { readonly op: 'set'; readonly set: CharacterSet }
  /** Goes on at both, the first preferred. */
  | { readonly op: 'split'; first: number; second: number }
  /** Goes on where the assertion holds. */
  | { readonly op: 'assert'; readonly assertion: Assertion }
  /** The place is the beginning or the end of a group. */
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'match' };

/** An RE2 expression as instructions, of which each falls through to the next. */
export interface RegexProgram {
  readonly instructions: readonly Instruction[];
  readonly groupCount: number;
}

const MAX_SIZE = 20_000;

/** Throws a {@link RegexSyntaxError} for what is no expression, or too large a one. */
export function compileProgram(source: string): RegexProgram {
  const tree = parseRegularExpression(source);
  const program: Instruction[] = [];
  let groupCount = 0;
  // A repeated item is the same set each time.
  const sets = new Map<CharacterSetSource, CharacterSet>();
  const setFor = (written: CharacterSetSource): CharacterSet => {
    const known = sets.get(written) ?? characterSet(written);
    sets.set(written, known);
    return known;
  };
  const push = (instruction: Instruction): number => {
    if (program.length >= MAX_SIZE) throw new RegexSyntaxError('expression is too large');
    return program.push(instruction) - 1;
  };
  const emit = (node: RegexNode): void => {
    switch (node.kind) {
      case 'empty':
        return;
      case 'set':
        push({ op: 'set', set: setFor(node.set) });
        return;
      case 'assert':
        push({ op: 'assert', assertion: node.assertion });
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
  return { instructions: program, groupCount };
}
