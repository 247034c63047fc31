import { fileURLToPath } from 'node:url';
import { defineProject } from 'vitest/config';

/** Real processes, real kubectl, real signals. One file at a time: they measure, and a laptop has few cores. */
export default defineProject({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    name: 'e2e',
    include: ['**/*.test.ts'],
    globalSetup: ['harness/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
