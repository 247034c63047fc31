import {
  BINDING,
  type Binding,
  type CompiledBinding,
  compileBinding,
  listedIn,
  listedKey,
  reportBinding,
} from '../../../dialects/kubestellar/index.ts';
import { definitionsAmong } from '../../../engine/closure/index.ts';
import type { Compiled } from '../../../engine/compiled.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Result } from '../../../kube/controller.ts';
import { formatApiVersion, gvkOf, type KubeObject } from '../../../kube/object.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deepEqual } from '../../../schema/json.ts';
import { AUTHOR_ANNOTATION } from '../../policies/index.ts';
import { setFinalizers } from '../finalizers.ts';
import type { CompileReading, IntentFindings, IntentSource } from '../intent-source.ts';
import { heldIntent, recordedSource, rememberDecision } from '../kubefed/recorded.ts';
import type { IntentRecords } from '../records.ts';
import type { ControlObjects } from './control.ts';
import type { Listings } from './listings.ts';
import { ownerOf } from './policy.ts';
import type { Resolver } from './resolver.ts';
import type { WorkloadKinds } from './workload-kinds.ts';

/** Keeps a Binding until what it lists is gone from every cluster that has it. */
export const BINDING_FINALIZER = 'transport.kubestellar.io/object-cleanup';
/** The first part of the keys of Bindings. */
export const BINDING_KEY: string = `${BINDING.kind}.${BINDING.group}`;

/** How long clusters have to come back to a hub that starts: until then what was known of them stands. */
const GRACE_MS = 40_000;
const DEFINITION = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };

export interface BindingSourceOptions {
  readonly client: Client;
  readonly control: ControlObjects;
  readonly kinds: WorkloadKinds;
  readonly listings: Listings;
  readonly records: IntentRecords;
  readonly resolver: Resolver;
}

export function bindingKey(name: string): string {
  return `${BINDING_KEY}//${name}`;
}

/** Bindings, of policies and written by hand, as intents. */
export function openBindingSource(runtime: Runtime, options: BindingSourceOptions): IntentSource<Binding> {
  const { client, control, kinds, listings, records, resolver } = options;
  /** What each came to last, for its status. */
  const last = new Map<string, CompiledBinding>();
  /** Those that nothing was made of yet, since what they stand for is not known. */
  const waiting = new Set<string>();
  const keys = new WeakMap<object, ReadonlySet<string>>();
  const graceEnds = runtime.clock.now() + GRACE_MS;

  function isSynced(): boolean {
    return control.synced && records.synced && (kinds.known || control.bindings.list().length === 0);
  }

  function keysOf({ spec }: Binding): ReadonlySet<string> {
    if (!spec) return new Set();
    let known = keys.get(spec);
    if (!known) {
      known = new Set(listedIn(spec).map(listedKey));
      keys.set(spec, known);
    }
    return known;
  }

  function compile(binding: Binding, { objects, named = objects }: CompileReading): Compiled {
    const key = bindingKey(binding.metadata.name ?? '');
    const standing = resolver.standing(binding);
    if ('waiting' in standing) {
      waiting.add(key);
      return heldIntent(binding, standing.waiting);
    }
    waiting.delete(key);
    const byKind = new Map<ResourceId, ReadonlyMap<string, KubeObject>>();
    const objectsOf = (kind: ResourceId): ReadonlyMap<string, KubeObject> => {
      let found = byKind.get(kind);
      if (!found) {
        // It has a definition, or was discovered: where it is not to be had now, that says nothing of its objects.
        const all = objects(formatApiVersion(kind.group, kind.version), kind.kind);
        found = new Map(all.map((object) => [placeOf(object.metadata), object]));
        byKind.set(kind, found);
      }
      return found;
    };
    const find = definitionsAmong(named(DEFINITION.apiVersion, DEFINITION.kind));
    const compiled = compileBinding(
      binding,
      {
        kind: ({ group = '', resource }) => kinds.kindOf(group, resource),
        object: (kind, listed) => objectsOf(kind).get(placeOf(listed)),
        definition: find,
        combined: listings.combined,
        mystery: kinds.mystery,
      },
      standing.author,
    );
    last.set(key, compiled);
    return compiled;
  }

  return {
    finalizer: BINDING_FINALIZER,
    get synced() {
      return isSynced();
    },
    owns: (key) => key.startsWith(`${BINDING_KEY}/`),
    get(key) {
      const found = isSynced() ? control.bindings.get('', key.slice(BINDING_KEY.length + 2)) : undefined;
      if (!found) {
        last.delete(key);
        waiting.delete(key);
      }
      return found;
    },
    *entries(): Iterable<[string, Binding]> {
      if (isSynced())
        for (const binding of control.bindings.list())
          yield [bindingKey(binding.metadata.name ?? ''), binding];
    },
    compile,
    concernedBy(binding, _compiled, changed) {
      if (changed.kind === DEFINITION.kind && changed.apiVersion === DEFINITION.apiVersion) return true;
      const { group, kind } = gvkOf(changed);
      const resource = kinds.resourceOf(group, kind);
      const { name = '', namespace = '' } = changed.metadata;
      return resource !== undefined && keysOf(binding).has(`${group}/${resource}/${namespace}/${name}`);
    },
    author(binding) {
      const standing = resolver.standing(binding);
      return 'author' in standing ? standing.author : undefined;
    },
    record: (binding) => records.get(recordedSource(binding)),
    writeRecord: async (binding, record) => records.write(recordedSource(binding), record),
    async report(binding, findings): Promise<Result | undefined> {
      await rememberDecision(records, binding, findings);
      const { name = '', generation = 0, resourceVersion, deletionTimestamp } = binding.metadata;
      const deleting = deletionTimestamp !== undefined;
      // What is only being looked at is no state to tell of.
      if (!deleting && (waiting.has(bindingKey(name)) || isReading(findings))) return undefined;
      const graceMs = graceEnds - runtime.clock.now();
      const isUnseen = findings.observations.some(
        ({ live, observedAt }) => !live && observedAt === undefined,
      );
      if (!deleting && isUnseen && graceMs > 0) return { requeueAfterMs: graceMs };
      const status = reportBinding(
        {
          generation,
          deleting,
          listed: listedIn(binding.spec).length,
          errors: deleting ? [] : errorsOf(binding, last.get(bindingKey(name)), findings),
          summary: findings.summary,
        },
        binding.status,
        runtime.clock.now(),
      );
      const { resource } = control.bindings;
      if (!resource || deepEqual(status, binding.status)) return undefined;
      return optimisticWrite(
        client.patch(
          resource,
          '',
          name,
          'merge',
          { metadata: { resourceVersion }, status },
          { subresource: 'status' },
        ),
      );
    },
    async setFinalizers(binding, finalizers): Promise<void> {
      const { resource } = control.bindings;
      if (!resource) return;
      await setFinalizers(client, resource, binding, finalizers);
      if (!finalizers.includes(BINDING_FINALIZER) && binding.metadata.deletionTimestamp !== undefined)
        await records.remove(recordedSource(binding));
    },
    stop(): void {
      // What it reads belongs to whoever opened it.
    },
  };
}

/** Whether what it lists is being read for the first time: it is looked at again when that is there. */
function isReading({ selection }: IntentFindings): boolean {
  return (
    !selection.ok && selection.reason === 'KindNotServed' && !selection.message.includes('cannot be read')
  );
}

/** What keeps a Binding from being carried out as it says, for people. */
function errorsOf(
  binding: Binding,
  compiled: CompiledBinding | undefined,
  { selection, placement, objects, conflicts = [], permitted, observing }: IntentFindings,
): readonly string[] {
  const told = [...(compiled?.errors ?? [])];
  if (selection.reason === 'AuthorUnknown') return [...told, authorUnknown(binding)];
  if (!selection.ok && selection.reason !== 'NothingSelected' && objects !== undefined)
    told.push(selection.message);
  if (!placement.ok && placement.reason !== 'NoCluster') told.push(placement.message);
  if (permitted) told.push(permitted.message);
  if (observing !== undefined) told.push(observing);
  return [...told, ...conflicts];
}

function authorUnknown(binding: Binding): string {
  const { kind, name } = ownerOf(binding) ?? { kind: binding.kind, name: binding.metadata.name ?? '' };
  // The core group has a Binding as well.
  const resource = kind === BINDING.kind ? `${BINDING.plural}.${BINDING.group}` : kind.toLowerCase();
  return `it is not known who wrote ${kind} ${name}: it was written before the hub's API server wrote authors down, or that server has no admission policies. Next, to be its author: kubectl annotate ${resource} ${name} ${AUTHOR_ANNOTATION}=me --overwrite. Nothing is changed on the spokes meanwhile`;
}

function placeOf({ namespace = '', name = '' }: { namespace?: string; name?: string }): string {
  return `${namespace}/${name}`;
}
