import { clone, deepEqual, isObject, type JsonObject, objectAt, stringsAt } from '../../schema/json.ts';
import type { Problems } from './field-checks.ts';
import { forbidden, goStringMap, invalidAs, invalidValue, required } from './field-errors.ts';
import { integer, objectsOf, text } from './fields.ts';
import { goDiff } from './go-diff.ts';
import { goDump } from './go-dump.ts';

const ONLY =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** What may change of a pod's spec once the pod exists. */
export function validatePodSpecUpdate(spec: JsonObject, old: JsonObject): Problems {
  const problems: Problems = [];
  for (const role of ['containers', 'initContainers']) {
    const now = objectsOf(spec, role);
    if (now.length !== objectsOf(old, role).length) {
      problems.push(forbidden(`spec.${role}`, 'pod updates may not add or remove containers'));
      return problems;
    }
    now.forEach((container, index) => {
      if (text(container, 'image') === '') problems.push(required(`spec.${role}[${index}].image`));
    });
  }
  const deadline = deadlineProblems(spec, old);
  if (deadline.length > 0) return [...problems, ...deadline];
  problems.push(...tolerationProblems(spec, old), ...gateProblems(spec, old));
  const rest = clone(spec);
  for (const role of ['containers', 'initContainers']) {
    const before = objectsOf(old, role);
    for (const [index, container] of objectsOf(rest, role).entries()) {
      copyField(container, before[index] ?? {}, 'image');
    }
  }
  for (const key of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) copyField(rest, old, key);
  if ((integer(old, 'terminationGracePeriodSeconds') ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1) {
    copyField(rest, old, 'terminationGracePeriodSeconds');
  }
  if (objectsOf(old, 'schedulingGates').length > 0) problems.push(...narrowingProblems(rest, old));
  if (!deepEqual(rest, old))
    problems.push(forbidden('spec', `${ONLY}\n${changeText('core.PodSpec', podSpec(old), podSpec(rest))}`));
  return problems;
}

/**
 * Where a pod may go may be narrowed while it waits: selectors may get more requirements. Makes `rest` what it is in `old` in
 * that respect.
 */
function narrowingProblems(rest: JsonObject, old: JsonObject): Problems {
  const problems: Problems = [];
  const before = stringsAt(old, 'nodeSelector');
  const now = stringsAt(rest, 'nodeSelector');
  if (Object.keys(before).some((key) => now[key] !== before[key])) {
    const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    problems.push(invalidAs('spec.nodeSelector', goStringMap(now), detail));
  }
  copyField(rest, old, 'nodeSelector');
  const had = objectAt(old, 'affinity', 'nodeAffinity');
  const has = objectAt(rest, 'affinity', 'nodeAffinity');
  if (deepEqual(has ?? null, had ?? null)) return problems;
  if (had) problems.push(...termProblems(has, had));
  const affinity: JsonObject = { ...objectAt(rest, 'affinity') };
  if (had) affinity.nodeAffinity = had;
  else delete affinity.nodeAffinity;
  if (Object.keys(affinity).length === 0 && objectAt(old, 'affinity') === undefined) delete rest.affinity;
  else rest.affinity = affinity;
  return problems;
}

function termProblems(has: JsonObject | undefined, had: JsonObject): Problems {
  const key = 'requiredDuringSchedulingIgnoredDuringExecution';
  const at = `spec.affinity.nodeAffinity.${key}.nodeSelectorTerms`;
  const before = objectsOf(objectAt(had, key), 'nodeSelectorTerms');
  const now = objectsOf(objectAt(has, key), 'nodeSelectorTerms');
  if (before.length === 0) return [];
  if (before.length !== now.length) {
    const detail = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed';
    return [invalidAs(at, goDump('[]core.NodeSelectorTerm', now), detail)];
  }
  return now.flatMap((term, index) =>
    hasOnlyMore(term, before[index] ?? {})
      ? []
      : [
          invalidAs(
            `${at}[${index}]`,
            goDump('core.NodeSelectorTerm', term),
            'only additions are allowed (no mutations or deletions)',
          ),
        ],
  );
}

function hasOnlyMore(term: JsonObject, before: JsonObject): boolean {
  const lists = ['matchExpressions', 'matchFields'];
  if (lists.every((key) => objectsOf(before, key).length === 0))
    return lists.every((key) => objectsOf(term, key).length === 0);
  return lists.every((key) => {
    const old = objectsOf(before, key);
    return deepEqual(objectsOf(term, key).slice(0, old.length), old);
  });
}

/** What a pod shares with its node is part of its security context, as far as messages are concerned. */
const OF_SECURITY: readonly string[] = [
  'hostNetwork',
  'hostPID',
  'hostIPC',
  'shareProcessNamespace',
  'hostUsers',
];

function podSpec(spec: JsonObject): JsonObject {
  const shared = OF_SECURITY.filter((key) => spec[key] !== undefined).map((key) => [key, spec[key]]);
  if (shared.length === 0) return spec;
  return {
    ...spec,
    securityContext: { ...objectAt(spec, 'securityContext'), ...Object.fromEntries(shared) },
  };
}

/** The difference as messages show it; the paths of fields that messages know nothing of. */
export function changeText(type: string, old: JsonObject, now: JsonObject): string {
  return goDiff(type, old, now) || `changed: ${changedPaths(now, old, '').slice(0, 10).join(', ')}`;
}

function deadlineProblems(spec: JsonObject, old: JsonObject): Problems {
  const path = 'spec.activeDeadlineSeconds';
  const now = integer(spec, 'activeDeadlineSeconds');
  const before = integer(old, 'activeDeadlineSeconds');
  if (before === undefined) return [];
  if (now === undefined) {
    return [invalidValue(path, null, 'must not update from a positive integer to nil value')];
  }
  return now > before ? [invalidValue(path, now, 'must be less than or equal to previous value')] : [];
}

function tolerationProblems(spec: JsonObject, old: JsonObject): Problems {
  const now = objectsOf(spec, 'tolerations').map(withoutSeconds);
  const lost = objectsOf(old, 'tolerations').some(
    (before) => !now.some((item) => deepEqual(item, withoutSeconds(before))),
  );
  return lost
    ? [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]
    : [];
}

function withoutSeconds(toleration: JsonObject): JsonObject {
  const { tolerationSeconds: _, ...rest } = toleration;
  return rest;
}

function gateProblems(spec: JsonObject, old: JsonObject): Problems {
  const before = objectsOf(old, 'schedulingGates').map((gate) => text(gate, 'name'));
  return objectsOf(spec, 'schedulingGates')
    .map((gate, index): [string, number] => [text(gate, 'name'), index])
    .filter(([name]) => !before.includes(name))
    .map(([name, index]) =>
      forbidden(
        `spec.schedulingGates[${index}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      ),
    );
}

/** Makes a field what it is in another object. */
export function copyField(target: JsonObject, source: JsonObject, key: string): void {
  if (source[key] === undefined) delete target[key];
  else target[key] = source[key];
}

/** The deepest paths at which two values differ. */
function changedPaths(now: unknown, old: unknown, path: string): string[] {
  if (deepEqual(now, old)) return [];
  if (isObject(now) && isObject(old)) {
    const keys = new Set([...Object.keys(old), ...Object.keys(now)]);
    return [...keys].flatMap((key) => changedPaths(now[key], old[key], path === '' ? key : `${path}.${key}`));
  }
  if (Array.isArray(now) && Array.isArray(old) && now.length === old.length) {
    return now.flatMap((item, index) => changedPaths(item, old[index], `${path}[${index}]`));
  }
  return [path];
}
