import { type FileSystem, normalizePath } from './file-system.ts';
import { CommandFailure } from './shell-state.ts';

const MAX_PATHS = 20_000;
/** Names are not longer than half of it. */
const MAX_PART = 512;

/** A text as the pattern of nothing but itself. */
export function escapePattern(text: string): string {
  return text.replace(/[*?\\]/g, '\\$&');
}

/** Paths that fit a pattern, in order; hidden files only where the pattern says so. Throws {@link CommandFailure}. */
export function matchFiles(files: FileSystem, directory: string, pattern: string): string[] {
  const absolute = pattern.startsWith('/');
  let found = [absolute ? '/' : ''];
  for (const part of pattern.split('/').filter((each) => each !== '')) {
    const test = partPattern(part);
    found = found.flatMap((base) => {
      const path = normalizePath(base, directory);
      const prefix = base === '' || base.endsWith('/') ? base : `${base}/`;
      if (!files.has(path)) return [];
      const node = files.find(path);
      if (node.kind !== 'directory') return [];
      return [...node.entries.keys()]
        .filter((name) => test(name) && (part.startsWith('.') || !name.startsWith('.')))
        .sort()
        .map((name) => prefix + name);
    });
    if (found.length > MAX_PATHS) throw new CommandFailure('argument list too long');
  }
  return found;
}

/** `*` and `?` in one name, without going back more than once for each star: patterns are foreign input. */
function partPattern(part: string): (name: string) => boolean {
  if (part.length > MAX_PART) return () => false;
  const tokens: { wild?: '*' | '?'; text: string }[] = [];
  for (let index = 0; index < part.length; index++) {
    const char = part[index] ?? '';
    if (char === '\\' && index + 1 < part.length) tokens.push({ text: part[++index] ?? '' });
    else if (char === '*' || char === '?') tokens.push({ wild: char, text: '' });
    else tokens.push({ text: char });
  }
  return (name) => {
    let token = 0;
    let at = 0;
    let star = -1;
    let resume = 0;
    while (at < name.length) {
      const wanted = tokens[token];
      if (wanted?.wild === '*') {
        star = token;
        token += 1;
        resume = at;
      } else if (wanted !== undefined && (wanted.wild === '?' || wanted.text === name[at])) {
        token += 1;
        at += 1;
      } else if (star >= 0) {
        token = star + 1;
        resume += 1;
        at = resume;
      } else return false;
    }
    while (tokens[token]?.wild === '*') token += 1;
    return token === tokens.length;
  };
}
