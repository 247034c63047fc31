import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../bench/measure.ts';

/** A ratio to what is measured beside it in the same run, with wide bounds (docs/bench.md): no time of this machine. */
it('[V90] the API server stays within its bounds beside a bare server', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bench', 'run.ts'), 'gate'], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
  });
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toContain('a bare server');
});
