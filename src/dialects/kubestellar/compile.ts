import { closureOf } from '../../engine/closure/index.ts';
import type { Compiled } from '../../engine/compiled.ts';
import type { Author, ObjectStrategy } from '../../engine/intent.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { portable } from '../../engine/render/portable.ts';
import type { ResourceId } from '../../kube/client.ts';
import { type KubeObject, type ObjectRef, refOf } from '../../kube/object.ts';
import { neverListed } from './never-listed.ts';
import { listedIn, listedKey } from './resolve.ts';
import type { Binding, ListedObject, Modulation } from './types.ts';

/** On an object of the hub: `"false"` lets copies that are there be as they are. */
export const OVERWRITE_ANNOTATION = 'edge.kubestellar.io/downsync-overwrite';

export interface BindingReading {
  /** How a listed resource is addressed; `undefined` where the hub does not serve it. */
  kind(listed: ListedObject): ResourceId | undefined;
  /** Why it is not known what a group serves, where that is so. */
  mystery?(group: string): string | undefined;
  object(kind: ResourceId, listed: ListedObject): KubeObject | undefined;
  /** The definition of a custom kind. */
  definition(group: string, kind: string): KubeObject | undefined;
  /** What all Bindings together say of an object, and how many clusters those mean that ask for its status. */
  combined(listed: ListedObject): { readonly modulation: Modulation; readonly reporting: number };
}

export interface CompiledBinding extends Compiled {
  /** Of what is listed and cannot be brought. It keeps nothing else back. */
  readonly errors: readonly string[];
}

/** Withdrawing what is not listed any more is what a Binding is for, however much it is. */
const DELETION_BUDGET = '100%';
const MAX_ERRORS = 20;

/** The intent of a Binding: the objects that it lists, as they are now, on the clusters that it names. */
export function compileBinding(binding: Binding, reading: BindingReading, author?: Author): CompiledBinding {
  const { name = '', uid = '', generation = 0 } = binding.metadata;
  const chosen = new Map<string, KubeObject>();
  const templates: KubeObject[] = [];
  const createOnly = new Set<KubeObject>();
  const skipped: { ref: ObjectRef; reason: string }[] = [];
  const errors: string[] = [];
  const problems: string[] = [];
  for (const listed of listedIn(binding.spec)) {
    const key = listedKey(listed);
    if (chosen.has(key)) {
      errors.push(`${textOf(listed)} is listed twice`);
      continue;
    }
    const kind = reading.kind(listed);
    const mystery = kind ? undefined : reading.mystery?.(listed.group ?? '');
    if (mystery !== undefined) {
      problems.push(`it is not known whether the hub serves ${textOf(listed)}: ${mystery}`);
      continue;
    }
    const object = kind && reading.object(kind, listed);
    if (!object) {
      errors.push(
        kind
          ? `${textOf(listed)} is not at the hub`
          : `the hub serves no ${listed.resource} of ${listed.group ? `group ${listed.group}` : 'the core group'}`,
      );
      continue;
    }
    const reason = neverListed(object);
    if (reason !== undefined) {
      skipped.push({ ref: refOf(object), reason });
      continue;
    }
    chosen.set(key, object);
    const { modulation, reporting } = reading.combined(listed);
    if (modulation.createOnly === true || object.metadata.annotations?.[OVERWRITE_ANNOTATION] === 'false')
      createOnly.add(object);
    if (reports(modulation, reporting, object)) templates.push(object);
  }
  const selected = [...chosen.values()];
  const strategies = createOnlyStrategies(selected, createOnly);
  const closure = closureOf(
    selected,
    { object: () => undefined, definition: reading.definition, never: neverListed },
    { definitions: true },
  );
  const all = [...selected, ...closure.added.map(({ object }) => object)];
  const objects = all.map(portable).sort((a, b) => compareForApply(refOf(a), refOf(b)));
  const clusterNames = [...new Set((binding.spec?.destinations ?? []).map(({ clusterId }) => clusterId))];
  return {
    intent: {
      source: { apiVersion: binding.apiVersion, kind: binding.kind, namespace: '', name, uid, generation },
      ...(author === undefined ? {} : { author }),
      objects,
      placement: { clusterNames: clusterNames.sort() },
      overrides: [],
      suspend: false,
      deletionBudget: DELETION_BUDGET,
      // What several Bindings bring is brought once, and stays as long as one of them does.
      ...(objects.length === 0 ? {} : { shared: objects.map(refOf) }),
      ...(strategies.length === 0 ? {} : { objectStrategies: strategies }),
      returns: templates.length === 0 ? 'None' : 'Aggregate',
    },
    skipped,
    emptySelectors: [],
    problems: problems.slice(0, MAX_ERRORS),
    closure,
    templates,
    errors: errors.slice(0, MAX_ERRORS),
  };
}

function reports(
  { wantMultiWECReportedState: multi, wantSingletonReportedState: single }: Modulation,
  clusters: number,
  { kind, apiVersion }: KubeObject,
): boolean {
  // They live at the hub as well, with a status of their own.
  if (kind === 'CustomResourceDefinition' || (kind === 'Namespace' && apiVersion === 'v1')) return false;
  return multi === true || (single === true && clusters === 1);
}

/** A kind of which all objects are meant is named once. */
function createOnlyStrategies(
  selected: readonly KubeObject[],
  createOnly: ReadonlySet<KubeObject>,
): readonly ObjectStrategy[] {
  const strategy = 'CreateOnly';
  const byKind = Map.groupBy(selected, ({ apiVersion, kind }) => `${apiVersion}/${kind}`);
  return [...byKind.values()].flatMap((objects): ObjectStrategy[] => {
    const meant = objects.filter((object) => createOnly.has(object));
    const [first] = meant;
    if (!first) return [];
    const { apiVersion, kind } = first;
    if (meant.length === objects.length) return [{ target: { apiVersion, kind }, strategy }];
    return meant.map(({ metadata: { name = '', namespace = '' } }) => ({
      target: { apiVersion, kind, name, namespace },
      strategy,
    }));
  });
}

function textOf({ resource, namespace, name }: ListedObject): string {
  return `${resource} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
