import {
  apiVersionOfKind,
  COMPOSITION_LABEL,
  type HubChild,
  type HubObject,
  namespacePolicyOf,
  type RemoteObject,
  type ResourceGraphDefinition,
} from '../../../dialects/kro/index.ts';
import { digestOf } from '../../../engine/digest.ts';
import { ANNOTATIONS } from '../../../engine/graph/index.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import type { Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { asJson, type KubeObject, refKey } from '../../../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../../../kube/status-error.ts';
import { namespaces } from '../../../kube/well-known.ts';
import { sleep } from '../../../runtime/clock.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual, listAt, stringAt } from '../../../schema/json.ts';
import type { Fleet } from '../../fleet.ts';
import type { IntentRecords } from '../../intents/records.ts';
import {
  type Answer,
  type Answers,
  answerIn,
  COMPOSITION_MANAGER,
  openAnswers,
  recordName,
} from './answers.ts';
import { toldFields, toldStatus, type WantedChild, wantedChild } from './child.ts';
import { type Composing, composingOf, sourceOf } from './composing.ts';
import { formerSpecs } from './former-specs.ts';
import { spokeWishes } from './spoke-wishes.ts';

export interface CompositionsOptions {
  readonly client: Client;
  readonly fleet: Fleet;
  readonly definitions: Informer<ResourceGraphDefinition>;
  readonly records: IntentRecords;
}

export interface Compositions {
  stop(): Promise<void>;
}

/** On a namespace that was made for a cluster: which, and how it is called there. For people. */
const ORIGIN_NAMESPACE = 'atoll.dev/originating-namespace';
/** Statuses change in bursts; each answer is an order. */
const GATHER_MS = 250;
const RETRY_MS = 15_000;
const LONG_RETRY_MS = 300_000;
/** What one spoke can have the hub make. */
const MAX_OF_A_SPOKE = 10_000;
/** They stay when what was in them goes. */
const MAX_NAMESPACES_OF_A_SPOKE = 1_000;

/**
 * Makes on the hub what instances of spokes have there, and tells them of it. For each there is a RemoteObject, written before anything is
 * made: it carries the answer to the spoke, and is the hub's memory of what it made there for whom. What was made goes only when the
 * spoke's HubObject is being deleted; one that is simply not there any more deletes nothing.
 */
export function startCompositions(
  runtime: Runtime,
  { client, fleet, definitions, records }: CompositionsOptions,
): Compositions {
  const answers = openAnswers(runtime, client, (spoke, name) => queue.enqueue(keyOf(spoke, name)));
  const { memory } = answers;
  const wishes = spokeWishes(runtime, fleet, (spoke, name) => {
    if (name !== undefined) queue.enqueue(keyOf(spoke, name));
    else enqueueSpoke(spoke);
  });
  /** What was made, by kind. */
  const children = new Map<string, Informer>();
  /** Digests of what was applied last, with the UID that it has. */
  const applied = new Map<string, { readonly digest: string; readonly uid: string }>();
  let found: Composing | undefined;
  /** Kinds that only the hub serves, as they were when revisions were read. */
  let readFor = '';
  const former = formerSpecs(client, (spec) =>
    (spec.resources ?? []).some(({ template }) =>
      [...composing().hubOnly.values()].some(({ kind }) => kind.kind === template?.['kind']),
    ),
  );
  const queue = startController(runtime, { name: 'compositions', reconcile });

  function enqueueSpoke(spoke: string): void {
    for (const name of wishes.of(spoke)?.names() ?? []) queue.enqueue(keyOf(spoke, name));
    for (const name of answers.names(spoke)) queue.enqueue(keyOf(spoke, name));
  }

  function isSentTo(spoke: string): (definition: ResourceGraphDefinition) => boolean {
    return (definition) => records.get(sourceOf(definition))?.dispatchedTo?.includes(spoke) === true;
  }

  function composing(): Composing {
    found ??= composingOf(definitions.list(), former.of);
    return found;
  }

  function follow(spoke: string): void {
    const sent = composing().sources.some(({ source }) => records.get(source)?.dispatchedTo?.includes(spoke));
    wishes.follow(spoke, sent || answers.count(spoke) > 0);
  }

  function watchKinds(): void {
    const { hubOnly: kinds } = composing();
    const used = new Set(composing().kinds);
    for (const record of memory.list()) {
      const { apiVersion, kind } = answerIn(record).child ?? {};
      if (apiVersion !== undefined && kind !== undefined) used.add(`${apiVersion}/${kind}`);
    }
    for (const key of used) if (!children.has(key)) watchChildren(key, kinds);
  }

  function watchChildren(key: string, kinds: Composing['hubOnly']): void {
    const found = [...kinds.values()].find(({ kind }) => `${apiVersionOfKind(kind)}/${kind.kind}` === key);
    if (!found) return;
    const { group, version, plural, kind, namespaced } = found.kind;
    const resource: ResourceId = { group, version, resource: plural, kind, namespaced };
    const informer = startInformer(runtime, client, resource, { labelSelector: COMPOSITION_LABEL });
    children.set(key, informer);
    informer.onChange(({ object }) => {
      const record = memory.get('', object.metadata.labels?.[COMPOSITION_LABEL] ?? '');
      if (record)
        queue.enqueue(keyOf(record.spec.cluster, record.spec.object.metadata.name ?? ''), GATHER_MS);
    });
  }

  async function begin(): Promise<void> {
    await Promise.all([definitions.whenSynced(), memory.whenSynced(), records.whenSynced()]);
    definitions.onChange(({ object, previous }) => {
      if (
        previous &&
        deepEqual(object.spec as unknown, previous.spec as unknown) &&
        sameMarks(object, previous)
      )
        return;
      const before = composing();
      if (previous) former.note(previous);
      found = undefined;
      readRevisions();
      const name = object.metadata.name ?? '';
      if (before.concerned.has(name) || composing().concerned.has(name)) lookAtAll();
    });
    fleet.onChange(({ spoke, dispatch, order, cluster }) => {
      // Who has which definition is told by what is on the spokes.
      const sent = order === true && composing().sources.some((item) => item.dispatch === dispatch);
      if (cluster !== true && (dispatch === undefined || sent)) follow(spoke);
    });
    readRevisions();
    lookAtAll();
  }

  /** Where there are other kinds than before, other revisions count. */
  function readRevisions(): void {
    const kinds = [...composing().hubOnly.keys()].sort().join(' ');
    if (stopping || kinds === readFor) return;
    readFor = kinds;
    former.read().then(
      () => {
        found = undefined;
        lookAtAll();
      },
      (error: unknown) => {
        readFor = '';
        if (stopping) return;
        runtime.log.warn('revisions of graphs cannot be read', { why: errorText(error) });
        sleep(runtime.clock, RETRY_MS).then(readRevisions, () => undefined);
      },
    );
  }

  function lookAtAll(): void {
    watchKinds();
    for (const spoke of fleet.names()) {
      follow(spoke);
      enqueueSpoke(spoke);
    }
  }

  let stopping = false;
  begin().catch((error: unknown) => {
    if (!stopping) runtime.log.error('compositions could not start', { why: errorText(error) });
  });

  async function childOf({ apiVersion, kind, namespace, name }: HubChild): Promise<KubeObject | undefined> {
    // Where the kind is gone, all of it is.
    const resource = await ignoring(404, client.resourceFor(apiVersion, kind));
    return resource && ignoring(404, client.get(resource, namespace, name));
  }

  async function reconcile(key: string): Promise<Result | undefined> {
    const [spoke = '', name = ''] = key.split('\n');
    const seen = wishes.of(spoke);
    if (!seen || !memory.synced || !definitions.synced || !records.synced) return undefined;
    const wish = seen.get(name);
    const record = answers.get(spoke, name);
    if (!record && answers.count(spoke) >= MAX_OF_A_SPOKE) {
      runtime.log.warn('a spoke wants more of the hub than it gets', { spoke, most: MAX_OF_A_SPOKE });
      return { requeueAfterMs: LONG_RETRY_MS };
    }
    if (!wish) return record && forgotten(key, record);
    if (wish.metadata.deletionTimestamp !== undefined) return remove(key, spoke, wish, record);
    const definition = definitions.get('', String(wish.spec?.graph));
    const sent = definition && isSentTo(spoke)(definition) ? definition : undefined;
    const wanted = wantedChild(spoke, wish, recordName(spoke, name), sent, composing());
    if ('problem' in wanted) {
      // What was made before is there until the wish goes.
      await answer(spoke, wish, { ...madeFor(record), state: 'Failed', message: wanted.problem });
      return undefined;
    }
    return make(key, spoke, wish, record, wanted);
  }

  /** Nobody asks for it any more, and nobody said that it is to go: a spoke that was given up, set back or set up anew. */
  async function forgotten(key: string, record: RemoteObject): Promise<Result | undefined> {
    const reply = answerIn(record);
    const child = reply.child && (await childOf(reply.child));
    if (child && isOurs(child, record)) {
      if (child.metadata.deletionTimestamp !== undefined || reply.state === 'Kept') return undefined;
      const message = `${record.spec.cluster} asks for it no longer, and did not say that it is to go: it is kept on the hub until somebody deletes it there`;
      await answers.amend(record, { ...reply, state: 'Kept', message });
      return undefined;
    }
    applied.delete(key);
    await answers.forget(record);
    return undefined;
  }

  async function remove(
    key: string,
    spoke: string,
    wish: HubObject,
    record: RemoteObject | undefined,
  ): Promise<Result | undefined> {
    const about = madeFor(record);
    const child = about.child && (await childOf(about.child));
    if (child && record && isOurs(child, record) && answerIn(record).uid !== wish.metadata.uid) {
      // A spoke that was set back speaks of a wish of before.
      const message = `what is on the hub was made for another ${wish.kind} of this name: it is kept there`;
      await answer(spoke, wish, { ...about, state: 'Gone', message });
      return undefined;
    }
    if (!child || !record || !isOurs(child, record)) {
      applied.delete(key);
      await answer(spoke, wish, { ...about, state: 'Gone' });
      return undefined;
    }
    if (child.metadata.deletionTimestamp === undefined) {
      const resource = await client.resourceFor(child.apiVersion, child.kind);
      const { namespace = '', name = '', uid = '' } = child.metadata;
      await ignoring(404, client.delete(resource, namespace, name, { preconditions: { uid } }));
      return { requeueAfterMs: GATHER_MS };
    }
    await answer(spoke, wish, { ...about, state: 'Waiting', message: goingMessage(child) });
    return undefined;
  }

  async function make(
    key: string,
    spoke: string,
    wish: HubObject,
    before: RemoteObject | undefined,
    wanted: WantedChild,
  ): Promise<Result | undefined> {
    const known = before && answerIn(before);
    const same = isAbout(known?.child, wanted.child);
    const other =
      before && known?.child && !isSameObject(known.child, wanted.child) ? known.child : undefined;
    const there = other && (await childOf(other));
    if (before && other && there && isOurs(there, before)) {
      // It would be forgotten on the hub, and a wish that goes on changing would have any number made.
      const message = `refused: ${other.kind} ${other.name} was made on the hub for it, and it cannot become another; delete it first`;
      await answer(spoke, wish, { ...madeFor(before), state: 'Failed', message });
      return undefined;
    }
    const about = { child: same && known?.child ? known.child : wanted.child, origin: wanted.origin };
    // Before it is made: who looks after it must know where it comes from.
    const record =
      before && same && deepEqual(known?.origin, about.origin)
        ? before
        : await answer(spoke, wish, {
            ...about,
            state: 'Waiting',
            message: 'it is being made on the hub',
          });
    try {
      const missing = await ensureNamespace(spoke, wanted);
      if (missing !== undefined) {
        await answer(spoke, wish, { ...about, state: 'Failed', message: missing });
        return { requeueAfterMs: RETRY_MS };
      }
      const present = await childOf(wanted.child);
      if (present && !isOurs(present, record)) {
        const message = `there is a ${wanted.child.kind} ${wanted.child.name} on the hub already, which was not made for it`;
        await answer(spoke, wish, { ...about, state: 'Failed', message });
        return { requeueAfterMs: RETRY_MS };
      }
      if (present?.metadata.deletionTimestamp !== undefined) {
        await answer(spoke, wish, { ...about, state: 'Waiting', message: goingMessage(present) });
        return undefined;
      }
      const digest = digestOf(asJson(wanted.object));
      const last = applied.get(key);
      const current =
        present &&
        last?.digest === digest &&
        last.uid === present.metadata.uid &&
        present.metadata.annotations?.[ANNOTATIONS.origin] === spoke &&
        deepEqual(present['spec'], { ...(present['spec'] as object), ...(wanted.object['spec'] as object) });
      const child = current ? present : await apply(wanted);
      if (!current) applied.set(key, { digest, uid: child.metadata.uid ?? '' });
      const status = toldStatus(child, textsIn(wish.spec.returnsStatus));
      const fields = toldFields(child, textsIn(wish.spec.returns));
      await answer(spoke, wish, {
        ...about,
        child: { ...wanted.child, uid: child.metadata.uid ?? '' },
        state: 'Applied',
        ...(wanted.refused !== undefined && { message: wanted.refused }),
        ...(Object.keys(status).length > 0 && { status }),
        ...(Object.keys(fields).length > 0 && { fields }),
      });
      return undefined;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      await answer(spoke, wish, { ...about, state: 'Failed', message: errorText(error) });
      throw error;
    }
  }

  async function apply({ object }: WantedChild): Promise<KubeObject> {
    const resource = await client.resourceFor(object.apiVersion, object.kind);
    return client.apply(resource, object, { fieldManager: COMPOSITION_MANAGER, force: true });
  }

  /** Why what is wanted cannot be: its namespace on the hub is not there. */
  async function ensureNamespace(
    spoke: string,
    { child: { namespace }, origin, definition }: WantedChild,
  ): Promise<string | undefined> {
    if (namespace === '') return undefined;
    try {
      const { metadata } = await client.get(namespaces, '', namespace);
      return metadata.deletionTimestamp === undefined
        ? undefined
        : `the namespace ${namespace} of the hub is being deleted`;
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    if (namespacePolicyOf(definition) === 'Require')
      return `there is no namespace ${namespace} on the hub, where what the namespace ${origin.namespace} of ${spoke} has there goes: make it`;
    const mark = recordName(spoke, '');
    const made = await client.list(namespaces, '', { labelSelector: `${COMPOSITION_LABEL}=${mark}` });
    if (made.items.length >= MAX_NAMESPACES_OF_A_SPOKE)
      return `the hub made ${MAX_NAMESPACES_OF_A_SPOKE} namespaces for ${spoke} and makes no more: delete some of them, or make ${namespace}`;
    const annotations = { [ANNOTATIONS.origin]: spoke, [ORIGIN_NAMESPACE]: origin.namespace };
    const labels = { [COMPOSITION_LABEL]: mark };
    const object = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels, annotations },
    };
    await client.apply(namespaces, object, { fieldManager: COMPOSITION_MANAGER });
    return undefined;
  }

  function answer(
    spoke: string,
    wish: HubObject,
    said: Parameters<Answers['answer']>[3],
  ): Promise<RemoteObject> {
    const definition = definitions.get('', String(wish.spec?.graph));
    return answers.answer(spoke, wish, definition?.metadata.uid, said);
  }

  return {
    async stop() {
      stopping = true;
      wishes.stop();
      answers.stop();
      for (const informer of children.values()) informer.stop();
      await queue.stop();
    },
  };
}

/** What is remembered of what was made, or is about to be. */
function madeFor(record: RemoteObject | undefined): Pick<Answer, 'child' | 'origin'> {
  const { child, origin } = record ? answerIn(record) : {};
  return { ...(child && { child }), ...(origin && { origin }) };
}

function keyOf(spoke: string, name: string): string {
  return `${spoke}\n${name}`;
}

/** Whether it was made for this: its mark says so, or it is the one that is remembered, whoever took the mark away. */
function isOurs({ metadata }: KubeObject, record: RemoteObject): boolean {
  const remembered = answerIn(record).child?.uid;
  return (
    metadata.labels?.[COMPOSITION_LABEL] === record.metadata.name ||
    (remembered !== undefined && remembered === metadata.uid)
  );
}

function isAbout(known: HubChild | undefined, { apiVersion, kind, namespace, name }: HubChild): boolean {
  return (
    known?.apiVersion === apiVersion &&
    known.kind === kind &&
    known.namespace === namespace &&
    known.name === name
  );
}

/** In whatever version. */
function isSameObject(a: HubChild, b: HubChild): boolean {
  return refKey(a) === refKey(b);
}

function sameMarks({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return (
    deepEqual(a.labels, b.labels) &&
    deepEqual(a.annotations, b.annotations) &&
    a.deletionTimestamp === b.deletionTimestamp
  );
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Why an instance that is being deleted is there still, as it says itself. */
function goingMessage(child: KubeObject): string {
  const conditions = listAt(child['status'], 'conditions');
  const said = conditions.find((item) => stringAt(item, 'reason') === 'UnderDeletion');
  const message = stringAt(said, 'message');
  return `it is being deleted on the hub${message === undefined || message === '' ? '' : `: ${message}`}`;
}
