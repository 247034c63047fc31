import { type KubeObject, type ObjectRef, refOf, refText } from '../../kube/object.ts';
import type { Author, SourceRef } from '../intent.ts';
import type { Contract } from './contract.ts';
import { judge } from './judge.ts';
import { type ContractRefusal, refusalText } from './reasons.ts';

/** What a dispatch would bring to a cluster and take away from it. */
export interface ForeseenOrder {
  /** As they shall be on this cluster. */
  readonly objects: readonly KubeObject[];
  /** What it would remove. */
  readonly leaving?: readonly ObjectRef[];
  readonly author: Author | undefined;
  readonly source: SourceRef;
}

export interface Foreseen {
  readonly ref: ObjectRef;
  readonly refusal: ContractRefusal;
}

/**
 * What a cluster would refuse of an order, as far as it can be told from elsewhere: not what depends on the object on the cluster,
 * on the time, or on how much was changed before. The cluster itself has the last word.
 */
export function foresee(contracts: readonly Contract[], order: ForeseenOrder): Foreseen[] {
  const { objects, leaving = [], author, source } = order;
  const out: Foreseen[] = [];
  const ask = (ref: ObjectRef, object: KubeObject | undefined): void => {
    const verb = object ? 'apply' : 'delete';
    const judgement = judge(
      contracts,
      { verb, ref, object, author, source, changes: true },
      { preview: true },
    );
    if (judgement.verdict === 'allow') return;
    const { verdict: _verdict, ...refusal } = judgement;
    out.push({ ref, refusal });
  };
  for (const object of objects) ask(refOf(object), object);
  for (const ref of leaving) ask(ref, undefined);
  return out;
}

/** One sentence about all that is foreseen on a cluster; undefined where it is nothing. */
export function foreseenText(foreseen: readonly Foreseen[]): string | undefined {
  const [first] = foreseen;
  if (!first) return undefined;
  const more = foreseen.length > 1 ? ` (and ${foreseen.length - 1} more objects)` : '';
  return `${refText(first.ref)}: ${refusalText(first.refusal)}${more}`;
}
