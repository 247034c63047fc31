import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/index.ts';
import { humanDuration } from '../../schema/human-duration.ts';
import { at, isObject, type JsonObject } from '../../schema/json.ts';
import {
  age,
  type Cells,
  conditionOf,
  countAt,
  flagAt,
  hasCondition,
  NONE,
  nameOf,
  objectsAt,
  orElse,
  textAt,
} from './cell-text.ts';

export const podCells: Cells = (object, now) => {
  const summary = summarise(object);
  const gates = objectsAt(object, 'spec', 'readinessGates');
  const open = gates.filter((gate) => hasCondition(object, textAt(gate, 'conditionType')));
  const ips = objectsAt(object, 'status', 'podIPs');
  return [
    nameOf(object),
    `${summary.ready}/${summary.total}`,
    summary.status,
    restartsText(summary, now),
    age(object, now),
    orElse(textAt(ips[0], 'ip') || textAt(object, 'status', 'podIP'), NONE),
    orElse(textAt(object, 'spec', 'nodeName'), NONE),
    orElse(textAt(object, 'status', 'nominatedNodeName'), NONE),
    gates.length === 0 ? NONE : `${open.length}/${gates.length}`,
  ];
};

interface PodSummary {
  ready: number;
  total: number;
  status: string;
  restarts: number;
  /** When the newest container that was started again had ended. */
  lastRestart: number | undefined;
}

function restartsText(summary: PodSummary, now: number): string {
  const { restarts, lastRestart } = summary;
  if (restarts === 0 || lastRestart === undefined) return String(restarts);
  return `${restarts} (${humanDuration(now - lastRestart)} ago)`;
}

/** Restarts of a container as the summary counts them. */
interface Restarts {
  count: number;
  last: number | undefined;
}

function addRestarts(restarts: Restarts, status: JsonObject): void {
  restarts.count += countAt(status, 'restartCount');
  const finished = parseTime(textAt(status, 'lastState', 'terminated', 'finishedAt'));
  if (finished !== undefined && finished > (restarts.last ?? 0)) restarts.last = finished;
}

/** Why a container has ended: its reason, or else its signal or exit code. */
function endText(terminated: JsonObject): string {
  const reason = textAt(terminated, 'reason');
  if (reason !== '') return reason;
  const signal = countAt(terminated, 'signal');
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${countAt(terminated, 'exitCode')}`;
}

function summarise(object: KubeObject): PodSummary {
  const initSpecs = objectsAt(object, 'spec', 'initContainers');
  const sidecars = new Set(
    initSpecs.filter((item) => item.restartPolicy === 'Always').map((item) => textAt(item, 'name')),
  );
  const summary: PodSummary = {
    ready: 0,
    total: objectsAt(object, 'spec', 'containers').length + sidecars.size,
    status: textAt(object, 'status', 'reason') || textAt(object, 'status', 'phase'),
    restarts: 0,
    lastRestart: undefined,
  };
  if (textAt(conditionOf(object, 'PodScheduled'), 'reason') === 'SchedulingGated') {
    summary.status = 'SchedulingGated';
  }
  const all: Restarts = { count: 0, last: undefined };
  const ofSidecars: Restarts = { count: 0, last: undefined };
  let initializing = false;
  for (const [index, status] of objectsAt(object, 'status', 'initContainerStatuses').entries()) {
    addRestarts(all, status);
    const sidecar = sidecars.has(textAt(status, 'name'));
    if (sidecar) addRestarts(ofSidecars, status);
    const terminated = at(status, 'state', 'terminated');
    if (isObject(terminated) && countAt(terminated, 'exitCode') === 0) continue;
    if (sidecar && flagAt(status, 'started')) {
      if (flagAt(status, 'ready')) summary.ready += 1;
      continue;
    }
    const waiting = textAt(status, 'state', 'waiting', 'reason');
    if (isObject(terminated)) summary.status = `Init:${endText(terminated)}`;
    else if (waiting !== '' && waiting !== 'PodInitializing') summary.status = `Init:${waiting}`;
    else summary.status = `Init:${index}/${initSpecs.length}`;
    initializing = true;
    break;
  }
  let counted = all;
  if (!initializing || hasCondition(object, 'Initialized')) {
    counted = ofSidecars;
    summariseContainers(object, summary, counted);
  }
  summary.restarts = counted.count;
  summary.lastRestart = counted.last;
  if (object.metadata.deletionTimestamp) {
    const phase = textAt(object, 'status', 'phase');
    if (textAt(object, 'status', 'reason') === 'NodeLost') summary.status = 'Unknown';
    else if (phase !== 'Failed' && phase !== 'Succeeded') summary.status = 'Terminating';
  }
  return summary;
}

/** From the last container to the first: the first one's trouble is the one that is shown. */
function summariseContainers(object: KubeObject, summary: PodSummary, restarts: Restarts): void {
  let running = false;
  let failure = '';
  for (const status of objectsAt(object, 'status', 'containerStatuses').reverse()) {
    addRestarts(restarts, status);
    const terminated = at(status, 'state', 'terminated');
    const waiting = textAt(status, 'state', 'waiting', 'reason');
    if (waiting !== '') {
      summary.status = waiting;
      failure = waiting;
    } else if (isObject(terminated)) {
      summary.status = endText(terminated);
      if (countAt(terminated, 'exitCode') !== 0) failure = summary.status;
    } else if (flagAt(status, 'ready') && isObject(at(status, 'state', 'running'))) {
      running = true;
      summary.ready += 1;
    }
  }
  if (summary.status === 'Completed' && running) {
    summary.status = failure || (hasCondition(object, 'Ready') ? 'Running' : 'NotReady');
  }
}
