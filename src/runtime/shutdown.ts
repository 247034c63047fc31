import { errorText, type Logger } from './log.ts';

/**
 * Runs `stop` once at SIGTERM or SIGINT and ends the process; a second signal ends it at once. Resolves never by itself:
 * await it at the end of a long-running command.
 */
export function untilStopped(log: Logger, stop: () => Promise<void>): Promise<never> {
  return new Promise(() => {
    let stopping = false;
    const onSignal = (signal: string): void => {
      if (stopping) process.exit(1);
      stopping = true;
      log.info('stopping', { signal });
      stop().then(
        () => process.exit(0),
        (error: unknown) => {
          log.error('stopping failed', { why: errorText(error) });
          process.exit(1);
        },
      );
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
