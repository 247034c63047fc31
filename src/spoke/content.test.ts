import { describe, expect, it } from 'vitest';
import { type DispatchSpec, packBundles } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { failure } from '../kube/status-error.ts';
import { ContentMissing, contentStore } from './content.ts';

describe('content', () => {
  const { digest, bundles } = packBundles([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }]);
  const spec = { revision: digest, bundles: ['bundle'] } as unknown as DispatchSpec;
  const read = (get: () => Promise<unknown>): Promise<unknown> =>
    contentStore({ get } as unknown as Client).objects(spec);

  it('is missing where it is not there, or is not what it claims to be', async () => {
    await expect(read(async () => bundles[0])).resolves.toHaveLength(1);
    await expect(read(async () => Promise.reject(failure(404, 'NotFound', 'gone')))).rejects.toThrow(
      ContentMissing,
    );
    const bad = { ...bundles[0], spec: { ...bundles[0]?.spec, data: 'AAAA' } };
    await expect(read(async () => bad)).rejects.toThrow(ContentMissing);
  });

  it('is not missing because the API server does not answer', async () => {
    for (const error of [new TypeError('socket closed'), failure(500, 'InternalError', 'no')])
      await expect(read(async () => Promise.reject(error))).rejects.toBe(error);
  });
});
