import type { Intent } from '../../engine/intent.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { portable } from '../../engine/render/portable.ts';
import { neverPropagated, type ResourceSelector, selects } from '../../engine/select/select.ts';
import { type KubeObject, type ObjectRef, refKey, refOf } from '../../kube/object.ts';
import { selectorFromObject } from '../../schema/label-selector.ts';
import type { Propagation } from './types.ts';

/** What a change may take away by deselection unless the propagation says otherwise. */
export const DEFAULT_DELETION_BUDGET = '50%';

export interface Compiled {
  readonly intent: Intent;
  /** Selected, but never sent: with the reason. */
  readonly skipped: readonly { ref: ObjectRef; reason: string }[];
  /** Selectors (by position) that match nothing. */
  readonly emptySelectors: readonly number[];
  /** Selectors that cannot be understood. Nothing must be dispatched while there are any. */
  readonly problems: readonly string[];
}

/** The selectors of a propagation, bound to the namespace that it may select from. */
export function effectiveSelectors(propagation: Propagation): readonly ResourceSelector[] {
  const namespace = propagation.metadata.namespace;
  if (namespace === undefined) return propagation.spec.resourceSelectors;
  return propagation.spec.resourceSelectors.map((selector) => ({ ...selector, namespace }));
}

/**
 * The intent of a propagation. `candidates` gives all objects of a selector's kind. A Propagation reaches objects of its
 * own namespace only: cluster-scoped kinds and other namespaces need a ClusterPropagation.
 */
export function compilePropagation(
  propagation: Propagation,
  candidates: (selector: ResourceSelector) => readonly KubeObject[],
): Compiled {
  const chosen = new Map<string, KubeObject>();
  const skipped: { ref: ObjectRef; reason: string }[] = [];
  const emptySelectors: number[] = [];
  const problems: string[] = [];
  effectiveSelectors(propagation).forEach((selector, index) => {
    const issues =
      selector.labelSelector === undefined ? [] : selectorFromObject(selector.labelSelector).issues;
    if (issues.length > 0) {
      problems.push(
        `resourceSelectors[${index}].labelSelector: ${issues.map((issue) => issue.detail).join('; ')}`,
      );
      return;
    }
    let matched = 0;
    for (const object of candidates(selector)) {
      if (!selects(selector, object)) continue;
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
    overrides = [],
    suspend = false,
    deletionBudget = DEFAULT_DELETION_BUDGET,
  } = propagation.spec;
  const objects = [...chosen.values()].map(portable).sort((a, b) => compareForApply(refOf(a), refOf(b)));
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
      objects,
      placement,
      overrides,
      suspend,
      deletionBudget,
    },
    skipped,
    emptySelectors,
    problems,
  };
}
