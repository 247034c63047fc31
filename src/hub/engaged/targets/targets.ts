import {
  type DirectObject,
  isDirect,
  isGivenUp,
  REMOTE_OBJECT_KIND,
  type RemoteObjectStatus,
  type SecretName,
} from '../../../dialects/kro/index.ts';
import { LABELS } from '../../../engine/graph/index.ts';
import type { Author } from '../../../engine/intent.ts';
import type { Client } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import { installKinds, resourceIdOf } from '../../../kube/custom-resource.ts';
import type { Change } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { startLeadership } from '../../../kube/leadership.ts';
import { ignoring } from '../../../kube/status-error.ts';
import { sleep } from '../../../runtime/clock.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual, type JsonObject } from '../../../schema/json.ts';
import { readingRights } from '../../author/index.ts';
import { setFinalizers } from '../../intents/finalizers.ts';
import { openGraphDefinitions } from '../../intents/graphs/index.ts';
import type { ClusterClients } from '../cluster-clients.ts';
import type { ActAs } from '../cluster-run.ts';
import { startTargetChecks } from './checks.ts';
import { startTarget, type Target } from './target.ts';
import { DIRECT_FINALIZER } from './words.ts';

export interface KubeconfigTargetsOptions {
  /** The hub's own. */
  readonly client: Client;
  readonly clients: ClusterClients;
  /** Of the kubeconfig in a Secret. */
  readonly key: string;
  /** Where several processes could do it: one does, by a Lease. */
  readonly worker?: { readonly identity: string; readonly namespace: string };
  readonly actAs?: ActAs;
}

/** What graphs of the hub have on clusters that they name by a Secret. */
export interface KubeconfigTargets {
  stop(): Promise<void>;
}

/** The targets that somebody needs, each open once. */
export interface OpenTargets {
  /** Whoever needs it says so under a name of its own, and with another Secret lets go of the one before. */
  need(user: string, secret: SecretName): Target;
  leave(user: string): void;
  /** Why somebody may not use a Secret. */
  refusal(author: Author | undefined, secret: SecretName): Promise<string | undefined>;
}

const REMOTES = resourceIdOf(REMOTE_OBJECT_KIND);
const LEASE = 'engaged-targets';
const RETRY_MS = 5_000;
const AGAIN_MS = 30_000;
/** Somebody wrote the object in between: its copy here follows. */
const CATCH_UP_MS = 40;
const GIVE_UP = (name: string): string =>
  `to wait no longer: kubectl annotate remoteobject ${name} atoll.dev/give-up=true`;

/** Costs a watch of RemoteObjects and one of definitions until the first that names a Secret is there. */
export function startKubeconfigTargets(
  runtime: Runtime,
  options: KubeconfigTargetsOptions,
): KubeconfigTargets {
  const { worker, client } = options;
  const { clock, log } = runtime;
  const ending = new AbortController();
  let work: KubeconfigTargets | undefined;

  async function begin(): Promise<void> {
    while (!ending.signal.aborted) {
      try {
        await installKinds(clock, client, [REMOTE_OBJECT_KIND]);
        if (ending.signal.aborted) return;
        work = worker
          ? startLeadership(runtime, { client, ...worker, name: LEASE }, () => startWork(runtime, options))
          : startWork(runtime, options);
        return;
      } catch (error) {
        log.warn('clusters cannot be reached by kubeconfigs yet', { error: errorText(error) });
        await sleep(clock, RETRY_MS, ending.signal);
      }
    }
  }
  begin().catch((error: unknown) => {
    if (!ending.signal.aborted)
      log.error('clusters could not be reached by kubeconfigs', { error: errorText(error) });
  });

  return {
    async stop() {
      ending.abort(new Error('the targets are let go of'));
      await work?.stop();
    },
  };
}

function startWork(runtime: Runtime, options: KubeconfigTargetsOptions): KubeconfigTargets {
  const { client, clients, key, actAs } = options;
  const { clock } = runtime;
  const graphs = openGraphDefinitions(runtime, client);
  const remotes = startInformer<DirectObject>(runtime, client, REMOTES);
  const rights = readingRights(client, clock);
  const open = new Map<string, { readonly target: Target; readonly users: Set<string> }>();
  const needed = new Map<string, string>();
  const closing = new Set<Promise<void>>();
  const loop = startController(runtime, { name: 'kubeconfig targets', concurrency: 16, reconcile });
  let ready = false;
  let stopped = false;

  const targets: OpenTargets = {
    need(user, secret) {
      const where = `${secret.namespace}/${secret.name}`;
      if (needed.get(user) !== where) leave(user);
      const found = open.get(where) ?? begin(where, secret);
      open.set(where, found);
      found.users.add(user);
      needed.set(user, where);
      return found.target;
    },
    leave,
    refusal,
  };
  const checks = startTargetChecks(runtime, { client, graphs, targets });

  function begin(where: string, secret: SecretName): { target: Target; users: Set<string> } {
    const users = new Set<string>();
    const target = startTarget(runtime, {
      ...{ client, clients, secret, key },
      names: () => users,
      wanted(name) {
        const object = users.has(name) ? remotes.get('', name) : undefined;
        return object && isDirect(object) && placeOf(object) === where ? object : undefined;
      },
      refusal: (object) => refusal(graphs.authorBehind(object), secret),
      async report(object, status) {
        // What was found out before it went is nothing to tell.
        if (target.state.word === 'Ready') await report(object, status);
      },
      release,
      follows,
      userFor,
      onState() {
        for (const user of users) {
          loop.enqueue(user);
          checks.look(user);
        }
      },
    });
    return { target, users };
  }

  function leave(user: string): void {
    const where = needed.get(user);
    needed.delete(user);
    const found = where === undefined ? undefined : open.get(where);
    found?.users.delete(user);
    // It may have something under way that is to know of it.
    found?.target.enqueue(user);
    if (where === undefined || !found || found.users.size > 0) return;
    open.delete(where);
    const ending = found.target.stop();
    closing.add(ending);
    ending.then(
      () => closing.delete(ending),
      (error: unknown) => runtime.log.warn('a target could not be left', { error: errorText(error) }),
    );
  }

  async function refusal(
    author: Author | undefined,
    { namespace, name }: SecretName,
  ): Promise<string | undefined> {
    const where = `Secret ${namespace}/${name}`;
    if (author === undefined || author.username === '')
      return `who wrote the definition is not known, so nobody may use the ${where}; next: write its spec again`;
    try {
      const refs = [{ apiVersion: 'v1', kind: 'Secret', namespace, name }];
      if ((await rights.unreadable(author, refs)).size === 0) return undefined;
      return `${author.username}, who wrote the definition, may not get the ${where} at the hub`;
    } catch (error) {
      return `the hub cannot ask whether ${author.username} may get the ${where}: ${errorText(error)}`;
    }
  }

  /** The newer one of an instance: what it wants no longer goes when the new one is there, and must not wait for that. */
  function follows({ metadata: { labels = {}, creationTimestamp } }: DirectObject, other: string): boolean {
    const before = remotes.get('', other);
    if (!before || !isDirect(before)) return false;
    const [of, set] = [before.metadata.labels?.[LABELS.partOf], labels[LABELS.partOf]];
    const [then, now] = [before.metadata.creationTimestamp ?? '', creationTimestamp ?? ''];
    return set !== undefined && of === set && then < now;
  }

  function userFor({ metadata: { labels = {} } }: DirectObject): string | undefined {
    if (!actAs) return undefined;
    const id = labels[LABELS.graphId];
    const graph = graphs.informer.list().find(({ metadata }) => metadata.uid === id);
    return actAs(
      graph?.metadata.name ?? labels[LABELS.graphName] ?? '',
      labels[LABELS.instanceNamespace] ?? '',
    );
  }

  async function reconcile(name: string): Promise<Result | undefined> {
    const object = ready ? remotes.get('', name) : undefined;
    if (!object || !isDirect(object)) {
      if (ready && !checks.has(name)) leave(name);
      return undefined;
    }
    const { finalizers = [], deletionTimestamp } = object.metadata;
    const { kubeconfigSecret: secret, reads = false } = object.spec;
    const going = deletionTimestamp !== undefined;
    if (going) {
      const held = finalizers.includes(DIRECT_FINALIZER);
      if (held && (reads || isGivenUp(object))) await release(object);
      if (!held || reads || isGivenUp(object)) {
        leave(name);
        return undefined;
      }
    } else {
      const refused = await refusal(graphs.authorBehind(object), secret);
      if (refused !== undefined) {
        leave(name);
        await report(object, { state: 'Failed', message: refused });
        return { requeueAfterMs: AGAIN_MS };
      }
      // Before anything is there.
      if (!reads && !finalizers.includes(DIRECT_FINALIZER)) {
        await setFinalizers(client, REMOTES, object, [...finalizers, DIRECT_FINALIZER]);
        return { requeueAfterMs: CATCH_UP_MS };
      }
    }
    const target = targets.need(name, secret);
    const { word, message } = target.state;
    if (word === 'Ready') target.enqueue(name);
    else
      await report(object, {
        state: word === 'Refused' ? 'Failed' : word === 'Unreachable' ? 'Stale' : 'Waiting',
        message: going ? `its removal waits: ${message}; ${GIVE_UP(name)}` : message,
      });
    return undefined;
  }

  async function report(
    object: DirectObject,
    found: Omit<RemoteObjectStatus, 'observedGeneration'>,
  ): Promise<void> {
    const { name = '', uid = '', generation = 0 } = object.metadata;
    const now = remotes.get('', name);
    if (stopped || now?.metadata.uid !== uid) return;
    // What was seen last; the state says that it is not of now.
    const before = found.state === 'Applied' ? {} : lastSeen(now);
    const status = { observedGeneration: generation, ...before, ...found };
    if (deepEqual(status as unknown, now.status as unknown)) return;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'add', path: '/status', value: status as unknown as JsonObject },
    ];
    // 422: the test failed, it is another one now.
    await ignoring([404, 422], client.patch(REMOTES, '', name, 'json', patch, { subresource: 'status' }));
  }

  async function release(object: DirectObject): Promise<void> {
    const now = remotes.get('', object.metadata.name ?? '');
    if (now?.metadata.uid !== object.metadata.uid) return;
    const { finalizers = [] } = now?.metadata ?? {};
    if (now && finalizers.includes(DIRECT_FINALIZER))
      await setFinalizers(
        client,
        REMOTES,
        now,
        finalizers.filter((item) => item !== DIRECT_FINALIZER),
      );
  }

  function changed({ type, object, previous }: Change<DirectObject>): void {
    if (!isDirect(object)) return;
    const { metadata, spec } = object;
    if (
      type !== 'updated' ||
      !previous ||
      !deepEqual(spec as unknown, previous.spec as unknown) ||
      !deepEqual(metadata.finalizers, previous.metadata.finalizers) ||
      metadata.deletionTimestamp !== previous.metadata.deletionTimestamp ||
      isGivenUp(object) !== isGivenUp(previous)
    )
      loop.enqueue(metadata.name ?? '');
  }

  remotes.onChange(changed);
  graphs.informer.onChange(({ type, object, previous }) => {
    if (type === 'updated' && previous && deepEqual(graphs.author(object), graphs.author(previous))) return;
    for (const remote of remotes.list())
      if (isDirect(remote) && remote.metadata.labels?.[LABELS.graphId] === object.metadata.uid)
        loop.enqueue(remote.metadata.name ?? '');
  });
  Promise.all([remotes.whenSynced(), graphs.whenReady()]).then(
    () => {
      ready = true;
      for (const object of remotes.list()) if (isDirect(object)) loop.enqueue(object.metadata.name ?? '');
    },
    (error: unknown) => {
      if (!stopped) runtime.log.error('targets cannot be followed', { error: errorText(error) });
    },
  );

  return {
    async stop() {
      stopped = true;
      await Promise.all([loop.stop(), checks.stop()]);
      graphs.stop();
      remotes.stop();
      await Promise.all([...[...open.values()].map(({ target }) => target.stop()), ...closing]);
      open.clear();
    },
  };
}

function placeOf({ spec: { kubeconfigSecret: secret } }: DirectObject): string {
  return `${secret.namespace}/${secret.name}`;
}

/** What was seen last. */
function lastSeen({ status: { status, fields, uid } = {} }: DirectObject): Partial<RemoteObjectStatus> {
  return { ...(status && { status }), ...(fields && { fields }), ...(uid !== undefined && { uid }) };
}
