import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import { spokeClusterNamed } from '../../hub/join/index.ts';
import type { ClusterProvider } from '../../hub/provision/index.ts';
import { sleep } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { enrol, freePort, lockFleet, memberClient, startMembers } from '../commands/up.ts';
import {
  type FleetDirectory,
  type FleetFile,
  type Member,
  readFleet,
  writeFleet,
} from '../fleet-directory.ts';
import { mergeMemberKubeconfigs } from '../member-kubeconfig.ts';
import { runningPid, stopMember } from '../processes.ts';

const LOCKED_MS = 500;
const LONGEST_LOCKED_MS = 120_000;
/** One line at a time is written by commands; here nobody looks. */
const SILENT = { step: () => undefined, done: () => undefined, stop: () => undefined };

/**
 * Spokes on the machine of a fleet of `atoll up`, for its hub. A member remembers for which object it was made: others are neither taken
 * over nor taken away. Only one at a time changes the fleet, commands included.
 */
export function embeddedProvider(runtime: Runtime, directory: FleetDirectory): ClusterProvider {
  let turn: Promise<unknown> = Promise.resolve();

  /** Within this process one after the other; against commands by the lock of the fleet. */
  function inTurn(act: (fleet: FleetFile) => Promise<void>, isDone: () => boolean): Promise<void> {
    const next = turn.then(async () => {
      const release = await locked(isDone);
      if (!release) return;
      try {
        const fleet = readFleet(directory);
        if (!fleet) throw new Error(`there is no fleet in ${directory.root} any more`);
        await act(fleet);
      } finally {
        release();
      }
    });
    // Whoever asked hears of it.
    turn = next.catch(() => undefined);
    return next;
  }

  function mergeKubeconfigs(members: readonly Member[]): void {
    mergeMemberKubeconfigs(
      members.map(({ name }) => join(directory.home(name), 'kubeconfig')),
      directory.kubeconfig,
    );
  }

  /** How to give the lock back. Undefined where whoever has it did what is wanted: `atoll up` starts all, and waits for them to be used. */
  async function locked(isDone: () => boolean): Promise<(() => void) | undefined> {
    const { clock } = runtime;
    const deadline = clock.monotonic() + LONGEST_LOCKED_MS;
    while (!isDone()) {
      try {
        return await lockFleet(directory);
      } catch (error) {
        if (clock.monotonic() > deadline) throw error;
        await sleep(clock, LOCKED_MS);
      }
    }
    return undefined;
  }

  /** Whether what was made for an object runs. It is started when it has what it joins with. */
  function isRunning({ metadata: { name = '', uid } }: SpokeCluster): boolean {
    const member = readFleet(directory)?.members.find((item) => item.name === name && item.madeFor === uid);
    return (
      member !== undefined &&
      runningPid(directory, name) !== undefined &&
      existsSync(join(directory.home(name), 'ready'))
    );
  }

  return {
    name: 'embedded',
    create: (spoke) =>
      inTurn(
        async (fleet) => {
          const hub = fleet.members.find(({ role }) => role === 'hub');
          if (!hub) throw new Error(`${directory.fleetFile} names no hub`);
          const member = memberFor(fleet, spoke) ?? (await newMember(fleet, spoke));
          const client = memberClient(directory, hub.name);
          // It may have been deleted while others changed the fleet: nobody is to make it again.
          const now = await spokeClusterNamed(client, member.name);
          if (now?.metadata.uid !== member.madeFor) return;
          if (now?.spec.hubAcceptsClient === false)
            throw new Error('spec.hubAcceptsClient is false: the hub would not let it in');
          if (!fleet.members.includes(member))
            writeFleet(directory, { ...fleet, members: [...fleet.members, member] });
          await enrol(runtime, directory, client, hub, [member]);
          await startMembers(runtime, directory, [member], SILENT);
          mergeKubeconfigs([...fleet.members.filter((item) => item !== member), member]);
        },
        () => isRunning(spoke),
      ),
    remove: (spoke) =>
      inTurn(
        async (fleet) => {
          const { name = '', uid } = spoke.metadata;
          const member = fleet.members.find((item) => item.name === name && item.madeFor === uid);
          if (!member) return;
          await stopMember(runtime.clock, directory, name);
          const left = fleet.members.filter((item) => item !== member);
          // What is gone from the fleet is not started again, whatever happens to its files.
          writeFleet(directory, { ...fleet, members: left });
          rmSync(directory.home(name), { recursive: true, force: true });
          rmSync(directory.logFile(name), { force: true });
          rmSync(directory.auditFile(name), { force: true });
          mergeKubeconfigs(left);
        },
        () => false,
      ),
  };
}

/** The member that was made for an object before. Throws where its name is another's. */
function memberFor(fleet: FleetFile, { metadata, spec }: SpokeCluster): Member | undefined {
  const { name = '', uid } = metadata;
  if (spec.credential.type !== 'tunnel')
    throw new Error(
      `an embedded cluster dials its hub: spec.credential.type has to be tunnel, not ${spec.credential.type}`,
    );
  const taken = fleet.members.find((item) => item.name === name || item.clusters.includes(name));
  if (!taken || taken.madeFor === uid) return taken;
  throw new Error(
    `this machine has a member ${taken.name} that was not made for this SpokeCluster: choose another name, or use mode connect`,
  );
}

async function newMember(
  fleet: FleetFile,
  { metadata: { name = '', uid = '' } }: SpokeCluster,
): Promise<Member> {
  // Its name becomes that of a directory, beside those of the fleet itself.
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name) || RESERVED.has(name))
    throw new Error(
      `${JSON.stringify(name)} cannot be the name of a cluster on this machine: up to 63 lower-case letters, digits and -, and none of ${[...RESERVED].join(', ')}`,
    );
  if (fleet.members.filter(({ madeFor }) => madeFor !== undefined).length >= MOST_MADE)
    throw new Error(`this machine makes ${MOST_MADE} clusters at the most: delete one that is not needed`);
  return { name, role: 'spoke', clusters: [name], port: await freePort(), madeFor: uid };
}

/** Whoever may create SpokeClusters must not fill the machine. */
const MOST_MADE = 50;
const RESERVED = new Set(['run', 'log', 'kubeconfig', 'plans', 'virtual', 'hub']);
