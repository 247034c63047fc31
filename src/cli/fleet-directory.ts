import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A process of the fleet on this machine, and the clusters that it serves. */
export interface Member {
  /** `hub`, `spoke-1`, `virtual`. */
  readonly name: string;
  readonly role: 'hub' | 'spoke';
  /** Names of the clusters in it: its own name, or those of many virtual spokes. */
  readonly clusters: readonly string[];
  readonly port: number;
  /** Where spokes dial; hubs only. */
  readonly linkPort?: number;
  /** The uid of the SpokeCluster that it was made for, where the hub made it. */
  readonly madeFor?: string;
}

/** What `atoll up` remembers between runs. */
export interface FleetFile {
  readonly version: 1;
  readonly members: readonly Member[];
}

/** Paths of a fleet's directory (`.atoll`). Nothing outside it is written. */
export interface FleetDirectory {
  readonly root: string;
  readonly fleetFile: string;
  readonly kubeconfig: string;
  /** Held while a command changes the fleet. */
  readonly lockFile: string;
  home(member: string): string;
  pidFile(member: string): string;
  logFile(member: string): string;
  auditFile(member: string): string;
  joinFile(member: string): string;
}

export function fleetDirectory(path: string): FleetDirectory {
  const root = resolve(path);
  return {
    root,
    fleetFile: join(root, 'fleet.json'),
    kubeconfig: join(root, 'kubeconfig'),
    lockFile: join(root, 'run', 'fleet.lock'),
    home: (member) => join(root, member),
    pidFile: (member) => join(root, 'run', `${member}.pid`),
    logFile: (member) => join(root, 'log', `${member}.log`),
    auditFile: (member) => join(root, 'log', `${member}.audit.log`),
    joinFile: (member) => join(root, member, 'join.json'),
  };
}

/** The remembered fleet, or undefined where there is none. Throws an Error that names the file when it cannot be understood. */
export function readFleet(directory: FleetDirectory): FleetFile | undefined {
  if (!existsSync(directory.fleetFile)) return undefined;
  let fleet: FleetFile;
  try {
    fleet = JSON.parse(readFileSync(directory.fleetFile, 'utf8')) as FleetFile;
  } catch (error) {
    throw new Error(
      `${directory.fleetFile} is not readable JSON; restore it, or forget the fleet with: npm run reset`,
      { cause: error },
    );
  }
  if (fleet.version !== 1 || !Array.isArray(fleet.members)) {
    throw new Error(
      `${directory.fleetFile} was written by another version of atoll; forget the fleet with: npm run reset`,
    );
  }
  return fleet;
}

/** Refuses a directory that holds something else, so that a later reset deletes nothing of others. */
export function prepareDirectory(directory: FleetDirectory): void {
  if (existsSync(directory.root) && !existsSync(directory.fleetFile)) {
    const foreign = readdirSync(directory.root).filter((name) => !['run', 'log'].includes(name));
    if (foreign.length > 0)
      throw new Error(
        `${directory.root} exists and is not a fleet of atoll (it holds ${foreign.slice(0, 3).join(', ')}); choose another with --dir`,
      );
  }
  for (const path of [directory.root, join(directory.root, 'run'), join(directory.root, 'log')])
    mkdirSync(path, { recursive: true, mode: 0o700 });
}

export function writeFleet(directory: FleetDirectory, fleet: FleetFile): void {
  writePrivate(directory.fleetFile, `${JSON.stringify(fleet, null, 2)}\n`);
}

/** Writes a file for its owner only, whole or not at all. */
export function writePrivate(path: string, content: string): void {
  writeWhole(path, content, 0o600);
}

/** Writes a file with these rights, whole or not at all: a full disk does not take what was there. */
export function writeWhole(path: string, content: string, mode: number): void {
  const draft = `${path}.${process.pid}.new`;
  // One that is there already may be readable, or a link made by, somebody else.
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, content, { mode, flag: 'wx', flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
