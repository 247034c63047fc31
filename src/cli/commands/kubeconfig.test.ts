import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { contextKubeconfig } from '../../kube/context-kubeconfig.ts';
import { formatKubeconfig, parseKubeconfig } from '../../kube/kubeconfig.ts';
import { kubeconfigText } from './kubeconfig.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'atoll-kubeconfig-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('atoll kubeconfig', () => {
  it('prints all contexts, or one with what it needs', () => {
    const contexts = ['hub', 'spoke-1'].map((name, index) => ({
      name,
      server: `https://127.0.0.1:${7001 + index}`,
      authority: 'authority',
      user: `${name}-admin`,
      credentials: { certificate: 'certificate', key: 'key' },
    }));
    writeFileSync(join(dir, 'kubeconfig'), formatKubeconfig(contextKubeconfig(contexts)));
    expect(parseKubeconfig(kubeconfigText({ dir }))).toEqual(contextKubeconfig(contexts));
    expect(parseKubeconfig(kubeconfigText({ dir, context: 'spoke-1' }))).toEqual(
      contextKubeconfig(contexts.slice(1)),
    );
    expect(() => kubeconfigText({ dir, context: 'spoke-2' })).toThrow('there are hub, spoke-1');
  });

  it('says when nothing has begun there', () => {
    expect(() => kubeconfigText({ dir })).toThrow(`there is no kubeconfig in ${dir}`);
  });
});
