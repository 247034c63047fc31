import type { ContractRefusal } from '../../engine/contract/index.ts';
import type { Client } from '../../kube/client.ts';
import { type KubeObject, type ObjectRef, refOf } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { definedKind, MOURNED_KINDS } from '../foreign-content.ts';

/** Objects that are looked at of one kind; where there are more, it is for the owner to keep the namespace itself. */
const MOST = 2_000;

/**
 * What must not be deleted and would go along with a namespace, or with the definition of its kind. In a namespace the kinds
 * are looked at whose loss someone would mourn. `undefined` where there is none.
 */
export async function keptInside(
  client: Client,
  live: KubeObject,
  refusal: (ref: ObjectRef, live: KubeObject) => ContractRefusal | undefined,
  signal: AbortSignal,
): Promise<{ readonly ref: ObjectRef; readonly refusal: ContractRefusal } | undefined> {
  const namespace = live.kind === 'Namespace' ? (live.metadata.name ?? '') : '';
  const defined = definedKind(live);
  const kinds = live.kind === 'Namespace' ? MOURNED_KINDS : defined ? [defined] : [];
  for (const kind of kinds) {
    try {
      const { items } = await client.list(kind, namespace, { limit: MOST, signal });
      for (const item of items) {
        const found = refusal(refOf(item), item);
        if (found?.reason === 'MustNotDelete') return { ref: refOf(item), refusal: found };
      }
    } catch (error) {
      // A cluster that does not serve the kind.
      if (!hasCode(error, 404)) throw error;
    }
  }
  return undefined;
}
