import type { Client, ResourceId } from '../kube/client.ts';
import type { Change, Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { type KubeObject, type ObjectRef, refKey } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { stringAt } from '../schema/json.ts';

/** Knows which objects of the cluster an autoscaler scales, whoever made it. */
export interface Autoscalers {
  /** Starts looking, with the first object that can be scaled. Resolves when all that is there is known, throws where it cannot be. */
  ready(): Promise<void>;
  scales(ref: ObjectRef): boolean;
  stop(): void;
}

const API_VERSION = 'autoscaling/v2';
const KIND = 'HorizontalPodAutoscaler';

/** `onChange` is told the objects that an autoscaler took up or let go. */
export function createAutoscalers(
  runtime: Runtime,
  client: Client,
  onChange: (key: string) => void,
): Autoscalers {
  /** Autoscalers by what they scale. */
  const targets = new Map<string, Set<string>>();
  let started: Promise<void> | undefined;
  let informer: Informer | undefined;
  let stopped = false;

  function set(target: string, autoscaler: string, present: boolean): void {
    const scalers = targets.get(target) ?? new Set();
    const before = scalers.size;
    if (present) scalers.add(autoscaler);
    else scalers.delete(autoscaler);
    if (scalers.size === 0) targets.delete(target);
    else targets.set(target, scalers);
    if ((before === 0) !== (scalers.size === 0)) onChange(target);
  }

  function take({ type, object, previous }: Change): void {
    const autoscaler = `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
    const target = targetOf(object);
    const before = previous && targetOf(previous);
    if (before !== undefined && before !== target) set(before, autoscaler, false);
    if (target !== undefined) set(target, autoscaler, type !== 'deleted');
  }

  async function start(): Promise<void> {
    let resource: ResourceId;
    try {
      resource = await client.resourceFor(API_VERSION, KIND);
    } catch (error) {
      // A cluster without autoscaling.
      if (hasCode(error, 404)) return;
      throw error;
    }
    if (stopped) return;
    const failed = Promise.withResolvers<never>();
    // Once they are followed, what goes wrong is for the informer to mend.
    failed.promise.catch(() => undefined);
    // An informer never gives up; why it cannot be known who scales has to be told.
    const starting = startInformer(runtime, client, resource, { onFailure: failed.reject });
    starting.onChange(take);
    informer = starting;
    try {
      await Promise.race([starting.whenSynced(), failed.promise]);
    } catch (error) {
      starting.stop();
      throw error;
    }
  }

  return {
    async ready(): Promise<void> {
      if (!started) {
        started = start();
        started.catch(() => {
          started = undefined;
        });
      }
      await started;
    },
    scales: (ref) => targets.has(refKey(ref)),
    stop(): void {
      stopped = true;
      informer?.stop();
    },
  };
}

function targetOf(autoscaler: KubeObject): string | undefined {
  const kind = stringAt(autoscaler, 'spec', 'scaleTargetRef', 'kind');
  const name = stringAt(autoscaler, 'spec', 'scaleTargetRef', 'name');
  if (kind === undefined || name === undefined) return undefined;
  const apiVersion = stringAt(autoscaler, 'spec', 'scaleTargetRef', 'apiVersion') ?? 'v1';
  return refKey({ apiVersion, kind, namespace: autoscaler.metadata.namespace ?? '', name });
}
