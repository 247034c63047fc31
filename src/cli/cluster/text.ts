import { parseTime } from '../../runtime/clock.ts';
import { agoText, cell, type Paint, table } from '../output.ts';
import { connectionCell, revisionCell } from './facts.ts';
import type { ClusterReport } from './report.ts';

export function clusterText(report: ClusterReport, now: number, paint: Paint): string {
  const { clusterInfo: info } = report;
  const status = connectionCell(report.connection);
  const lines: string[] = [
    `${paint('strong', report.name)}  ${paint(status.style, status.text)}  ${freshness(report, now, paint)}\n`,
  ];
  if (report.message !== undefined) lines.push(`${report.message}\n`);
  const rows: (readonly [string, string | undefined])[] = [
    ['namespace', report.namespace],
    ['mode', `${report.mode}, credential ${report.credential}`],
    ['labels', labelsText(report.labels)],
    ['version', info.kubernetesVersion],
    ['platform', info.platform],
    ['region', info.region],
    ['nodes', info.nodeCount === undefined ? undefined : String(info.nodeCount)],
    ['capacity', capacityText(info.totalCPU, info.totalMemory)],
    ['endpoint', info.apiServerEndpoint],
    ['engine', report.engine ?? 'none'],
    ['revision', revisionCell(report).text],
    ['objects', objectsText(report)],
    ['drift', driftText(report, now)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 3;
  lines.push(
    rows
      .filter((row) => row[1] !== undefined && row[1] !== '')
      .map(([name, value]) => `${paint('quiet', name)}${' '.repeat(width - name.length)}${value}\n`)
      .join(''),
  );
  if (report.dispatches) lines.push(dispatchesText(report, now, paint));
  if (report.troubled && report.troubled.length > 0) lines.push(troubledText(report, paint));
  const failing = report.conditions.filter((condition) => condition.status !== 'True');
  if (failing.length > 0) {
    const rowsOf = failing.map((item) => [
      item.type,
      cell(item.reason, 'warn'),
      item.message.replaceAll('\n', ' '),
    ]);
    lines.push(table(['FAILING CONDITION', 'REASON', 'MESSAGE'], rowsOf, paint));
  }
  return lines.join('\n');
}

/** Says of everything below whether it is of now. */
function freshness(report: ClusterReport, now: number, paint: Paint): string {
  if (report.source === 'live') return paint('good', 'live, read from the spoke just now');
  if (report.notLive !== undefined)
    return paint('warn', `cached, ${agoOf(report, now)}: the spoke cannot be read now (${report.notLive})`);
  if (report.stale) return paint('warn', `cached, ${agoOf(report, now)}`);
  return paint('quiet', 'as the hub sees it; --live asks the spoke itself');
}

function agoOf(report: ClusterReport, now: number): string {
  const time = parseTime(report.asOf);
  return time === undefined ? 'never synced' : `last synced ${agoText(time, now)}`;
}

function dispatchesText(report: ClusterReport, now: number, paint: Paint): string {
  const dispatches = report.dispatches ?? [];
  if (dispatches.length === 0) return 'Nothing is dispatched to it.\n';
  return table(
    ['DISPATCHED FOR', 'GENERATION', 'APPLIED', 'AT', 'HEALTH', 'PROBLEM'],
    dispatches.map((item) => [
      cell(item.source, 'strong'),
      String(item.generation),
      cell(
        item.appliedGeneration === undefined ? 'no' : String(item.appliedGeneration),
        item.appliedGeneration === item.generation ? 'plain' : 'warn',
      ),
      item.appliedAt === undefined ? '-' : agoText(parseTime(item.appliedAt), now),
      cell(item.health, item.health === 'Healthy' ? 'good' : 'warn'),
      item.problem?.replaceAll('\n', ' ') ?? '',
    ]),
    paint,
  );
}

function troubledText(report: ClusterReport, paint: Paint): string {
  return table(
    ['OBJECT', 'HEALTH', 'REASON', 'MESSAGE'],
    (report.troubled ?? []).map((item) => [
      item.object,
      cell(item.health, item.health === 'Degraded' ? 'bad' : 'warn'),
      item.reason,
      item.message.replaceAll('\n', ' '),
    ]),
    paint,
  );
}

function labelsText(labels: Readonly<Record<string, string>>): string | undefined {
  const parts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return parts.length === 0 ? undefined : parts.sort().join(', ');
}

function capacityText(cpu: string | undefined, memory: string | undefined): string | undefined {
  return cpu === undefined && memory === undefined ? undefined : `${cpu ?? '?'} CPU, ${memory ?? '?'} memory`;
}

function objectsText({ objects, healthStatus }: ClusterReport): string | undefined {
  if (objects === undefined) return undefined;
  return `${objects.healthy} of ${objects.total} are healthy${healthStatus === undefined ? '' : ` (${healthStatus})`}`;
}

function driftText({ drift }: ClusterReport, now: number): string | undefined {
  if (drift === undefined) return undefined;
  const last = drift.last?.['object'];
  const when = parseTime(drift.last?.['at']);
  if (last === undefined) return `${drift.corrections} corrections`;
  return `${drift.corrections} corrections, the last of ${last} ${agoText(when, now)}`;
}
