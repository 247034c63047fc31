import { defineConfig } from 'vitest/config';

/**
 * Three kinds of tests. `unit` lies beside the code and takes no time of its own; `simulation` runs whole fleets on a virtual
 * clock; `e2e` starts real processes and a real kubectl, one file at a time so that they do not starve each other.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts'] } },
      { test: { name: 'simulation', include: ['test/simulation/**/*.test.ts'], testTimeout: 60_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
