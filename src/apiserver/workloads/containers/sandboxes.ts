import type { Runtime } from '../../../runtime/index.ts';
import { resourcePrefix } from '../../store/key.ts';
import type { Store, StoreEvent, Watch } from '../../store/store.ts';
import type { Container, ContainerStatus, Pod } from '../kinds.ts';
import { type SimulatedContainer, simulatedContainer } from './container.ts';
import { boundedSpace, type Directory, type Space } from './file-system.ts';
import type { PodFacts } from './pod-facts.ts';

/** The simulated containers that somebody has looked into. A container that nobody has costs nothing. */
export interface Sandboxes {
  /** The present run of a container; `undefined` when it does not run. */
  open(key: string, facts: PodFacts, container: Container): SimulatedContainer | undefined;
  close(): void;
}

interface Sandbox {
  readonly uid: string;
  readonly space: Space & { release(): void };
  readonly volumes: Map<string, Directory>;
  readonly containers: Map<string, { readonly run: string; readonly container: SimulatedContainer }>;
}

/** What the containers of a pod may keep, and all of a server. */
const POD_LIMIT = 64 * 1024 * 1024;
const TOTAL_LIMIT = 512 * 1024 * 1024;

export function sandboxes(runtime: Runtime, store: Store): Sandboxes {
  const space = boundedSpace(TOTAL_LIMIT);
  /** By key of the pod in the store. */
  const open = new Map<string, Sandbox>();
  let watch: Watch | undefined;

  /** While there are sandboxes, pods are watched, so that all is gone when its container is. */
  function follow(): void {
    if (open.size === 0) {
      watch?.stop();
      watch = undefined;
    } else watch ??= store.watch(resourcePrefix('', 'pods'), store.revision, onEvents);
  }

  function onEvents(events: readonly StoreEvent[]): void {
    for (const { type, record } of events) {
      const sandbox = open.get(record.key);
      if (sandbox === undefined) continue;
      const pod = record.object as Pod;
      const gone = type === 'deleted' || pod.metadata.uid !== sandbox.uid;
      for (const [name, { run, container }] of sandbox.containers) {
        if (!gone && runningIdOf(pod, name) === run) continue;
        container.end();
        sandbox.containers.delete(name);
      }
      if (gone || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed')
        forget(record.key, sandbox);
    }
    follow();
  }

  function forget(key: string, sandbox: Sandbox): void {
    for (const { container } of sandbox.containers.values()) container.end();
    sandbox.space.release();
    if (open.get(key) === sandbox) open.delete(key);
  }

  return {
    open(key, facts, container) {
      const { pod } = facts;
      const run = runningIdOf(pod, container.name);
      if (run === undefined) return undefined;
      const uid = pod.metadata.uid ?? '';
      let sandbox = open.get(key);
      if (sandbox === undefined || sandbox.uid !== uid) {
        if (sandbox) forget(key, sandbox);
        sandbox = { uid, space: boundedSpace(POD_LIMIT, space), volumes: new Map(), containers: new Map() };
        open.set(key, sandbox);
        follow();
      }
      const present = sandbox.containers.get(container.name);
      if (present?.run === run) return present.container;
      present?.container.end();
      const made = simulatedContainer(runtime.clock, container, facts, sandbox.volumes, sandbox.space);
      sandbox.containers.set(container.name, { run, container: made });
      return made;
    },
    close() {
      watch?.stop();
      for (const [key, sandbox] of [...open]) forget(key, sandbox);
    },
  };
}

/** The status of a container of any sort. */
export function statusOf(pod: Pod, name: string): ContainerStatus | undefined {
  const { status } = pod;
  return [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((each) => each.name === name);
}

/** Tells the runs of a container apart. */
function runningIdOf(pod: Pod, name: string): string | undefined {
  const status = statusOf(pod, name);
  if (status?.state?.running === undefined) return undefined;
  return status.containerID ?? String(status.restartCount);
}
