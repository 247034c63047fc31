import type { PatchOperation } from '../../engine/intent.ts';
import { OF_CLUSTER, OF_POLICY, patchOrigin } from '../../engine/render/override.ts';
import { refText } from '../../kube/object.ts';
import { parseTime } from '../../runtime/clock.ts';
import { propagationText } from '../fleet-reading.ts';
import { agoText, cell, type Paint, type Style, table } from '../output.ts';
import type { FederatedChain } from './federated.ts';
import type {
  ClusterChain,
  DispatchChain,
  LastKnown,
  OverrideLine,
  PropagationChain,
  WhyReport,
} from './report.ts';

const VALUE_WIDTH = 120;
const WIDTH = 14;
const BINDING = 'Binding';

/** The chain as text: one cluster in full, or all of them in a line each. */
export function whyText(report: WhyReport, detailed: boolean, now: number, paint: Paint): string {
  const { object, propagations, neverPropagated, otherBindings = 0 } = report;
  const made = object.created === undefined ? '' : `, made ${agoText(parseTime(object.created), now)}`;
  const generation = object.generation === undefined ? '' : `generation ${object.generation}`;
  const source = [`${generation}${made}`.replace(/^, /, ''), object.deleting ? 'being deleted' : ''].filter(
    (part) => part !== '',
  );
  let out = `${paint('strong', refText(object))}\n`;
  out += row(
    paint,
    '',
    'source',
    `${object.apiVersion} at the hub${source.length === 0 ? '' : `, ${source.join(', ')}`}`,
  );
  if (neverPropagated !== undefined) out += row(paint, '', 'never sent', paint('warn', neverPropagated));
  // It needs nobody who selects it.
  if (report.distributed !== undefined) out += row(paint, '', 'distributed', report.distributed);
  if (report.federated !== undefined) out += federatedPart(report.federated, paint);
  if (propagations.length === 0 && (report.distributed !== undefined || report.federated !== undefined))
    return out;
  if (propagations.length === 0) {
    const where =
      object.namespace === ''
        ? 'there is no ClusterPropagation'
        : `there is no Propagation in namespace ${object.namespace} and no ClusterPropagation`;
    return `${out}${row(paint, '', 'propagation', paint('warn', `none: ${where}`))}${othersPart(otherBindings, paint)}`;
  }
  const selecting = propagations.filter((item) => item.selects);
  if (selecting.length === 0) out += row(paint, '', 'propagation', paint('warn', 'none selects it'));
  for (const item of propagations) out += propagationPart(item, detailed, now, paint);
  if (selecting.length === 0) out += othersPart(otherBindings, paint);
  // What several Bindings bring is brought once, for all of them.
  if (selecting.length > 1 && selecting.some(({ kind }) => kind !== BINDING))
    out += `\n${paint('warn', `${selecting.length} propagations select it: where two of them choose a cluster, the first there keeps it.`)}\n`;
  return out;
}

function propagationPart(item: PropagationChain, detailed: boolean, now: number, paint: Paint): string {
  const name = paint(item.selects ? 'strong' : 'plain', propagationText(item));
  const isBinding = item.kind === BINDING;
  if (!item.selects) return row(paint, '', 'not by', `${name}: ${item.reason}`);
  let out = `\n${row(paint, '', isBinding ? 'binding' : 'propagation', `${name} ${isBinding ? 'lists' : 'selects'} it: ${item.reason}`)}`;
  for (const error of item.errors ?? []) out += row(paint, '  ', 'error', paint('warn', error));
  if (item.held !== undefined) out += row(paint, '  ', 'held', paint('warn', item.held));
  if (item.pending)
    out += row(paint, '  ', 'pending', paint('warn', 'the hub has not looked at its newest change yet'));
  if (item.clusters.length === 0)
    return `${out}${row(paint, '  ', 'clusters', paint('warn', 'the hub has none'))}`;
  if (!detailed) return `${out}${clustersTable(item.clusters, now, paint)}`;
  for (const chain of item.clusters) out += clusterPart(chain, now, paint);
  return out;
}

function federatedPart(chain: FederatedChain, paint: Paint): string {
  const { propagation, pending, problems, preference, clusters } = chain;
  const state = propagation === undefined ? 'nothing is told of it yet' : propagation;
  let out = row(paint, '', 'propagation', paint(propagation === 'True' ? 'good' : 'warn', state));
  if (pending)
    out += row(paint, '  ', 'pending', paint('warn', 'the hub has not told of its newest change yet'));
  for (const problem of problems) out += row(paint, '  ', 'problem', paint('warn', problem));
  if (preference !== undefined) out += row(paint, '  ', 'preference', preference);
  const rows = clusters.map(({ cluster, chosen, word, message }) => {
    if (word !== undefined) return [cell(cluster), cell(word, 'bad'), cell(oneLine(message))];
    if (!chosen) return [cell(cluster), cell('not chosen', 'quiet'), cell(oneLine(message))];
    return [
      cell(cluster),
      message === '' ? cell('propagated', 'good') : cell('', 'plain'),
      cell(oneLine(message)),
    ];
  });
  return rows.length === 0 ? out : `${out}\n${table(['CLUSTER', 'STATE', 'WHY'], rows, paint)}`;
}

function othersPart(bindings: number, paint: Paint): string {
  if (bindings === 0) return '';
  const none = bindings === 1 ? 'the Binding that there is does not list it' : `none of ${bindings} lists it`;
  return row(paint, '', 'binding', paint('warn', none));
}

const WORD_STYLE: Readonly<Record<NonNullable<ClusterChain['word']>, Style>> = {
  Ready: 'good',
  Progressing: 'warn',
  Waiting: 'warn',
  Stale: 'warn',
  Removing: 'warn',
  Degraded: 'bad',
};

function clustersTable(chains: readonly ClusterChain[], now: number, paint: Paint): string {
  const rows = chains.map((chain) => {
    const word =
      chain.word === undefined ? cell('not chosen', 'quiet') : cell(chain.word, WORD_STYLE[chain.word]);
    const message = chain.word === undefined ? chain.reason : chain.message;
    return [
      cell(chain.cluster, 'strong'),
      word,
      shortDispatch(chain, now),
      shortOverrides(chain.overrides),
      oneLine(message),
    ];
  });
  return table(['CLUSTER', 'STATE', 'APPLIED', 'OVERRIDES', 'MESSAGE'], rows, paint, '  ');
}

function shortDispatch({ dispatch, lastSynced }: ClusterChain, now: number): string {
  if (!dispatch) return '-';
  if (!dispatch.live)
    return lastSynced === undefined
      ? 'unknown'
      : `unknown, last synced ${agoText(parseTime(lastSynced), now)}`;
  if (dispatch.appliedGeneration === undefined) return 'no';
  const of =
    dispatch.appliedGeneration === dispatch.wantedGeneration ? '' : ` of ${dispatch.wantedGeneration}`;
  const at = dispatch.appliedAt === undefined ? '' : `, ${agoText(parseTime(dispatch.appliedAt), now)}`;
  return `generation ${dispatch.appliedGeneration}${of}${at}`;
}

function shortOverrides(overrides: readonly OverrideLine[]): string {
  const operations = overrides.flatMap((item) => item.operations);
  return operations.length === 0
    ? '-'
    : operations.map((operation) => operation.path.split('/').slice(-2).join('/')).join(', ');
}

function clusterPart(chain: ClusterChain, now: number, paint: Paint): string {
  const line = (label: string, text: string): string => row(paint, '    ', label, text);
  const word =
    chain.word === undefined ? paint('quiet', 'not chosen') : paint(WORD_STYLE[chain.word], chain.word);
  let out = `  ${paint('strong', chain.cluster)}  ${word}\n`;
  out += line(chain.chosen ? 'chosen' : 'not chosen', chain.reason);
  if (chain.chosen) {
    if (chain.blocked !== undefined)
      out += line('overrides', paint('bad', `${chain.blocked}; the cluster keeps what it has`));
    else if (chain.overrides.length === 0) out += line('overrides', 'none change it here');
    for (const from of chain.overrides)
      for (const operation of from.operations) {
        const said = operationText(operation);
        out +=
          from.override === OF_POLICY || from.override === OF_CLUSTER
            ? line(from.override === OF_POLICY ? 'policy' : 'patches', `${patchOrigin(from)}: ${said}`)
            : line(patchOrigin(from), said);
      }
  }
  if (chain.dispatch) out += dispatchPart(chain, chain.dispatch, now, paint, line);
  if (chain.health) {
    const { health, reason, message } = chain.health;
    const style = health === 'Healthy' ? 'good' : health === 'Degraded' ? 'bad' : 'warn';
    out += line(
      'health',
      `${paint(style, health)}${health === 'Healthy' ? '' : ` (${reason}: ${oneLine(message)})`}`,
    );
  }
  // What the lines above say already is not said again.
  if (
    chain.message !== '' &&
    chain.blocked === undefined &&
    !chain.health &&
    chain.dispatch?.live !== false &&
    chain.dispatch?.refused === undefined
  )
    out += line('now', paint('warn', oneLine(chain.message)));
  return out;
}

function dispatchPart(
  chain: ClusterChain,
  dispatch: DispatchChain,
  now: number,
  paint: Paint,
  line: (label: string, text: string) => string,
): string {
  if (!dispatch.live) {
    const why = dispatch.why === undefined ? '' : `: ${dispatch.why}`;
    return (
      line('wanted', `generation ${dispatch.wantedGeneration}`) +
      line('dispatched', paint('warn', `not known now, the spoke cannot be read${why}`)) +
      line('last known', lastKnownText(chain.lastKnown, now)) +
      line('meanwhile', 'the spoke keeps itself as it was dispatched to it last')
    );
  }
  if (dispatch.generation === undefined) return line('dispatched', paint('warn', 'nothing yet'));
  const behind =
    dispatch.generation < dispatch.wantedGeneration
      ? paint('warn', ` (the hub is at ${dispatch.wantedGeneration})`)
      : '';
  const revision = dispatch.revision ? `, revision ${dispatch.revision}` : '';
  let out = line('dispatched', `generation ${dispatch.generation}${revision}${behind}`);
  if (dispatch.holds === 'tombstone') out += line('tombstone', paint('warn', 'the dispatch orders it away'));
  else if (dispatch.holds === 'nothing')
    out += line('content', paint('warn', 'the dispatch does not hold it'));
  if (dispatch.refused !== undefined) out += line('accepted', paint('bad', `no: ${dispatch.refused}`));
  else if (dispatch.acceptedGeneration === undefined) out += line('accepted', paint('warn', 'not yet'));
  else
    out += line(
      'accepted',
      dispatch.acceptedGeneration === dispatch.generation
        ? `generation ${dispatch.acceptedGeneration}`
        : paint('warn', `generation ${dispatch.acceptedGeneration}, not yet ${dispatch.generation}`),
    );
  if (dispatch.appliedGeneration === undefined) return out + line('applied', paint('warn', 'not yet'));
  const at =
    dispatch.appliedAt === undefined
      ? ''
      : `, ${agoText(parseTime(dispatch.appliedAt), now)} (${dispatch.appliedAt})`;
  const applied = `generation ${dispatch.appliedGeneration}${at}`;
  return (
    out +
    line('applied', dispatch.appliedGeneration === dispatch.generation ? applied : paint('warn', applied))
  );
}

function lastKnownText(known: LastKnown | undefined, now: number): string {
  const asOf = parseTime(known?.asOf);
  if (known === undefined || asOf === undefined) return 'nothing: the hub never saw its state';
  const parts: string[] = [];
  if (known.applied !== undefined)
    parts.push(
      known.applied ? 'all that was dispatched was applied' : 'not all that was dispatched was applied',
    );
  if (known.objects)
    parts.push(`${known.objects.healthy} of ${known.objects.total} objects of the cluster were healthy`);
  return `${agoText(asOf, now)}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

function operationText({ op, path, from, value }: PatchOperation): string {
  if (op === 'move' || op === 'copy') return `${op} ${from ?? ''} to ${path}`;
  if (value === undefined) return `${op} ${path}`;
  const text = JSON.stringify(value);
  const short = text.length <= VALUE_WIDTH ? text : `${text.slice(0, VALUE_WIDTH - 1)}…`;
  return `${op} ${path} ${op === 'replace' ? 'with ' : ''}${short}`;
}

function row(paint: Paint, indent: string, label: string, text: string): string {
  return `${indent}${paint('quiet', label)}${' '.repeat(Math.max(1, WIDTH - label.length))}${text}\n`;
}

function oneLine(text: string): string {
  return text.replaceAll('\n', ' ');
}
