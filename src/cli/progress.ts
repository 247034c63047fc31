import type { Clock } from '../runtime/clock.ts';

/** What a long command tells while it works. */
export interface Progress {
  step(text: string): void;
  done(text: string): void;
  stop(): void;
}

/** One line that is rewritten on a terminal; elsewhere a line for each new step. */
export function startProgress(clock: Clock, out: NodeJS.WriteStream = process.stderr): Progress {
  const began = clock.monotonic();
  let last = '';
  const seconds = (): string => `${((clock.monotonic() - began) / 1000).toFixed(1)} s`;
  const clear = (): void => {
    if (out.isTTY && last !== '') out.write('\r\u001b[K');
  };
  return {
    step(text: string): void {
      if (text === last) return;
      clear();
      last = text;
      out.write(out.isTTY ? `… ${text} (${seconds()})` : `… ${text}\n`);
    },
    done(text: string): void {
      clear();
      last = '';
      out.write(`✓ ${text} (${seconds()})\n`);
    },
    stop(): void {
      clear();
      last = '';
    },
  };
}
