import {
  ATOLL_API_VERSION,
  BUNDLE,
  type Bundle,
  BYTES_ANNOTATION,
  DISPATCH,
  type Dispatch,
  type DispatchSpec,
  OWNERSHIP_RECORD,
  type OwnershipRecord,
  SYSTEM_NAMESPACE,
} from '../../engine/dispatch/index.ts';
import { readFailure } from '../../kube/answer.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import { readBody } from '../../kube/exchange.ts';
import type { KubeObject, ObjectMeta } from '../../kube/object.ts';
import { hasCode, ignoring } from '../../kube/status-error.ts';
import { type Clock, parseTime } from '../../runtime/clock.ts';
import { listAt } from '../../schema/json.ts';
import type { SpokeSession } from '../fleet.ts';
import type { BudgetSpent, ByteBudget, Sent } from './byte-budget.ts';

/** All that a hub writes on a spoke, and what it reads there for that. A spoke that does not answer holds nobody up. */
export interface SpokeApi {
  /** Whether the spoke has no dispatch of this name, by its own word: the copy here may not show yet what was written last. */
  isAbsent(session: SpokeSession, name: string): Promise<boolean>;
  /** Writes a dispatch, in place of the one that is there. */
  write(
    session: SpokeSession,
    name: string,
    present: Dispatch | undefined,
    spec: DispatchSpec,
  ): Promise<void>;
  remove(session: SpokeSession, present: Dispatch): Promise<void>;
  /** What the spoke remembers of an order. */
  record(session: SpokeSession, name: string): Promise<Partial<OwnershipRecord>>;
  /**
   * Sends the content of orders, which has the name of its digest: what is there already is the same, unless the spoke says that
   * it is not and it is to be written over. Several bundles are compared by name first, so that an upload that broke off goes on
   * where it was, and a change of a large intent sends what changed only. Where the spoke's bytes are spent before the last one,
   * it says so.
   */
  sendBundles(
    session: SpokeSession,
    bundles: readonly Bundle[],
    overwrite: boolean,
  ): Promise<BudgetSpent | undefined>;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const BUNDLES = resourceIdOf(BUNDLE);
const RECORDS = resourceIdOf(OWNERSHIP_RECORD);
const FOLDER = `/apis/${ATOLL_API_VERSION}/namespaces/${SYSTEM_NAMESPACE}`;
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const NAME_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
const USER_AGENT = 'atoll-hub';
const WRITE_TIMEOUT_MS = 15_000;

/** A spoke did not answer a write in time: whether it was done there is not known. */
export class SpokeTimedOut extends Error {
  constructor() {
    super(`the spoke did not answer a write within ${WRITE_TIMEOUT_MS / 1000} s`);
    this.name = 'SpokeTimedOut';
  }
}

export function createSpokeApi(clock: Clock, byteBudget: ByteBudget): SpokeApi {
  async function sendBundles(
    session: SpokeSession,
    bundles: readonly Bundle[],
    overwrite: boolean,
  ): Promise<BudgetSpent | undefined> {
    const { client } = session;
    const isCompared = bundles.length > 1 && !overwrite;
    const isRecalled = bundles.length > 0 && byteBudget.lacks(session.name);
    const known = isCompared || isRecalled ? await bundlesThere(session) : [];
    if (isRecalled) byteBudget.recall(session.name, known.map(sentAs));
    const there = isCompared ? new Set(known.map(({ name = '' }) => name)) : undefined;
    for (const bundle of bundles) {
      const { namespace = '', name = '' } = bundle.metadata;
      if (there?.has(name)) continue;
      const spent = byteBudget.spend(session.name, bundle.spec.data.length);
      if (spent) return spent;
      try {
        await put(session, 'POST', BUNDLES.resource, bundle);
      } catch (error) {
        if (!hasCode(error, 409)) throw error;
        if (!overwrite) continue;
        await within(async (signal) => {
          const present = await client.get<Bundle>(BUNDLES, namespace, name, { signal });
          await client.update(BUNDLES, { ...present, spec: bundle.spec }, { signal });
        });
      }
    }
    return undefined;
  }

  /** The bundles on a spoke, without their content. */
  async function bundlesThere(session: SpokeSession): Promise<ObjectMeta[]> {
    const response = await within((signal) =>
      session.client.handler({
        method: 'GET',
        path: `${FOLDER}/${BUNDLES.resource}`,
        headers: { accept: NAMES_ONLY },
        signal,
      }),
    );
    const list: unknown = JSON.parse(Buffer.from(await readBody(response)).toString('utf8'));
    // Where there is none, a list of names alone has `null`.
    const items = response.status === 200 ? (listAt(list, 'items') as KubeObject[]) : [];
    return items.map(({ metadata }) => metadata);
  }

  /** What was written is known here already: the spoke need not send it back. */
  async function put(
    session: SpokeSession,
    method: 'POST' | 'PUT',
    resource: string,
    object: KubeObject,
  ): Promise<void> {
    const path = `${FOLDER}/${resource}`;
    const headers = { accept: NAME_ONLY, 'content-type': 'application/json', 'user-agent': USER_AGENT };
    const body = Buffer.from(JSON.stringify(object));
    await within(async (signal) => {
      const response = await session.client.handler({ method, path, headers, body, signal });
      if (response.status < 200 || response.status > 299) throw await readFailure(response, path);
      await readBody(response);
    });
  }

  async function within<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const timer = clock.after(WRITE_TIMEOUT_MS, () => controller.abort());
    try {
      return await act(controller.signal);
    } catch (error) {
      throw controller.signal.aborted ? new SpokeTimedOut() : error;
    } finally {
      timer.cancel();
    }
  }

  return {
    sendBundles,
    async isAbsent(session: SpokeSession, name: string): Promise<boolean> {
      try {
        await within((signal) => session.client.get(DISPATCHES, SYSTEM_NAMESPACE, name, { signal }));
        return false;
      } catch (error) {
        if (hasCode(error, 404)) return true;
        throw error;
      }
    },
    write(session, name, present, spec): Promise<void> {
      if (present) return put(session, 'PUT', `${DISPATCHES.resource}/${name}`, { ...present, spec });
      const fresh: Dispatch = {
        apiVersion: ATOLL_API_VERSION,
        kind: DISPATCH.kind,
        metadata: { name, namespace: SYSTEM_NAMESPACE },
        spec,
      };
      return put(session, 'POST', DISPATCHES.resource, fresh);
    },
    async remove(session, { metadata: { name = '', uid = '' } }): Promise<void> {
      // A request may come twice, and the answer to the second be the one that arrives.
      await ignoring(
        404,
        within((signal) =>
          session.client.delete(DISPATCHES, SYSTEM_NAMESPACE, name, { signal, preconditions: { uid } }),
        ),
      );
    },
    record: (session, name) =>
      within((signal) => session.client.get<OwnershipRecord>(RECORDS, SYSTEM_NAMESPACE, name, { signal })),
  };
}

/** What came with a bundle that is on a spoke. Of one without a size nothing is known. */
function sentAs({ creationTimestamp, annotations }: ObjectMeta): Sent {
  return {
    at: parseTime(creationTimestamp) ?? 0,
    bytes: Number(annotations?.[BYTES_ANNOTATION] ?? 0) || 0,
  };
}
