import { generateKeyPairSync } from 'node:crypto';
import {
  type Bundle,
  type Dispatch,
  type DispatchSpec,
  dispatchSigner,
  type HubTrust,
  packBundles,
  SYSTEM_NAMESPACE,
} from '../../src/engine/dispatch/index.ts';
import { type KubeObject, type ObjectRef, refKey, refOf } from '../../src/kube/object.ts';
import { conditionOf, DISPATCHES, type SimulatedFleet, stored } from './fleet.ts';

const BUNDLES = { ...DISPATCHES, resource: 'bundles', kind: 'Bundle' };

export type Extras = Partial<
  Pick<
    DispatchSpec,
    'author' | 'apply' | 'objectApply' | 'patches' | 'tombstones' | 'hold' | 'removeWhenLostSeconds'
  >
>;

/** Gives orders to a spoke as a hub would, without one: what a hub can say and does not say yet can be tried so. */
export interface Orders {
  /** Writes the next generation of a dispatch. What it held before and does not hold any more is ordered away. */
  give(name: string, objects: readonly KubeObject[], extras?: Extras): Promise<void>;
  /** The same, and waits until it is carried out. */
  fulfil(name: string, objects: readonly KubeObject[], extras?: Extras): Promise<void>;
  dispatch(name: string): Dispatch | undefined;
  /** Who gives them, for the spoke to trust. */
  readonly hub: HubTrust;
}

export function ordersFor(fleet: SimulatedFleet, spoke: string, lineage: string = 'a1b2c3d4-0000'): Orders {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const sign = dispatchSigner(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const held = new Map<string, { generation: number; objects: readonly ObjectRef[] }>();
  const target = fleet.spoke(spoke);
  const dispatch = (name: string): Dispatch | undefined =>
    stored(target, `atoll.dev/dispatches/${SYSTEM_NAMESPACE}/${name}`) as Dispatch | undefined;

  async function give(name: string, objects: readonly KubeObject[], extras: Extras = {}): Promise<void> {
    const before = held.get(name);
    const { digest, bundles } = packBundles(objects);
    // What is no object has no name to be told by.
    const refs = objects.filter(({ kind }) => kind !== undefined).map(refOf);
    const staying = new Set(refs.map(refKey));
    for (const bundle of bundles)
      await fleet.run(target.client.create<Bundle>(BUNDLES, bundle).catch(() => undefined));
    const generation = (before?.generation ?? 0) + 1;
    const spec: DispatchSpec = {
      source: {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'Propagation',
        namespace: 'shop',
        name,
        uid: `uid-${name}`,
        generation,
      },
      position: { lineage, epoch: 1, generation },
      revision: digest,
      bundles: bundles.map((bundle) => bundle.metadata.name ?? ''),
      objects: refs,
      patches: [],
      tombstones: (before?.objects ?? [])
        .filter((ref) => !staying.has(refKey(ref)))
        .map((ref) => ({ ref, reason: 'no longer selected' })),
      publicKey: key,
      ...extras,
    };
    held.set(name, { generation, objects: refs });
    const present = dispatch(name);
    const next: Dispatch = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Dispatch',
      metadata: present?.metadata ?? { name, namespace: SYSTEM_NAMESPACE },
      spec: sign(spoke, name, spec),
    };
    await fleet.run(
      present ? target.client.update(DISPATCHES, next) : target.client.create<Dispatch>(DISPATCHES, next),
    );
  }

  return {
    give,
    dispatch,
    hub: { lineage, publicKey: key },
    async fulfil(name, objects, extras): Promise<void> {
      await give(name, objects, extras);
      const generation = held.get(name)?.generation;
      await fleet.until(
        () => dispatch(name)?.status?.appliedGeneration === generation,
        `${name} carried out`,
      );
      if (conditionOf(dispatch(name), 'Applied') !== 'True/Applied')
        await fleet.until(() => conditionOf(dispatch(name), 'Applied') === 'True/Applied', `${name} applied`);
    },
  };
}
