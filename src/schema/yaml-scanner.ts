/** Where something stands in a text. Line and column from 0. */
export interface Mark {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

export type TokenKind =
  | 'stream-end'
  | 'directive'
  | 'document-start'
  | 'document-end'
  | 'block-sequence-start'
  | 'block-mapping-start'
  | 'block-end'
  | 'block-entry'
  | 'flow-sequence-start'
  | 'flow-sequence-end'
  | 'flow-mapping-start'
  | 'flow-mapping-end'
  | 'flow-entry'
  | 'key'
  | 'value'
  | 'alias'
  | 'anchor'
  | 'tag'
  | 'scalar';

export interface Token {
  readonly kind: TokenKind;
  readonly start: Mark;
  /** The name of an anchor, an alias or the handle of a tag. */
  readonly name: string;
}

/** A problem in the words of libyaml, with the line that its users are told: none for the first one. */
export class YamlProblem extends Error {
  constructor(message: string, line: number) {
    super(line > 0 ? `line ${line}: ${message}` : message);
    this.name = 'YamlProblem';
  }
}

/** Something that may turn out to be the key of a mapping when a colon follows. */
interface PossibleKey {
  possible: boolean;
  /** Nothing else can stand here. */
  required: boolean;
  /** How many tokens come before it. */
  number: number;
  mark: Mark;
}

export interface YamlScanner {
  /** The next token, which stays. Throws {@link YamlProblem}. */
  peek(): Token;
  /** Passes over it. */
  skip(): void;
}

const BREAK = /[\n\r\u0085\u2028\u2029]/;
const ANCHOR = /[A-Za-z0-9_-]/;
const TAG_URI = /[A-Za-z0-9_;/?:@&=+$,.!~*'()[\]%-]/;
/** What cannot begin a plain text by itself. */
const INDICATORS = '-?:,[]{}#&*!|>\'"%@`';
const ESCAPES = '0abt\tnvfre "\'\\N_LP';
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const MAX_KEY_LENGTH = 1024;
/** Tokens that were passed over and are still kept. */
const MAX_PASSED = 512;

/**
 * Cuts a text into the tokens of YAML 1.1 as libyaml does, which servers of Kubernetes read YAML with: not for what the text
 * means, only for what is wrong with it and where.
 */
export function yamlScanner(text: string): YamlScanner {
  let at = 0;
  let line = 0;
  let column = 0;
  let flowLevel = 0;
  let indent = -1;
  const indents: number[] = [];
  let keyAllowed = true;
  const start: Mark = { at: 0, line: 0, column: 0 };
  const keys: PossibleKey[] = [{ possible: false, required: false, number: 0, mark: start }];
  const tokens: Token[] = [];
  let head = 0;
  let taken = 0;
  let ended = false;

  const mark = (): Mark => ({ at, line, column });
  const char = (ahead: number = 0): string => text[at + ahead] ?? '';
  const isEnd = (ahead: number = 0): boolean => at + ahead >= text.length;
  const isBlank = (ahead: number = 0): boolean => char(ahead) === ' ' || char(ahead) === '\t';
  const isBreak = (ahead: number = 0): boolean => BREAK.test(char(ahead));
  const isGap = (ahead: number = 0): boolean => isEnd(ahead) || isBlank(ahead) || isBreak(ahead);
  const skip = (count: number = 1): void => {
    at += count;
    column += count;
  };
  const skipLine = (): void => {
    at += text.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
    column = 0;
  };
  const isDocumentIndicator = (): boolean =>
    column === 0 && (text.startsWith('---', at) || text.startsWith('...', at)) && isGap(3);
  const fail = (message: string, context: Mark): never => {
    throw new YamlProblem(message, line > 0 ? line + 1 : context.line);
  };
  const add = (kind: TokenKind, from: Mark, name: string = ''): void => {
    tokens.push({ kind, start: from, name });
  };
  const top = (): PossibleKey => keys.at(-1) ?? { possible: false, required: false, number: 0, mark: start };

  const isStillKey = (key: PossibleKey): boolean => {
    if (!key.possible) return false;
    // A key is one line, and its colon is near.
    if (key.mark.line === line && key.mark.at + MAX_KEY_LENGTH >= at) return true;
    if (key.required) fail("could not find expected ':'", key.mark);
    key.possible = false;
    return false;
  };
  const dropKey = (): void => {
    const key = top();
    if (key.possible && key.required) fail("could not find expected ':'", key.mark);
    key.possible = false;
  };
  const noteKey = (): void => {
    if (!keyAllowed) return;
    const required = flowLevel === 0 && indent === column;
    dropKey();
    keys[keys.length - 1] = {
      possible: true,
      required,
      number: taken + tokens.length - head,
      mark: mark(),
    };
  };
  const indentTo = (to: number, number: number, kind: TokenKind, from: Mark): void => {
    if (flowLevel > 0 || indent >= to) return;
    indents.push(indent);
    indent = to;
    const token = { kind, start: from, name: '' };
    if (number < 0) tokens.push(token);
    else tokens.splice(head + number - taken, 0, token);
  };
  const unindentTo = (to: number): void => {
    if (flowLevel > 0) return;
    while (indent > to) {
      add('block-end', mark());
      indent = indents.pop() ?? -1;
    }
  };

  const toNextToken = (): void => {
    for (;;) {
      if (at === 0 && char() === '\ufeff') at += 1;
      while (char() === ' ' || ((flowLevel > 0 || !keyAllowed) && char() === '\t')) skip();
      if (char() === '#') while (!isEnd() && !isBreak()) skip();
      if (!isBreak()) return;
      skipLine();
      if (flowLevel === 0) keyAllowed = true;
    }
  };

  const fetch = (): void => {
    toNextToken();
    unindentTo(column);
    const from = mark();
    const sign = char();
    if (isEnd()) fetchEnd();
    else if (column === 0 && sign === '%') fetchDirective(from);
    else if (isDocumentIndicator()) fetchDocumentIndicator(from, sign);
    else if (sign === '[' || sign === '{') fetchFlowStart(from, sign);
    else if (sign === ']' || sign === '}') fetchFlowEnd(from, sign);
    else if (sign === ',') fetchFlowEntry(from);
    else if (sign === '-' && isGap(1)) fetchEntry(from);
    else if (sign === '?' && (flowLevel > 0 || isGap(1))) fetchKey(from);
    else if (sign === ':' && (flowLevel > 0 || isGap(1))) fetchValue(from);
    else if ((sign === '|' || sign === '>') && flowLevel === 0) {
      dropKey();
      keyAllowed = true;
      scanBlockScalar(from);
    } else fetchNode(from, sign);
  };
  /** What may be a key. */
  const fetchNode = (from: Mark, sign: string): void => {
    const isPlain =
      !INDICATORS.includes(sign) ||
      (sign === '-' && !isBlank(1)) ||
      (flowLevel === 0 && (sign === '?' || sign === ':') && !isGap(1));
    if (!isPlain && !'*&!\'"'.includes(sign)) fail('found character that cannot start any token', from);
    // A tab where no key may begin.
    if (isBlank()) fail('found character that cannot start any token', from);
    noteKey();
    keyAllowed = false;
    if (sign === '*' || sign === '&') scanAnchor(from, sign);
    else if (sign === '!') scanTag(from);
    else if (sign === "'" || sign === '"') scanQuoted(from, sign);
    else scanPlain(from);
  };
  const fetchDocumentIndicator = (from: Mark, sign: string): void => {
    unindentTo(-1);
    dropKey();
    keyAllowed = false;
    skip(3);
    add(sign === '-' ? 'document-start' : 'document-end', from);
  };
  const fetchFlowStart = (from: Mark, sign: string): void => {
    noteKey();
    flowLevel += 1;
    keys.push({ possible: false, required: false, number: 0, mark: start });
    keyAllowed = true;
    skip();
    add(sign === '[' ? 'flow-sequence-start' : 'flow-mapping-start', from);
  };
  const fetchFlowEnd = (from: Mark, sign: string): void => {
    dropKey();
    if (flowLevel > 0) {
      flowLevel -= 1;
      keys.pop();
    }
    keyAllowed = false;
    skip();
    add(sign === ']' ? 'flow-sequence-end' : 'flow-mapping-end', from);
  };
  const fetchFlowEntry = (from: Mark): void => {
    dropKey();
    keyAllowed = true;
    skip();
    add('flow-entry', from);
  };

  const fetchEnd = (): void => {
    if (column !== 0) {
      column = 0;
      line += 1;
    }
    unindentTo(-1);
    dropKey();
    keyAllowed = false;
    ended = true;
    add('stream-end', mark());
  };
  const fetchDirective = (from: Mark): void => {
    unindentTo(-1);
    dropKey();
    keyAllowed = false;
    skip();
    let name = '';
    for (; ANCHOR.test(char()); skip()) name += char();
    if (name === '') fail('could not find expected directive name', from);
    if (!isGap()) fail('found unexpected non-alphabetical character', from);
    if (name !== 'YAML' && name !== 'TAG') fail('found unknown directive name', from);
    while (isBlank()) skip();
    let handle = '';
    if (name === 'YAML') scanVersion(from);
    else {
      for (; !isGap(); skip()) handle += char();
      while (isBlank()) skip();
      while (!isGap()) skip();
    }
    endLine(from);
    add('directive', from, handle);
  };
  const scanVersion = (from: Mark): void => {
    const digits = (): void => {
      if (!/[0-9]/.test(char())) fail('did not find expected version number', from);
      while (/[0-9]/.test(char())) skip();
    };
    digits();
    if (char() !== '.') fail("did not find expected digit or '.' character", from);
    skip();
    digits();
  };
  /** Nothing but a comment may be left of the line. */
  const endLine = (from: Mark): void => {
    while (isBlank()) skip();
    if (char() === '#') while (!isEnd() && !isBreak()) skip();
    if (!isEnd() && !isBreak()) fail('did not find expected comment or line break', from);
    if (isBreak()) skipLine();
  };
  const fetchEntry = (from: Mark): void => {
    if (flowLevel === 0) {
      if (!keyAllowed) fail('block sequence entries are not allowed in this context', from);
      indentTo(column, -1, 'block-sequence-start', from);
    }
    dropKey();
    keyAllowed = true;
    skip();
    add('block-entry', from);
  };
  const fetchKey = (from: Mark): void => {
    if (flowLevel === 0) {
      if (!keyAllowed) fail('mapping keys are not allowed in this context', from);
      indentTo(column, -1, 'block-mapping-start', from);
    }
    dropKey();
    keyAllowed = flowLevel === 0;
    skip();
    add('key', from);
  };
  const fetchValue = (from: Mark): void => {
    const key = top();
    if (isStillKey(key)) {
      tokens.splice(head + key.number - taken, 0, { kind: 'key', start: key.mark, name: '' });
      indentTo(key.mark.column, key.number, 'block-mapping-start', key.mark);
      key.possible = false;
      keyAllowed = false;
    } else {
      if (flowLevel === 0) {
        if (!keyAllowed) fail('mapping values are not allowed in this context', from);
        indentTo(column, -1, 'block-mapping-start', from);
      }
      keyAllowed = flowLevel === 0;
    }
    skip();
    add('value', from);
  };

  const scanAnchor = (from: Mark, sign: string): void => {
    skip();
    let name = '';
    for (; ANCHOR.test(char()); skip()) name += char();
    if (name === '' || !(isGap() || '?:,]}%@`'.includes(char())))
      fail('did not find expected alphabetic or numeric character', from);
    add(sign === '*' ? 'alias' : 'anchor', from, name);
  };
  const scanTag = (from: Mark): void => {
    let handle = '';
    if (char(1) === '<') {
      skip(2);
      scanTagUri(from, false);
      if (char() !== '>') fail("did not find the expected '>'", from);
      skip();
    } else {
      handle = /^![A-Za-z0-9_-]*!?/.exec(text.slice(at, at + MAX_KEY_LENGTH))?.[0] ?? '!';
      skip(handle.length);
      // `!name!rest` has a handle, `!rest` is a tag by itself; both `!` and `!!` are known.
      scanTagUri(from, handle.length > 1 ? !handle.endsWith('!') : true);
    }
    if (!isGap()) fail('did not find expected whitespace or line break', from);
    add('tag', from, handle.length > 2 && handle.endsWith('!') ? handle : '');
  };
  const scanTagUri = (from: Mark, mayBeEmpty: boolean): void => {
    const first = at;
    while (TAG_URI.test(char())) {
      if (char() === '%' && !/^%[0-9A-Fa-f]{2}/.test(text.slice(at, at + 3)))
        fail('did not find URI escaped octet', from);
      skip(char() === '%' ? 3 : 1);
    }
    if (at === first && !mayBeEmpty) fail('did not find expected tag URI', from);
  };

  const scanBlockScalar = (from: Mark): void => {
    skip();
    let increment = 0;
    for (let left = 2; left > 0 && /[-+0-9]/.test(char()); left--) {
      if (char() === '0') fail('found an indentation indicator equal to 0', from);
      if (/[1-9]/.test(char())) increment = Number(char());
      skip();
    }
    endLine(from);
    let depth = increment > 0 ? Math.max(indent, 0) + increment : 0;
    depth = scanBlockBreaks(depth, from);
    while (column === depth && !isEnd()) {
      while (!isEnd() && !isBreak()) skip();
      if (isBreak()) skipLine();
      depth = scanBlockBreaks(depth, from);
    }
    add('scalar', from);
  };
  /** Empty lines, and the indentation of the next one; finds the depth where it is not known (0). */
  const scanBlockBreaks = (depth: number, from: Mark): number => {
    let deepest = 0;
    for (;;) {
      while ((depth === 0 || column < depth) && char() === ' ') skip();
      deepest = Math.max(deepest, column);
      if ((depth === 0 || column < depth) && char() === '\t')
        fail('found a tab character where an indentation space is expected', from);
      if (!isBreak()) break;
      skipLine();
    }
    return depth > 0 ? depth : Math.max(deepest, indent + 1, 1);
  };

  const scanQuoted = (from: Mark, quote: string): void => {
    skip();
    for (;;) {
      if (isDocumentIndicator()) fail('found unexpected document indicator', from);
      if (isEnd()) fail('found unexpected end of stream', from);
      while (!isGap()) {
        if (quote === "'" && char() === "'" && char(1) === "'") skip(2);
        else if (char() === quote) break;
        else if (quote === '"' && char() === '\\' && isBreak(1)) {
          skip();
          skipLine();
          break;
        } else if (quote === '"' && char() === '\\') scanEscape(from);
        else skip();
      }
      if (char() === quote) break;
      while (isBlank() || isBreak()) {
        if (isBlank()) skip();
        else skipLine();
      }
    }
    skip();
    add('scalar', from);
  };
  const scanEscape = (from: Mark): void => {
    const digits = HEX_ESCAPES[char(1)];
    if (digits === undefined) {
      if (char(1) === '' || !ESCAPES.includes(char(1))) fail('found unknown escape character', from);
      skip(2);
      return;
    }
    skip(2);
    const code = /^[0-9A-Fa-f]*/.exec(text.slice(at, at + digits))?.[0] ?? '';
    if (code.length < digits) fail('did not find expected hexdecimal number', from);
    const value = Number.parseInt(code, 16);
    if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
      fail('found invalid Unicode character escape code', from);
    skip(digits);
  };

  const scanPlain = (from: Mark): void => {
    const depth = indent + 1;
    let afterBreak = false;
    while (!isDocumentIndicator() && char() !== '#') {
      while (!isGap()) {
        if (char() === ':' && isGap(1)) break;
        if (flowLevel > 0 && ',?[]{}'.includes(char())) break;
        afterBreak = false;
        skip();
      }
      if (!isBlank() && !isBreak()) break;
      while (isBlank() || isBreak()) {
        if (isBlank()) {
          if (afterBreak && column < depth && char() === '\t')
            fail('found a tab character that violates indentation', from);
          skip();
        } else {
          skipLine();
          afterBreak = true;
        }
      }
      if (flowLevel === 0 && column < depth) break;
    }
    add('scalar', from);
    if (afterBreak) keyAllowed = true;
  };

  return {
    peek() {
      for (;;) {
        if (head < tokens.length) {
          // A token that may become a key is not the next one until that is decided.
          const waits = keys.find((key) => key.possible && key.number === taken);
          if (waits === undefined || !isStillKey(waits)) break;
        }
        if (ended && head >= tokens.length) break;
        fetch();
      }
      return tokens[head] ?? { kind: 'stream-end', start: mark(), name: '' };
    },
    skip() {
      head += 1;
      taken += 1;
      if (head < MAX_PASSED) return;
      tokens.splice(0, head);
      head = 0;
    },
  };
}
