import type { Request, Response } from '../../kube/exchange.ts';
import { badRequest, internalError, type Status } from '../../kube/status-error.ts';
import { errorText, formatTime, type Runtime } from '../../runtime/index.ts';
import { clone } from '../../schema/json.ts';
import type { Store } from '../store/store.ts';
import { isWebSocketRequest } from '../websocket/index.ts';
import {
  commandOf,
  containerLog,
  type Execution,
  type SimulatedContainer,
  sandboxes,
} from '../workloads/containers/index.ts';
import type { Container, Pod } from '../workloads/kinds.ts';
import { EXIT_CODE, RUN_FOR } from '../workloads/simulation.ts';
import { podLog } from './pod-log.ts';
import {
  type FoundPod,
  findContainer,
  findPod,
  notRunning,
  type PodTarget,
  requireNode,
} from './pod-target.ts';
import { portForward } from './port-forward.ts';
import {
  type CommandRequest,
  type CommandStreams,
  commandRequest,
  exitStatus,
  followSizes,
  type ServeCommand,
} from './remote-command.ts';
import { commandOverSpdy } from './spdy-command.ts';
import { isSpdyRequest } from './spdy-upgrade.ts';
import { commandOverWebSocket } from './web-socket-command.ts';

export type StreamSubresource = 'attach' | 'exec' | 'log' | 'portforward';

/** What kubelets do for clients, for simulated pods. */
export interface PodStreams {
  /** Answers a request that was let through. Throws the `StatusError` of a failure. */
  answer(
    subresource: StreamSubresource,
    target: PodTarget,
    request: Request,
    query: URLSearchParams,
  ): Promise<Response> | Response;
  /** Ends what runs in all containers. */
  close(): void;
}

const SHELLS = /(?:^|\/)(?:ba|a)?sh$/;

export function podStreams(runtime: Runtime, store: Store): PodStreams {
  const containers = sandboxes(runtime, store);

  /** The container that a command goes to. Throws where it does not run. */
  function running(
    target: PodTarget,
    asked: string | undefined,
  ): { found: FoundPod; container: Container; open: SimulatedContainer } {
    const found = findPod(store, target);
    const container = findContainer(found.pod, asked);
    requireNode(found.pod);
    const open = containers.open(found.key, found, container);
    if (open === undefined) throw notRunning(container.name);
    return { found, container, open };
  }

  /** What of the pod is wrong is told before what of the request is. */
  function checkTarget(target: PodTarget, query: URLSearchParams): void {
    const { pod } = findPod(store, target);
    findContainer(pod, query.get('container') ?? undefined);
    requireNode(pod);
  }

  function exec(target: PodTarget, request: Request, query: URLSearchParams): Response {
    checkTarget(target, query);
    const asked = commandRequest(query);
    if (asked.command.length === 0) throw badRequest('you must specify at least 1 command for the container');
    const { found, open } = running(target, asked.container);
    return commandResponse(request, asked, async (streams) =>
      exitStatus(await run(open, found, asked.command, asked, streams)),
    );
  }

  function attach(target: PodTarget, request: Request, query: URLSearchParams): Response {
    checkTarget(target, query);
    const asked = commandRequest(query);
    const { found, container, open } = running(target, asked.container);
    return commandResponse(request, asked, async (streams) => {
      if (asked.stdin && isShell(container)) {
        const code = await run(open, found, ['sh'], asked, streams);
        if (!streams.signal.aborted) await endContainer(found, container, code);
        // How the container ended is told by its pod.
        return exitStatus(0);
      }
      await showOutput(target, found, container, streams);
      return exitStatus(0);
    });
  }

  function run(
    open: SimulatedContainer,
    found: FoundPod,
    command: readonly string[],
    { tty }: CommandRequest,
    streams: CommandStreams,
  ): Promise<number> {
    const { sizes, ...ends } = streams;
    const execution: Execution = {
      ...ends,
      command,
      tty,
      onTerminal(terminal) {
        if (sizes) void followSizes(sizes, terminal);
      },
    };
    return open.run(found, execution);
  }

  function commandResponse(request: Request, asked: CommandRequest, serve: ServeCommand): Response {
    const reported: ServeCommand = async (streams) => {
      try {
        return await serve(streams);
      } catch (error) {
        runtime.log.error('a simulated command failed', { error: errorText(error) });
        const { status }: { status: Status } = internalError(errorText(error), error);
        return status;
      }
    };
    if (isWebSocketRequest(request)) return commandOverWebSocket(runtime, request, asked, reported);
    if (isSpdyRequest(request)) return commandOverSpdy(runtime, request, asked, reported);
    throw badRequest('Upgrade request required');
  }

  /** What a container that is no shell prints from now on, until it ends. */
  async function showOutput(
    target: PodTarget,
    found: FoundPod,
    container: Container,
    streams: CommandStreams,
  ): Promise<void> {
    streams.stdin.cancel();
    const query = new URLSearchParams({ container: container.name, follow: 'true', tailLines: '0' });
    if (containerLog(found.pod, container, false) === undefined) return;
    const { body } = podLog(runtime, store, target, query, streams.signal);
    if (body instanceof Uint8Array) return;
    for await (const chunk of body) {
      if (streams.signal.aborted) return;
      await streams.stdout.write(chunk);
    }
  }

  /**
   * A container whose shell was left has ended. One that is always started again would only begin anew, so it is left as it
   * is.
   */
  async function endContainer({ key, pod }: FoundPod, { name }: Container, code: number): Promise<void> {
    const alone = pod.spec.containers.length === 1 && pod.spec.containers[0]?.name === name;
    const ends = alone && (pod.spec.restartPolicy ?? 'Always') !== 'Always';
    const debugs = pod.spec.ephemeralContainers?.some((each) => each.name === name) ?? false;
    if (!ends && !debugs) return;
    await store.write(key, (current) => {
      if (!current || current.object.metadata.uid !== pod.metadata.uid) return undefined;
      const object = clone(current.object) as Pod;
      if (ends) {
        const script = { [RUN_FOR]: '0s', [EXIT_CODE]: String(code) };
        object.metadata.annotations = { ...object.metadata.annotations, ...script };
      }
      const status = object.status?.ephemeralContainerStatuses?.find((each) => each.name === name);
      if (debugs && status?.state.running)
        status.state = {
          terminated: {
            exitCode: code,
            reason: code === 0 ? 'Completed' : 'Error',
            startedAt: status.state.running.startedAt ?? '',
            finishedAt: formatTime(runtime.clock.now()),
          },
        };
      return object;
    });
  }

  return {
    answer(subresource, target, request, query) {
      switch (subresource) {
        case 'exec':
          return exec(target, request, query);
        case 'attach':
          return attach(target, request, query);
        case 'log':
          return podLog(runtime, store, target, query, request.signal);
        case 'portforward': {
          const { pod, key } = findPod(store, target);
          requireNode(pod);
          if (pod.status?.phase !== 'Running')
            throw badRequest(
              `unable to forward port because pod is not running. Current status=${pod.status?.phase ?? 'Pending'}`,
            );
          return portForward(runtime, request, () => {
            const now = store.get(key)?.object as Pod | undefined;
            return now?.metadata.uid === pod.metadata.uid && now?.status?.phase === 'Running'
              ? now
              : undefined;
          });
        }
      }
    },
    close: containers.close,
  };
}

/** Whether what the container runs is a shell that talks to whoever attaches. */
function isShell(container: Container): boolean {
  if (container.stdin !== true) return false;
  const [program = '', ...args] = commandOf(container);
  return program === '/entrypoint' || (SHELLS.test(program) && args.length === 0);
}
