/** The part of the shell language that simulated containers understand, as a tree. */

/** A piece of a word: text as it is, or something that is filled in. `quoted` keeps its spaces together. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string; readonly quoted: boolean }
  | {
      readonly kind: 'variable';
      readonly name: string;
      readonly fallback: string | undefined;
      readonly quoted: boolean;
    }
  | { readonly kind: 'output'; readonly script: Script; readonly quoted: boolean };

export type Word = readonly Piece[];

export interface Redirect {
  /** 0, 1 or 2. */
  readonly descriptor: number;
  readonly kind: 'read' | 'write' | 'append' | 'duplicate';
  readonly target: Word;
}

export type Command =
  | {
      readonly kind: 'simple';
      readonly assignments: readonly (readonly [name: string, value: Word])[];
      readonly words: readonly Word[];
      readonly redirects: readonly Redirect[];
    }
  | {
      readonly kind: 'group';
      readonly body: Script;
      readonly subshell: boolean;
      readonly redirects: readonly Redirect[];
    }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly condition: Script; readonly body: Script }[];
      readonly otherwise: Script | undefined;
      readonly redirects: readonly Redirect[];
    }
  | {
      readonly kind: 'while';
      readonly until: boolean;
      readonly condition: Script;
      readonly body: Script;
      readonly redirects: readonly Redirect[];
    }
  | {
      readonly kind: 'for';
      readonly variable: string;
      readonly words: readonly Word[];
      readonly body: Script;
      readonly redirects: readonly Redirect[];
    };

export interface Pipeline {
  readonly negated: boolean;
  readonly commands: readonly Command[];
}

/** Pipelines with what joins each to the one before it. */
export type Script = readonly { readonly join: '&&' | '||' | ';'; readonly pipeline: Pipeline }[];

export class ShellSyntaxError extends Error {
  /** Whether more text could make it right. */
  readonly incomplete: boolean;
  constructor(message: string, incomplete: boolean = false) {
    super(message);
    this.name = 'ShellSyntaxError';
    this.incomplete = incomplete;
  }
}

const MAX_SCRIPT = 64 * 1024;
const MAX_DEPTH = 20;
const RESERVED: ReadonlySet<string> = new Set(['then', 'do', 'done', 'fi', 'else', 'elif', '}', 'esac']);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*/;

/** Throws {@link ShellSyntaxError}. */
export function parseScript(text: string): Script {
  if (text.length > MAX_SCRIPT) throw new ShellSyntaxError(`a script is ${MAX_SCRIPT} characters at most`);
  const parser = parserOf(text);
  const script = parser.script();
  parser.expectEnd();
  return script;
}

function parserOf(text: string): { script(): Script; expectEnd(): void } {
  let at = 0;
  let depth = 0;

  function unexpected(): ShellSyntaxError {
    if (at >= text.length) return new ShellSyntaxError('syntax error: unexpected end of file', true);
    const token = /^(&&|\|\||;;|>>|[;&|()<>\n]|[^\s;&|()<>]+)/.exec(text.slice(at, at + 40))?.[0] ?? text[at];
    return new ShellSyntaxError(
      `syntax error: unexpected ${JSON.stringify(token === '\n' ? 'newline' : token)}`,
    );
  }

  /** Spaces, line continuations and comments. */
  function skip(newlines: boolean = false): void {
    for (;;) {
      const char = text[at];
      if (char === ' ' || char === '\t' || char === '\r' || (newlines && char === '\n')) at += 1;
      else if (char === '\\' && text[at + 1] === '\n') at += 2;
      else if (char === '#') while (at < text.length && text[at] !== '\n') at += 1;
      else return;
    }
  }

  function eat(token: string): boolean {
    skip();
    if (!text.startsWith(token, at)) return false;
    at += token.length;
    return true;
  }

  /** A reserved word stands alone. */
  function seesKeyword(word: string): boolean {
    skip();
    return (
      text.startsWith(word, at) && /^($|[\s;&|()<>])/.test(text.slice(at + word.length, at + word.length + 1))
    );
  }

  function eatKeyword(word: string): boolean {
    if (!seesKeyword(word)) return false;
    at += word.length;
    return true;
  }

  function expectKeyword(word: string): void {
    skip(true);
    if (!eatKeyword(word)) throw unexpected();
  }

  function nested<T>(parse: () => T): T {
    depth += 1;
    if (depth > MAX_DEPTH) throw new ShellSyntaxError(`a script is ${MAX_DEPTH} levels deep at most`);
    const result = parse();
    depth -= 1;
    return result;
  }

  function atEndOfList(): boolean {
    if (at >= text.length || text[at] === ')') return true;
    return [...RESERVED].some(seesKeyword);
  }

  function script(): Script {
    return nested(() => {
      const out: { join: '&&' | '||' | ';'; pipeline: Pipeline }[] = [];
      let join: '&&' | '||' | ';' = ';';
      for (;;) {
        skip(true);
        if (atEndOfList()) {
          if (join !== ';') throw unexpected();
          return out;
        }
        out.push({ join, pipeline: pipeline() });
        skip();
        if (eat('&&')) join = '&&';
        else if (eat('||')) join = '||';
        else if (text.startsWith(';;', at)) throw unexpected();
        else if (eat(';') || text[at] === '\n') join = ';';
        else if (text[at] === '&') throw new ShellSyntaxError('background jobs are not simulated');
        else if (atEndOfList()) return out;
        else throw unexpected();
      }
    });
  }

  function pipeline(): Pipeline {
    const negated = eatKeyword('!');
    const commands = [command()];
    for (;;) {
      skip();
      if (text[at] !== '|' || text[at + 1] === '|') return { negated, commands };
      at += 1;
      skip(true);
      commands.push(command());
    }
  }

  function command(): Command {
    if (eat('(')) {
      const body = script();
      if (!eat(')')) throw unexpected();
      return { kind: 'group', body, subshell: true, redirects: redirects() };
    }
    if (eatKeyword('{')) {
      const body = script();
      expectKeyword('}');
      return { kind: 'group', body, subshell: false, redirects: redirects() };
    }
    if (eatKeyword('if')) return ifCommand();
    if (seesKeyword('while') || seesKeyword('until')) {
      const until = !eatKeyword('while');
      if (until) eatKeyword('until');
      const condition = script();
      return { kind: 'while', until, condition, body: doGroup(), redirects: redirects() };
    }
    if (eatKeyword('for')) return forCommand();
    return simpleCommand();
  }

  function doGroup(): Script {
    expectKeyword('do');
    const body = script();
    expectKeyword('done');
    return body;
  }

  function ifCommand(): Command {
    const branches: { condition: Script; body: Script }[] = [];
    let otherwise: Script | undefined;
    do {
      const condition = script();
      expectKeyword('then');
      branches.push({ condition, body: script() });
      skip(true);
    } while (eatKeyword('elif'));
    if (eatKeyword('else')) otherwise = script();
    expectKeyword('fi');
    return { kind: 'if', branches, otherwise, redirects: redirects() };
  }

  function forCommand(): Command {
    skip();
    const variable = NAME.exec(text.slice(at, at + 256))?.[0];
    if (variable === undefined) throw unexpected();
    at += variable.length;
    const words: Word[] = [];
    skip(true);
    if (!eatKeyword('in')) throw unexpected();
    for (skip(); at < text.length && text[at] !== ';' && text[at] !== '\n'; skip()) words.push(word());
    eat(';');
    return { kind: 'for', variable, words, body: doGroup(), redirects: redirects() };
  }

  function redirects(): Redirect[] {
    const out: Redirect[] = [];
    for (let one = redirect(); one !== undefined; one = redirect()) out.push(...one);
    return out;
  }

  function redirect(): Redirect[] | undefined {
    skip();
    const match = /^(&>>?|[0-2]?(?:>>|>&|>|<(?!<)))/.exec(text.slice(at, at + 4))?.[0];
    if (match === undefined) {
      if (text.startsWith('<<', at)) throw new ShellSyntaxError('here-documents are not simulated');
      return undefined;
    }
    at += match.length;
    skip();
    const target = word();
    const both = match.startsWith('&');
    const sign = match.replace(/^[0-2&]/, '');
    const descriptor = /^[0-2]/.test(match) ? Number(match[0]) : sign === '<' ? 0 : 1;
    const kind = sign === '<' ? 'read' : sign === '>>' ? 'append' : sign === '>&' ? 'duplicate' : 'write';
    const one: Redirect = { descriptor, kind, target };
    const joined: Redirect = {
      descriptor: 2,
      kind: 'duplicate',
      target: [{ kind: 'text', text: '1', quoted: true }],
    };
    return both ? [one, joined] : [one];
  }

  function simpleCommand(): Command {
    const assignments: [string, Word][] = [];
    const words: Word[] = [];
    const found: Redirect[] = [];
    for (;;) {
      const more = redirect();
      if (more) {
        found.push(...more);
        continue;
      }
      const char = text[at];
      if (char === undefined || ';&|)\n'.includes(char)) break;
      if (char === '(') throw unexpected();
      const assignment =
        words.length === 0 ? /^([A-Za-z_][A-Za-z0-9_]*)=/.exec(text.slice(at, at + 256)) : null;
      if (assignment?.[1] !== undefined) {
        at += assignment[0].length;
        assignments.push([assignment[1], word(true)]);
      } else words.push(word());
    }
    if (assignments.length + words.length + found.length === 0) throw unexpected();
    return { kind: 'simple', assignments, words, redirects: found };
  }

  function word(mayBeEmpty: boolean = false): Word {
    const pieces: Piece[] = [];
    const start = at;
    let plain = '';
    const flush = (): void => {
      if (plain !== '') pieces.push({ kind: 'text', text: plain, quoted: false });
      plain = '';
    };
    for (;;) {
      const char = text[at];
      if (char === undefined || ' \t\r\n;&|()<>'.includes(char)) break;
      if (char === '\\') {
        const next = text[at + 1];
        if (next === undefined) throw new ShellSyntaxError('syntax error: unexpected end of file', true);
        at += 2;
        if (next === '\n') continue;
        flush();
        pieces.push({ kind: 'text', text: next, quoted: true });
      } else if (char === "'") {
        const end = text.indexOf("'", at + 1);
        if (end < 0) throw new ShellSyntaxError('syntax error: unterminated quoted string', true);
        flush();
        pieces.push({ kind: 'text', text: text.slice(at + 1, end), quoted: true });
        at = end + 1;
      } else if (char === '"') {
        flush();
        pieces.push(...doubleQuoted());
      } else if (char === '$' || char === '`') {
        const piece = substitution(false);
        if (piece === undefined) plain += '$';
        else {
          flush();
          pieces.push(piece);
        }
      } else {
        plain += char;
        at += 1;
      }
    }
    flush();
    if (at === start && !mayBeEmpty) throw unexpected();
    return pieces;
  }

  function doubleQuoted(): Piece[] {
    at += 1;
    const pieces: Piece[] = [];
    let plain = '';
    for (;;) {
      const char = text[at];
      if (char === undefined) throw new ShellSyntaxError('syntax error: unterminated quoted string', true);
      if (char === '"') break;
      if (char === '\\' && /["\\$`\n]/.test(text[at + 1] ?? '')) {
        if (text[at + 1] !== '\n') plain += text[at + 1];
        at += 2;
      } else if (char === '$' || char === '`') {
        const piece = substitution(true);
        if (piece === undefined) plain += '$';
        else {
          pieces.push({ kind: 'text', text: plain, quoted: true }, piece);
          plain = '';
        }
      } else {
        plain += char;
        at += 1;
      }
    }
    at += 1;
    pieces.push({ kind: 'text', text: plain, quoted: true });
    return pieces;
  }

  /** What a `$` begins; `undefined` where it is only itself. */
  function substitution(quoted: boolean): Piece | undefined {
    if (text[at] === '`') {
      const end = text.indexOf('`', at + 1);
      if (end < 0) throw new ShellSyntaxError('syntax error: unterminated quoted string', true);
      const inner = text.slice(at + 1, end);
      at = end + 1;
      return { kind: 'output', script: nested(() => parseScript(inner)), quoted };
    }
    at += 1;
    if (text.startsWith('((', at)) throw new ShellSyntaxError('arithmetic is not simulated');
    if (text[at] === '(') {
      at += 1;
      const inner = script();
      skip(true);
      if (text[at] !== ')') throw unexpected();
      at += 1;
      return { kind: 'output', script: inner, quoted };
    }
    if (text[at] === '{') {
      const match = /^\{([A-Za-z_][A-Za-z0-9_]*|[?$#0-9@])(?::?-([^}]*))?\}/.exec(text.slice(at, at + 1024));
      if (match?.[1] === undefined)
        throw new ShellSyntaxError('syntax error: bad substitution', !text.includes('}', at));
      at += match[0].length;
      return { kind: 'variable', name: match[1], fallback: match[2], quoted };
    }
    const name = /^(?:[A-Za-z_][A-Za-z0-9_]*|[?$#0-9@])/.exec(text.slice(at, at + 256))?.[0];
    if (name === undefined) return undefined;
    at += name.length;
    return { kind: 'variable', name, fallback: undefined, quoted };
  }

  return {
    script,
    expectEnd() {
      skip(true);
      if (at < text.length) throw unexpected();
    },
  };
}
