import {
  BUNDLE,
  type Bundle,
  DISPATCH,
  type Dispatch,
  type Position,
  SYSTEM_NAMESPACE,
  unpackBundles,
  unpackOrigin,
  verifyDispatch,
} from '../../engine/dispatch/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { errorText } from '../../runtime/log.ts';

/** One order as a spoke keeps it. */
export interface Found {
  readonly spoke: string;
  readonly dispatch: string;
  readonly position: Position;
  readonly publicKey: string;
  /** The hub's own objects: the propagation, the spoke's entry in the inventory. */
  readonly origin: readonly KubeObject[];
  /** What was propagated, before the spoke's own patches. */
  readonly content: readonly KubeObject[];
}

export interface Unusable {
  readonly spoke: string;
  readonly dispatch: string;
  readonly why: string;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const BUNDLES = resourceIdOf(BUNDLE);

/** What a spoke keeps of its hub. An order whose signature or content does not hold is told, and not used. */
export async function foundOn(
  spoke: string,
  client: Client,
): Promise<{ readonly found: readonly Found[]; readonly unusable: readonly Unusable[] }> {
  const [dispatches, bundles] = await Promise.all([
    client.list<Dispatch>(DISPATCHES, SYSTEM_NAMESPACE),
    client.list<Bundle>(BUNDLES, SYSTEM_NAMESPACE),
  ]);
  const byName = new Map(bundles.items.map((bundle) => [bundle.metadata.name ?? '', bundle]));
  const found: Found[] = [];
  const unusable: Unusable[] = [];
  for (const { metadata, spec } of dispatches.items) {
    const dispatch = metadata.name ?? '';
    // An order to take everything away asks for nothing.
    if (spec.objects.length === 0) continue;
    try {
      if (!verifyDispatch(spec.publicKey, spoke, dispatch, spec))
        throw new Error('its signature does not fit: it was changed on the spoke');
      const content = unpackBundles(
        spec.bundles.map((name) => {
          const bundle = byName.get(name);
          if (!bundle) throw new Error(`its bundle ${name} is not on the spoke`);
          return bundle;
        }),
        spec.revision,
      );
      const origin = spec.origin === undefined ? [] : unpackOrigin(spec.origin);
      found.push({ spoke, dispatch, position: spec.position, publicKey: spec.publicKey, origin, content });
    } catch (error) {
      unusable.push({ spoke, dispatch, why: errorText(error) });
    }
  }
  return { found, unusable };
}
