import { fileURLToPath } from 'node:url';
import type { UserWorkspaceConfig } from 'vitest/config';

/**
 * What of the end-to-end tests is about hubs and spokes, on kube-apiservers as hub and as spokes: the files are the same, `startFleet`
 * and `startPlainServer` give another server. Only where `KUBEBUILDER_ASSETS` names kube-apiserver and etcd.
 */
const config: UserWorkspaceConfig = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    name: 'e2e-real',
    include:
      (process.env['KUBEBUILDER_ASSETS'] ?? '') === ''
        ? []
        : [
            'access.test.ts',
            'boundary.test.ts',
            'crash.test.ts',
            'direct-spoke.test.ts',
            'independence.test.ts',
            'join.test.ts',
            'real-apiserver.test.ts',
          ],
    globalSetup: ['harness/global-setup.ts'],
    provide: { servers: 'real' },
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
};

export default config;
