import type { DirectObject, RemoteObjectStatus } from '../../../dialects/kro/index.ts';
import { digestOf } from '../../../engine/digest.ts';
import { PRESERVE_ANNOTATION } from '../../../engine/dispatch/index.ts';
import { projectOn } from '../../../engine/drift/projection.ts';
import { returnedStatus } from '../../../engine/reflect/index.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { within } from '../../../kube/deadline.ts';
import { asJson, type KubeObject, refOf, refText } from '../../../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../../../kube/status-error.ts';
import type { Timer } from '../../../runtime/clock.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { actingClients } from '../cluster-run.ts';
import type { ClusterWay } from '../kept-connection.ts';
import { createKindWatches } from './kind-watches.ts';
import { CARRIED_LABEL } from './words.ts';

export interface CarryingOptions {
  /** What is to be on the cluster under that name, or is to go from it. */
  wanted(name: string): DirectObject | undefined;
  /** All of these. */
  names(): Iterable<string>;
  /** Why it may not be written: it is asked before each write that is no removal, and when what is read changes. */
  refusal(object: DirectObject): Promise<string | undefined>;
  report(object: DirectObject, status: Omit<RemoteObjectStatus, 'observedGeneration'>): Promise<void>;
  /** Whether the instance named the cluster by another Secret before: what has the mark of `other` goes on as this one's. */
  follows(object: DirectObject, other: string): boolean;
  /** There is nothing of it on the cluster. */
  release(object: DirectObject): Promise<void>;
  /** The user that it is written as; as the credential's own where there is none. */
  userFor(object: DirectObject): string | undefined;
}

/** Makes one cluster have what RemoteObjects say, for as long as it is on that API server. */
export interface Carrying {
  enqueue(name: string): void;
  stop(): Promise<void>;
}

interface Applied {
  readonly digest: string;
  readonly uid: string;
  /** What the cluster said of the fields that were written. */
  readonly seen: string;
  readonly at: number;
  /** Corrections one after the other: who fights is slowed down. */
  readonly corrections: number;
}

const CONCURRENCY = 8;
const ANSWER_MS = 10_000;
/** So long a watch may be broken before the cluster counts as unreachable; one that breaks is often back at once. */
const SILENT_MS = 5_000;
const AGAIN_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
const QUIET_MS = 60_000;
const MANAGER = 'atoll';

export function startCarrying(runtime: Runtime, way: ClusterWay, options: CarryingOptions): Carrying {
  const { clock } = runtime;
  const { client } = way;
  const { wanted, refusal, report, release, follows, userFor } = options;
  const acting = actingClients(way.handler, client);
  const applied = new Map<string, Applied>();
  const loop = startController(runtime, {
    name: 'objects of kubeconfig targets',
    concurrency: CONCURRENCY,
    reconcile,
  });
  const watches = createKindWatches(runtime, {
    client,
    onChange: (name) => loop.enqueue(name),
    onLive(live, error) {
      if (live) there();
      else silent(error);
    },
  });
  let silence: Timer | undefined;
  let stopped = false;

  function there(): void {
    silence?.cancel();
    silence = undefined;
    if (!stopped) way.tell({ state: 'Ready' });
  }

  function silent(error?: unknown): void {
    if (stopped) return;
    silence ??= clock.after(SILENT_MS, () => void look(error));
  }

  /** Before anything is watched, and when a watch breaks: a kind that cannot be watched says nothing of the cluster. */
  async function look(before?: unknown): Promise<void> {
    silence = undefined;
    try {
      await within(clock, ANSWER_MS, (signal) => client.getJson('/version', { signal }));
    } catch (error) {
      if (!(error instanceof StatusError) || error.code >= 500) {
        if (stopped) return;
        way.tell({ state: 'Unreachable', message: errorText(before ?? error) });
        silent();
        return;
      }
      // Whoever refuses is there.
    }
    there();
  }
  void look();

  async function reconcile(name: string): Promise<Result | undefined> {
    const object = wanted(name);
    if (!object) {
      watches.leave(name);
      applied.delete(name);
      return undefined;
    }
    try {
      if (object.metadata.deletionTimestamp !== undefined) return await remove(name, object);
      return await carry(name, object);
    } catch (error) {
      if (error instanceof StatusError && error.code < 500)
        await report(object, { state: 'Failed', message: `${textOf(object)}: ${errorText(error)}` });
      throw error;
    }
  }

  function clientFor(object: DirectObject): Client {
    const user = userFor(object);
    return user === undefined ? client : acting(user);
  }

  async function resourceOf({ spec: { object } }: DirectObject): Promise<ResourceId | undefined> {
    return ignoring(
      404,
      within(clock, ANSWER_MS, () => client.resourceFor(object.apiVersion, object.kind)),
    );
  }

  async function carry(name: string, object: DirectObject): Promise<Result | undefined> {
    const { reads = false, object: content } = object.spec;
    const resource = await resourceOf(object);
    if (!resource) {
      const message = `the cluster does not serve ${content.apiVersion} ${content.kind}`;
      await report(object, { state: 'Failed', message });
      return { requeueAfterMs: AGAIN_MS };
    }
    const ref = refOf(content);
    const watch = watches.use(name, resource, reads ? ref : undefined);
    if (watch.problem !== undefined && !watch.informer.live) {
      await report(object, {
        state: 'Failed',
        message: `${refText(ref)} cannot be watched: ${watch.problem}`,
      });
      return undefined;
    }
    // It tells when it is.
    if (!watch.informer.synced) return undefined;
    const seen = watch.informer.get(ref.namespace, ref.name);
    const refused = reads ? await refusal(object) : undefined;
    if (refused !== undefined) {
      await report(object, { state: 'Failed', message: refused });
      return { requeueAfterMs: AGAIN_MS };
    }
    if (!reads) return write(name, object, resource, seen);
    if (seen) await told(object, seen);
    else await report(object, { state: 'Waiting', message: 'it does not exist' });
    return undefined;
  }

  async function write(
    name: string,
    object: DirectObject,
    resource: ResourceId,
    watched: KubeObject | undefined,
  ): Promise<Result | undefined> {
    const { metadata, ...rest } = object.spec.object;
    const marked: KubeObject = {
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, [CARRIED_LABEL]: name } },
    };
    const to = clientFor(object);
    // What has no mark is not in the watch.
    const present = watched ?? (await read(to, resource, marked));
    const mark = present?.metadata.labels?.[CARRIED_LABEL];
    const handedOn = mark !== undefined && mark !== name && follows(object, mark);
    if (present && !handedOn && !isOurs(name, object, present)) {
      const message = `${refText(refOf(marked))} is there and not of this graph; to hand it over, label it there: ${CARRIED_LABEL}=${name}`;
      await report(object, { state: 'Failed', message });
      return { requeueAfterMs: AGAIN_MS };
    }
    if (present?.metadata.deletionTimestamp !== undefined) {
      await report(object, {
        state: 'Waiting',
        message: 'it is being deleted; it is made again when it is gone',
      });
      return undefined;
    }
    const digest = digestOf(asJson(marked));
    const last = applied.get(name);
    const same = last?.digest === digest;
    if (present && same && last.uid === present.metadata.uid && last.seen === seenOf(marked, present)) {
      await told(object, present);
      return undefined;
    }
    const wait = same ? pauseAfter(last) : 0;
    if (wait > 0) return { requeueAfterMs: wait };
    const refused = await refusal(object);
    if (refused !== undefined) {
      await report(object, { state: 'Failed', message: refused });
      return { requeueAfterMs: AGAIN_MS };
    }
    const result = await within(clock, ANSWER_MS, (signal) =>
      to.apply(resource, marked, { fieldManager: MANAGER, force: true, signal }),
    );
    const now = clock.monotonic();
    const fights = same && now - last.at < QUIET_MS;
    applied.set(name, {
      ...{ digest, uid: result.metadata.uid ?? '', seen: seenOf(marked, result), at: now },
      corrections: fights ? last.corrections + 1 : 0,
    });
    await told(object, result);
    return undefined;
  }

  function pauseAfter({ at, corrections }: Applied): number {
    if (corrections === 0) return 0;
    return at + Math.min(AGAIN_MS, FIRST_PAUSE_MS * 2 ** (corrections - 1)) - clock.monotonic();
  }

  async function read(by: Client, resource: ResourceId, object: KubeObject): Promise<KubeObject | undefined> {
    const { namespace = '', name = '' } = object.metadata;
    return ignoring(
      404,
      within(clock, ANSWER_MS, (signal) =>
        by.get(resource, resource.namespaced ? namespace : '', name, { signal }),
      ),
    );
  }

  async function told(object: DirectObject, present: KubeObject): Promise<void> {
    const returned = returnedStatus(present, 'Healthy', 'Raw', true, object.spec.returns ?? []);
    if (returned?.truncated === true) {
      await report(object, { state: 'Failed', message: 'what is asked of it is too large to be told' });
      return;
    }
    const { status = {}, fields = {} } = returned ?? {};
    await report(object, {
      state: 'Applied',
      ...(object.spec.reads !== true && { uid: present.metadata.uid ?? '' }),
      ...(Object.keys(status).length > 0 && { status }),
      ...(Object.keys(fields).length > 0 && { fields }),
    });
  }

  async function remove(name: string, object: DirectObject): Promise<Result | undefined> {
    const resource = await resourceOf(object);
    const by = clientFor(object);
    const present = resource && (await read(by, resource, object.spec.object));
    if (!resource || !present || !isOurs(name, object, present)) {
      await release(object);
      return undefined;
    }
    const { namespace = '', name: of = '', uid = '', annotations = {}, deletionTimestamp } = present.metadata;
    const place = resource.namespaced ? namespace : '';
    if (annotations[PRESERVE_ANNOTATION] === 'true') {
      const patch = { metadata: { uid, labels: { [CARRIED_LABEL]: null } } };
      await within(clock, ANSWER_MS, (signal) => by.patch(resource, place, of, 'merge', patch, { signal }));
      await release(object);
      return undefined;
    }
    watches.use(name, resource);
    if (deletionTimestamp === undefined)
      await within(clock, ANSWER_MS, (signal) =>
        by.delete(resource, place, of, {
          ...{ preconditions: { uid }, propagationPolicy: 'Background', signal },
        }),
      ).catch((error: unknown) => {
        if (!hasCode(error, 404)) throw error;
      });
    await report(object, { state: 'Waiting', message: 'it is being removed' });
    return { requeueAfterMs: FIRST_PAUSE_MS };
  }

  for (const name of options.names()) loop.enqueue(name);

  return {
    enqueue: (name) => loop.enqueue(name),
    async stop() {
      stopped = true;
      silence?.cancel();
      watches.stop();
      await loop.stop();
    },
  };
}

/** By its mark; where somebody took that away, by the UID that it was made with. One with another mark was handed over. */
function isOurs(name: string, { status }: DirectObject, { metadata }: KubeObject): boolean {
  const mark = metadata.labels?.[CARRIED_LABEL];
  return mark === undefined ? metadata.uid !== undefined && metadata.uid === status?.uid : mark === name;
}

function seenOf(marked: KubeObject, present: KubeObject): string {
  return digestOf([projectOn(asJson(marked), asJson(present)) ?? null]);
}

function textOf({ spec: { object } }: DirectObject): string {
  return refText(refOf(object));
}
