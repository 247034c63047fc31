import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorText } from '../../runtime/log.ts';
import { PROCESS_TITLE } from '../../runtime/pid-file.ts';
import { systemRuntime } from '../../runtime/runtime.ts';
import { type FleetDirectory, type FleetFile, fleetDirectory, readFleet } from '../fleet-directory.ts';
import { stopMember } from '../processes.ts';
import { startProgress } from '../progress.ts';
import { lockFleet, startMembers, stopFleet } from './up.ts';

/** Stops the fleet; everything is kept. */
export async function down(
  options: { dir: string },
  read: (directory: FleetDirectory) => FleetFile | undefined = readFleet,
): Promise<void> {
  process.title = `${PROCESS_TITLE} down`;
  const runtime = systemRuntime();
  const directory = fleetDirectory(options.dir);
  const fleet = read(directory);
  if (!fleet) {
    process.stdout.write(`There is no fleet in ${directory.root}.\n`);
    return;
  }
  const release = await lockFleet(directory);
  try {
    const stopped = await stopFleet(runtime, directory, fleet);
    process.stdout.write(
      stopped.length === 0
        ? 'Nothing was running.\n'
        : `Stopped ${stopped.join(', ')}. State is kept in ${directory.root}.\n`,
    );
  } finally {
    release();
  }
}

/** Stops the fleet and deletes its directory. */
export async function reset(options: { dir: string }): Promise<void> {
  const directory = fleetDirectory(options.dir);
  if (!existsSync(directory.root)) {
    process.stdout.write(`There is no fleet in ${directory.root}.\n`);
    return;
  }
  if (!existsSync(directory.fleetFile))
    throw new Error(`${directory.root} is not a fleet of atoll; nothing is deleted`);
  await down(options, fleetOrRemains);
  rmSync(directory.root, { recursive: true });
  process.stdout.write(`Deleted ${directory.root}.\n`);
}

/** Of a fleet whose file cannot be read, what runs is still to be stopped. */
function fleetOrRemains(directory: FleetDirectory): FleetFile | undefined {
  try {
    return readFleet(directory);
  } catch (error) {
    process.stderr.write(`atoll: ${errorText(error)}\n`);
    const run = dirname(directory.lockFile);
    const names = existsSync(run) ? readdirSync(run).filter((name) => name.endsWith('.pid')) : [];
    return {
      version: 1,
      members: names.map((name) => ({ name: name.slice(0, -4), role: 'spoke', clusters: [], port: 0 })),
    };
  }
}

/** Starts one member of the fleet and waits until its API answers. */
export async function start(name: string, options: { dir: string }): Promise<void> {
  process.title = `${PROCESS_TITLE} start`;
  const runtime = systemRuntime();
  const directory = fleetDirectory(options.dir);
  const member = memberOf(directory.root, name, options);
  const progress = startProgress(runtime.clock);
  try {
    const started = await startMembers(runtime, directory, [member], progress);
    progress.done(started.length === 0 ? `${name} was running already` : `${name} is ready`);
  } finally {
    progress.stop();
  }
  process.exit(0);
}

/** Stops one member of the fleet. */
export async function stop(name: string, options: { dir: string }): Promise<void> {
  const runtime = systemRuntime();
  const directory = fleetDirectory(options.dir);
  memberOf(directory.root, name, options);
  const how = await stopMember(runtime.clock, directory, name);
  process.stdout.write(
    how === 'absent'
      ? `${name} was not running.\n`
      : `${name} ${how === 'killed' ? 'did not stop in time and was killed' : 'is stopped'}.\n`,
  );
}

function memberOf(
  root: string,
  name: string,
  options: { dir: string },
): NonNullable<ReturnType<typeof readFleet>>['members'][number] {
  const fleet = readFleet(fleetDirectory(options.dir));
  if (!fleet) throw new Error(`there is no fleet in ${root}; start one with: npm run up`);
  const member = fleet.members.find((item) => item.name === name);
  if (!member)
    throw new Error(
      `${name} is not in the fleet; it has: ${fleet.members.map((item) => item.name).join(', ')}`,
    );
  return member;
}
