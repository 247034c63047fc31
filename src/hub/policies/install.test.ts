import { afterEach, describe, expect, it } from 'vitest';
import { type ApiServer, type AuditEvent, createApiServer, memoryDriver } from '../../apiserver/index.ts';
import type { Client } from '../../kube/client.ts';
import { createClient } from '../../kube/rest-client.ts';
import { systemRuntime } from '../../runtime/index.ts';
import { installGrants } from '../access/install.ts';
import { installValidation } from '../kubefed/validation-policy.ts';
import { installAuthorPolicy, installPolicies } from './index.ts';

let server: ApiServer | undefined;
afterEach(() => server?.close());

const READS = new Set(['get', 'list', 'watch']);

describe('the policies that a hub installs', () => {
  it('are written once: a start that finds them as they should be writes nothing', async () => {
    const runtime = systemRuntime();
    const audit: AuditEvent[] = [];
    server = await createApiServer({
      runtime,
      storage: memoryDriver(),
      audit: (event) => void audit.push(event),
    });
    const engine = server.as({ name: 'engine', groups: ['system:masters'] });
    const start = async (): Promise<string[]> => {
      const before = audit.length;
      const client: Client = createClient(engine, { clock: runtime.clock });
      const { log } = runtime;
      expect((await installPolicies(client, log)).authors).toBe('stamped');
      expect(await installAuthorPolicy(client, log, ['types.example.com'])).toBe(true);
      expect(await installGrants(runtime.clock, client, () => undefined)).toEqual({});
      await installValidation(client, log, ['types.example.com']);
      return audit
        .slice(before)
        .filter(({ verb }) => !READS.has(verb))
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}/${objectRef?.name}`);
    };
    expect((await start()).length).toBeGreaterThan(10);
    const policies = async (): Promise<string> => {
      const client = createClient(engine, { clock: runtime.clock });
      const kind = await client.resourceFor('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy');
      return JSON.stringify(
        (await client.list(kind, '')).items.map(({ metadata }) => metadata.resourceVersion),
      );
    };
    const versions = await policies();
    expect(await start()).toEqual([]);
    expect(await policies()).toBe(versions);
  });
});
