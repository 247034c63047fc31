import type { RevisionReport, RolloutReport, StageReport } from '../../dialects/propagation/types.ts';
import { shortDigest } from '../../engine/digest.ts';
import { parseTime } from '../../runtime/clock.ts';
import { type AskingOptions, agoText, ask, cell, type Paint, type Style, table } from '../output.ts';
import { inNamespace, type RolloutTarget, readTarget } from './target.ts';

export interface ShowOptions extends AskingOptions {
  readonly namespace?: string;
}

/** `atoll rollout status`: where a rollout is and what it waits for. Ends with 1 where it failed, is refused, or was taken back. */
export function showRollout(object: string, options: ShowOptions): Promise<void> {
  return ask(options, async ({ hub, now, paint, print }) => {
    const target = await readTarget(hub.client, object, options.namespace ?? hub.namespace);
    print(target.status.rollout ?? {}, () => rolloutText(target, now, paint));
    return BAD.has(target.status.rollout?.phase ?? '') ? 1 : 0;
  });
}

/** `atoll history`: the revisions that can be gone back to. */
export function showHistory(object: string, options: ShowOptions): Promise<void> {
  return ask(options, async ({ hub, now, paint, print }) => {
    const target = await readTarget(hub.client, object, options.namespace ?? hub.namespace);
    print(target.status.revisions ?? [], (revisions) => historyText(target, revisions, now, paint));
    return 0;
  });
}

const BAD: ReadonlySet<string> = new Set(['Failed', 'Refused', 'RollingBack', 'RolledBack']);
const GOOD: ReadonlySet<string> = new Set(['Succeeded', 'Done', 'Updated']);

function styleOf(phase: string): Style {
  return GOOD.has(phase) ? 'good' : BAD.has(phase) ? 'bad' : phase === 'Pending' ? 'quiet' : 'warn';
}

export function rolloutText(target: RolloutTarget, now: number, paint: Paint): string {
  const { rollout } = target.status;
  if (!rollout)
    return `${target.kind} ${target.name} has no rollout: new content goes everywhere at once. Stages are in spec.rollout.\n`;
  const what = rollout.revision === undefined ? '' : `  revision ${rollout.revision}`;
  const lines = [
    `${paint('strong', `${target.kind} ${target.name}`)}  ${paint(styleOf(rollout.phase), rollout.phase)}${what}\n${rollout.message}\n`,
  ];
  const stages = rollout.stages ?? [];
  if (stages.length > 0)
    lines.push(
      table(
        ['STAGE', 'PHASE', 'UPDATED', 'STARTED', 'DONE', 'WAITS FOR'],
        stages.map((stage) => stageRow(stage, now)),
        paint,
      ),
    );
  const unsettled = rollout.unsettled ?? [];
  if (unsettled.length > 0)
    lines.push(
      table(
        ['CLUSTER', 'PHASE', 'WHY'],
        unsettled.map(({ cluster, phase, message }) => [cluster, cell(phase, styleOf(phase)), message]),
        paint,
      ),
    );
  const next = nextCommand(target, rollout);
  if (next !== undefined) lines.push(`Next: ${paint('strong', next)}\n`);
  return lines.join('\n');
}

function stageRow(
  { name, phase, clusters, updated, startedAt, doneAt, waiting }: StageReport,
  now: number,
): (string | ReturnType<typeof cell>)[] {
  const until = waiting?.until === undefined ? '' : ` (until ${waiting.until})`;
  return [
    cell(name, 'strong'),
    cell(phase, styleOf(phase)),
    `${updated}/${clusters}`,
    startedAt === undefined ? '-' : agoText(parseTime(startedAt), now),
    doneAt === undefined ? '-' : agoText(parseTime(doneAt), now),
    waiting === undefined ? '' : `${waiting.message}${until}`,
  ];
}

function nextCommand(target: RolloutTarget, { phase, stages = [] }: RolloutReport): string | undefined {
  const of = `${target.kind === 'Propagation' ? '' : `${target.kind.toLowerCase()}/`}${target.name}${inNamespace(target)}`;
  const asking = stages.find(({ waiting }) => waiting?.reason === 'Approval');
  if (asking) return `atoll rollout approve ${of} ${asking.name}`;
  if (phase === 'Paused') return `atoll rollout resume ${of}`;
  if (phase === 'Failed') return `atoll rollout retry ${of}, or atoll rollout rollback ${of}`;
  if (phase === 'RolledBack' || phase === 'Aborted')
    return `change the content, or try this one again: atoll rollout retry ${of}`;
  return undefined;
}

/** Of revisions, newest first: which one clusters have now, and what became of the others. */
function statesOf(revisions: readonly RevisionReport[], rolledBack: boolean): ReturnType<typeof cell>[] {
  const kept = rolledBack
    ? revisions.findIndex(({ succeededAt }, index) => index > 0 && succeededAt !== undefined)
    : 0;
  return revisions.map(({ succeededAt }, index) => {
    const succeeded = succeededAt !== undefined;
    if (index === kept) return succeeded ? cell('everywhere', 'good') : cell('wanted', 'warn');
    if (index === 0) return cell('rolled back', 'bad');
    return cell(succeeded ? 'was everywhere' : '');
  });
}

export function historyText(
  target: RolloutTarget,
  revisions: readonly RevisionReport[],
  now: number,
  paint: Paint,
): string {
  if (revisions.length === 0)
    return `Nothing is kept of ${target.kind} ${target.name}: set spec.revisionHistoryLimit, or spec.rollout.\n`;
  const rolledBack = target.status.rollout?.phase === 'RolledBack';
  const states = statesOf(revisions, rolledBack);
  const rows = revisions.map(({ number, digest, at, by = '', cause = '' }, index) => [
    cell(String(number), 'strong'),
    shortDigest(digest),
    agoText(parseTime(at), now),
    by,
    states[index] ?? '',
    cause,
  ]);
  const text = table(['REVISION', 'CONTENT', 'SINCE', 'BY', 'STATE', 'CAUSE'], rows, paint);
  const before = revisions[1];
  // Clusters have gone back already.
  return before === undefined || rolledBack
    ? text
    : `${text}\nTo go back: atoll rollback ${target.name}${inNamespace(target)} --to ${before.number}\n`;
}
