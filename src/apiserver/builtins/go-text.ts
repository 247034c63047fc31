/**
 * Texts that are laid out on as few lines as they need: lists in braces, whose entries may be marked as removed or inserted. An
 * entry stands on a line of its own where something below is marked, or a marked line would be too long.
 */
export type GoText = string | GoWrap | GoList;

export type Sign = '' | '-' | '+';

export interface GoWrap {
  readonly prefix: string;
  readonly value: GoText;
  readonly suffix: string;
}

export type GoList = readonly GoEntry[];

export interface GoEntry {
  readonly key: string;
  readonly value: GoText;
  readonly sign?: Sign;
  /** Stands behind the entry. */
  readonly comment?: string;
}

/** For what is left out. */
export const ELLIPSIS = '...';
const MAX_COLUMNS = 80;

function isList(text: GoText): text is GoList {
  return Array.isArray(text);
}

/** The text with its line breaks and signs, as it stands in a message. */
export function layOut(text: GoText): string {
  return `${lineStart('', 0)}${expanded(compact(text, '').text, '', 0)}\n`;
}

/** Whatever fits on one line becomes that line. `whole` is all of it on one line, for its length. */
function compact(text: GoText, sign: Sign): { text: GoText; whole: string } {
  if (typeof text === 'string') return { text, whole: text };
  if (!isList(text)) {
    const inner = compact(text.value, sign);
    const whole = text.prefix + inner.whole + text.suffix;
    return { whole, text: typeof inner.text === 'string' ? whole : { ...text, value: inner.text } };
  }
  let several = false;
  const parts: string[] = [];
  const entries = text.map((entry) => {
    const inner = compact(entry.value, entry.sign || sign);
    parts.push(entry.key === '' ? inner.whole : `${entry.key}: ${inner.whole}`);
    if (entry.sign || entry.comment !== undefined || typeof inner.text !== 'string') several = true;
    return { ...entry, value: inner.text };
  });
  const whole = parts.join(', ');
  if (sign !== '' && Buffer.byteLength(whole) > MAX_COLUMNS) several = true;
  return { whole, text: several ? entries : whole };
}

function lineStart(sign: Sign, depth: number): string {
  return `${sign === '' ? ' ' : sign} ${'\t'.repeat(depth)}`;
}

function expanded(text: GoText, sign: Sign, depth: number): string {
  if (typeof text === 'string') return text;
  if (!isList(text)) return text.prefix + expanded(text.value, sign, depth) + text.suffix;
  const end = `\n${lineStart(sign, depth)}`;
  if (text.every(isPlain)) return `${batches(text, sign, depth + 1)}${end}`;
  const widths = keyWidths(text);
  const lines = text.map((entry, index) => {
    const own = entry.sign || sign;
    const key = entry.key === '' ? '' : `${`${entry.key}: `.padEnd((widths[index] ?? 0) + 2)}`;
    const comma = entry.value === ELLIPSIS ? '' : ',';
    const comment = entry.comment === undefined ? '' : ` // ${entry.comment}`;
    return `\n${lineStart(own, depth + 1)}${key}${expanded(entry.value, own, depth + 1)}${comma}${comment}`;
  });
  return lines.join('') + end;
}

function isPlain({ key, value, sign, comment }: GoEntry): boolean {
  return !sign && key === '' && typeof value === 'string' && comment === undefined;
}

/** Short values share lines. */
function batches(list: GoList, sign: Sign, depth: number): string {
  const lines: string[] = [];
  let line = '';
  for (const { value } of list) {
    const text = String(value);
    if (line !== '' && Buffer.byteLength(line) + Buffer.byteLength(text) + 2 > MAX_COLUMNS) {
      lines.push(line);
      line = '';
    }
    line += `${text}, `;
  }
  if (line !== '') lines.push(line);
  return lines.map((item) => `\n${lineStart(sign, depth)}${item.trimEnd()}`).join('');
}

/** Values on lines that follow each other stand below each other. */
function keyWidths(list: GoList): number[] {
  const widths: number[] = [];
  let group: number[] = [];
  const close = (): void => {
    const width = Math.max(0, ...group.map((index) => [...(list[index]?.key ?? '')].length));
    for (const index of group) widths[index] = width;
    group = [];
  };
  list.forEach(({ key, value }, index) => {
    if (key === '' || typeof value !== 'string') close();
    else group.push(index);
  });
  close();
  return widths;
}
