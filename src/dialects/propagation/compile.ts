import {
  type Closure,
  closureOf,
  compileReferenceRule,
  definitionsAmong,
  type ReferenceRule,
} from '../../engine/closure/index.ts';
import type { Compiled } from '../../engine/compiled.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { portable } from '../../engine/render/portable.ts';
import { DEFAULT_TIMEOUT_S, updateProblems } from '../../engine/rollout/index.ts';
import { RESOURCE_RULE, type ResourceRule } from '../../engine/rules/index.ts';
import {
  compiledSelector,
  type NamespaceLabels,
  neverPropagated,
  type ResourceSelector,
  selects,
} from '../../engine/select/index.ts';
import { apiVersionOf } from '../../kube/custom-resource.ts';
import { gvkOf, type KubeObject, type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import { isAwaited, steeringOf } from './steering.ts';
import type { Propagation } from './types.ts';

/** What a change may take away by deselection unless the propagation says otherwise. */
export const DEFAULT_DELETION_BUDGET = '50%';

/** What compiling may ask beside the objects of a kind. */
export interface CompileReading {
  /** Read as objects of their kind where nothing is given. */
  readonly namespaces?: NamespaceLabels;
  /** What people taught of the kinds that objects name; the ResourceRules among the objects where nothing is given. */
  readonly referenceRule?: (object: KubeObject) => ReferenceRule | undefined;
  /** Objects of a kind that need not be served: nobody selected it, objects only name it. */
  readonly named?: (selector: ResourceSelector) => readonly KubeObject[];
}

const bound = new WeakMap<readonly ResourceSelector[], readonly ResourceSelector[]>();

/** The selectors of a propagation, bound to the namespace that it may select from. The same for the same spec. */
export function effectiveSelectors(propagation: Propagation): readonly ResourceSelector[] {
  const { resourceSelectors } = propagation.spec;
  const namespace = propagation.metadata.namespace;
  if (namespace === undefined) return resourceSelectors;
  let selectors = bound.get(resourceSelectors);
  if (!selectors) {
    selectors = resourceSelectors.map((selector) => ({ ...selector, namespace }));
    bound.set(resourceSelectors, selectors);
  }
  return selectors;
}

/**
 * The intent of a propagation. `candidates` gives all objects of a selector's kind. A Propagation reaches objects of its
 * own namespace only: cluster-scoped kinds and other namespaces need a ClusterPropagation.
 */
export function compilePropagation(
  propagation: Propagation,
  candidates: (selector: ResourceSelector) => readonly KubeObject[],
  reading: CompileReading = {},
): Compiled {
  const chosen = new Map<string, KubeObject>();
  const skipped: { ref: ObjectRef; reason: string }[] = [];
  const emptySelectors: number[] = [];
  const problems: string[] = [];
  const named = reading.named ?? candidates;
  const stock = createStock(named);
  const namespaces =
    reading.namespaces ??
    ((name: string): Record<string, string> | undefined => {
      const found = stock({ apiVersion: 'v1', kind: 'Namespace', namespace: '', name });
      return found && (found.metadata.labels ?? {});
    });
  effectiveSelectors(propagation).forEach((selector, index) => {
    const { issues, selects } = compiledSelector(selector);
    if (issues.length > 0) {
      problems.push(...issues.map((issue) => `resourceSelectors[${index}].${issue}`));
      return;
    }
    let matched = 0;
    for (const object of candidates(selector)) {
      if (!selects(object, namespaces)) continue;
      const reason = neverPropagated(object);
      if (reason !== undefined) {
        if (selector.name !== undefined) skipped.push({ ref: refOf(object), reason });
        continue;
      }
      matched += 1;
      chosen.set(refKey(refOf(object)), object);
    }
    if (matched === 0) emptySelectors.push(index);
  });
  const { uid = '', name = '', namespace = '', generation = 0 } = propagation.metadata;
  const {
    placement,
    dependencies,
    overrides = [],
    apply,
    suspend = false,
    suspension,
    author,
    rollout,
    revisionHistoryLimit,
    deletionBudget = DEFAULT_DELETION_BUDGET,
    clusterBudget,
  } = propagation.spec;
  if (apply?.workloadUpdate)
    for (const problem of updateProblems(
      apply.workloadUpdate,
      rollout && (rollout.timeoutSeconds ?? DEFAULT_TIMEOUT_S),
    ))
      problems.push(`apply.workloadUpdate.${problem}`);
  const closure = dependencies && closureFor(propagation, [...chosen.values()], named, stock, reading);
  const all = [...chosen.values(), ...(closure?.added ?? []).map(({ object }) => object)];
  const objects = all.map(portable).sort((a, b) => compareForApply(refOf(a), refOf(b)));
  return {
    intent: {
      source: {
        apiVersion: propagation.apiVersion,
        kind: propagation.kind,
        namespace,
        name,
        uid,
        generation,
      },
      ...(author === undefined ? {} : { author }),
      objects,
      placement,
      overrides,
      suspend: suspend || suspension?.dispatching === true,
      deletionBudget,
      ...(clusterBudget === undefined ? {} : { clusterBudget }),
      ...(propagation.spec.replicas === undefined ? {} : { replicas: propagation.spec.replicas }),
      ...(apply === undefined ? {} : { applyStrategy: apply }),
      ...((closure?.added ?? []).length === 0
        ? {}
        : { shared: closure?.added.map(({ object }) => refOf(object)) ?? [] }),
      ...(propagation.spec.returnStatus === undefined ? {} : { returns: propagation.spec.returnStatus }),
      ...(rollout === undefined ? {} : { rollout }),
      ...(revisionHistoryLimit === undefined ? {} : { revisionHistoryLimit }),
      ...steeringOf(propagation.spec, propagation.metadata.namespace),
    },
    skipped,
    emptySelectors,
    problems,
    ...(closure === undefined ? {} : { closure }),
    templates: all,
  };
}

/** Where only what is selected may change what a propagation comes to: its selectors. */
export function reachOf(propagation: Propagation): readonly ResourceSelector[] | undefined {
  const { dependencies, waitFor = [] } = propagation.spec;
  const selectors = effectiveSelectors(propagation);
  const isClosed =
    dependencies === undefined &&
    waitFor.length === 0 &&
    selectors.every(({ namespaceSelector }) => namespaceSelector === undefined);
  return isClosed ? selectors : undefined;
}

/** Whether a change of an object may change what a propagation comes to. `compiled` is what it came to last. */
export function concernedBy(
  propagation: Propagation,
  compiled: Compiled | undefined,
  object: KubeObject,
  namespaces?: NamespaceLabels,
): boolean {
  const selectors = effectiveSelectors(propagation);
  if (selectors.some((selector) => selects(selector, object, namespaces))) return true;
  if (isAwaited(propagation.spec, propagation.metadata.namespace, object)) return true;
  const { references, backends, definitions, namespaces: spaces } = propagation.spec.dependencies ?? {};
  if (object.kind === 'Namespace')
    return spaces === true || selectors.some(({ namespaceSelector }) => namespaceSelector !== undefined);
  if (object.kind === DEFINITIONS.kind && definitions === true) return true;
  if ((references !== true && backends !== true) || !compiled?.closure) return false;
  if (object.kind === RULES.kind && object.apiVersion === RULES.apiVersion) return true;
  const key = refKey(refOf(object));
  const { added, missing, refused } = compiled.closure;
  return (
    added.some((item) => refKey(refOf(item.object)) === key) ||
    missing.some((item) => refKey(item.ref) === key) ||
    refused.some((item) => refKey(item.ref) === key)
  );
}

/** Finds objects by name, with one look through each kind. */
function createStock(
  candidates: (selector: ResourceSelector) => readonly KubeObject[],
): (ref: ObjectRef) => KubeObject | undefined {
  const kinds = new Map<string, Map<string, KubeObject>>();
  return (ref) => {
    const { apiVersion, kind } = ref;
    let objects = kinds.get(`${apiVersion}/${kind}`);
    if (!objects) {
      objects = new Map(candidates({ apiVersion, kind }).map((object) => [refKey(refOf(object)), object]));
      kinds.set(`${apiVersion}/${kind}`, objects);
    }
    return objects.get(refKey(ref));
  };
}

const DEFINITIONS = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };

const RULES = { apiVersion: apiVersionOf(RESOURCE_RULE), kind: RESOURCE_RULE.kind };

/** Of several rules for a kind the first by name holds, as on the clusters. What is wrong teaches nothing. */
function taughtBy(rules: readonly ResourceRule[]): CompileReading['referenceRule'] {
  const taught = rules.filter(({ spec }) => (spec.references ?? []).length > 0);
  if (taught.length === 0) return undefined;
  const byKind = new Map<string, ReferenceRule>();
  for (const { spec } of taught.sort((a, b) =>
    (a.metadata.name ?? '') < (b.metadata.name ?? '') ? 1 : -1,
  )) {
    const rule = compiledReferences(spec.references ?? []);
    if (rule) byKind.set(`${spec.target.group ?? ''}/${spec.target.kind}`, rule);
  }
  return (object) => {
    const { group, kind } = gvkOf(object);
    return byKind.get(`${group}/${kind}`);
  };
}

const compiledRules = new WeakMap<readonly string[], ReferenceRule | 'wrong'>();

function compiledReferences(expressions: readonly string[]): ReferenceRule | undefined {
  let rule = compiledRules.get(expressions);
  if (rule === undefined) {
    rule = compileReferenceRule(expressions).rule ?? 'wrong';
    compiledRules.set(expressions, rule);
  }
  return rule === 'wrong' ? undefined : rule;
}

/** What comes along. A Propagation speaks for its namespace only, so nothing else comes along with it. */
function closureFor(
  { spec, metadata }: Propagation,
  objects: readonly KubeObject[],
  named: (selector: ResourceSelector) => readonly KubeObject[],
  stock: (ref: ObjectRef) => KubeObject | undefined,
  reading: CompileReading,
): Closure {
  const { references, backends } = spec.dependencies ?? {};
  const follows = references === true || backends === true;
  const referenceRule =
    reading.referenceRule ?? (follows ? taughtBy(named(RULES) as readonly ResourceRule[]) : undefined);
  let find: ReturnType<typeof definitionsAmong> | undefined;
  return closureOf(
    objects,
    {
      object: stock,
      definition: (group, kind) => {
        find ??= definitionsAmong(named(DEFINITIONS));
        return find(group, kind);
      },
      never: neverPropagated,
      ...(referenceRule === undefined ? {} : { rule: referenceRule }),
    },
    { ...spec.dependencies, ...(metadata.namespace === undefined ? {} : { within: metadata.namespace }) },
  );
}
