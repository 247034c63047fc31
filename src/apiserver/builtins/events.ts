import { asJson, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { clone, deepEqual, isObject, type JsonObject, objectAt } from '../../schema/json.ts';
import { validateDns1123Subdomain, validateQualifiedName } from '../../schema/names.ts';
import type { Strategy } from '../resource.ts';
import { strategy } from './base-strategy.ts';
import type { Problems } from './field-checks.ts';
import { IMMUTABLE, invalidAs, invalidEach, invalidValue, required } from './field-errors.ts';
import { integer, isSet, text } from './fields.ts';
import { goDump } from './go-dump.ts';

const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;
const REFERENCE = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

const FIELDS = [
  ...REFERENCE.map((key) => `involvedObject.${key}`),
  'reason',
  'type',
  'reportingComponent',
  'source',
];
const NEW_FIELDS = [...REFERENCE.map((key) => `regarding.${key}`), 'reason', 'type', 'reportingController'];

/** One storage under two names: `events.k8s.io/v1` calls the object `regarding`, `v1` `involvedObject`. */
export const eventStrategy: Strategy = strategy({
  // Names are not looked at.
  validateName: () => [],
  allowCreateOnUpdate: true,
  fieldLabelNames: FIELDS,
  fieldLabels: (event) => labelsOf(event, FIELDS),
  prepareForCreate: fillUp,
  prepareForUpdate: fillUp,
  validate,
  validateCreate: validateNew,
  validateUpdate(event, old) {
    // Events of the older API may be rewritten as a whole.
    if (!isNew(event) || !isNew(old) || old.eventTime == null) return [];
    const now = asJson(event);
    const before = asJson(old);
    const problems = deepEqual(now.series ?? null, before.series ?? null) ? [] : seriesProblems(now);
    // The reason is compared as what it says and as what it is about.
    for (const key of [
      'reason',
      'reason',
      'action',
      'reportingController',
      'reportingInstance',
      'note',
      'type',
    ]) {
      if (text(now, key) === text(before, key)) continue;
      problems.push(invalidValue(OLD_PATHS[key] ?? key, text(now, key), IMMUTABLE));
    }
    for (const key of ['regarding', 'related']) {
      if (deepEqual(now[key] ?? {}, before[key] ?? {})) continue;
      const shown =
        key === 'related' && now[key] === undefined ? '"null"' : goDump('core.ObjectReference', now[key]);
      problems.push(invalidAs(OLD_PATHS[key] ?? key, shown, IMMUTABLE));
    }
    const count = integer(now, 'deprecatedCount') ?? 0;
    if (count !== (integer(before, 'deprecatedCount') ?? 0)) {
      problems.push(invalidValue('count', count, IMMUTABLE));
    }
    for (const key of ['eventTime', 'deprecatedFirstTimestamp', 'deprecatedLastTimestamp']) {
      if (text(now, key) === text(before, key)) continue;
      problems.push(invalidAs(OLD_PATHS[key] ?? key, timeText(text(now, key)), IMMUTABLE));
    }
    return problems;
  },
});

/** Problems are told of the fields of the older API, whose events these are. */
const OLD_PATHS: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
};

function timeText(time: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(time);
  return match ? `${match[1]} ${match[2]} +0000 UTC` : '0001-01-01 00:00:00 +0000 UTC';
}

/** What the older API calls the fields of the newer one, in which Events are stored. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};
const NEW_NAMES = Object.fromEntries(Object.entries(OLD_NAMES).map(([name, old]) => [old, name]));

function renamed(event: KubeObject, names: Readonly<Record<string, string>>): KubeObject {
  const json = asJson(event);
  const { apiVersion, kind, metadata } = event;
  const out: KubeObject = { apiVersion, kind, metadata };
  for (const key in json) {
    if (Object.hasOwn(out, key)) continue;
    out[Object.hasOwn(names, key) ? (names[key] ?? key) : key] = json[key];
  }
  return out;
}

/** The fields of an event by which it can be selected. */
function labelsOf(event: KubeObject, names: readonly string[]): Record<string, string> {
  const json = asJson(event);
  const object = subject(json);
  const labels: Record<string, string> = {};
  for (const key of REFERENCE) {
    labels[`involvedObject.${key}`] = text(object, key);
    labels[`regarding.${key}`] = text(object, key);
  }
  const reporter = text(json, 'reportingComponent') || text(json, 'reportingController');
  labels.reason = text(json, 'reason');
  labels.reportingComponent = reporter;
  labels.reportingController = reporter;
  labels.source =
    text(objectAt(json, 'source') ?? objectAt(json, 'deprecatedSource'), 'component') || reporter;
  labels.type = text(json, 'type');
  return Object.fromEntries(names.map((name) => [name, labels[name] ?? '']));
}

/** Events of `events.k8s.io` are those of the core group by other names: each API shows what was written to the other. */
export const newEventStrategy: Strategy = {
  ...eventStrategy,
  validateName: validateDns1123Subdomain,
  fieldLabelNames: NEW_FIELDS,
  fieldLabels: (event) => labelsOf(event, NEW_FIELDS),
  storedForm: {
    to: (event) => filled(renamed(event, OLD_NAMES), OLD_ZERO),
    from(stored) {
      const event = renamed(stored, NEW_NAMES);
      for (const key of ['reportingController', 'reportingInstance'])
        if (event[key] === '') delete event[key];
      return filled(event, NEW_ZERO);
    },
  },
};

function isNew(event: KubeObject): boolean {
  return parseApiVersion(event.apiVersion).group === 'events.k8s.io';
}

function subject(json: JsonObject): JsonObject | undefined {
  return objectAt(json, 'regarding') ?? objectAt(json, 'involvedObject');
}

/** Fields that every Event shows, filled or not; clients of the older API read them without asking. */
function fillUp(event: KubeObject): void {
  filled(event, isNew(event) ? NEW_ZERO : OLD_ZERO);
}

function filled(event: KubeObject, zero: JsonObject): KubeObject {
  const json = asJson(event);
  for (const key in zero) if (json[key] === undefined) json[key] = clone(zero[key]);
  return event;
}

const NEW_ZERO: JsonObject = {
  eventTime: null,
  deprecatedSource: {},
  deprecatedFirstTimestamp: null,
  deprecatedLastTimestamp: null,
};

const OLD_ZERO: JsonObject = {
  eventTime: null,
  firstTimestamp: null,
  lastTimestamp: null,
  source: {},
  reportingComponent: '',
  reportingInstance: '',
};

/** What is asked of every Event, to whichever API it is written: one with an eventTime says who reports what. */
function validate(event: KubeObject): Problems {
  const json = asJson(event);
  const problems = namespaceProblems(event);
  if (!isSet(json.eventTime)) return problems;
  const controller = text(json, isNew(event) ? 'reportingController' : 'reportingComponent');
  if (controller === '') problems.push(required('reportingController'));
  problems.push(...invalidEach('reportingController', controller, validateQualifiedName(controller)));
  for (const key of ['reportingInstance', 'action', 'reason']) {
    const value = text(json, key);
    if (value === '') problems.push(required(key));
    else if (value.length > REASON_LIMIT) {
      problems.push(invalidValue(key, '', `can have at most ${REASON_LIMIT} characters`));
    }
  }
  if ((text(json, 'note') || text(json, 'message')).length > NOTE_LIMIT) {
    problems.push(invalidValue('message', '', `can have at most ${NOTE_LIMIT} characters`));
  }
  return problems;
}

/** What the newer API asks besides of an Event that is made: its time and type, and that nothing of the older API is set. */
function validateNew(event: KubeObject): Problems {
  if (!isNew(event)) return [];
  const json = asJson(event);
  const problems = seriesProblems(json);
  if (!isSet(json.eventTime)) problems.push(required('eventTime'));
  const type = text(json, 'type');
  if (type !== 'Normal' && type !== 'Warning') {
    problems.push(invalidValue('type', '', `has invalid value: ${type}`));
  }
  for (const key of [
    'deprecatedSource',
    'deprecatedFirstTimestamp',
    'deprecatedLastTimestamp',
    'deprecatedCount',
  ]) {
    const given = json[key];
    if (isObject(given) ? Object.keys(given).length > 0 : isSet(given))
      problems.push(invalidValue(OLD_NAMES[key] ?? key, '', 'needs to be unset'));
  }
  return problems;
}

function seriesProblems(json: JsonObject): Problems {
  const series = objectAt(json, 'series');
  if (series === undefined) return [];
  const problems: Problems = [];
  if ((integer(series, 'count') ?? 0) < 2) {
    problems.push(invalidValue('series.count', '', 'should be at least 2'));
  }
  if (!isSet(series.lastObservedTime)) problems.push(required('series.lastObservedTime'));
  return problems;
}

/**
 * An Event lives in its object's namespace, where it has no time of its own; those of objects without one in `default` or
 * `kube-system`.
 */
function namespaceProblems(event: KubeObject): Problems {
  const json = asJson(event);
  const of = text(subject(json), 'namespace');
  const own = event.metadata.namespace ?? '';
  const fits = of === '' ? own === 'default' || own === 'kube-system' : isSet(json.eventTime) || of === own;
  return fits ? [] : [invalidValue('involvedObject.namespace', of, 'does not match event.namespace')];
}
