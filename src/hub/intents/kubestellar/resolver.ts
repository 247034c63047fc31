import {
  BINDING_POLICY,
  type Binding,
  type BindingSpec,
  type CompiledPolicy,
  compileEdgePlacement,
  compilePolicy,
  differenceOf,
  EDGE_PLACEMENT,
  type EdgePlacement,
  type ListedObject,
  listedIn,
  placementsOf,
  reachesKind,
  resolvePolicy,
  sameContent,
  selectLabelled,
  selectsObject,
  slicesOf,
} from '../../../dialects/kubestellar/index.ts';
import type { Author } from '../../../engine/intent.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { startController } from '../../../kube/controller-loop.ts';
import type { Change } from '../../../kube/informer.ts';
import type { KubeObject, OwnerReference } from '../../../kube/object.ts';
import { hasCode, ignoring, StatusError } from '../../../kube/status-error.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';
import type { Inventory } from '../../inventory/index.ts';
import { setFinalizers } from '../finalizers.ts';
import type { ControlObjects } from './control.ts';
import { unshownCluster } from './inventory-views.ts';
import { finalizerOf, isPlacement, keyOf, ownedBy, ownerOf, type Policy, resourceOf } from './policy.ts';
import { policyReport } from './policy-report.ts';
import type { WorkloadKinds } from './workload-kinds.ts';

/** On Bindings of policies: a digest of what their objects said when they were listed. */
export const CONTENT_ANNOTATION = 'atoll.dev/content';

/** The space that inventories are in. */
const SPACE = 'root';
const GATHER_MS = 50;
const CATCH_UP_MS = 40;
const MAX_EXAMPLES = 4;

/** What a Binding stands for: its own author's word, that of the author of its policy, or nothing that is known yet. */
export type Standing = { readonly author: Author | undefined } | { readonly waiting: string };

/** Keeps for each policy the Binding that it comes to. */
export interface Resolver {
  standing(binding: Binding): Standing;
  objectChanged(kind: ResourceId, change: Change): void;
  controlChanged(kind: string, change: Change): void;
  /** Something that may concern every policy. */
  lookAtAll(): void;
  stop(): Promise<void>;
}

export interface ResolverOptions {
  readonly client: Client;
  readonly control: ControlObjects;
  readonly kinds: WorkloadKinds;
  readonly inventory: Inventory;
  /** A Binding stands for something else now. */
  readonly onStanding: (name: string) => void;
}

interface Resolved {
  readonly owner: string;
  readonly uid: string;
  readonly spec: BindingSpec;
  readonly author: Author | undefined;
  /** As the API server stored it, where that is not quite what was written. */
  readonly stored?: BindingSpec;
}

export function startResolver(runtime: Runtime, options: ResolverOptions): Resolver {
  const { client, control, kinds, inventory, onStanding } = options;
  const { log } = runtime;
  const compiled = new WeakMap<object, CompiledPolicy>();
  /** By the name of the Binding. */
  const resolved = new Map<string, Resolved>();
  const report = policyReport(client, control, runtime.clock);
  const loop = startController(runtime, { name: 'kubestellar-policies', reconcile });
  inventory.onChange(lookAtAll);

  function* everyPolicy(): Iterable<Policy> {
    yield* control.policies.list();
    yield* control.placements.list();
  }

  function compile(policy: Policy): CompiledPolicy {
    const known = compiled.get(policy);
    if (known) return known;
    const made = isPlacement(policy) ? compileEdgePlacement(policy) : compilePolicy(policy);
    compiled.set(policy, made);
    return made;
  }

  function lookAtAll(): void {
    if (!control.used) return;
    kinds.open();
    wantKinds();
    for (const policy of everyPolicy()) loop.enqueue(keyOf(policy), GATHER_MS);
  }

  function wantKinds(): void {
    const all = [...everyPolicy()].map(compile);
    kinds.want((kind) =>
      isNamespaces(kind) ? all.length > 0 : all.some((policy) => reachesKind(policy, kind)),
    );
  }

  function namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    const found = kinds.objects('', 'namespaces')?.get('', name);
    return found && (found.metadata.labels ?? {});
  }

  async function reconcile(key: string): Promise<Result | undefined> {
    if (!control.synced) return undefined;
    await inventory.whenSynced();
    const slash = key.indexOf('/');
    const name = key.slice(slash + 1);
    const policy =
      key.slice(0, slash) === BINDING_POLICY.kind
        ? control.policies.get('', name)
        : control.placements.get('', name);
    if (!policy) {
      if (resolved.get(name)?.owner === key) resolved.delete(name);
      wantKinds();
      return undefined;
    }
    const binding = control.bindings.get('', name);
    if (policy.metadata.deletionTimestamp !== undefined) return remove(policy, binding);
    const finalizer = finalizerOf(policy);
    const { finalizers = [] } = policy.metadata;
    if (!finalizers.includes(finalizer)) {
      await setFinalizers(client, resourceOf(policy), policy, [...finalizers, finalizer]);
      // The write is heard of, and looked at with what it made.
      return undefined;
    }
    const { issues } = compile(policy);
    const notes = [...issues];
    let locations: number | undefined;
    if (issues.length === 0) {
      const unknown = unseenBy(policy);
      if (unknown !== undefined) return report(policy, [unknown], undefined);
      const placed = await destinationsOf(policy);
      locations = placed.locations;
      if (!kinds.known || kinds.unread().some(({ failure }) => failure === undefined)) return undefined;
      const problem = await bind(key, policy, binding, placed.destinations);
      if (problem === 'again') return { requeueAfterMs: CATCH_UP_MS };
      notes.push(...problem);
    }
    return report(policy, notes, locations);
  }

  /** What must be seen before anything is decided, and is not now: to go by what is left would take away the rest. */
  function unseenBy(policy: Policy): string | undefined {
    const blind = kinds.unread().find(({ kind, failure }) => isNamespaces(kind) && failure !== undefined);
    if (blind)
      return `namespaces cannot be read by the hub: ${blind.failure}. Nothing is changed until they can be`;
    if (!isPlacement(policy)) return undefined;
    const cluster = unshownCluster(inventory.clusters(), control.locations.list(), control.targets.list());
    return cluster === undefined
      ? undefined
      : `the cluster ${cluster} is not to be seen as SyncTarget and Location yet. Nothing is changed until it is`;
  }

  /** The Binding goes first: it is what brought anything anywhere. */
  async function remove(policy: Policy, binding: Binding | undefined): Promise<Result | undefined> {
    const name = policy.metadata.name ?? '';
    const resource = control.bindings.resource;
    if (binding && resource && ownedBy(policy, binding)) {
      if (binding.metadata.deletionTimestamp === undefined)
        await ignoring(
          [404, 409],
          client.delete(resource, '', name, { preconditions: { uid: binding.metadata.uid ?? '' } }),
        );
      return report(policy, [], undefined);
    }
    const { finalizers = [] } = policy.metadata;
    const left = finalizers.filter((item) => item !== finalizerOf(policy));
    if (left.length < finalizers.length) await setFinalizers(client, resourceOf(policy), policy, left);
    return undefined;
  }

  async function destinationsOf(
    policy: Policy,
  ): Promise<{ readonly destinations: readonly string[]; readonly locations?: number }> {
    if (!isPlacement(policy))
      return { destinations: selectLabelled(policy.spec?.clusterSelectors, inventory.clusters()) };
    const { destinations, locations } = placementsOf(
      policy,
      control.locations.list(),
      control.targets.list(),
      SPACE,
    );
    await writeSlices(policy, slicesOf(policy, destinations));
    const names = new Set(destinations.map(({ syncTargetName }) => syncTargetName));
    return { destinations: [...names].filter((name) => inventory.has(name)), locations };
  }

  /** Those that are too many go last: until then a reader finds every destination. */
  async function writeSlices(
    { metadata: { uid = '' } }: EdgePlacement,
    wanted: ReturnType<typeof slicesOf>,
  ): Promise<void> {
    const { resource } = control.slices;
    if (!resource) return;
    const owned = (slice: KubeObject): boolean =>
      slice.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
    for (const slice of wanted) {
      const present = control.slices.get('', slice.metadata.name ?? '');
      const isSame = present && deepEqual(present.destinations, slice.destinations) && owned(present);
      if (!isSame) await client.apply(resource, slice, { fieldManager: 'atoll', force: true });
    }
    const names = new Set(wanted.map(({ metadata }) => metadata.name));
    for (const slice of control.slices.list())
      if (owned(slice) && !names.has(slice.metadata.name))
        await ignoring(404, client.delete(resource, '', slice.metadata.name ?? ''));
  }

  /** Brings the Binding to what the policy comes to now; what keeps it from that. */
  async function bind(
    key: string,
    policy: Policy,
    binding: Binding | undefined,
    destinations: readonly string[],
  ): Promise<readonly string[] | 'again'> {
    const { name = '', uid = '' } = policy.metadata;
    const resource = control.bindings.resource;
    if (!resource) return 'again';
    const isForeign = binding !== undefined && !ownedBy(policy, binding);
    if (binding?.metadata.deletionTimestamp !== undefined)
      return isForeign ? [`the Binding ${name}, which is not of this ${policy.kind}, is being deleted`] : [];
    const unread = kinds.unread();
    const unreadable = ({ group = '', resource: plural }: ListedObject): boolean =>
      (kinds.mystery(group) !== undefined && kinds.kindOf(group, plural) === undefined) ||
      unread.some(({ kind }) => kind.group === group && kind.resource === plural);
    // What somebody else says is no memory of this policy.
    const previous = isForeign ? undefined : binding;
    const content = previous?.metadata.annotations?.[CONTENT_ANNOTATION];
    const wanted = compile(policy);
    const now = resolvePolicy(wanted, {
      stocks: kinds.stocks((kind) => reachesKind(wanted, kind)),
      namespaces: namespaceLabels,
      destinations,
      previous: {
        ...(previous?.spec === undefined ? {} : { spec: previous.spec }),
        ...(content === undefined ? {} : { content }),
      },
      unreadable,
    });
    if (isForeign) {
      const refused = notTakenOver(policy, binding, now.spec);
      if (refused !== undefined) return [refused];
      log.info('a Binding is taken over by the policy of its name, which says the same', { binding: name });
    }
    const kept = (previous?.spec ? listedIn(previous.spec) : []).filter(unreadable);
    const mysteries = new Set(kept.flatMap(({ group = '' }) => kinds.mystery(group) ?? []));
    const notes = [
      ...unread.map(
        ({ kind, failure = '' }) =>
          `${kind.resource} cannot be read by the hub: ${failure}. What is listed of them stays`,
      ),
      ...[...mysteries].map(
        (why) => `it is not known what some API groups serve: ${why}. What is listed of them stays`,
      ),
      ...singletonProblems(now.spec, destinations.length),
    ];
    const before = resolved.get(name);
    const author = control.author(policy);
    const isKnown = before?.uid === uid && deepEqual(before.spec, now.spec);
    const next: Resolved = {
      owner: key,
      uid,
      spec: now.spec,
      author,
      ...(isKnown && before.stored !== undefined ? { stored: before.stored } : {}),
    };
    resolved.set(name, next);
    const isWritten =
      binding !== undefined &&
      content === now.content &&
      ownerOf(binding)?.uid === uid &&
      says(next, binding);
    if (!isWritten) {
      const stored = await write(resource, policy, binding, next, now.content);
      if (stored === 'again') return 'again';
      if (typeof stored === 'string') return [...notes, stored];
      if (!deepEqual(stored.spec, now.spec) && stored.spec)
        resolved.set(name, { ...next, stored: stored.spec });
    }
    if (!isKnown || !deepEqual(before.author, author)) onStanding(name);
    return notes;
  }

  /** As it was stored; why it cannot be, or that somebody else wrote in between. */
  async function write(
    resource: ResourceId,
    policy: Policy,
    binding: Binding | undefined,
    { spec }: Resolved,
    content: string,
  ): Promise<Binding | string> {
    const { name = '', uid = '' } = policy.metadata;
    const owner: OwnerReference = {
      apiVersion: policy.apiVersion,
      kind: policy.kind,
      name,
      uid,
      controller: true,
      blockOwnerDeletion: false,
    };
    const metadata = { name, annotations: { [CONTENT_ANNOTATION]: content }, ownerReferences: [owner] };
    try {
      if (!binding)
        return await client.create<Binding>(resource, {
          apiVersion: `${resource.group}/${resource.version}`,
          kind: resource.kind,
          metadata,
          spec,
        });
      const { clusterScope = null, namespaceScope = null } = spec.workload ?? {};
      return await client.patch<Binding>(resource, '', name, 'merge', {
        metadata: { ...metadata, resourceVersion: binding.metadata.resourceVersion },
        spec: { workload: { clusterScope, namespaceScope }, destinations: spec.destinations },
      });
    } catch (error) {
      if (hasCode(error, 409) || hasCode(error, 404)) return 'again';
      if (!(error instanceof StatusError)) throw error;
      // Refused by somebody's rules, or too large (of which storages tell in ways of their own): it stays as it is.
      if (
        (error.code >= 400 && error.code < 500 && error.code !== 429) ||
        error.message.includes('too large')
      )
        return `its Binding cannot be written: ${error.message}`;
      throw error;
    }
  }

  return {
    standing(binding): Standing {
      const owner = ownerOf(binding);
      if (!owner) return { author: control.author(binding) };
      const found = resolved.get(binding.metadata.name ?? '');
      if (found?.uid !== owner.uid || !says(found, binding))
        return { waiting: `what ${owner.kind} ${owner.name} comes to is being looked at` };
      return { author: found.author };
    },
    objectChanged(kind, { type, object, previous }): void {
      if (type === 'updated' && previous && sameContent(object, previous)) return;
      const states = previous ? [object, previous] : [object];
      for (const policy of everyPolicy()) {
        const hit =
          isNamespaces(kind) ||
          states.some((state) => selectsObject(compile(policy), kind, state, namespaceLabels));
        if (hit) loop.enqueue(keyOf(policy), GATHER_MS);
      }
    },
    controlChanged(kind, { object }): void {
      const owner = kind === 'Binding' ? ownerOf(object) : undefined;
      if (owner) loop.enqueue(`${owner.kind}/${owner.name}`);
      // One that was in the way of a policy may be gone.
      else if (kind === 'Binding')
        for (const owning of [BINDING_POLICY, EDGE_PLACEMENT])
          loop.enqueue(`${owning.kind}/${object.metadata.name ?? ''}`);
      else if (kind === BINDING_POLICY.kind || kind === EDGE_PLACEMENT.kind) {
        kinds.open();
        wantKinds();
        loop.enqueue(keyOf(object));
      } else for (const placement of control.placements.list()) loop.enqueue(keyOf(placement), GATHER_MS);
    },
    lookAtAll,
    stop: () => loop.stop(),
  };
}

function isNamespaces({ group, resource }: ResourceId): boolean {
  return group === '' && resource === 'namespaces';
}

function says({ spec, stored }: Resolved, binding: Binding): boolean {
  return deepEqual(binding.spec, spec) || (stored !== undefined && deepEqual(binding.spec, stored));
}

/**
 * Why a Binding that a policy did not make stays as it is. One that was written by hand and says the same is taken over: so it is after
 * a hub was rebuilt from its spokes, which know no policies.
 */
function notTakenOver(
  { kind, metadata: { name = '' } }: Policy,
  binding: Binding,
  wanted: BindingSpec,
): string | undefined {
  const there = `a Binding ${name} is there that is not of this ${kind}`;
  const [owner] = binding.metadata.ownerReferences ?? [];
  if (owner)
    return `${there} but of ${owner.kind} ${owner.name}. Next: give one of the two another name, or delete that ${owner.kind}`;
  const difference = differenceOf(binding.spec, wanted);
  if (difference === undefined) return undefined;
  return `${there} and says something else: ${difference}. Next: make both say the same, and it is taken over; or apply this ${kind} under another name, and delete the Binding once that is Ready: what both bring stays. Before then, deleting the Binding takes away what it brought`;
}

/** The status of one copy cannot come back where there is not one copy. */
function singletonProblems({ workload }: BindingSpec, clusters: number): readonly string[] {
  if (clusters === 1) return [];
  const asking = [...(workload?.clusterScope ?? []), ...(workload?.namespaceScope ?? [])].filter(
    (listed) => listed.wantSingletonReportedState === true && listed.wantMultiWECReportedState !== true,
  );
  if (asking.length === 0) return [];
  const some = asking
    .slice(0, MAX_EXAMPLES)
    .map(
      ({ resource, namespace, name }) =>
        `${resource} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    );
  const more = asking.length > MAX_EXAMPLES ? ` and ${asking.length - MAX_EXAMPLES} more` : '';
  return [
    `the status of a single copy is wanted of ${some.join(', ')}${more}, which ${clusters === 0 ? 'no cluster has' : `${clusters} clusters have`}`,
  ];
}
