import type { KubeObject } from '../../../kube/object.ts';
import { invalid } from '../../../kube/status-error.ts';
import { deepEqual, isObject, type JsonObject, listAt, objectAt } from '../../../schema/json.ts';
import type { AdmissionRequest } from '../../rest/scope.ts';
import { namespacePrefix, objectKey } from '../../store/key.ts';
import type { AdmissionPlugin } from '../plugin.ts';
import { forbiddenStatus } from '../refusal.ts';
import { APPARMOR_ANNOTATION } from './baseline-checks.ts';
import { describe, evaluate, type Finding } from './checks.ts';
import { podParts } from './pod-parts.ts';
import {
  isStricter,
  type Labels,
  type LeveledVersion,
  labelProblems,
  type Mode,
  policyOf,
} from './policy.ts';

/** Pods of a namespace beyond these are not looked at when its level changes. */
const MAX_PODS = 3000;

const AUDIT_ANNOTATION = 'pod-security.kubernetes.io/audit-violations';

/** Where the template of pods is, in kinds that have one. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  '/podtemplates': ['template'],
  '/replicationcontrollers': ['spec', 'template'],
  'apps/daemonsets': ['spec', 'template'],
  'apps/deployments': ['spec', 'template'],
  'apps/replicasets': ['spec', 'template'],
  'apps/statefulsets': ['spec', 'template'],
  'batch/cronjobs': ['spec', 'jobTemplate', 'spec', 'template'],
  'batch/jobs': ['spec', 'template'],
};

/** Holds pods to what the labels of their namespace allow, as a release of Kubernetes 1 does, given by its minor number. */
export function podSecurity(newest: number): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    validate(request): void {
      const { scope, operation, object } = request;
      if (operation === 'DELETE' || object === undefined) return;
      const { resource, subresource } = scope;
      const key = `${resource.group}/${resource.resource}`;
      if (key === '/pods') {
        if (subresource === undefined || subresource.name === 'ephemeralcontainers')
          checkPod(request, object, newest);
        return;
      }
      if (subresource !== undefined) return;
      if (key === '/namespaces') checkNamespace(request, object, newest);
      else if (Object.hasOwn(TEMPLATES, key))
        checkTemplate(request, objectAt(object, ...(TEMPLATES[key] ?? [])), newest);
    },
  };
}

function labelsOf({ scope, object }: AdmissionRequest): KubeObject['metadata']['labels'] {
  const namespace = object?.metadata.namespace ?? scope.namespace;
  const key = objectKey('', 'namespaces', scope.cluster, '', namespace);
  return scope.server.store.get(key)?.object.metadata.labels;
}

/** A release knows no checks that came after it, whatever the labels say. */
function findingsOf(pod: object, { minor, ...policy }: LeveledVersion, newest: number): Finding[] {
  const spec = objectAt(pod, 'spec');
  if (spec === undefined || policy.level === 'privileged') return [];
  const annotations = (pod as { metadata?: KubeObject['metadata'] }).metadata?.annotations;
  return evaluate(podParts(spec, annotations), { ...policy, minor: Math.min(minor, newest) });
}

function checkPod(request: AdmissionRequest, pod: KubeObject, newest: number): void {
  const labels = labelsOf(request);
  if (labels === undefined) return;
  if (request.old && !isSignificant(pod, request.old)) return;
  note(request, pod, labels, newest);
  const enforced = policyOf(labels, 'enforce');
  const findings = findingsOf(pod, enforced, newest);
  if (findings.length > 0)
    throw forbiddenStatus(
      '',
      'pods',
      request.name,
      `violates PodSecurity "${enforced.text}": ${describe(findings)}`,
    );
  warn(request, pod, labels, newest);
}

/** Templates are not refused: the pods that come of them are. */
function checkTemplate(request: AdmissionRequest, template: JsonObject | undefined, newest: number): void {
  const labels = template && labelsOf(request);
  if (!template || !labels) return;
  note(request, template, labels, newest);
  warn(request, template, labels, newest);
}

function violation(pod: object, labels: Labels, mode: Mode, newest: number): string | undefined {
  const policy = policyOf(labels, mode);
  const findings = findingsOf(pod, policy, newest);
  return findings.length === 0
    ? undefined
    : `would violate PodSecurity "${policy.text}": ${describe(findings)}`;
}

function warn({ scope }: AdmissionRequest, pod: object, labels: Labels, newest: number): void {
  const text = violation(pod, labels, 'warn', newest);
  if (text !== undefined) scope.warn(text);
}

/** Notes in the audit log what `audit` forbids. */
function note({ scope }: AdmissionRequest, pod: object, labels: Labels, newest: number): void {
  const text = scope.annotate && violation(pod, labels, 'audit', newest);
  if (text !== undefined) scope.annotate?.(AUDIT_ANNOTATION, text);
}

/** Fields of the spec that may change and that no check looks at. */
const NOT_LOOKED_AT: ReadonlySet<string> = new Set([
  ...['activeDeadlineSeconds', 'terminationGracePeriodSeconds', 'tolerations'],
  ...['schedulingGates', 'nodeSelector', 'affinity'],
]);

/**
 * Whether a change of a pod concerns what it may ask of its node. Pods that are older than the level of their namespace can still be
 * annotated and sent to a node.
 */
function isSignificant(pod: KubeObject, old: KubeObject): boolean {
  const looked = (object: KubeObject): JsonObject =>
    Object.fromEntries(
      Object.entries(isObject(object.spec) ? object.spec : {}).filter(([key]) => !NOT_LOOKED_AT.has(key)),
    );
  const profiles = ({ metadata }: KubeObject): JsonObject =>
    Object.fromEntries(
      Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith(APPARMOR_ANNOTATION)),
    );
  return !deepEqual(looked(pod), looked(old)) || !deepEqual(profiles(pod), profiles(old));
}

function checkNamespace(request: AdmissionRequest, namespace: KubeObject, newest: number): void {
  const { labels } = namespace.metadata;
  const before = request.old?.metadata.labels;
  const problems = labelProblems(labels);
  if (problems.length > 0 && (request.old === undefined || labelProblems(before).length === 0))
    throw invalid('', 'Namespace', request.name, problems);
  if (request.old === undefined || problems.length > 0) return;
  const policy = policyOf(labels, 'enforce');
  const old = policyOf(before, 'enforce');
  if (policy.level === 'privileged' || policy.text === old.text) return;
  if (policy.minor === old.minor && !isStricter(policy.level, old.level)) return;
  warnOfPods(request, policy, newest);
}

/** Pods that are there already stay; who makes the namespace stricter hears of those that could not come again. */
function warnOfPods({ scope, name }: AdmissionRequest, policy: LeveledVersion, newest: number): void {
  const pods = scope.server.store.list(namespacePrefix('', 'pods', scope.cluster, name)).records;
  const owners = new Set<string>();
  const found = new Map<string, { readonly first: string; others: number }>();
  for (const { object } of pods.slice(0, MAX_PODS)) {
    const owner = listAt(object, 'metadata', 'ownerReferences').find(
      (reference) => isObject(reference) && reference.controller === true,
    );
    if (isObject(owner)) {
      // Pods of one controller are alike.
      if (owners.has(String(owner.uid))) continue;
      owners.add(String(owner.uid));
    }
    const findings = findingsOf(object, policy, newest);
    if (findings.length === 0) continue;
    const reasons = findings.map(({ reason }) => reason).join(', ');
    const known = found.get(reasons);
    if (known) known.others += 1;
    else found.set(reasons, { first: object.metadata.name ?? '', others: 0 });
  }
  if (found.size === 0) return;
  scope.warn(
    `existing pods in namespace ${JSON.stringify(name)} violate the new PodSecurity enforce level "${policy.text}"`,
  );
  for (const [reasons, { first, others }] of found) {
    const more = others === 0 ? '' : ` (and ${others} other ${others === 1 ? 'pod' : 'pods'})`;
    scope.warn(`${first}${more}: ${reasons}`);
  }
}
