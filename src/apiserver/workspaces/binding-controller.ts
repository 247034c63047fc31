import { startController } from '../../kube/controller-loop.ts';
import { asJson } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import { formatTime, type Runtime } from '../../runtime/index.ts';
import type { ObjectActions } from '../controllers/index.ts';
import type { ApiBindings } from '../crd/index.ts';
import { clusterPrefix, objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import {
  API_BINDINGS,
  API_EXPORTS,
  type ApiBindingObject,
  type ApiExport,
  BINDING_FINALIZER,
  setCondition,
  TENANCY_GROUP,
} from './kinds.ts';

export interface BindingControllerOptions {
  readonly store: Store;
  readonly actions: Pick<ObjectActions, 'change' | 'delete' | 'removeFinalizer'>;
  readonly bindings: ApiBindings;
}

const PREFIX = resourcePrefix(TENANCY_GROUP, API_BINDINGS);
const EXPORTS = resourcePrefix(TENANCY_GROUP, API_EXPORTS);
const DEFINITIONS = resourcePrefix('apiextensions.k8s.io', 'customresourcedefinitions');
const OBJECTS_AGAIN_MS = 1_000;

/** Serves the definitions of an APIExport where an APIBinding asks for it. With the APIBinding go the objects. */
export function startBindingController(
  runtime: Runtime,
  { store, actions, bindings }: BindingControllerOptions,
): { stop(): Promise<void> } {
  const controller = startController(runtime, { name: 'api-binding', reconcile });

  async function reconcile(key: string): Promise<{ requeueAfterMs: number } | undefined> {
    const binding = store.get(key)?.object as ApiBindingObject | undefined;
    if (binding === undefined) return undefined;
    const { cluster: consumer } = parseKey(key);
    const bound = binding.status?.definitions ?? [];
    if (binding.metadata.deletionTimestamp !== undefined) {
      if (!binding.metadata.finalizers?.includes(BINDING_FINALIZER)) return undefined;
      for (const definition of bound)
        if (!(await release(consumer, definition))) return { requeueAfterMs: OBJECTS_AGAIN_MS };
      await actions.removeFinalizer(key, BINDING_FINALIZER);
      return undefined;
    }
    const reference = binding.spec?.export;
    if (reference === undefined) return undefined;
    const provider = reference.cluster ?? consumer;
    const found = store.get(objectKey(TENANCY_GROUP, API_EXPORTS, provider, '', reference.name))?.object;
    const wanted = (found as ApiExport | undefined)?.spec?.definitions ?? [];
    const problems = found === undefined ? [`there is no APIExport ${JSON.stringify(reference.name)}`] : [];
    const have = new Set(bound);
    for (const definition of wanted)
      try {
        await bindings.bind(provider, definition, consumer);
        have.add(definition);
      } catch (error) {
        if (!(error instanceof StatusError) || error.code >= 500) throw error;
        problems.push(error.message);
      }
    await report(key, [...have].sort(), problems);
    return undefined;
  }

  /** Deletes the objects of an API and ends its binding; false while there are some. */
  async function release(consumer: string, definition: string): Promise<boolean> {
    const dot = definition.indexOf('.');
    const prefix = clusterPrefix(definition.slice(dot + 1), definition.slice(0, dot), consumer);
    for (const { key, object } of store.list(prefix).records)
      if (object.metadata.deletionTimestamp === undefined)
        await actions.delete(key, object.metadata.uid ?? '', 'Background');
    if (store.count(prefix) > 0) return false;
    await bindings.unbind(consumer, definition);
    return true;
  }

  async function report(
    key: string,
    definitions: readonly string[],
    problems: readonly string[],
  ): Promise<void> {
    const bound = problems.length === 0;
    await actions.change(
      key,
      (object) => {
        asJson(object).status = {
          ...((asJson(object).status ?? {}) as object),
          phase: bound ? 'Bound' : 'Binding',
          definitions: [...definitions],
        };
        setCondition(
          object,
          {
            type: 'Bound',
            status: bound ? 'True' : 'False',
            reason: bound ? 'Bound' : 'NotBound',
            message: problems.join('; '),
          },
          formatTime(runtime.clock.now()),
        );
        return object;
      },
      'status',
    );
  }

  function enqueueUnready(provider?: string): void {
    for (const { key, object } of store.list(PREFIX).records) {
      const { spec, status } = object as ApiBindingObject;
      const from = spec?.export?.cluster ?? parseKey(key).cluster;
      if (provider === undefined ? status?.phase !== 'Bound' : from === provider) controller.enqueue(key);
    }
  }

  const watches = [
    store.watch(PREFIX, store.revision, (events) => {
      for (const { record } of events) controller.enqueue(record.key);
    }),
    store.watch(EXPORTS, store.revision, (events) => {
      for (const provider of new Set(events.map(({ record }) => parseKey(record.key).cluster)))
        enqueueUnready(provider);
    }),
    store.watch(DEFINITIONS, store.revision, (events) => {
      if (events.some(({ type }) => type === 'created')) enqueueUnready();
    }),
  ];
  enqueueUnready();
  for (const { key, object } of store.list(PREFIX).records)
    if (object.metadata.deletionTimestamp !== undefined) controller.enqueue(key);

  return {
    stop() {
      for (const watch of watches) watch.stop();
      return controller.stop();
    },
  };
}
