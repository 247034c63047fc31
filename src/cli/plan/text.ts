import type { BlastRadius, ChangeWord } from '../../engine/plan/change.ts';
import { refText } from '../../kube/object.ts';
import { canonicalJson } from '../../schema/json.ts';
import { fieldText } from '../diff/text.ts';
import type { Paint, Style } from '../output.ts';
import type { FleetPlan, PlannedChange, PlannedCluster } from './compute-plan.ts';

const SIGNS: Readonly<Record<ChangeWord, readonly [string, Style]>> = {
  create: ['+', 'good'],
  change: ['~', 'warn'],
  replace: ['!', 'bad'],
  delete: ['-', 'bad'],
  refuse: ['!', 'bad'],
  none: ['=', 'quiet'],
};

const WORDS: Readonly<Record<ChangeWord, string>> = {
  create: 'created',
  change: '',
  replace: 'needs to be replaced: its cluster refuses to change it in place, so it stays as it is',
  delete: 'deleted',
  refuse: 'refused',
  none: 'stays',
};

export function planText(plan: Omit<FleetPlan, 'inputs'>, paint: Paint, hash: string): string {
  const groups = new Map<string, PlannedCluster[]>();
  for (const cluster of plan.clusters) {
    const changes = cluster.changes.filter(({ change }) => change !== 'none');
    if (changes.length === 0) continue;
    const key = canonicalJson({ away: cluster.away ?? '', changes });
    groups.set(key, [...(groups.get(key) ?? []), { ...cluster, changes }]);
  }
  const parts = [...groups.values()].map((group) => groupText(group, paint));
  if (plan.notes.length > 0)
    parts.push(
      plan.notes
        .map(({ clusters, message }) => `${paint('warn', 'note')}  ${clusters.join(', ')}: ${message}\n`)
        .join(''),
    );
  parts.push(`${paint('strong', radiusText(plan.radius))}\n`);
  if (plan.radius.clusters > 0)
    parts.push(`Plan ${paint('strong', hash)}. To carry it out: atoll apply --plan ${hash}\n`);
  return parts.join('\n');
}

function groupText(group: readonly PlannedCluster[], paint: Paint): string {
  const [first] = group;
  if (!first) return '';
  const names = group.map(({ cluster }) => cluster).join(', ');
  const away = first.away === undefined ? '' : ` ${paint('warn', `(as the hub knows it: ${first.away})`)}`;
  return `${paint('strong', `${names}:`)}${away}\n${first.changes.map((change) => changeText(change, paint)).join('')}`;
}

function changeText({ ref, change, fields, overrides, message }: PlannedChange, paint: Paint): string {
  const [sign, style] = SIGNS[change];
  const words = WORDS[change] === '' ? '' : ` (${WORDS[change]})`;
  const by = overrides.length === 0 ? '' : paint('quiet', `  with ${overrides.join(', ')}`);
  let out = `  ${paint(style, `${sign} ${refText(ref)}`)}${words}${by}\n`;
  if (message !== undefined) out += `      ${message}\n`;
  if (change === 'change') for (const field of fields) out += fieldText(field, paint);
  return out;
}

/** `3 of 12 clusters (25 %): 2 objects created, 1 deleted`. */
export function radiusText(radius: BlastRadius): string {
  const { clusters, ofClusters, away } = radius;
  if (clusters === 0) return 'No cluster changes.';
  const percent = Math.round((100 * clusters) / Math.max(1, ofClusters));
  const counts = (
    [
      ['create', 'created'],
      ['change', 'changed'],
      ['replace', 'to be replaced'],
      ['delete', 'deleted'],
      ['refuse', 'refused'],
    ] as const
  ).flatMap(([word, text]) => (radius[word] === 0 ? [] : `${radius[word]} ${text}`));
  const unseen = away === 0 ? '' : `; ${away} of them cannot be asked now`;
  return `${clusters} of ${ofClusters} clusters (${percent} %): objects ${counts.join(', ')}${unseen}`;
}
