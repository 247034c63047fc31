import type { Author, Intent } from '../../engine/intent.ts';
import { compareForApply } from '../../engine/order/kind-rank.ts';
import { portable } from '../../engine/render/portable.ts';
import { neverPropagated } from '../../engine/select/index.ts';
import { type KubeObject, type ObjectRef, refOf } from '../../kube/object.ts';
import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import { clusterMatchOf, placementOf } from './placement.ts';

export interface FederationPlacement extends KubeObject {
  readonly spec: { readonly resourceSelector?: LabelSelector; readonly clusterSelector?: LabelSelector };
}

export interface CompiledFederationPlacement {
  readonly intent: Intent;
  readonly skipped: readonly { ref: ObjectRef; reason: string }[];
  /** Nothing must be dispatched and nothing taken away while this is set. */
  readonly hold?: string;
}

const DELETION_BUDGET = '50%';

/** The intent of a policy: objects of its namespace with the labels that it names, without a federated kind around them. */
export function compileFederationPlacement(
  policy: FederationPlacement,
  candidates: Iterable<KubeObject>,
  author?: Author,
): CompiledFederationPlacement {
  const { resourceSelector, clusterSelector } = policy.spec;
  const { name = '', namespace = '', uid = '', generation = 0 } = policy.metadata;
  const read =
    resourceSelector === undefined
      ? undefined
      : selectorFromObject(resourceSelector, 'spec.resourceSelector');
  const issues = (read?.issues ?? []).map(({ path, detail }) => `${path}: ${detail}`);
  const objects: KubeObject[] = [];
  const skipped: { ref: ObjectRef; reason: string }[] = [];
  for (const object of read && issues.length === 0 ? candidates : []) {
    if (object.metadata.namespace !== namespace) continue;
    if (!matchesSelector(read?.selector ?? { requirements: [], nothing: true }, object.metadata.labels))
      continue;
    const reason = neverPropagated(object);
    if (reason === undefined) objects.push(portable(object));
    else skipped.push({ ref: refOf(object), reason });
  }
  return {
    intent: {
      source: { apiVersion: policy.apiVersion, kind: policy.kind, namespace, name, uid, generation },
      ...(author === undefined ? {} : { author }),
      objects: objects.sort((a, b) => compareForApply(refOf(a), refOf(b))),
      placement: placementOf(clusterMatchOf(clusterSelector === undefined ? undefined : { clusterSelector })),
      overrides: [],
      suspend: false,
      deletionBudget: DELETION_BUDGET,
    },
    skipped,
    ...(issues.length === 0 ? {} : { hold: issues.join('; ') }),
  };
}
