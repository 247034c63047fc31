import { type BaseLogger, pino } from 'pino';
import type { LogFields, Logger, LogLevel } from './log.ts';

/** Of lines that cannot be written at the moment; more are dropped. */
const MAX_WAITING_CHARACTERS = 256 * 1024;

/** JSON lines on standard output. Field names that could hold secrets are masked whatever their depth one level down. */
export function pinoLogger(level: LogLevel, base: LogFields = {}): Logger {
  const output = pino.destination({ fd: 1, sync: true, maxLength: MAX_WAITING_CHARACTERS });
  // A disk that is full, or a reader that has gone, costs lines of the log and not the process: nobody could be told of it either.
  output.on('error', () => {});
  const root = pino(
    {
      level,
      base: { ...base },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: [
        'token',
        'authorization',
        'privateKey',
        'data',
        'stringData',
        '*.token',
        '*.authorization',
        '*.privateKey',
      ],
    },
    output,
  );
  return wrap(root as unknown as Logged);
}

type Logged = BaseLogger & { child(fields: Record<string, unknown>): Logged };

function wrap(logger: Logged): Logger {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    with: (fields) => wrap(logger.child({ ...fields })),
  };
}
