import {
  BINDING,
  BINDING_POLICY,
  type Binding,
  type BindingPolicy,
  CONTROL_GROUP,
  CONTROL_KINDS,
  EDGE_GROUP,
  EDGE_KINDS,
  EDGE_PLACEMENT,
  type EdgePlacement,
  LOCATION,
  type Location,
  SINGLE_PLACEMENT_SLICE,
  type SinglePlacementSlice,
  SYNC_TARGET,
  type SyncTarget,
} from '../../../dialects/kubestellar/index.ts';
import type { Author } from '../../../engine/intent.ts';
import type { Client } from '../../../kube/client.ts';
import { startController } from '../../../kube/controller-loop.ts';
import type { AnyCustomKind } from '../../../kube/custom-resource.ts';
import type { Change, Informer } from '../../../kube/informer.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { whoAmI } from '../../../kube/who-am-i.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { stringAt } from '../../../schema/json.ts';
import { installKind, type KindWatch, watchKind } from '../../kubefed/index.ts';
import { authorOf, installAuthorPolicy } from '../../policies/index.ts';

/** The objects of KubeStellar's API at the hub, and who wrote them. */
export interface ControlObjects {
  /** Whether everything is known; also where nobody uses any of it. */
  readonly synced: boolean;
  /** Whether any of its kinds is there. */
  readonly used: boolean;
  readonly policies: KindWatch<BindingPolicy>;
  readonly bindings: KindWatch<Binding>;
  readonly placements: KindWatch<EdgePlacement>;
  readonly locations: KindWatch<Location>;
  readonly targets: KindWatch<SyncTarget>;
  readonly slices: KindWatch<SinglePlacementSlice>;
  /** Who wrote an object, where that is the API server's word. What the hub itself wrote has no author. */
  author(object: KubeObject): Author | undefined;
  stop(): Promise<void>;
}

export interface ControlObjectsOptions {
  readonly client: Client;
  readonly definitions: Informer;
  readonly onObject: (kind: string, change: Change) => void;
  /** A kind came, went, or is wholly known now. */
  readonly onServed: () => void;
}

/** On definitions that the hub made, or is to make; those of others are left as they are. */
export const MADE_ANNOTATION = 'atoll.dev/kubestellar';

const PASS = 'kinds';
const GATHER_MS = 20;

/** Watches the kinds, where there are any: as soon as one is there the others of its generation are made. */
export function openControlObjects(runtime: Runtime, options: ControlObjectsOptions): ControlObjects {
  const { client, definitions, onObject, onServed } = options;
  /** The hub's own name where authors can be believed; not known at first. */
  let guarded: { readonly believed: boolean; readonly self: string } | undefined;
  const open = <T extends KubeObject>(kind: AnyCustomKind): KindWatch<T> =>
    watchKind<T>(runtime, client, definitions, {
      definition: `${kind.plural}.${kind.group}`,
      version: kind.version,
      onChange: (change) => onObject(kind.kind, change as unknown as Change),
      onServed,
    });
  const policies = open<BindingPolicy>(BINDING_POLICY);
  const bindings = open<Binding>(BINDING);
  const placements = open<EdgePlacement>(EDGE_PLACEMENT);
  const locations = open<Location>(LOCATION);
  const targets = open<SyncTarget>(SYNC_TARGET);
  const slices = open<SinglePlacementSlice>(SINGLE_PLACEMENT_SLICE);
  const watches = [policies, bindings, placements, locations, targets, slices];

  function serves(group: string): boolean {
    return definitions.list().some((definition) => stringAt(definition, 'spec', 'group') === group);
  }

  const isUsed = (): boolean => serves(CONTROL_GROUP) || serves(EDGE_GROUP);
  const loop = startController(runtime, { name: 'kubestellar-kinds', reconcile: pass });
  const unsubscribe = definitions.onChange(({ type, object, previous }) => {
    const group = stringAt(object, 'spec', 'group');
    if (group !== CONTROL_GROUP && group !== EDGE_GROUP) return;
    // A short one that is applied once more is to be made whole once more.
    const mark = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[MADE_ANNOTATION];
    if (type !== 'updated' || !previous || mark(object) !== mark(previous)) loop.enqueue(PASS, GATHER_MS);
  });
  loop.enqueue(PASS);

  async function pass(): Promise<void> {
    await definitions.whenSynced();
    if (!isUsed()) return;
    if (!guarded) {
      guarded = await guard();
      onServed();
    }
    for (const kind of serves(EDGE_GROUP) ? [...CONTROL_KINDS, ...EDGE_KINDS] : CONTROL_KINDS)
      await installKind(client, kind, undefined, MADE_ANNOTATION);
  }

  async function guard(): Promise<{ believed: boolean; self: string }> {
    const self = (await whoAmI(client))?.username;
    const believed = await installAuthorPolicy(client, runtime.log, {
      name: 'atoll.dev-kubestellar-author',
      groups: [CONTROL_GROUP, EDGE_GROUP],
      resources: [BINDING_POLICY, BINDING, EDGE_PLACEMENT].map(({ plural }) => plural),
    });
    return { believed: believed && self !== undefined, self: self ?? '' };
  }

  return {
    get synced() {
      return (
        definitions.synced && (!isUsed() || guarded !== undefined) && watches.every(({ synced }) => synced)
      );
    },
    get used() {
      return isUsed();
    },
    policies,
    bindings,
    placements,
    locations,
    targets,
    slices,
    author(object) {
      const author = guarded?.believed === true ? authorOf(object) : undefined;
      // What the hub makes of a policy is carried out for its author, and for nobody once it says that it belongs to none.
      return author?.username === guarded?.self ? undefined : author;
    },
    async stop(): Promise<void> {
      unsubscribe();
      for (const watch of watches) watch.stop();
      await loop.stop();
    },
  };
}
