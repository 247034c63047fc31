import {
  type ApiResource,
  EARLY_GROUP,
  EARLY_VERSION,
  type EarlyParts,
  FEDERATION_PLACEMENT,
  type FederatedType,
  type FederationPlacement,
  federatedTypeFor,
  pluralOf,
} from '../../dialects/kubefed/index.ts';
import { neverPropagated } from '../../engine/select/index.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import type { KubeObject } from '../../kube/object.ts';
import { namespaces } from '../../kube/well-known.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { stringAt } from '../../schema/json.ts';
import type { IntentRecords } from '../intents/records.ts';
import type { ControlPlane } from './control-plane.ts';
import { wishDiffers } from './federation.ts';
import { type KindWatch, watchKind } from './kind-watch.ts';

/** Where the types of the early form are served. Custom types are found by their definitions. */
const GROUPS: Readonly<Record<string, string>> = {
  ConfigMap: '',
  Secret: '',
  Service: '',
  ServiceAccount: '',
  Deployment: 'apps',
  ReplicaSet: 'apps',
  StatefulSet: 'apps',
  DaemonSet: 'apps',
  Job: 'batch',
  CronJob: 'batch',
  Ingress: 'networking.k8s.io',
};
const NAMESPACE = 'Namespace';

/** The first part of the keys of namespaces, whose template is the Namespace itself. */
export const EARLY_NAMESPACE_KEY: string = `${NAMESPACE}.${EARLY_GROUP}`;
/** The first part of the keys of policies. */
export const POLICY_KEY: string = `${FEDERATION_PLACEMENT.kind}.${EARLY_GROUP}`;

/** A type of the early form: three kinds, joined by namespace and name. */
export interface EarlyType {
  readonly key: string;
  /** Absent where it is not known which type of the API it stands for. */
  readonly type?: FederatedType;
  /** Absent for namespaces. */
  readonly templates?: KindWatch;
  readonly placements: KindWatch;
  readonly overrides?: KindWatch;
}

/** Objects of the early form, as they are at the hub now. */
export interface Early {
  /** Whether everything is known that there is. */
  readonly synced: boolean;
  /** Whether nothing may be decided although all is known that may be: some of it may not be read. */
  readonly blind: boolean;
  types(): Iterable<EarlyType>;
  type(key: string): EarlyType | undefined;
  /** The objects that belong to a template. */
  partsOf(type: EarlyType, template: KubeObject): EarlyParts;
  /** The namespaces that are propagated: those with objects of the early form in them, or with a placement, or that were before. */
  namespaces(): readonly KubeObject[];
  readonly policies: KindWatch<FederationPlacement>;
  onWish(listener: (key: string) => void): () => void;
  stop(): void;
}

export interface EarlyOptions {
  readonly controlPlane: ControlPlane;
  readonly definitions: Informer;
  readonly records: IntentRecords;
}

/** Watches the kinds of the early form, where there are any: its group has no kinds of its own otherwise. */
export function openEarly(runtime: Runtime, { controlPlane, definitions, records }: EarlyOptions): Early {
  const { client } = controlPlane;
  const types = new Map<string, EarlyType>();
  const listeners = new Set<(key: string) => void>();
  let spaces: Informer | undefined;

  const tell = (key: string): void => {
    for (const listener of listeners) listener(key);
  };
  const policies = watchKind<FederationPlacement>(runtime, client, definitions, {
    definition: `${FEDERATION_PLACEMENT.plural}.${EARLY_GROUP}`,
    version: EARLY_VERSION,
    seat: controlPlane,
    onChange: ({ object, previous }) => {
      if (wishDiffers(object, previous)) tell(keyOf(POLICY_KEY, object));
    },
    onServed: tellAll,
  });

  function tellAll(): void {
    for (const type of types.values())
      for (const template of type.templates?.list() ?? []) tell(keyOf(type.key, template));
    for (const space of spaces?.list() ?? []) tell(keyOf(EARLY_NAMESPACE_KEY, space));
    for (const policy of policies.list()) tell(keyOf(POLICY_KEY, policy));
  }

  function watch(kind: string, onChange: (change: Change) => void): KindWatch {
    return watchKind(runtime, client, definitions, {
      definition: `${pluralOf(kind)}.${EARLY_GROUP}`,
      version: EARLY_VERSION,
      seat: controlPlane,
      onChange: (change) => {
        if (wishDiffers(change.object, change.previous)) onChange(change);
      },
      onServed: tellAll,
    });
  }

  function follow(kind: string): void {
    const key = kind === NAMESPACE ? EARLY_NAMESPACE_KEY : `Federated${kind}.${EARLY_GROUP}`;
    if (types.has(key)) return;
    const target = targetOf(definitions, kind);
    const type = target && federatedTypeFor(target, EARLY_GROUP, EARLY_VERSION);
    const known = type === undefined ? {} : { type };
    if (kind === NAMESPACE) {
      // Where a namespace goes is where everything in it may go.
      const placements = watch('FederatedNamespacePlacement', ({ object }) => {
        const { namespace = '' } = object.metadata;
        tell(`${key}//${namespace}`);
        for (const other of types.values())
          for (const item of other.templates?.list(namespace) ?? []) tell(keyOf(other.key, item));
      });
      types.set(key, { key, ...known, placements });
      followNamespaces();
      return;
    }
    const joined = ({ object }: Change): void => tell(keyOf(key, object));
    types.set(key, {
      key,
      ...known,
      templates: watch(`Federated${kind}`, (change) => {
        joined(change);
        tell(`${EARLY_NAMESPACE_KEY}//${change.object.metadata.namespace ?? ''}`);
      }),
      placements: watch(`Federated${kind}Placement`, joined),
      overrides: watch(`Federated${kind}Override`, joined),
    });
  }

  /** A control plane of one namespace propagates what is in it, and no namespaces. */
  function followNamespaces(): void {
    if (controlPlane.namespace !== '' || !types.has(EARLY_NAMESPACE_KEY)) {
      spaces?.stop();
      spaces = undefined;
    } else if (!spaces) {
      spaces = startInformer(runtime, client, namespaces);
      spaces.onChange(({ object, previous }) => {
        if (wishDiffers(object, previous)) tell(keyOf(EARLY_NAMESPACE_KEY, object));
      });
      spaces.whenSynced().then(tellAll, () => undefined);
    }
  }

  function watches(): (KindWatch | undefined)[] {
    return [
      policies,
      ...[...types.values()].flatMap(({ templates, placements, overrides }) => [
        templates,
        placements,
        overrides,
      ]),
    ];
  }

  function look(definition: KubeObject): void {
    if (stringAt(definition, 'spec', 'group') !== EARLY_GROUP) return;
    const kind = /^Federated(\w+)Placement$/.exec(stringAt(definition, 'spec', 'names', 'kind') ?? '')?.[1];
    if (kind === undefined) return;
    follow(kind);
    // A federation has namespaces, whether somebody places them or not.
    follow(NAMESPACE);
  }
  const unsubscribe = [
    definitions.onChange(({ object }) => look(object)),
    controlPlane.onChange(followNamespaces),
  ];
  for (const definition of definitions.list()) look(definition);

  function isPropagated(space: KubeObject): boolean {
    const { name = '', uid = '' } = space.metadata;
    // Also while it is being deleted: what it brought is still to be taken away.
    const { deletionTimestamp: _going, ...metadata } = space.metadata;
    if (neverPropagated({ ...space, metadata }) !== undefined) return false;
    for (const { templates } of types.values()) if ((templates?.list(name).length ?? 0) > 0) return true;
    if (types.get(EARLY_NAMESPACE_KEY)?.placements.get(name, name)) return true;
    return records.get({ apiVersion: 'v1', kind: NAMESPACE, namespace: '', name, uid }) !== undefined;
  }

  return {
    get synced() {
      return (
        definitions.synced &&
        records.synced &&
        (spaces?.synced ?? true) &&
        watches().every((watch) => watch === undefined || watch.synced || watch.refused)
      );
    },
    get blind() {
      return watches().some((watch) => watch?.refused === true);
    },
    types: () => types.values(),
    type: (key) => types.get(key),
    partsOf(type, template) {
      const { namespace = '', name = '' } = template.metadata;
      const home = type.key === EARLY_NAMESPACE_KEY ? name : namespace;
      return {
        template,
        placement: type.placements.get(home, name),
        override: type.overrides?.get(home, name),
        namespacePlacement: types.get(EARLY_NAMESPACE_KEY)?.placements.get(home, home),
      };
    },
    namespaces: () => (spaces?.list() ?? []).filter(isPropagated),
    policies,
    onWish(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop(): void {
      for (const end of unsubscribe) end();
      spaces?.stop();
      for (const watch of watches()) watch?.stop();
    },
  };
}

export function keyOf(kind: string, { metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/** The type that a kind of the early form stands for. */
function targetOf(definitions: Informer, kind: string): ApiResource | undefined {
  if (kind === NAMESPACE)
    return { group: '', version: 'v1', kind, pluralName: 'namespaces', scope: 'Cluster' };
  const group = GROUPS[kind];
  if (group !== undefined)
    return { group, version: 'v1', kind, pluralName: pluralOf(kind), scope: 'Namespaced' };
  const found = definitions
    .list()
    .filter((item) => stringAt(item, 'spec', 'names', 'kind') === kind)
    .find((item) => stringAt(item, 'spec', 'group') !== EARLY_GROUP);
  const versions = (found?.['spec'] as { versions?: { name: string; storage?: boolean }[] } | undefined)
    ?.versions;
  const version = versions?.find(({ storage }) => storage === true)?.name;
  if (!found || version === undefined) return undefined;
  return {
    group: stringAt(found, 'spec', 'group') ?? '',
    version,
    kind,
    pluralName: stringAt(found, 'spec', 'names', 'plural') ?? pluralOf(kind),
    scope: stringAt(found, 'spec', 'scope') === 'Cluster' ? 'Cluster' : 'Namespaced',
  };
}
