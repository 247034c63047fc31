import { gvkOf, type KubeObject, type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';
import type { ReferenceRule } from './reference-rule.ts';
import { type Reference, referencesOf } from './references.ts';

/** Which dependencies come along. */
export interface ClosureOptions {
  /** ConfigMaps, Secrets, ServiceAccounts and claims that workloads name, and what rules of other kinds say. */
  readonly references?: boolean;
  /** Services that Ingresses and routes lead to. */
  readonly backends?: boolean;
  /** Definitions of custom kinds. */
  readonly definitions?: boolean;
  /** Namespaces with what is written on them. Without it a spoke makes a plain one. */
  readonly namespaces?: boolean;
  /** Only what is in this namespace comes along: the limit of who may select no more than that. */
  readonly within?: string;
}

/** What the closure reads: objects of the hub as it knows them. */
export interface ClosureSource {
  /** `undefined` where there is none. */
  object(ref: ObjectRef): KubeObject | undefined;
  /** The definition of a custom kind; `undefined` for kinds of Kubernetes itself. */
  definition(group: string, kind: string): KubeObject | undefined;
  /** What objects of a kind name beside what is known of the kind. */
  readonly rule?: (object: KubeObject) => ReferenceRule | undefined;
  /** Why an object must not be sent. */
  readonly never?: (object: KubeObject) => string | undefined;
}

export interface Closure {
  /** What comes along, in the order in which it was found. */
  readonly added: readonly { readonly object: KubeObject; readonly neededBy: ObjectRef }[];
  /** What is named and not there, but for what is optional. */
  readonly missing: readonly { readonly ref: ObjectRef; readonly neededBy: ObjectRef }[];
  /** What is there and does not come along, with the reason. */
  readonly refused: readonly {
    readonly ref: ObjectRef;
    readonly neededBy: ObjectRef;
    readonly reason: string;
  }[];
}

/** More is a mistake: a rule that goes round and round over ever new names. */
const MAX_ADDED = 10_000;

/** What some objects need to work, and what that needs in turn. Pure; each object comes once, and none that is there already. */
export function closureOf(
  objects: readonly KubeObject[],
  source: ClosureSource,
  options: ClosureOptions,
): Closure {
  const seen = new Set(objects.map((object) => refKey(refOf(object))));
  const added: { object: KubeObject; neededBy: ObjectRef }[] = [];
  const missing: { ref: ObjectRef; neededBy: ObjectRef }[] = [];
  const refused: { ref: ObjectRef; neededBy: ObjectRef; reason: string }[] = [];
  const queue: KubeObject[] = [...objects];

  function take(object: KubeObject, neededBy: ObjectRef): void {
    const ref = refOf(object);
    const reason =
      source.never?.(object) ??
      (options.within !== undefined && ref.namespace !== options.within
        ? `it is outside of namespace ${options.within}; a ClusterPropagation can bring it along`
        : undefined);
    if (reason !== undefined) refused.push({ ref, neededBy, reason });
    else if (added.length >= MAX_ADDED)
      refused.push({ ref, neededBy, reason: `more than ${MAX_ADDED} objects` });
    else {
      added.push({ object, neededBy });
      queue.push(object);
    }
  }

  function follow(ref: ObjectRef, optional: boolean, neededBy: ObjectRef): void {
    const key = refKey(ref);
    if (seen.has(key)) return;
    seen.add(key);
    const object = source.object(ref);
    if (object) take(object, neededBy);
    else if (!optional) missing.push({ ref, neededBy });
  }

  // The queue grows while it is walked.
  for (const object of queue) {
    const ref = refOf(object);
    for (const reference of wanted(object, source, options)) follow(reference.ref, reference.optional, ref);
    if (options.namespaces === true && ref.namespace !== '')
      follow({ apiVersion: 'v1', kind: 'Namespace', namespace: '', name: ref.namespace }, true, ref);
    if (options.definitions !== true) continue;
    const { group, kind } = gvkOf(object);
    const definition = source.definition(group, kind);
    if (definition && !seen.has(refKey(refOf(definition)))) {
      seen.add(refKey(refOf(definition)));
      take(definition, ref);
    }
  }
  return { added, missing, refused };
}

function wanted(object: KubeObject, source: ClosureSource, options: ClosureOptions): readonly Reference[] {
  if (options.references !== true && options.backends !== true) return [];
  const all = [...referencesOf(object), ...(source.rule?.(object)?.(object) ?? [])];
  return all.filter(({ by }) => (by === 'Backend' ? options.backends === true : options.references === true));
}

/** Finds definitions by the kinds that they define. */
export function definitionsAmong(
  definitions: Iterable<KubeObject>,
): (group: string, kind: string) => KubeObject | undefined {
  const byKind = new Map<string, KubeObject>();
  for (const definition of definitions) {
    const kind = stringAt(definition, 'spec', 'names', 'kind');
    if (kind !== undefined) byKind.set(`${stringAt(definition, 'spec', 'group') ?? ''}/${kind}`, definition);
  }
  return (group, kind) => byKind.get(`${group}/${kind}`);
}
