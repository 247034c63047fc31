export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** What is below it is not logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Structured fields of a log line. Never put Secret data here; digests only. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each of its lines. */
  with(fields: LogFields): Logger;
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLogger,
};

/** The text of whatever was thrown, with its causes where it does not tell them itself, for log lines and messages. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause === undefined) return error.message;
  const why = errorText(error.cause);
  return error.message.includes(why) ? error.message : `${error.message}: ${why}`;
}
