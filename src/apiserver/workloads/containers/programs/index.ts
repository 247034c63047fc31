/** The programs that every simulated container has, whatever its image. */
import type { Program } from '../process.ts';
import * as files from './files.ts';
import { sh } from './sh.ts';
import * as system from './system.ts';
import { tar } from './tar.ts';
import * as text from './text.ts';

export const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ['[', files.test],
  ['ash', sh],
  ['bash', sh],
  ['cat', text.cat],
  ['chmod', files.chmod],
  ['cp', files.cp],
  ['date', system.date],
  ['echo', system.echo],
  ['env', system.env],
  ['false', system.no],
  ['grep', text.grep],
  ['head', text.head],
  ['hostname', system.hostname],
  ['id', system.id],
  ['ln', files.ln],
  ['ls', files.ls],
  ['mkdir', files.mkdir],
  ['mv', files.mv],
  ['printenv', system.printenv],
  ['printf', system.printf],
  ['ps', system.ps],
  ['pwd', system.pwd],
  ['rm', files.rm],
  ['rmdir', files.rmdir],
  ['seq', system.seq],
  ['sh', sh],
  ['sleep', system.sleep],
  ['sort', text.sort],
  ['stty', system.stty],
  ['tail', text.tail],
  ['tar', tar],
  ['tee', text.tee],
  ['test', files.test],
  ['touch', files.touch],
  ['true', system.yes],
  ['uname', system.uname],
  ['uniq', text.uniq],
  ['wc', text.wc],
  ['which', system.which],
  ['whoami', system.whoami],
]);
