import { defineConfig } from 'vitest/config';

/**
 * Four kinds of tests. `unit` lies beside the code and takes no time of its own; `simulation` runs whole fleets on a virtual
 * clock; `conformance` replays recorded answers of other servers; `gate`
 * holds the API server against a bare one; `e2e` starts real processes and a real kubectl.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts'] } },
      { test: { name: 'simulation', include: ['test/simulation/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'gate', include: ['test/bench/**/*.test.ts'], testTimeout: 300_000 } },
      'test/e2e/vitest.config.ts',
      'test/e2e/vitest.real.config.ts',
    ],
  },
});
