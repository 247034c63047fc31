import { neverListed } from '../../dialects/kubestellar/index.ts';
import { effectiveSelectors } from '../../dialects/propagation/compile.ts';
import type { Propagation } from '../../dialects/propagation/types.ts';
import { selectorText } from '../../engine/place/decide.ts';
import { neverPropagated, type ResourceSelector, selects } from '../../engine/select/select.ts';
import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { selectorFromObject } from '../../schema/label-selector.ts';
import { type BindingView, isBindingView, listsObject, policyOf } from '../fleet-bindings.ts';

/** Whether a propagation means an object, with the selector that decides, in words. */
export type Selecting =
  | { readonly selects: true; readonly reason: string }
  | { readonly selects: false; readonly reason: string };

/** Why a propagation selects an object, or why it does not. Pure; agrees with `compilePropagation`. */
export function selectingOf(propagation: Propagation, object: KubeObject): Selecting {
  if (isBindingView(propagation)) return listingOf(propagation, object);
  const selectors = effectiveSelectors(propagation);
  const hit = selectors.findIndex((selector) => selects(selector, object));
  const never = neverPropagated(object);
  const selector = selectors[hit];
  if (selector) {
    const reason = `resourceSelectors[${hit}] (${selectorWords(selector)}) matches`;
    if (never === undefined) return { selects: true, reason };
    return { selects: false, reason: `${reason}, but it is never propagated: ${never}` };
  }
  const ofKind = selectors
    .map((item, index) => ({ item, index }))
    .filter(({ item }) => isOfKind(item, object));
  if (ofKind.length === 0) {
    const kinds = [...new Set(selectors.map((item) => item.kind))].join(', ');
    return {
      selects: false,
      reason: `none of its resourceSelectors is for kind ${object.kind} (they are for ${kinds || 'nothing'})`,
    };
  }
  const reasons = ofKind.map(({ item, index }) => `resourceSelectors[${index}]: ${mismatch(item, object)}`);
  return { selects: false, reason: reasons.join('; ') };
}

/** A Binding names its objects one by one. */
function listingOf(view: BindingView, object: KubeObject): Selecting {
  if (!listsObject(view, object)) return { selects: false, reason: 'it does not list it' };
  const policy = policyOf(view.binding);
  const reason = policy === undefined ? 'it was written by hand' : `${policy} selects it`;
  const never = neverListed(object);
  if (never === undefined) return { selects: true, reason };
  return { selects: false, reason: `it lists it, but it is never propagated: ${never}` };
}

function isOfKind(selector: ResourceSelector, object: KubeObject): boolean {
  return (
    selector.kind === object.kind &&
    parseApiVersion(selector.apiVersion).group === parseApiVersion(object.apiVersion).group
  );
}

/** The first clause of a selector of the right kind that an object does not meet. */
function mismatch(selector: ResourceSelector, object: KubeObject): string {
  const { name = '', namespace = '', labels = {} } = object.metadata;
  if (selector.namespace !== undefined && selector.namespace !== namespace)
    return `namespace is ${selector.namespace}, not ${namespace || 'none'}`;
  if (selector.name !== undefined && selector.name !== name) return `name is ${selector.name}, not ${name}`;
  const { labelSelector = {} } = selector;
  const { issues } = selectorFromObject(labelSelector);
  if (issues.length > 0)
    return `labelSelector is not valid: ${issues.map((issue) => issue.detail).join('; ')}`;
  const own = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return `labelSelector (${selectorText(labelSelector)}) does not match its labels (${own.sort().join(',') || 'none'})`;
}

function selectorWords({ kind, name, labelSelector }: ResourceSelector): string {
  const parts = [name === undefined ? `every ${kind}` : `${kind} ${name}`];
  if (labelSelector !== undefined) parts.push(`with ${selectorText(labelSelector)}`);
  return parts.join(' ');
}
