import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../apiserver/index.ts';
import { virtualRuntime } from '../runtime/index.ts';
import { apiServerFiles } from './api-server-files.ts';

const directory = mkdtempSync(join(tmpdir(), 'atoll-files-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const { log } = virtualRuntime(1);

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe('files of an API server', () => {
  it('[V69] are a policy, and a log that events are added to as lines', async () => {
    const auditLogPath = join(directory, 'audit.log');
    const auditPolicyFile = file(
      'policy',
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n',
    );
    for (const auditID of ['a', 'b']) {
      const { read, close } = apiServerFiles(log, { auditPolicyFile, auditLogPath });
      expect(read.auditPolicy).toBeTypeOf('function');
      read.audit?.({ auditID } as AuditEvent);
      await close();
    }
    expect(readFileSync(auditLogPath, 'utf8')).toBe('{"auditID":"a"}\n{"auditID":"b"}\n');
    expect(() => apiServerFiles(log, { auditPolicyFile })).toThrow('--audit-log-path has to say where');
    expect(() => apiServerFiles(log, { auditPolicyFile: '/none', auditLogPath })).toThrow(
      '--audit-policy-file',
    );
  });

  it('[V69] that cannot be written stop nobody', async () => {
    const { read, close } = apiServerFiles(log, { auditLogPath: join(directory, 'none', 'audit.log') });
    read.audit?.({ auditID: 'a' } as AuditEvent);
    await close();
  });

  it('[V69] are written again once they can be', async () => {
    const told: string[] = [];
    const telling = {
      ...log,
      error: (message: string) => void told.push(message),
      warn: (message: string) => void told.push(message),
    };
    const auditLogPath = join(directory, 'later', 'audit.log');
    const { read, close } = apiServerFiles(telling, { auditLogPath });
    read.audit?.({ auditID: 'a' } as AuditEvent);
    await expect.poll(() => told.length).toBe(2);
    mkdirSync(join(directory, 'later'));
    read.audit?.({ auditID: 'b' } as AuditEvent);
    read.audit?.({ auditID: 'c' } as AuditEvent);
    await close();
    expect(readFileSync(auditLogPath, 'utf8').trim().split('\n')).toEqual([
      '{"auditID":"b"}',
      '{"auditID":"c"}',
    ]);
    expect(told.toSorted()).toEqual([
      'events are missing in the audit log',
      'the audit log cannot be written',
      'the audit log is written again',
    ]);
  });

  it('[V52] are credentials for webhooks, with the files that they name', () => {
    file('token', 'secret\n');
    file('cert', 'CERT');
    file('key', 'KEY');
    file(
      'kubeconfig',
      `kind: Config
users:
- name: hooks.tools.svc
  user: {tokenFile: token}
- name: '*'
  user: {client-certificate: cert, client-key: key}
`,
    );
    const admissionControlConfigFile = file(
      'admission',
      `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
- name: ValidatingAdmissionWebhook
  configuration: {kind: WebhookAdmissionConfiguration, kubeConfigFile: kubeconfig}
`,
    );
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    expect(apiServerFiles(log, { admissionControlConfigFile }).read.webhookUsers).toEqual([
      { name: 'hooks.tools.svc', user: { token: 'secret' } },
      { name: '*', user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') } },
    ]);
    const wrong = file('wrong', 'kind: Other');
    expect(() => apiServerFiles(log, { admissionControlConfigFile: wrong })).toThrow(
      'is no AdmissionConfiguration',
    );
  });

  it('[V60] are what an issuer is believed by', () => {
    const { read } = apiServerFiles(log, {
      oidcIssuerUrl: 'https://issuer',
      oidcClientId: 'atoll',
      oidcUsernameClaim: 'email',
      oidcRequiredClaim: ['hd=example.com', 'a=b=c'],
      oidcSigningAlgs: ['ES256'],
      oidcCaFile: file('ca', 'PEM'),
    });
    expect(read.oidc).toEqual({
      issuer: 'https://issuer',
      clientId: 'atoll',
      usernameClaim: 'email',
      requiredClaims: { hd: 'example.com', a: 'b=c' },
      signingAlgorithms: ['ES256'],
      caBundle: 'PEM',
    });
    expect(apiServerFiles(log, { oidcUsernameClaim: 'sub' }).read).toEqual({});
    expect(() => apiServerFiles(log, { oidcIssuerUrl: 'https://issuer' })).toThrow('go together');
    expect(() =>
      apiServerFiles(log, { oidcIssuerUrl: 'https://a', oidcClientId: 'b', oidcRequiredClaim: ['x'] }),
    ).toThrow('is not name=value');
  });
});
