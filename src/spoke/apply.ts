import { type ContractRefusal, refusalText } from '../engine/contract/index.ts';
import { ADOPT_ANNOTATION, DISPATCH_LABEL, type ObjectWord } from '../engine/dispatch/index.ts';
import type { ApplyStrategy } from '../engine/intent.ts';
import { type RetainedField, readField, rivalOf } from '../engine/retain/index.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import { DeadlineExceeded, within } from '../kube/deadline.ts';
import { type KubeObject, type ObjectRef, refOf } from '../kube/object.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { errorText } from '../runtime/log.ts';
import { isAsWanted } from './contract/index.ts';
import { marked } from './marks.ts';
import { keepingLabel, untouchable } from './protected.ts';
import { unchangeableFields } from './replace.ts';
import { GIVING_BACK_MANAGER, type PreparedUpdate } from './workload-updates.ts';
import {
  type Attempt,
  ENSURED_ANNOTATION,
  SPOKE_MANAGER,
  takeUpApplying,
  wasReplaced,
  write,
} from './write.ts';

const DEADLINE_MS = 30_000;
/** Times that a write is tried on an object that changes under it. */
const ATTEMPTS = 4;

/** One object of a dispatch, and all that decides how it is written. */
export interface ApplyRequest {
  readonly dispatch: string;
  readonly object: KubeObject;
  /** Who asks for it, for people. */
  readonly origin: string;
  /** The UID that the spoke made before, '' when it never did: then what is there already is not taken over unasked. */
  readonly ownedUid: string;
  readonly strategy: ApplyStrategy;
  /** Fields that belong to the cluster. */
  readonly retained: readonly RetainedField[];
  /** Whether another dispatch, whose mark an object may carry, has let it go. */
  readonly letGo: (dispatch: string) => boolean;
  /** The object as it was seen last, without the record of its writers. */
  readonly seen: KubeObject | undefined;
  /** Another writer changed it: who that is will be told. */
  readonly drifted: boolean;
  readonly permit?: Permit;
  /** How a workload is written now whose change is looked after. */
  readonly update?: (live: KubeObject | undefined, signal: AbortSignal) => Promise<PreparedUpdate>;
  /** The content of the object is returned: for one that is only read, who asks must be allowed to have it. */
  readonly reads?: boolean;
}

/** What the contract of the cluster's owner says just before an object is written. */
export interface Permit {
  /** Whether it depends on the object as it is now. */
  readonly looks: boolean;
  refusal(verb: 'apply' | 'adopt', ref: ObjectRef, live: KubeObject | undefined): ContractRefusal | undefined;
}

export type Applied =
  | {
      readonly outcome: 'applied';
      readonly live: KubeObject;
      /** Whether the spoke answers for the object: not for one that it only looks at. */
      readonly owned: boolean;
      /** The manager that had changed what is wanted. */
      readonly rival?: string;
      readonly update?: PreparedUpdate;
    }
  /** It is not there, and it is not the spoke's to make it. */
  | { readonly outcome: 'absent' }
  | {
      readonly outcome: 'failed';
      readonly reason: string;
      readonly message: string;
      readonly word: ObjectWord;
      /** When another try may do, milliseconds since the epoch, where the contract says. */
      readonly retryAt?: number;
      /** Set where all that is wrong is that these fields cannot be changed on what is there. */
      readonly unchangeable?: readonly string[];
    };

type Failed = Extract<Applied, { outcome: 'failed' }>;

/** Brings one object to what it shall be, by its strategy. Writes nothing where it is so already; never throws. */
export async function applyOwned(client: Client, clock: Clock, request: ApplyRequest): Promise<Applied> {
  const { object } = request;
  const forbidden = untouchable(refOf(object));
  if (forbidden !== undefined)
    return { outcome: 'failed', reason: 'Protected', message: forbidden, word: 'CreationFailed' };
  const exists = request.ownedUid !== '';
  try {
    return await within(clock, DEADLINE_MS, (signal) => applyBy({ client, signal, request }));
  } catch (error) {
    if (error instanceof DeadlineExceeded) {
      const word = exists ? 'UpdateTimedOut' : 'CreationTimedOut';
      return { outcome: 'failed', reason: 'TimedOut', message: error.message, word };
    }
    const unread = error instanceof RetrievalFailed;
    const word = unread ? 'RetrievalFailed' : exists ? 'UpdateFailed' : 'CreationFailed';
    const cause = unread ? error.cause : error;
    const fields = unchangeableFields(cause);
    return {
      outcome: 'failed',
      word,
      ...described(cause),
      ...(fields === undefined ? {} : { unchangeable: fields }),
    };
  }
}

/** The object could not be read, so it was not written. */
class RetrievalFailed extends Error {
  constructor(cause: unknown) {
    super(errorText(cause), { cause });
    this.name = 'RetrievalFailed';
  }
}

/** What an API server, or the way to it, answered instead. */
export function described(error: unknown): { reason: string; message: string } {
  if (error instanceof StatusError)
    return { reason: error.reason || `Status${error.code}`, message: error.message };
  return { reason: 'Unreachable', message: errorText(error) };
}

async function applyBy(attempt: Attempt): Promise<Applied> {
  const { client, request } = attempt;
  const resource = await client.resourceFor(request.object.apiVersion, request.object.kind);
  for (let tries = 1; ; tries += 1) {
    try {
      return await applyOnce(attempt, resource);
    } catch (error) {
      // Somebody wrote or made the object between reading it and writing it.
      if (!isCrossed(error) || tries === ATTEMPTS) throw error;
    }
  }
}

/** Another write came first, which reading again mends. Fields that others own are no such case. */
function isCrossed(error: unknown): boolean {
  return (
    hasCode(error, 409) &&
    (error.reason === 'AlreadyExists' || (error.status.details?.causes ?? []).length === 0)
  );
}

async function applyOnce(attempt: Attempt, resource: ResourceId): Promise<Applied> {
  const { request } = attempt;
  const { strategy = 'ServerSideApply' } = request.strategy;
  const live = mustRead(request) ? await read(attempt, resource) : undefined;
  const present = live ?? request.seen;
  if (strategy === 'ReadOnly') {
    // Who may take an object over may know what is in it.
    const refusal = request.reads === true ? permission(request, resource, present, 'adopt') : undefined;
    if (refusal) return refusal;
    return present ? { outcome: 'applied', live: present, owned: false } : { outcome: 'absent' };
  }
  const keeping = present && keepingLabel(present);
  if (keeping !== undefined) return keptFrom(request, keeping);
  if (live && request.ownedUid === '') {
    const stranger = strangerAt(request, live);
    if (stranger !== undefined) {
      if (strategy === 'CreateOnly') return { outcome: 'applied', live, owned: false };
      return { outcome: 'failed', reason: 'AlreadyExists', message: stranger, word: 'AlreadyExists' };
    }
  }
  // What is made once and is there is not touched.
  const refusal = strategy === 'CreateOnly' && live ? undefined : permission(request, resource, present);
  if (refusal) return refusal;
  const rival = request.drifted && live ? rivalOf(live, request.object, SPOKE_MANAGER) : undefined;
  const base =
    live && strategy === 'ServerSideApply' && wasReplaced(live)
      ? await takeUpApplying(attempt, resource, live)
      : live;
  const update = await request.update?.(base, attempt.signal);
  const written = update
    ? await writeUpdate(attempt, resource, base, strategy, update)
    : await write(attempt, resource, base, strategy);
  return {
    outcome: 'applied',
    live: written,
    owned: true,
    ...(rival === undefined ? {} : { rival }),
    ...(update === undefined ? {} : { update }),
  };
}

/** A workload whose change is looked after: first it gets back what is held no longer, so that applying takes no part in that. */
async function writeUpdate(
  attempt: Attempt,
  resource: ResourceId,
  live: KubeObject | undefined,
  strategy: 'ServerSideApply' | 'Update' | 'CreateOnly',
  { object, giveBack }: PreparedUpdate,
): Promise<KubeObject> {
  const { client, signal, request } = attempt;
  let base = live;
  if (live && giveBack) {
    const { namespace = '', name = '', resourceVersion } = live.metadata;
    const patch = { ...giveBack, metadata: { resourceVersion } };
    base = await client.patch(resource, namespace, name, 'merge', patch, {
      fieldManager: GIVING_BACK_MANAGER,
      signal,
    });
  }
  return write({ ...attempt, request: { ...request, object } }, resource, base, strategy);
}

/**
 * Server-side apply needs to see the object only where it depends on what is there, or where all seems to be so already: then
 * its record tells whether there is anything to write.
 */
function mustRead(request: ApplyRequest): boolean {
  const { ownedUid, strategy, retained, object, drifted, seen, permit } = request;
  if (ownedUid === '' || drifted || request.update || (seen && wasReplaced(seen))) return true;
  if (seen === undefined && permit?.looks === true) return true;
  if ((strategy.strategy ?? 'ServerSideApply') !== 'ServerSideApply') return true;
  if (seen && isAsWanted(seen, marked(object, request.dispatch, request.origin), retained)) return true;
  return retained.some(
    ({ path, mode }) =>
      mode !== 'fill' ||
      path.some((step) => typeof step === 'object') ||
      readField(object, path) !== undefined,
  );
}

async function read(
  { client, signal, request }: Attempt,
  resource: ResourceId,
): Promise<KubeObject | undefined> {
  const { namespace = '', name = '' } = request.object.metadata;
  try {
    return await client.get(resource, namespace, name, { signal });
  } catch (error) {
    if (hasCode(error, 404)) return undefined;
    throw new RetrievalFailed(error);
  }
}

/** What the contract says. A namespace that an object of no namespace names is none. */
function permission(
  request: ApplyRequest,
  { namespaced }: ResourceId,
  live: KubeObject | undefined,
  as?: 'adopt',
): Failed | undefined {
  const ref = refOf(request.object);
  const place = namespaced ? ref : { ...ref, namespace: '' };
  const verb = as ?? (live && request.ownedUid === '' && isTakenOver(request, live) ? 'adopt' : 'apply');
  const refusal = request.permit?.refusal(verb, place, live);
  if (!refusal) return undefined;
  const { reason, retryAt } = refusal;
  return {
    outcome: 'failed',
    reason,
    message: refusalText(refusal),
    word: 'ContractRefused',
    ...(retryAt === undefined ? {} : { retryAt }),
  };
}

/** Whether an object was there before any order of a hub made it, or put its mark on it. */
function isTakenOver({ dispatch, letGo }: ApplyRequest, live: KubeObject): boolean {
  const owner = live.metadata.labels?.[DISPATCH_LABEL];
  if (owner === dispatch || (owner !== undefined && letGo(owner))) return false;
  return live.kind !== 'Namespace' || live.metadata.annotations?.[ENSURED_ANNOTATION] === undefined;
}

function keptFrom({ object }: ApplyRequest, label: string): Failed {
  const { name = '', namespace = '' } = object.metadata;
  const at = namespace === '' ? '' : ` -n ${namespace}`;
  return {
    outcome: 'failed',
    reason: 'ManagedLabelFalse',
    message: `the label ${label}=false keeps Atoll from it; to give it back: kubectl${at} label ${object.kind.toLowerCase()} ${name} ${label}-`,
    word: 'ManagedLabelFalse',
  };
}

function strangerAt({ dispatch, strategy, letGo }: ApplyRequest, live: KubeObject): string | undefined {
  const owner = live.metadata.labels?.[DISPATCH_LABEL];
  if (owner === dispatch || strategy.adopt === 'Always') return undefined;
  if (owner !== undefined && letGo(owner)) return undefined;
  if (owner !== undefined)
    return `it is claimed by dispatch ${owner} as well; select it in one propagation only`;
  if (live.kind === 'Namespace' && live.metadata.annotations?.[ENSURED_ANNOTATION] !== undefined)
    return undefined;
  return `it is on the cluster already and was not made by Atoll; delete it there, or annotate the source object with ${ADOPT_ANNOTATION}=true to take it over`;
}
