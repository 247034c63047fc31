import { asJson } from '../../../kube/object.ts';
import type { Clock } from '../../../runtime/index.ts';
import { numberAt, stringAt } from '../../../schema/json.ts';
import { BrokenPipe, type ByteSink, type ByteSource } from '../../streams/byte-pipe.ts';
import type { Container } from '../kinds.ts';
import { environmentOf } from './environment.ts';
import { type Directory, type FileSystem, fileSystem, normalizePath, type Space } from './file-system.ts';
import { hostNameOf, type PodFacts } from './pod-facts.ts';
import { inputOf, type Machine, OverBudget, type Process, print, stepBudget } from './process.ts';
import { PROGRAMS } from './programs/index.ts';
import { reportMissing, runProgram } from './run-program.ts';
import { INTERRUPTED_CODE } from './shell.ts';
import { ShellExit } from './shell-state.ts';
import { type TerminalDevice, terminalDevice } from './terminal.ts';
import { mountVolumes } from './volumes.ts';

/** A command to be run in a container, and whom it talks to. */
export interface Execution {
  readonly command: readonly string[];
  readonly stdin: ByteSource;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
  readonly tty: boolean;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Is given the terminal, to tell it of its size. */
  readonly onTerminal?: (terminal: TerminalDevice) => void;
}

/** One run of a simulated container: its files live as long as it. */
export interface SimulatedContainer {
  /** Runs a command; resolves with its exit code, also when it is killed. */
  run(facts: PodFacts, execution: Execution): Promise<number>;
  /** Kills what runs in it. */
  end(): void;
}

const KILLED_CODE = 137;
const MAX_PROCESSES = 64;

class ContainerEnded extends Error {
  constructor() {
    super('the container has ended');
    this.name = 'ContainerEnded';
  }
}

/** `shared` are the volumes of its pod, `space` is what its files may take. */
export function simulatedContainer(
  clock: Clock,
  container: Container,
  facts: PodFacts,
  shared: Map<string, Directory>,
  space: Space,
): SimulatedContainer {
  const files = fileSystem(() => clock.now(), space);
  const ended = new AbortController();
  let running = 0;
  installImage(files, facts);

  async function run(present: PodFacts, execution: Execution): Promise<number> {
    const { stdin, stdout, stderr, tty } = execution;
    const [name = '', ...args] = execution.command;
    mountVolumes(present, container, files, shared, clock.now());
    const terminal = tty ? terminalDevice(stdin, stdout) : undefined;
    if (terminal) execution.onTerminal?.(terminal);
    const interrupt = new AbortController();
    if (terminal) terminal.onInterrupt = () => interrupt.abort(new Error('interrupted'));
    const signal = AbortSignal.any([execution.signal, ended.signal, interrupt.signal]);
    const environment = environmentOf(present, container);
    if (tty && !environment.has('TERM')) environment.set('TERM', 'xterm');
    const input = inputOf(terminal?.input ?? stdin);
    const process: Process = {
      name,
      args,
      environment,
      directory: normalizePath(stringAt(asJson(container as never), 'workingDir') ?? '/'),
      stdin: input,
      stdout: terminal?.output ?? stdout,
      stderr: terminal?.output ?? stderr,
      machine: machineOf(present),
      terminal,
      signal,
      budget: stepBudget(clock),
    };
    // A program that waits for input hears of its end in no other way.
    const wakeUp = (): void => {
      if (terminal) terminal.hangUp();
      else stdin.cancel();
    };
    signal.addEventListener('abort', wakeUp, { once: true });
    try {
      const code = await runProgram(process, { missing: () => reportMissing(process) });
      return killedBy(ended.signal, execution.signal, interrupt.signal) ?? code;
    } catch (error) {
      const killed = killedBy(ended.signal, execution.signal, interrupt.signal);
      if (killed !== undefined) return killed;
      if (error instanceof ShellExit) return error.code;
      if (error instanceof BrokenPipe) return KILLED_CODE;
      if (!(error instanceof OverBudget)) throw error;
      await print(process.stderr, `${error.message}\n`);
      return KILLED_CODE;
    } finally {
      signal.removeEventListener('abort', wakeUp);
    }
  }

  function machineOf(present: PodFacts): Machine {
    const user = numberAt(asJson(container as never), 'securityContext', 'runAsUser');
    const podUser = numberAt(asJson(present.pod), 'spec', 'securityContext', 'runAsUser');
    const group = numberAt(asJson(container as never), 'securityContext', 'runAsGroup');
    const podGroup = numberAt(asJson(present.pod), 'spec', 'securityContext', 'runAsGroup');
    const info = (present.node?.status?.nodeInfo ?? {}) as { kernelVersion?: string; architecture?: string };
    return {
      files,
      clock,
      hostName: hostNameOf(present.pod),
      command: commandOf(container),
      userId: user ?? podUser ?? 0,
      groupId: group ?? podGroup ?? 0,
      node: { kernel: info.kernelVersion ?? 'simulated', architecture: info.architecture ?? 'amd64' },
      programs: PROGRAMS,
    };
  }

  return {
    async run(present, execution) {
      if (running >= MAX_PROCESSES) {
        await print(
          execution.stderr,
          `a simulated container runs ${MAX_PROCESSES} commands at once at most\n`,
        );
        return 126;
      }
      running += 1;
      try {
        return await run(present, execution);
      } finally {
        running -= 1;
      }
    },
    end() {
      ended.abort(new ContainerEnded());
    },
  };
}

/** The exit code of a process that was made to end; what it said of itself counts no more. */
function killedBy(ended: AbortSignal, gone: AbortSignal, interrupt: AbortSignal): number | undefined {
  if (ended.aborted || gone.aborted) return KILLED_CODE;
  return interrupt.aborted ? INTERRUPTED_CODE : undefined;
}

/** What the container runs by itself, as far as the pod says. */
export function commandOf(container: Container): string[] {
  const { command, args } = container as { command?: string[]; args?: string[] };
  const all = [...(command ?? []), ...(args ?? [])];
  return all.length === 0 ? ['/entrypoint'] : all;
}

/** The files that every image has here, and those that kubelets make. */
function installImage(files: FileSystem, { pod }: PodFacts): void {
  for (const path of ['/bin', '/dev', '/etc', '/home', '/proc', '/root', '/usr/bin', '/var/log', '/var/run'])
    files.makeDirectory(path, { parents: true });
  files.makeDirectory('/tmp', { mode: 0o1777 });
  const hostName = hostNameOf(pod);
  const namespace = pod.metadata.namespace ?? '';
  const address = pod.status?.podIP;
  const subdomain = pod.spec.subdomain;
  const full = subdomain === undefined ? '' : `${hostName}.${subdomain}.${namespace}.svc.cluster.local\t`;
  files.write('/etc/hostname', `${hostName}\n`);
  files.write(
    '/etc/hosts',
    `# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n${
      address === undefined ? '' : `${address}\t${full}${hostName}\n`
    }`,
  );
  files.write(
    '/etc/resolv.conf',
    `search ${namespace}.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n`,
  );
  files.write('/etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n');
  files.write('/etc/group', 'root:x:0:\nnobody:x:65534:\n');
  files.write(
    '/etc/os-release',
    'NAME="Simulated container"\nID=simulated\nPRETTY_NAME="Simulated container"\n',
  );
  for (const name of PROGRAMS.keys()) files.write(`/bin/${name}`, '', 0o755);
  files.write('/dev/null', '', 0o666);
}
