import type { Difference } from '../../engine/diff/diff.ts';
import { refText } from '../../kube/object.ts';
import type { Paint, Style } from '../output.ts';
import type { ClusterGroup, DiffReport, ObjectChange } from './report.ts';

const VALUE_WIDTH = 160;
const MAX_CHANGED_LINES = 40;

const SIGNS: Readonly<Record<ObjectChange['change'], readonly [string, Style]>> = {
  created: ['+', 'good'],
  changed: ['~', 'warn'],
  removed: ['-', 'bad'],
};

export function diffText(report: DiffReport, paint: Paint): string {
  const { groups, notes, summary } = report;
  const parts = groups.map((group) => groupText(group, paint));
  if (notes.length > 0) {
    const lines = notes.map(({ clusters, message }) => {
      const where = clusters.length === 0 ? '' : `${clusters.join(', ')}: `;
      return `${paint('warn', 'note')}  ${where}${message}\n`;
    });
    parts.push(lines.join(''));
  }
  if (groups.length === 0) parts.push('No cluster changes.\n');
  else
    parts.push(
      `${paint('strong', `${count(summary.clusters, 'cluster')}, ${count(summary.objects, 'object')} changed`)}\n`,
    );
  return parts.join('\n');
}

function groupText({ clusters, changes }: ClusterGroup, paint: Paint): string {
  let out = `${paint('strong', `${clusters.join(', ')}:`)}\n`;
  for (const { ref, change, fields } of changes) {
    const [sign, style] = SIGNS[change];
    out += `  ${paint(style, `${sign} ${refText(ref)}`)}${change === 'changed' ? '' : ` (${change})`}\n`;
    for (const field of fields) out += fieldText(field, paint);
  }
  return out;
}

/** One field that changes, as it is before and after. */
export function fieldText(field: Difference, paint: Paint): string {
  const { path, from, to } = field;
  if (typeof from === 'string' && typeof to === 'string' && (from.includes('\n') || to.includes('\n')))
    return `      ${path}:\n${linesText(from.split('\n'), to.split('\n'), paint)}`;
  if (!('from' in field)) return `      ${path}: ${paint('good', `+ ${valueText(to)}`)}\n`;
  if (!('to' in field)) return `      ${path}: ${paint('bad', `- ${valueText(from)}`)}\n`;
  return `      ${path}: ${valueText(from)} → ${valueText(to)}\n`;
}

/** The lines between the first and the last that differ. */
function linesText(from: readonly string[], to: readonly string[], paint: Paint): string {
  let start = 0;
  while (start < Math.min(from.length, to.length) && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < Math.min(from.length, to.length) - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  const side = (lines: readonly string[], sign: string, style: Style): string => {
    const changed = lines.slice(start, lines.length - end);
    const shown = changed
      .slice(0, MAX_CHANGED_LINES)
      .map((line) => `        ${paint(style, `${sign} ${clip(line)}`)}\n`);
    const more = changed.length - shown.length;
    return `${shown.join('')}${more > 0 ? `        ${sign} … ${more} more lines\n` : ''}`;
  };
  return side(from, '-', 'bad') + side(to, '+', 'good');
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.trim() === value && !value.includes('\n'))
    return clip(value);
  return clip(JSON.stringify(value) ?? 'null');
}

function clip(text: string): string {
  return text.length <= VALUE_WIDTH ? text : `${text.slice(0, VALUE_WIDTH - 1)}…`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
