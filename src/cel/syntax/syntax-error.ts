/** Unwinds the parser; turned into an issue where parsing began. */
export class SyntaxFailure extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.name = 'SyntaxFailure';
    this.offset = offset;
  }
}

export function syntaxError(offset: number, message: string): SyntaxFailure {
  return new SyntaxFailure(offset, message);
}
