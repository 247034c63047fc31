import type { Client } from '../../kube/client.ts';
import type { Controller, Result } from '../../kube/controller.ts';
import { type EventRecorder, startController, startEventRecorder } from '../../kube/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import * as known from '../../kube/well-known.ts';
import type { Runtime } from '../../runtime/index.ts';
import type {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  DisruptionBudget,
  Job,
  Node,
  Pod,
  ReplicaSet,
  Service,
  StatefulSet,
  Volume,
  VolumeClaim,
} from './kinds.ts';
import { type Mirror, startMirror } from './mirror.ts';

/** What the controllers of the simulator share: the copies of the resources, and how to start a controller. */
export interface World {
  readonly runtime: Runtime;
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly deployments: Mirror<Deployment>;
  readonly replicaSets: Mirror<ReplicaSet>;
  readonly statefulSets: Mirror<StatefulSet>;
  readonly daemonSets: Mirror<DaemonSet>;
  readonly controllerRevisions: Mirror<ControllerRevision>;
  readonly jobs: Mirror<Job>;
  readonly cronJobs: Mirror<CronJob>;
  readonly pods: Mirror<Pod>;
  readonly nodes: Mirror<Node>;
  readonly services: Mirror<Service>;
  readonly endpoints: Mirror<KubeObject>;
  readonly endpointSlices: Mirror<KubeObject>;
  readonly volumeClaims: Mirror<VolumeClaim>;
  readonly volumes: Mirror<Volume>;
  readonly disruptionBudgets: Mirror<DisruptionBudget>;
  /** Starts a controller that sees, at the next reconcile of any key, what it wrote in this one to `writes`. */
  control(options: WorkOptions): Controller;
  /** Ends when every copy is complete. */
  whenSynced(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkOptions {
  readonly name: string;
  readonly concurrency?: number;
  readonly writes: readonly { caughtUp(): Promise<void> }[];
  readonly reconcile: (key: string) => Promise<Result | void>;
}

export function createWorld(runtime: Runtime, client: Client): World {
  const controllers: Controller[] = [];
  const mirrors = {
    deployments: startMirror<Deployment>(runtime, client, known.deployments),
    replicaSets: startMirror<ReplicaSet>(runtime, client, known.replicaSets),
    statefulSets: startMirror<StatefulSet>(runtime, client, known.statefulSets),
    daemonSets: startMirror<DaemonSet>(runtime, client, known.daemonSets),
    controllerRevisions: startMirror<ControllerRevision>(runtime, client, known.controllerRevisions),
    jobs: startMirror<Job>(runtime, client, known.jobs),
    cronJobs: startMirror<CronJob>(runtime, client, known.cronJobs),
    pods: startMirror<Pod>(runtime, client, known.pods),
    nodes: startMirror<Node>(runtime, client, known.nodes),
    services: startMirror<Service>(runtime, client, known.services),
    endpoints: startMirror(runtime, client, known.endpoints),
    endpointSlices: startMirror(runtime, client, known.endpointSlices),
    volumeClaims: startMirror<VolumeClaim>(runtime, client, known.persistentVolumeClaims),
    volumes: startMirror<Volume>(runtime, client, known.persistentVolumes),
    disruptionBudgets: startMirror<DisruptionBudget>(runtime, client, known.podDisruptionBudgets),
  };
  // A controller that knows only half of the objects would make the other half anew.
  const synced = Promise.all(Object.values(mirrors).map((mirror) => mirror.whenSynced()));
  synced.catch(() => {}); // only a stop rejects, and whoever waits hears of it
  const recorder = startEventRecorder(runtime, client, { component: 'workload-simulator' });

  return {
    runtime,
    client,
    recorder,
    ...mirrors,
    control({ name, concurrency, writes, reconcile }) {
      const controller = startController(runtime, {
        name,
        concurrency: concurrency ?? 8,
        backoff: { baseMs: 50, maxMs: 10_000 },
        async reconcile(key) {
          await synced;
          try {
            return await reconcile(key);
          } catch (error) {
            if (!isEndOfNamespace(error)) throw error;
            return undefined;
          } finally {
            for (const mirror of writes) await mirror.caughtUp();
          }
        },
      });
      controllers.push(controller);
      return controller;
    },
    async whenSynced() {
      await synced;
    },
    async stop() {
      const ended = controllers.map((controller) => controller.stop());
      for (const mirror of Object.values(mirrors)) mirror.stop();
      recorder.stop();
      await Promise.all(ended);
    },
  };
}

/** Nothing can be made in a namespace that is being deleted; its objects go soon, so there is nothing to retry. */
function isEndOfNamespace(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.status.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating')
  );
}
