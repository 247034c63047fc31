export const MARKERS = [
  'required',
  'default',
  'description',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'pattern',
  'enum',
  'validation',
  'immutable',
  'uniqueItems',
  'listType',
  'listMapKey',
] as const;
export type MarkerName = (typeof MARKERS)[number];

export interface Marker {
  readonly name: MarkerName;
  /** Without the quotes around it. */
  readonly value: string;
  /** As a text with lines and tabs, where it is quoted and has such: `"a\nb"`. In others, such as patterns, a backslash is one. */
  readonly text?: string;
}

function isMarker(name: string): name is MarkerName {
  return (MARKERS as readonly string[]).includes(name);
}

/**
 * Splits a leaf at its `|`; what stands in quotes or brackets does not count. `undefined`: there is more than one.
 */
export function splitLeaf(leaf: string): { type: string; markers: string | undefined } | undefined {
  const bars: number[] = [];
  let quoted = false;
  let depth = 0;
  for (let index = 0; index < leaf.length; index++) {
    const char = leaf[index];
    if (quoted && char === '\\') index++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    else if (char === '|' && depth <= 0) bars.push(index);
  }
  const [bar] = bars;
  if (bars.length > 1) return undefined;
  if (bar === undefined) return { type: leaf, markers: undefined };
  return { type: leaf.slice(0, bar), markers: leaf.slice(bar + 1) };
}

/** `required=true default="a b" enum="x,y"`; a text that says what is wrong with it. */
export function parseMarkers(text: string): readonly Marker[] | string {
  const markers: Marker[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && isBlank(text[at])) at++;
    if (at >= text.length) break;
    let end = at;
    while (end < text.length && text[end] !== '=' && !isBlank(text[end])) end++;
    const name = text.slice(at, end);
    if (text[end] !== '=') return `marker "${name}" has no value`;
    if (name === '') return 'a marker has no name before its "="';
    if (!isMarker(name)) return `there is no marker "${name}"`;
    const value = valueEnd(text, end + 1);
    if (typeof value === 'string') return `marker ${name}: ${value}`;
    if (value === end + 1) return `marker "${name}" has no value`;
    markers.push({ name, ...writtenValue(text.slice(end + 1, value)) });
    at = value;
  }
  return markers.length > 0 ? markers : 'there is no marker after the "|"';
}

/** Where a value ends: at the first blank outside quotes and brackets. */
function valueEnd(text: string, start: number): number | string {
  let quoted = false;
  let depth = 0;
  let at = start;
  for (; at < text.length; at++) {
    const char = text[at];
    if (quoted && char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') {
      if (--depth < 0) return `"${char}" closes nothing`;
    } else if (depth === 0 && isBlank(char)) break;
  }
  if (quoted) return 'a quote is not closed';
  if (depth > 0) return 'a bracket is not closed';
  return Math.min(at, text.length);
}

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function writtenValue(written: string): { value: string; text?: string } {
  if (written.length < 2 || !written.startsWith('"') || !written.endsWith('"')) return { value: written };
  const inner = written.slice(1, -1);
  // Of regular expressions and the like a backslash stays.
  const value = inner.replace(/\\(["\\])/g, '$1');
  const text = inner.replace(/\\(["\\nrtbf])/g, (_, char: string) => CONTROLS[char] ?? char);
  return text === value ? { value } : { value, text };
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t' || char === '\n' || char === '\r';
}
