import { clusterTable } from '../cluster/facts.ts';
import { cell, type Paint, table } from '../output.ts';
import type { PropagationLine, StatusReport } from './report.ts';

const MESSAGE_WIDTH = 160;

export function statusText(report: StatusReport, now: number, paint: Paint): string {
  const { hub, clusters, propagations, warnings, next } = report;
  const lines: string[] = [];
  if (hub.reachable) {
    lines.push(
      `${paint('strong', 'hub')}  ${paint('good', 'reachable')}  ${hub.version ?? ''}  ${paint('quiet', hub.server)}\n`,
    );
    lines.push(clusters.length === 0 ? 'No clusters.\n' : clusterTable(clusters, now, paint));
    lines.push(propagations.length === 0 ? 'No propagations.\n' : propagationTable(propagations, paint));
  } else {
    lines.push(
      `${paint('strong', 'hub')}  ${paint('bad', 'not reachable')}  ${paint('quiet', hub.server)}\n${hub.message ?? ''}\n`,
    );
    lines.push('The spokes keep themselves as they are meanwhile.\n');
  }
  for (const warning of warnings) lines.push(`${paint('warn', warning)}\n`);
  if (next) lines.push(`${paint('warn', next.why)}. Next: ${paint('strong', next.command)}\n`);
  else if (warnings.length === 0) lines.push(`${paint('good', 'Everything is as it should be.')}\n`);
  return lines.join('\n');
}

function propagationTable(propagations: readonly PropagationLine[], paint: Paint): string {
  return table(
    ['PROPAGATION', 'CLUSTERS', 'READY', 'STALE', 'OBJECTS', 'STATE'],
    propagations.map((line) => [
      cell(nameText(line), 'strong'),
      String(line.clusters),
      cell(String(line.ready ?? '-'), line.ready === line.clusters ? 'plain' : 'warn'),
      cell(String(line.stale), line.stale === 0 ? 'plain' : 'warn'),
      String(line.objects),
      cell(stateText(line), line.state === 'Ready' ? 'good' : line.ok ? 'plain' : 'warn'),
    ]),
    paint,
  );
}

/** Those that are no propagations are called what they are. */
function nameText({ kind, namespace, name }: PropagationLine): string {
  if (namespace !== '') return `${namespace}/${name}`;
  return kind === 'Binding' ? `${kind} ${name}` : name;
}

function stateText({ state, message }: PropagationLine): string {
  if (message === '') return state;
  const text = `${state}: ${message.replaceAll('\n', ' ')}`;
  return text.length <= MESSAGE_WIDTH ? text : `${text.slice(0, MESSAGE_WIDTH - 1)}…`;
}
