import type { JsonValue } from './json.ts';
import { yamlLibrary } from './yaml-library.ts';

/** Where lines end that can: after the word that goes beyond this column. */
const WIDTH = 80;

/** A value as YAML, as the libraries of other servers write it: keys sorted, lists not indented, long lines folded. */
export function yamlText(value: JsonValue | unknown): string {
  return yamlLibrary()
    .stringify(value, { version: '1.1', lineWidth: 0, indentSeq: false, sortMapEntries: true })
    .replace(/^([ -]*)"\.":/gm, '$1.:')
    .split('\n')
    .map(folded)
    .join('\n');
}

/**
 * A scalar of one line, folded: a line ends before the first word after the one that reaches beyond the width, and goes on one level
 * deeper. Only plain and single-quoted scalars are; double quotes and blocks stay as they are.
 */
function folded(line: string): string {
  if (line.length <= WIDTH) return line;
  const match = /^( *(?:- )*)([^\s'"|>][^'"]*?: )?('.*'|[^\s'"|>&*!%@`{[].*)$/.exec(line);
  const scalar = match?.[3];
  if (match === null || scalar === undefined) return line;
  const [, lead = '', key = ''] = match;
  const indent = ' '.repeat(lead.length + (key === '' ? 0 : 2));
  const lines: string[] = [];
  let current = `${lead}${key}`;
  let isFirst = true;
  for (const word of scalar.split(' ')) {
    if (isFirst) current += word;
    else if (current.length > WIDTH && word !== '' && !current.endsWith(' ')) {
      lines.push(current);
      current = `${indent}${word}`;
    } else current += ` ${word}`;
    isFirst = false;
  }
  lines.push(current);
  return lines.join('\n');
}
