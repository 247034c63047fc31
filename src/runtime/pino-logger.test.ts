import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';

const FULL = '/dev/full';

it.runIf(existsSync(FULL))('does not end the process when its disk is full', () => {
  const logger = new URL('./pino-logger.ts', import.meta.url).href;
  const program = `
    import { pinoLogger } from ${JSON.stringify(logger)};
    const log = pinoLogger('info');
    for (let i = 0; i < 20_000; i++) log.error('x'.repeat(100), { i });
    process.stderr.write('alive');`;
  const full = openSync(FULL, 'w');
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--max-old-space-size=64',
        '--input-type=module',
        '-e',
        program,
      ],
      { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, 'alive']);
  } finally {
    closeSync(full);
  }
});
