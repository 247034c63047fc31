import { fileURLToPath } from 'node:url';
import type { UserWorkspaceConfig } from 'vitest/config';

/** Real processes, real kubectl, real signals. One file at a time: they measure, and a laptop has few cores. */
const config: UserWorkspaceConfig = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    name: 'e2e',
    include: ['**/*.test.ts'],
    // Whatever is about kube-apiservers only.
    exclude: ['real-apiserver.test.ts'],
    provide: { servers: 'embedded' },
    globalSetup: ['harness/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

export default config;
