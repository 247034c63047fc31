import { type Command, InvalidArgumentError } from 'commander';
import type { RolloutActionName } from '../../hub/rollouts/index.ts';
import { type HubOptions, hubOptionsOf, withHubOptions } from '../hub-options.ts';
import type { Saying, SayOptions, ShowOptions } from '../rollout/index.ts';

const OBJECT = '<object>';

export function registerRollout(program: Command): void {
  const group = program
    .command('rollout')
    .description('see and command the staged rollout of an object (web for a Propagation, or kind/name)');

  const show = withNamespace(group.command(`status ${OBJECT}`)).description(
    'where it is, what it waits for, and what to do',
  );
  withHubOptions(show).action(async (object: string) => {
    const { showRollout } = await import('../rollout/index.ts');
    await showRollout(object, hubOptionsOf<HubOptions & ShowOptions>(show));
  });

  word(group, `approve ${OBJECT} <stage>`, 'agree to a stage', 'Approve', (stage) => ({ stage }));
  word(group, `reject ${OBJECT} <stage>`, 'refuse a stage; the rollout fails', 'Reject', (stage) => ({
    stage,
  }));
  word(group, `pause ${OBJECT}`, 'start no further cluster', 'Pause');
  word(group, `resume ${OBJECT}`, 'start clusters again', 'Resume');
  word(group, `abort ${OBJECT}`, 'end it; every cluster keeps what it has', 'Abort');
  word(group, `promote ${OBJECT}`, 'leave out all gates, approvals and waits that are left', 'Promote');
  word(
    group,
    `retry ${OBJECT}`,
    'try again what failed or was skipped, or roll out again what is asked for after a rollback',
    'Retry',
  );
  word(group, `skip ${OBJECT} <cluster>`, 'go on without a cluster', 'Skip', (cluster) => ({ cluster }));
  word(
    group,
    `emergency ${OBJECT}`,
    'leave out maintenance windows, where the owners of the clusters allow it',
    'Emergency',
  );

  const back = withWord(group.command(`rollback ${OBJECT}`))
    .description('take what was changed back at once')
    .option('--stage', 'only the stage that is on', false);
  withHubOptions(back).action(async (object: string) => {
    const { say } = await import('../rollout/index.ts');
    const options = hubOptionsOf<HubOptions & SayOptions & { stage: boolean }>(back);
    await say(object, 'Rollback', { scope: options.stage ? 'Stage' : 'Fleet' }, options);
  });
}

export function registerHistory(program: Command): void {
  const command = withNamespace(program.command(`history ${OBJECT}`)).description(
    'the contents of an object that can be gone back to',
  );
  withHubOptions(command).action(async (object: string) => {
    const { showHistory } = await import('../rollout/index.ts');
    await showHistory(object, hubOptionsOf<HubOptions & ShowOptions>(command));
  });
}

export function registerRollback(program: Command): void {
  const command = withWord(program.command(`rollback ${OBJECT}`))
    .description(
      'go back to an earlier content, in the stages of the rollout; without --to, take back what is on',
    )
    .option('--to <revision>', 'its number in atoll history', positive);
  withHubOptions(command).action(async (object: string) => {
    const { say } = await import('../rollout/index.ts');
    const options = hubOptionsOf<HubOptions & SayOptions & { to?: number }>(command);
    await say(object, 'Rollback', options.to === undefined ? {} : { revision: options.to }, options);
  });
}

function word(
  group: Command,
  usage: string,
  description: string,
  action: RolloutActionName,
  more: (argument: string) => Saying = () => ({}),
): void {
  const command = withWord(group.command(usage)).description(description);
  withHubOptions(command).action(async (object: string, argument: unknown) => {
    const { say } = await import('../rollout/index.ts');
    const said = typeof argument === 'string' ? more(argument) : {};
    await say(object, action, said, hubOptionsOf<HubOptions & SayOptions>(command));
  });
}

function withWord(command: Command): Command {
  return withNamespace(command).option('-m, --message <text>', 'why, for people');
}

function withNamespace(command: Command): Command {
  return command.option('-n, --namespace <name>', 'namespace of the object');
}

function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be the number of a revision.');
  return Number(text);
}
