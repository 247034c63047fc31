import { type BaseLogger, pino } from 'pino';
import type { LogFields, Logger } from './log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** JSON lines on standard output. Field names that could hold secrets are masked whatever their depth one level down. */
export function pinoLogger(level: LogLevel, base: LogFields = {}): Logger {
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
    pino.destination({ fd: 1, sync: true }),
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
