import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyKubeconfig, formatKubeconfig } from '../kube/kubeconfig.ts';
import { systemClock } from '../runtime/system-clock.ts';
import { HubUnreachable, openHub } from './hub-access.ts';

let root = '';
/** Port 1 of this machine: nothing listens there. */
const SERVER = 'http://127.0.0.1:1';

function kubeconfig(contexts: Record<string, string>): string {
  const names = Object.keys(contexts);
  return formatKubeconfig({
    ...emptyKubeconfig(),
    clusters: names.map((name) => ({ name, cluster: { server: contexts[name] ?? '' } })),
    users: names.map((name) => ({ name, user: { token: 't' } })),
    contexts: names.map((name) => ({
      name,
      context: { cluster: name, user: name, namespace: `ns-${name}` },
    })),
    'current-context': names[0] ?? '',
  });
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'atoll-access-'));
  mkdirSync(join(root, 'fleet'));
  writeFileSync(join(root, 'fleet', 'kubeconfig'), kubeconfig({ hub: `${SERVER}/fleet`, 'spoke-1': SERVER }));
  writeFileSync(join(root, 'user'), kubeconfig({ hub: `${SERVER}/user` }));
  writeFileSync(join(root, 'other'), kubeconfig({ work: `${SERVER}/other` }));
  writeFileSync(join(root, 'broken'), 'clusters: [');
});
afterAll(() => rmSync(root, { recursive: true }));

function open(
  options: { dirGiven?: boolean; kubeconfig?: string; context?: string; dir?: string },
  env = {},
) {
  const dir = options.dir ?? join(root, 'fleet');
  return openHub(systemClock(), { dirGiven: false, context: 'hub', ...options, dir }, env);
}

describe('which kubeconfig is used', () => {
  it('is the option, else a directory that was named, else $KUBECONFIG, else the default directory', () => {
    const env = { KUBECONFIG: join(root, 'user') };
    expect(open({ kubeconfig: join(root, 'user'), dirGiven: true }, env).server).toBe(`${SERVER}/user`);
    expect(open({ dirGiven: true }, env).server).toBe(`${SERVER}/fleet`);
    expect(open({}, env).server).toBe(`${SERVER}/user`);
    expect(open({}).server).toBe(`${SERVER}/fleet`);
    expect(open({}).namespace).toBe('ns-hub');
  });
  it('is the first file of $KUBECONFIG that has the context', () => {
    const KUBECONFIG = [join(root, 'missing'), join(root, 'other'), join(root, 'user')].join(':');
    expect(open({}, { KUBECONFIG }).server).toBe(`${SERVER}/user`);
  });
  it('is named in the error when it lacks the context, with what it has and where a hub would be', () => {
    expect(() => open({}, { KUBECONFIG: join(root, 'other') })).toThrow(
      /no context "hub" \(it has: work\).*--kubeconfig .*fleet/,
    );
    expect(() => open({ context: 'spoke-9' })).toThrow(/it has: hub, spoke-1/);
    expect(() => open({ kubeconfig: join(root, 'nowhere') })).toThrow(/nowhere does not exist/);
    expect(() => open({ kubeconfig: join(root, 'broken') })).toThrow(
      /broken: the kubeconfig is not valid YAML/,
    );
  });
  it('tells how to begin where there is none', () => {
    expect(() => open({ dir: join(root, 'empty') })).toThrow(HubUnreachable);
    expect(() => open({ dir: join(root, 'empty') })).toThrow(/no kubeconfig of a hub was found/);
  });
});

it('a hub that does not answer is unreachable, with the command that starts it', async () => {
  const hub = open({ dirGiven: true });
  const failed = await hub.client.getJson('/version').catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(HubUnreachable);
  expect(failed).toMatchObject({ next: `npx atoll start hub --dir ${join(root, 'fleet')}` });
  expect(String(failed)).toContain('ECONNREFUSED');
  const spoke = await hub
    .spokeClient('spoke-1')
    .getJson('/version')
    .catch((error: unknown) => error);
  expect(spoke).toBeInstanceOf(HubUnreachable);
  await hub.close();
});
