import { asJson, type KubeObject } from '../../kube/object.ts';
import { badRequest, conflict, failure, notFound, type Status } from '../../kube/status-error.ts';
import { formatTime } from '../../runtime/index.ts';
import { bringIntoForm } from '../../schema/built-in-form.ts';
import { clone, isObject, type JsonObject, listAt, numberAt, objectAt, stringAt } from '../../schema/json.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import { type DeleteQuery, parseDeleteOptions } from '../request/index.ts';
import type { StoreRecord } from '../store/store.ts';
import { commit, type Decision } from './commit.ts';
import { checkPreconditions, remove } from './delete.ts';
import { keyOf, type Scope, type WriteOptions, type Written } from './scope.ts';
import { track } from './tracking.ts';
import { prepareUpdate } from './update.ts';
import { viewOf } from './view.ts';

/** Reads the newest state of an object, changes a copy of it and stores that, all in one step. */
export function changeLive(
  scope: Scope,
  name: string,
  options: WriteOptions,
  change: (object: KubeObject) => KubeObject | undefined,
): Promise<Written> {
  const { resource } = scope;
  return commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) throw notFound(resource.group, resource.resource, name);
    const live = viewOf(resource, current).object;
    const object = change(clone(live));
    return object === undefined ? { action: 'keep' } : prepareUpdate(scope, object, live, options);
  });
}

function checkVersion(scope: Scope, name: string, body: KubeObject, live: KubeObject): void {
  const { resourceVersion } = body.metadata;
  if (resourceVersion && resourceVersion !== live.metadata.resourceVersion)
    throw conflict(
      scope.resource.group,
      scope.resource.resource,
      name,
      'the object has been modified; please apply your changes to the latest version and try again',
    );
}

/** PUT of `namespaces/finalize`: takes metadata and `spec.finalizers`; the rest of the spec and the status stay. */
export function finalizeNamespace(
  scope: Scope,
  name: string,
  body: KubeObject,
  options: WriteOptions,
): Promise<Written> {
  const given = body.metadata.name ?? '';
  if (given === '')
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (given !== name)
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  return changeLive(scope, name, options, (object) => {
    checkVersion(scope, name, body, object);
    const { uid } = body.metadata;
    checkStorage(scope, `/registry/namespaces/${name}`, { ...body, metadata: uid ? { uid } : {} }, object);
    for (const key of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
      const given = body.metadata[key];
      if (given === undefined) delete object.metadata[key];
      else Object.assign(object.metadata, { [key]: given });
    }
    const spec = isObject(object.spec) ? object.spec : {};
    const finalizers = listAt(body, 'spec', 'finalizers');
    if (finalizers.length > 0) spec.finalizers = finalizers;
    else delete spec.finalizers;
    object.spec = spec;
    return object;
  });
}

/** POST of `pods/binding`: puts a pod on a node. 409 when it is on one. */
export async function bindPod(
  scope: Scope,
  name: string,
  body: KubeObject,
  options: WriteOptions,
): Promise<Status> {
  if (body.metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
  const node = stringAt(body, 'target', 'name') ?? '';
  checkTarget(stringAt(body, 'target', 'kind') ?? '', node);
  await commit(scope, name, options.dryRun, (current): Decision => {
    if (!current) throw notFound('', 'pods', name);
    const live = current.object;
    const object = clone(live);
    const spec = isObject(object.spec) ? object.spec : {};
    checkStorage(
      scope,
      `/registry/pods/${scope.namespace}/${name}`,
      body,
      viewOf(scope.resource, current).object,
    );
    if (object.metadata.deletionTimestamp !== undefined)
      throw conflict('', 'pods/binding', name, `pod ${name} is being deleted, cannot be assigned to a host`);
    const present = spec.nodeName;
    if (typeof present === 'string' && present !== '')
      throw conflict(
        '',
        'pods/binding',
        name,
        `pod ${name} is already assigned to node ${JSON.stringify(present)}`,
      );
    if (listAt(spec, 'schedulingGates').length > 0)
      throw conflict('', 'pods/binding', name, `pod ${name} has non-empty .spec.schedulingGates`);
    spec.nodeName = node;
    object.spec = spec;
    const { annotations } = body.metadata;
    if (annotations) object.metadata.annotations = { ...object.metadata.annotations, ...annotations };
    const status = isObject(object.status) ? object.status : {};
    const others = listAt(status, 'conditions').filter(
      (condition) => stringAt(condition, 'type') !== 'PodScheduled',
    );
    const now = formatTime(scope.server.runtime.clock.now());
    status.conditions = [...others, { type: 'PodScheduled', status: 'True', lastTransitionTime: now }];
    object.status = status;
    bringIntoForm(asJson(object), scope.resource.type);
    // The strategy of pods forbids clients what a binding does, so it is stored as it is.
    return { action: 'put', object };
  });
  return success(201);
}

/** The uid and the version that a body names must be those of the object, in the words of the storage. Throws 409. */
function checkStorage(scope: Scope, key: string, body: KubeObject, live: KubeObject): void {
  const { name = '' } = live.metadata;
  const refuse = (what: string, given: string, has: string | undefined): Error =>
    conflict(
      scope.resource.group,
      scope.resource.resource,
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${what} in precondition: ${given}, ${what} in object meta: ${has ?? ''}`,
    );
  const { uid, resourceVersion } = body.metadata;
  if (uid && uid !== live.metadata.uid) throw refuse('UID', uid, live.metadata.uid);
  if (resourceVersion && resourceVersion !== live.metadata.resourceVersion)
    throw refuse('ResourceVersion', resourceVersion, live.metadata.resourceVersion);
}

/** The problems come as one error without a reason, as upstream's storage of pods has it. */
function checkTarget(kind: string, node: string): void {
  const problems: string[] = [];
  if (kind !== '' && kind !== 'Node')
    problems.push(
      `target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`,
    );
  if (node === '') problems.push('target.name: Required value');
  if (problems.length > 0)
    throw failure(500, '', problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`);
}

const NO_QUERY: URLSearchParams = new URLSearchParams();

/** POST of `pods/eviction`: deletes the pod unless a disruption budget allows no disruption. */
export async function evictPod(
  scope: Scope,
  name: string,
  body: JsonObject,
  budgets: Iterable<StoreRecord>,
  asRehearsal: boolean = false,
): Promise<Status> {
  const given = stringAt(body, 'metadata', 'name') ?? '';
  if (given !== name) throw badRequest('name in URL does not match name in Eviction object');
  const asked = objectAt(body, 'deleteOptions') ?? {};
  const dryRun = asRehearsal || listAt(asked, 'dryRun').includes('All');
  const record = scope.server.store.get(keyOf(scope, name));
  if (!record) throw notFound('', 'pods', name);
  const pod = record.object;
  if (!isSettled(pod)) {
    const concerned = [...budgets].filter(({ object: budget }) => {
      const { selector } = selectorFromObject(objectAt(budget, 'spec', 'selector'));
      return matchesSelector(selector, pod.metadata.labels);
    });
    if (concerned.length > 1)
      throw failure(
        500,
        '',
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      );
    const [budget] = concerned;
    if (budget && !isFreeToGo(pod, budget.object)) await spendBudget(scope, budget, name, dryRun);
  }
  // Whatever is wrong with how to delete is found when the budget has paid, as in other servers.
  const options = { ...parseDeleteOptions(asked, NO_QUERY), dryRun };
  await remove(scope, name, dryRun ? options : await markEvicted(scope, name, options));
  return success(201);
}

/** Whether a pod that is not ready may go without taking of the budget: no healthy pod is lost with it. */
function isFreeToGo(pod: KubeObject, budget: KubeObject): boolean {
  const isReady = listAt(pod, 'status', 'conditions').some(
    (condition) => stringAt(condition, 'type') === 'Ready' && stringAt(condition, 'status') === 'True',
  );
  if (isReady) return false;
  if (stringAt(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true;
  const desired = numberAt(budget, 'status', 'desiredHealthy') ?? 0;
  return desired > 0 && (numberAt(budget, 'status', 'currentHealthy') ?? 0) >= desired;
}

/**
 * Tells in the status of a pod why it goes, while it is still there to be read. Returns the options with which that pod, as it is
 * now, can be deleted.
 */
async function markEvicted(scope: Scope, name: string, options: DeleteQuery): Promise<DeleteQuery> {
  const now = formatTime(scope.server.runtime.clock.now());
  const { object: marked } = await commit(scope, name, false, (current): Decision => {
    if (!current) throw notFound('', 'pods', name);
    checkPreconditions(scope.resource, current.object, options);
    const object = clone(current.object);
    const status = isObject(object.status) ? object.status : {};
    const others = listAt(status, 'conditions').filter(
      (condition) => stringAt(condition, 'type') !== 'DisruptionTarget',
    );
    status.conditions = [
      ...others,
      {
        type: 'DisruptionTarget',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: now,
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
      },
    ];
    object.status = status;
    return { action: 'put', object };
  });
  const { preconditions } = options;
  const { resourceVersion } = marked.metadata;
  if (preconditions.resourceVersion === undefined || resourceVersion === undefined) return options;
  return { ...options, preconditions: { ...preconditions, resourceVersion } };
}

/** Pods that are over, or have not begun, disrupt nothing when they go. */
function isSettled(pod: KubeObject): boolean {
  const phase = stringAt(pod, 'status', 'phase') ?? '';
  return pod.metadata.deletionTimestamp !== undefined || ['Succeeded', 'Failed', 'Pending'].includes(phase);
}

/** Takes one disruption from a budget, so that evictions at the same time do not all find the same one. */
async function spendBudget(scope: Scope, record: StoreRecord, pod: string, dryRun: boolean): Promise<void> {
  checkBudget(record.object);
  if (dryRun) return;
  const now = formatTime(scope.server.runtime.clock.now());
  const resource = scope.server.resources(scope.cluster).find('policy', 'v1', 'poddisruptionbudgets');
  await scope.server.store.write(record.key, (current) => {
    if (!current) return undefined;
    checkBudget(current.object);
    const budget = clone(current.object);
    const status = objectAt(budget, 'status') ?? {};
    const left = (numberAt(status, 'disruptionsAllowed') ?? 0) - 1;
    status.disruptionsAllowed = left;
    status.disruptedPods = { ...objectAt(status, 'disruptedPods'), [pod]: now };
    if (left === 0) noteSpent(status, now);
    return resource ? trackedAsServer({ ...scope, resource }, budget, current.object) : budget;
  });
}

/** Says in the status of a budget that nothing more may go. The time is that of the change, if it is one. */
function noteSpent(status: JsonObject, now: string): void {
  const conditions = listAt(status, 'conditions').filter(isObject);
  const before = conditions.find((condition) => condition.type === 'DisruptionAllowed');
  const observed = numberAt(status, 'observedGeneration') ?? 0;
  const spent = {
    type: 'DisruptionAllowed',
    status: 'False',
    ...(observed === 0 ? {} : { observedGeneration: observed }),
    lastTransitionTime: before?.status === 'False' ? (before.lastTransitionTime ?? now) : now,
    reason: 'InsufficientPods',
    message: '',
  };
  status.conditions = before
    ? conditions.map((condition) => (condition === before ? spent : condition))
    : [...conditions, spent];
}

/** What the server itself has written into the status of an object, with its name among the managers of fields. */
function trackedAsServer(scope: Scope, object: KubeObject, live: KubeObject): KubeObject {
  const within: Scope = { ...scope, subresource: { name: 'status', verbs: ['update'] } };
  const options: WriteOptions = { fieldManager: 'kube-apiserver', fieldValidation: 'Ignore', dryRun: false };
  return track(within, object, live, options);
}

function checkBudget(budget: KubeObject): void {
  const status = objectAt(budget, 'status');
  const { name = '', generation = 0 } = budget.metadata;
  const number = (key: string): number => numberAt(status, key) ?? 0;
  const refuse = (message: string, retryAfterSeconds?: number): Error =>
    failure(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
      causes: [{ reason: 'DisruptionBudget', message }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  if (number('observedGeneration') < generation)
    throw refuse(`The disruption budget ${name} is still being processed by the server.`, 10);
  if (number('disruptionsAllowed') <= 0)
    throw refuse(
      `The disruption budget ${name} needs ${number('desiredHealthy')} healthy pods and has ${number('currentHealthy')} currently`,
    );
}

function success(code: number): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code };
}
