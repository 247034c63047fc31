import type { UserInfo } from '../apiserver/index.ts';

/** A bearer token and who it stands for. */
export interface TokenEntry {
  readonly token: string;
  readonly user: UserInfo;
}

/**
 * Reads a token file: one `token,user,uid` or `token,user,uid,"group,group"` a line, as kube-apiserver's
 * `--token-auth-file` has it. Throws an Error that names the line, never its content.
 */
export function parseTokenFile(path: string, text: string): TokenEntry[] {
  const entries: TokenEntry[] = [];
  const seen = new Set<string>();
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    const wrong = (why: string): Error => new Error(`${path}:${index + 1}: ${why}`);
    const fields = splitRecord(line);
    if (fields === undefined) throw wrong('a quotation mark is not closed');
    const [token = '', name = '', uid = '', groups = ''] = fields.map((field) => field.trim());
    if (fields.length < 3) throw wrong('a line needs token, user and uid, separated by commas');
    if (token === '' || name === '') throw wrong('token and user must not be empty');
    if (seen.has(token)) throw wrong('this token occurs before');
    seen.add(token);
    entries.push({
      token,
      user: {
        name,
        ...(uid === '' ? {} : { uid }),
        groups: groups
          .split(',')
          .map((group) => group.trim())
          .filter((group) => group !== ''),
      },
    });
  });
  return entries;
}

/** Fields of a line of comma-separated values; `undefined` when a quoted one has no end. */
function splitRecord(line: string): string[] | undefined {
  const fields: string[] = [];
  let field = '';
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const char = line[i];
    if (quoted) {
      if (char !== '"') field += char;
      else if (line[i + 1] === '"') {
        field += '"';
        i++;
      } else quoted = false;
    } else if (char === '"' && field.trim() === '') {
      field = '';
      quoted = true;
    } else if (char === ',') {
      fields.push(field);
      field = '';
    } else field += char;
  }
  if (quoted) return undefined;
  fields.push(field);
  return fields;
}
