import type { KubeObject } from '../../kube/object.ts';
import type { SourceRef } from '../intent.ts';
import type { NamespaceLabels } from './compile-selector.ts';
import { type ResourceSelector, selects } from './select.ts';

/** How closely a source names an object: by name, by a property of it, or by its kind alone. */
export type Explicitness = 'Name' | 'Property' | 'Kind';

/** One of several sources that select the same object. */
export interface SourceClaim {
  readonly source: Pick<SourceRef, 'kind' | 'namespace' | 'name'>;
  /** Larger goes first; 0 by default. */
  readonly priority?: number;
  readonly explicitness: Explicitness;
  /** Whether it takes an object from a source that has it already, where it goes before that one. `Never` by default. */
  readonly preemption?: 'Always' | 'Never';
}

export interface Contest<C extends SourceClaim> {
  readonly winner: C;
  readonly losers: readonly { readonly claim: C; readonly reason: string }[];
}

const RANK: Readonly<Record<Explicitness, number>> = { Name: 0, Property: 1, Kind: 2 };
const WORDS: Readonly<Record<Explicitness, string>> = {
  Name: 'names the object',
  Property: 'selects it by a property',
  Kind: 'selects all of its kind',
};

/**
 * Which of several sources has an object. In this order: a source in the object's namespace before one for the whole fleet; the
 * larger priority; the one that names the object more closely; the smaller name. Total, so the order of claims does not matter.
 * A `holder` that is among them keeps the object, but for one before it that preempts.
 */
export function settleClaims<C extends SourceClaim>(
  claims: readonly C[],
  holder?: C,
): Contest<C> | undefined {
  const order = [...claims].sort(compareClaims);
  const held = holder === undefined ? -1 : order.indexOf(holder);
  const taking = order.findIndex(({ preemption }, index) => index < held && preemption === 'Always');
  const winner = held < 0 ? order[0] : order[taking < 0 ? held : taking];
  if (!winner) return undefined;
  const losers = order
    .filter((claim) => claim !== winner)
    .map((claim) => ({ claim, reason: lossReason(winner, claim) }));
  return { winner, losers };
}

/** Negative where the first goes before the second. */
export function compareClaims(a: SourceClaim, b: SourceClaim): number {
  return (
    Number(a.source.namespace === '') - Number(b.source.namespace === '') ||
    (b.priority ?? 0) - (a.priority ?? 0) ||
    RANK[a.explicitness] - RANK[b.explicitness] ||
    compareText(a.source.name, b.source.name) ||
    compareText(a.source.namespace, b.source.namespace) ||
    compareText(a.source.kind, b.source.kind)
  );
}

function lossReason(winner: SourceClaim, loser: SourceClaim): string {
  const { kind, namespace, name } = winner.source;
  const by = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  if (compareClaims(winner, loser) > 0) return `${by} has it already, and this one does not preempt`;
  if (namespace !== '' && loser.source.namespace === '')
    return `${by} is in the namespace of the object, and goes before those for the whole fleet`;
  if ((winner.priority ?? 0) !== (loser.priority ?? 0))
    return `${by} has the larger priority (${winner.priority ?? 0}, not ${loser.priority ?? 0})`;
  if (winner.explicitness !== loser.explicitness)
    return `${by} ${WORDS[winner.explicitness]}, and this one ${WORDS[loser.explicitness]}`;
  return `${by} comes first by name`;
}

/** How closely the selectors of a source mean an object; `undefined` where none of them does. */
export function explicitnessOf(
  selectors: readonly ResourceSelector[],
  object: KubeObject,
  namespaces?: NamespaceLabels,
): Explicitness | undefined {
  let closest: Explicitness | undefined;
  for (const selector of selectors) {
    if (!selects(selector, object, namespaces)) continue;
    const how = howClosely(selector);
    if (closest === undefined || RANK[how] < RANK[closest]) closest = how;
  }
  return closest;
}

function howClosely({ name, labelSelector, expression }: ResourceSelector): Explicitness {
  if (name !== undefined) return 'Name';
  return labelSelector !== undefined || expression !== undefined ? 'Property' : 'Kind';
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
