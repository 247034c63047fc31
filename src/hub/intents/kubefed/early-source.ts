import { compileEarly, isOrphaned } from '../../../dialects/kubefed/index.ts';
import type { Compiled } from '../../../engine/compiled.ts';
import type { Intent } from '../../../engine/intent.ts';
import type { Result } from '../../../kube/controller.ts';
import type { EventRecorder } from '../../../kube/events.ts';
import { gvkOf, type KubeObject } from '../../../kube/object.ts';
import { namespaces } from '../../../kube/well-known.ts';
import {
  authorOf,
  type ControlPlane,
  EARLY_NAMESPACE_KEY,
  type Early,
  type EarlyType,
  earlyKeyOf,
  type Federation,
} from '../../kubefed/index.ts';
import { setFinalizers } from '../finalizers.ts';
import type { IntentFindings, IntentSource } from '../intent-source.ts';
import type { IntentRecords } from '../records.ts';
import { heldIntent, recordedSource, rememberDecision } from './recorded.ts';

const FINALIZER = 'federation.k8s.io/sync-controller';

export interface EarlySourceOptions {
  readonly controlPlane: ControlPlane;
  readonly early: Early;
  readonly federation: Federation;
  readonly records: IntentRecords;
  readonly events: EventRecorder;
  /** Whether what objects say of their author is the API server's word. */
  readonly authorsBelieved: () => boolean;
}

/** Templates of the early form, with the placements and overrides of the same name, as intents. */
export function openEarlySource(options: EarlySourceOptions, onChange: (key: string) => void): IntentSource {
  const { controlPlane, early, federation, records, events } = options;
  const { client } = controlPlane;
  /** What was told of each object last: these kinds have no status. */
  const told = new Map<string, string>();
  const unsubscribe = early.onWish(onChange);

  function typeOf(object: KubeObject): EarlyType | undefined {
    const { group, kind } = gvkOf(object);
    return early.type(group === '' ? EARLY_NAMESPACE_KEY : `${kind}.${group}`);
  }

  function keyIn(object: KubeObject): string {
    return earlyKeyOf(typeOf(object)?.key ?? '', object);
  }

  function writerOf(object: KubeObject): Intent['author'] {
    return options.authorsBelieved() ? authorOf(object) : undefined;
  }

  function authorIn(object: KubeObject): Intent['author'] {
    return writerOf(object) ?? controlPlane.author;
  }

  return {
    finalizer: FINALIZER,
    selfContained: true,
    get synced() {
      return early.synced;
    },
    owns: (key) => early.type(key.slice(0, key.indexOf('/'))) !== undefined,
    get(key) {
      if (!early.synced || early.blind) return undefined;
      const [kind = '', namespace = '', name = ''] = key.split('/');
      const object =
        kind === EARLY_NAMESPACE_KEY
          ? early.namespaces().find(({ metadata }) => metadata.name === name)
          : early.type(kind)?.templates?.get(namespace, name);
      if (!object) told.delete(key);
      return object;
    },
    *entries(): Iterable<[string, KubeObject]> {
      if (!early.synced || early.blind) return;
      for (const type of early.types())
        for (const object of type.templates?.list() ?? []) yield [earlyKeyOf(type.key, object), object];
      for (const object of early.namespaces()) yield [earlyKeyOf(EARLY_NAMESPACE_KEY, object), object];
    },
    compile(object): Compiled {
      const entry = typeOf(object);
      if (!entry?.type) return heldIntent(object, `it is not known which type ${object.kind} stands for`);
      const parts = early.partsOf(entry, object);
      const writer = writerOf(object);
      const author = authorIn(object);
      const other = parts.override && writerOf(parts.override)?.username;
      // One could otherwise act with the rights of the other.
      if (writer !== undefined && other !== undefined && other !== writer.username)
        return heldIntent(
          object,
          `${writer.username} wrote the template and ${other} the override: what both say together is nobody's. Next: let one of them write both`,
        );
      const compiled = compileEarly(parts, {
        type: entry.type,
        controlPlane: federation.controlPlane,
        adopt: true,
        ...(author === undefined ? {} : { author }),
      });
      return {
        // Namespaces are in none, whatever is said of what is in them.
        intent: {
          ...compiled.intent,
          source: { ...recordedSource(object), generation: object.metadata.generation ?? 0 },
        },
        skipped: [],
        emptySelectors: [],
        problems: compiled.hold === undefined ? [] : [compiled.hold],
        blocked: compiled.blocked,
      };
    },
    concernedBy: () => false,
    author: authorIn,
    releases: ({ metadata }) => isOrphaned(metadata.annotations),
    record: (object) => records.get(recordedSource(object)),
    writeRecord: async (object, record) => records.write(recordedSource(object), record),
    async report(object, findings): Promise<Result | undefined> {
      await rememberDecision(records, object, findings);
      const text = problemsOf(findings);
      const key = keyIn(object);
      if ((told.get(key) ?? '') === text) return undefined;
      told.set(key, text);
      if (text === '')
        events.record(object, 'Normal', 'Propagated', 'it is on every cluster that it goes to');
      else events.record(object, 'Warning', 'CheckClusters', text);
      return undefined;
    },
    async setFinalizers(object, finalizers): Promise<void> {
      const entry = typeOf(object);
      const resource = entry?.key === EARLY_NAMESPACE_KEY ? namespaces : entry?.templates?.resource;
      if (!resource) return;
      await setFinalizers(client, resource, object, finalizers);
      if (!finalizers.includes(FINALIZER) && object.metadata.deletionTimestamp !== undefined)
        await records.remove(recordedSource(object));
    },
    stop(): void {
      unsubscribe();
    },
  };
}

/** What stands in the way, without what is only under way. */
function problemsOf({ selection, summary }: IntentFindings): string {
  if (!selection.ok) return selection.reason === 'Reading' ? '' : selection.message;
  return summary.notReady
    .filter(({ word }) => word === 'Degraded')
    .map(({ cluster, message }) => `${cluster}: ${message}`)
    .join('; ');
}
