import type { JsonValue } from './json.ts';
import { yamlLibrary } from './yaml-library.ts';

/** Where lines end that can: after the word that goes beyond this column. */
const WIDTH = 80;

/** A value as YAML, as the libraries of other servers write it: keys sorted, lists not indented, long lines folded. */
export function yamlText(value: JsonValue | unknown): string {
  const text = yamlLibrary().stringify(value, {
    version: '1.1',
    lineWidth: 0,
    indentSeq: false,
    sortMapEntries: true,
  });
  const lines: string[] = [];
  /** How far the line is indented that begins the block in which every character counts. */
  let block: number | undefined;
  for (const line of text.split('\n')) {
    const indent = line.search(/[^ ]/);
    if (block !== undefined && (indent < 0 || indent > block)) {
      lines.push(line);
      continue;
    }
    block = BLOCK.test(line) ? blockIndent(line) : undefined;
    lines.push(folded(line.replace(/^((?:- | )*)"\.":/, '$1.:')));
  }
  return lines.join('\n');
}

/** A line after which a text follows as it is. */
const BLOCK = /(?:^|- |: )[|>][-+0-9]*$/;

/** A text in a list may begin where its dash is, one of a field only beyond the name of the field. */
function blockIndent(line: string): number {
  const lead = /^ *(?:- )*/.exec(line)?.[0].length ?? 0;
  return /^ *(?:- )*[|>]/.test(line) ? lead - 2 : lead;
}

/** What stands before a scalar: indentation and dashes, and a name that is written as it is. */
const PLACE = /^( *(?:- )*)(?:([-\w./]+): )?(.*)$/;
const SINGLE_QUOTED = /^'(?:[^']|'')*'$/;
/** What is neither quoted nor a block, a list or a map, and is no name with a value either. */
const PLAIN = /^(?!["'|>&*!%@`{[#])(?!.*: |.*:$|.* #)/;
/** Words that mean something at the beginning of a line. */
const LEADING = /^(?:[-?:#&*!|>'"%@`{}[\],]|\.\.\.)/;

/**
 * A scalar of one line, folded: a line ends before the first word after the one that reaches beyond the width, and goes on one level
 * deeper. Only plain and single-quoted scalars are; double quotes and blocks stay as they are.
 */
function folded(line: string): string {
  if (line.length <= WIDTH) return line;
  const [, lead = '', key, scalar = ''] = PLACE.exec(line) ?? [];
  if (key === undefined && !lead.endsWith('- ')) return line;
  const quoted = SINGLE_QUOTED.test(scalar);
  if (!quoted && !PLAIN.test(scalar)) return line;
  const indent = ' '.repeat(lead.length + (key === undefined ? 0 : 2));
  const lines: string[] = [];
  let current = key === undefined ? lead : `${lead}${key}: `;
  for (const [index, word] of scalar.split(' ').entries()) {
    if (index === 0) current += word;
    else if (
      current.length > WIDTH &&
      word !== '' &&
      !current.endsWith(' ') &&
      (quoted || !LEADING.test(word))
    ) {
      lines.push(current);
      current = `${indent}${word}`;
    } else current += ` ${word}`;
  }
  lines.push(current);
  return lines.join('\n');
}
