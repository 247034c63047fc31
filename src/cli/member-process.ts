/**
 * What `atoll up` and `atoll start` spawn: one member of a fleet, given by its name and the directory of the fleet. It is apart from the
 * other commands since these are code that a process which runs for months would carry along.
 */
import { errorText } from '../runtime/log.ts';
import { runMember } from './commands/member.ts';

const [, , name, dir] = process.argv;
try {
  if (name === undefined || dir === undefined)
    throw new Error('a member is started with its name and the directory of its fleet');
  await runMember(name, { dir });
} catch (error) {
  process.stderr.write(`atoll: ${errorText(error)}\n`);
  process.exitCode = 1;
}
