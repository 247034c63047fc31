import { digestOf, shortDigest } from '../engine/digest.ts';
import { WORKLOAD_UPDATE_ANNOTATION } from '../engine/dispatch/index.ts';
import { type Health, healthOf } from '../engine/health/health.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { forCreation, formatFieldPath, type RetainedField } from '../engine/retain/index.ts';
import {
  type ChangeUnderWay,
  countsOf,
  givenBack,
  heldFields,
  holding,
  isHeld,
  isStepwise,
  minReadyOf,
  ownFields,
  replicasWanted,
  type SeenWorkload,
  stepUpdate,
  type UpdateProgress,
  type WorkloadUpdate,
} from '../engine/rollout/index.ts';
import type { Client } from '../kube/client.ts';
import { asJson, type KubeObject } from '../kube/object.ts';
import { at, canonicalJson, deepEqual, isObject, type JsonObject, type JsonValue } from '../schema/json.ts';
import { isAsWanted } from './contract/index.ts';

/** The name under which fields are given back that others had set. */
export const GIVING_BACK_MANAGER = 'atoll-given-back';
/** Longer ones were not written by a spoke. */
const LONGEST_NOTE = 4_096;

/** A workload as it is to be written now, and what is to be known of its change. */
export interface PreparedUpdate {
  readonly object: KubeObject;
  readonly progress: UpdateProgress;
  /** Whether a change is under way: what is seen of the workload may let it go on. */
  readonly underWay: boolean;
  readonly failed: boolean;
  readonly wakeAt?: number;
  /** Instead of the health of the workload. */
  readonly health?: Health;
  /** To be merged into the workload first: fields that are held no longer, and that others had set. */
  readonly giveBack?: JsonObject;
}

export interface UpdateRequest {
  readonly object: KubeObject;
  readonly settings: WorkloadUpdate;
  readonly retained: readonly RetainedField[];
  /** What was written last: the workload says it too, unless somebody took that off. */
  readonly known?: UpdateProgress | undefined;
  /** Number of the order. */
  readonly order: number;
  readonly now: number;
  readonly client: Pick<Client, 'list' | 'resourceFor'>;
  readonly signal: AbortSignal;
}

/** How an object is updated, if it is a workload with an update to look after. */
export function updateOf(object: KubeObject, strategy: ApplyStrategy): WorkloadUpdate | undefined {
  const { workloadUpdate, strategy: way } = strategy;
  if (way === 'CreateOnly' || way === 'ReadOnly') return undefined;
  return heldFields(object) === undefined ? undefined : workloadUpdate;
}

/** Why fields cannot be held that have to be, because they are left to the cluster. */
export function unholdable(
  object: KubeObject,
  { strategy = 'Rolling' }: WorkloadUpdate,
  retained: readonly RetainedField[],
): string | undefined {
  if (strategy === 'Rolling') return undefined;
  const fields = (heldFields(object) ?? []).map((path) => path.join('.'));
  for (const { path, mode } of retained) {
    if (mode === 'fill') continue;
    const text = formatFieldPath(path);
    if (
      fields.some((field) => field === text || field.startsWith(`${text}.`) || text.startsWith(`${field}.`))
    )
      return `its update cannot be held, since ${text} is left to the cluster: take it out of spec.apply.ignoreFields (or the ResourceRule), or leave out spec.apply.workloadUpdate`;
  }
  return undefined;
}

/** Looks at a workload and says how it is to be written now. */
export async function prepareUpdate(
  request: UpdateRequest,
  live: KubeObject | undefined,
): Promise<PreparedUpdate> {
  const { object, settings, retained, now } = request;
  const template = templateDigest(object, retained);
  const before = live && (progressOf(live) ?? request.known);
  const stated = ownFields(object, object);
  const known = before?.change?.own;
  const own = live ? { ...(known ?? ownFields(object, live)), ...stated } : stated;
  const left = retained.some(({ path }) => formatFieldPath(path) === 'spec.replicas');
  const replicas = live ? replicasWanted(object, live, left) : 0;
  const stepwise = isStepwise(object) && replicas > 0;
  const move = stepUpdate(before, {
    now,
    settings,
    stepwise,
    template,
    order: request.order,
    // Where nobody knows any more how far a workload was that is held, it begins anew.
    differs: () => live !== undefined && (isHeld(live) || !hasTemplate(live, object, retained)),
    ...(live ? { seen: await seenOf(request, live, replicas, own, stepwise) } : {}),
  });
  const { change } = move.progress;
  const held = holding(object, move, replicas, own);
  const progress = change ? { ...move.progress, change: { ...change, own } } : move.progress;
  const returned = known && held === object ? givenBack(known, object) : undefined;
  return {
    object: noted(held, progress),
    progress,
    underWay: change !== undefined,
    failed: change?.failed !== undefined,
    ...(move.wakeAt === undefined ? {} : { wakeAt: move.wakeAt }),
    ...(move.word ? { health: move.word } : {}),
    ...(returned && !deepEqual(asJson(live ?? object), merged(asJson(live ?? object), returned))
      ? { giveBack: returned }
      : {}),
  };
}

/** What takes the holding fields off a workload that is let go of in the middle of a change, as a merge patch. */
export function letGoPatch(live: KubeObject): JsonObject | undefined {
  const own = progressOf(live)?.change?.own;
  if (!own) return undefined;
  const all: Record<string, JsonValue> = {};
  for (const path of heldFields(live) ?? []) all[path.join('.')] = own[path.join('.')] ?? null;
  return givenBack(all);
}

function templateDigest(object: KubeObject, retained: readonly RetainedField[]): string {
  return shortDigest(digestOf(statedTemplate(object, retained)));
}

/** What belongs to the cluster is no change. */
function statedTemplate(object: KubeObject, retained: readonly RetainedField[]): JsonValue {
  const stated = forCreation(
    object,
    retained.map((field) => (field.mode === 'fill' ? field : { ...field, mode: 'local' })),
  );
  return at(stated, 'spec', 'template') ?? null;
}

function hasTemplate(live: KubeObject, object: KubeObject, retained: readonly RetainedField[]): boolean {
  const { apiVersion, kind, metadata } = object;
  const template = statedTemplate(object, retained);
  return isAsWanted(
    live,
    { apiVersion, kind, metadata: { name: metadata.name ?? '' }, spec: { template } },
    [],
  );
}

async function seenOf(
  { object, settings, client, signal }: UpdateRequest,
  live: KubeObject,
  replicas: number,
  own: Readonly<Record<string, JsonValue>>,
  stepwise: boolean,
): Promise<SeenWorkload> {
  const { generation } = live.metadata;
  const current = at(live, 'status', 'observedGeneration') === generation;
  const looks = current && stepwise && settings.strategy === 'Canary' && live.kind === 'Deployment';
  const newest = looks ? await newestReplicaSet(client, live, signal) : undefined;
  const health = healthOf(live);
  return {
    current,
    replicas,
    ...countsOf(live, newest),
    minReadySeconds: minReadyOf(object, own),
    healthy: health.state === 'Healthy',
    paused: at(object, 'spec', 'paused') === true,
    message: health.message,
  };
}

const REVISION = 'deployment.kubernetes.io/revision';

/** The ReplicaSet of a Deployment's present template. */
async function newestReplicaSet(
  client: UpdateRequest['client'],
  live: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const resource = await client.resourceFor('apps/v1', 'ReplicaSet');
  const labels = at(live, 'spec', 'selector', 'matchLabels');
  const labelSelector = isObject(labels)
    ? Object.entries(labels)
        .map(([key, value]) => `${key}=${String(value)}`)
        .join(',')
    : '';
  const { items } = await client.list(resource, live.metadata.namespace ?? '', { labelSelector, signal });
  return items.find(
    ({ metadata }) =>
      metadata.annotations?.[REVISION] === live.metadata.annotations?.[REVISION] &&
      metadata.ownerReferences?.some(
        ({ uid, controller }) => controller === true && uid === live.metadata.uid,
      ),
  );
}

function noted(object: KubeObject, progress: UpdateProgress): KubeObject {
  // The same text for the same progress: a change of annotations is work for controllers as well.
  const annotations = {
    ...object.metadata.annotations,
    [WORKLOAD_UPDATE_ANNOTATION]: canonicalJson(progress),
  };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** What stands on a workload. Anybody may write there who may change the workload: what cannot be read says nothing. */
export function progressOf(live: KubeObject): UpdateProgress | undefined {
  const text = live.metadata.annotations?.[WORKLOAD_UPDATE_ANNOTATION] ?? '';
  if (text === '' || text.length > LONGEST_NOTE) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not written by a spoke.
    return undefined;
  }
  const template = at(value, 'template');
  const before = at(value, 'before');
  if (typeof template !== 'string') return undefined;
  const change = changeIn(at(value, 'change'));
  return {
    template,
    ...(typeof before === 'string' ? { before } : {}),
    ...(change ? { change } : {}),
  };
}

function changeIn(value: JsonValue | undefined): ChangeUnderWay | undefined {
  const step = at(value, 'step');
  const waitingSince = at(value, 'waitingSince');
  if (!isCount(step) || !isCount(waitingSince)) return undefined;
  const settled = at(value, 'settled');
  const availableSince = at(value, 'availableSince');
  const pausedSince = at(value, 'pausedSince');
  const pods = at(value, 'ready', 'pods');
  const since = at(value, 'ready', 'since');
  const order = at(value, 'failed', 'order');
  const message = at(value, 'failed', 'message');
  const own = at(value, 'own');
  return {
    step,
    waitingSince,
    ...(isCount(settled) ? { settled } : {}),
    ...(isCount(pods) && isCount(since) ? { ready: { pods, since } } : {}),
    ...(isCount(availableSince) ? { availableSince } : {}),
    ...(isCount(pausedSince) ? { pausedSince } : {}),
    ...(isCount(order) && typeof message === 'string' ? { failed: { order, message } } : {}),
    ...(isObject(own) ? { own: own as { [field: string]: JsonValue } } : {}),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function merged(object: JsonObject, patch: JsonObject): JsonObject {
  const out = { ...object };
  for (const [key, value] of Object.entries(patch)) {
    const inner = out[key];
    out[key] = isObject(value) && isObject(inner) ? merged(inner, value) : value;
  }
  return out;
}
