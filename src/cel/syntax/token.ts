/** Kinds of tokens: small numbers, so that the parser's choices are comparisons and tables are arrays. */
export type TokenKind = number;

export const END = 0;
export const LITERAL = 1;
export const IDENT = 2;
/** A field name in back quotes. */
export const QUOTED_IDENT = 3;
export const TRUE = 4;
export const FALSE = 5;
export const NULL_WORD = 6;
export const DOT = 7;
export const COMMA = 8;
export const COLON = 9;
export const QUESTION = 10;
export const OPEN_PAREN = 11;
export const CLOSE_PAREN = 12;
export const OPEN_BRACKET = 13;
export const CLOSE_BRACKET = 14;
export const OPEN_BRACE = 15;
export const CLOSE_BRACE = 16;
export const NOT = 17;
/** From here on: operators with two operands. */
export const OR = 18;
export const AND = 19;
export const EQUAL = 20;
export const NOT_EQUAL = 21;
export const LESS = 22;
export const LESS_EQUAL = 23;
export const GREATER = 24;
export const GREATER_EQUAL = 25;
export const IN = 26;
export const PLUS = 27;
export const MINUS = 28;
export const TIMES = 29;
export const DIVIDE = 30;
export const MODULO = 31;

/** How tightly an operator with two operands binds; 0 for everything else. Relations all bind alike; `?:` is parsed apart. */
export const POWER: Uint8Array = Uint8Array.of(
  ...new Array<number>(OR).fill(0),
  ...[1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 5],
);

/** The functions that the operators with two operands stand for. */
export const OPERATOR: readonly string[] = [
  ...new Array<string>(OR).fill(''),
  ...['_||_', '_&&_', '_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_', '@in', '_+_', '_-_', '_*_', '_/_', '_%_'],
];
