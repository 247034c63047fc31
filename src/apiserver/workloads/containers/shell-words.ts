import { escapePattern, matchFiles } from './file-pattern.ts';
import type { FileSystem } from './file-system.ts';
import { CommandFailure, MAX_EXPANSION, type ShellState } from './shell-state.ts';
import type { Script, Word } from './shell-syntax.ts';

const MAX_WORDS = 20_000;

/** Fills in words. Both throw {@link CommandFailure} where that comes to too much. */
export interface WordExpander {
  expand(words: readonly Word[]): Promise<string[]>;
  expandOne(word: Word): Promise<string>;
}

interface Field {
  text: string;
  /** Present where something that was not quoted stands for any characters. */
  pattern?: string;
}

/** `output` runs a script and gives what it prints. */
export function wordExpander(
  state: ShellState,
  files: FileSystem,
  output: (script: Script) => Promise<string>,
): WordExpander {
  /** Words as arguments: filled in, cut at spaces, with patterns of file names. */
  async function expand(words: readonly Word[]): Promise<string[]> {
    const out: string[] = [];
    let size = 0;
    const add = (text: string): void => {
      size += text.length;
      if (size > MAX_EXPANSION || out.length >= MAX_WORDS) throw new CommandFailure('argument list too long');
      out.push(text);
    };
    for (const word of words) {
      for (const { text, pattern } of await fields(word)) {
        const found = pattern === undefined ? [] : matchFiles(files, state.directory, pattern);
        if (found.length === 0) add(text);
        else for (const path of found) add(path);
      }
    }
    return out;
  }

  async function expandOne(word: Word): Promise<string> {
    let text = '';
    for (const piece of word) {
      text += await value(piece);
      if (text.length > MAX_EXPANSION) throw new CommandFailure('argument list too long');
    }
    return text;
  }

  async function fields(word: Word): Promise<Field[]> {
    const out: Field[] = [];
    let text = '';
    let pattern = '';
    let begun = false;
    let wild = false;
    const finish = (): void => {
      if (begun) out.push(wild ? { text, pattern } : { text });
      text = '';
      pattern = '';
      begun = false;
      wild = false;
    };
    for (const piece of word) {
      if (piece.kind === 'variable' && piece.name === '@' && piece.quoted) {
        for (const [index, parameter] of state.parameters.slice(1).entries()) {
          if (index > 0) finish();
          begun = true;
          text += parameter;
          pattern += escapePattern(parameter);
        }
        continue;
      }
      const full = await value(piece);
      if (text.length + full.length > MAX_EXPANSION) throw new CommandFailure('argument list too long');
      if (piece.quoted) {
        begun = true;
        text += full;
        pattern += escapePattern(full);
        continue;
      }
      const parts = piece.kind === 'text' ? [full] : full.split(/[ \t\n]+/);
      for (const [index, part] of parts.entries()) {
        if (index > 0) finish();
        if (part === '') continue;
        begun = true;
        text += part;
        pattern += part;
        if (/[*?]/.test(part)) wild = true;
      }
    }
    finish();
    return out;
  }

  async function value(piece: Word[number]): Promise<string> {
    if (piece.kind === 'text')
      return !piece.quoted && /^~(?=$|\/)/.test(piece.text)
        ? (state.variables.get('HOME') ?? '/root') + piece.text.slice(1)
        : piece.text;
    if (piece.kind === 'variable') {
      const found = variable(piece.name);
      return found === undefined || found === '' ? (piece.fallback ?? '') : found;
    }
    return output(piece.script);
  }

  function variable(name: string): string | undefined {
    if (name === '?') return String(state.lastCode);
    if (name === '$') return '1';
    if (name === '#') return String(Math.max(0, state.parameters.length - 1));
    if (name === '@') return state.parameters.slice(1).join(' ');
    if (/^\d$/.test(name)) return state.parameters[Number(name)];
    return state.variables.get(name);
  }

  return { expand, expandOne };
}
