import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemRuntime, virtualRuntime } from '../runtime/index.ts';
import {
  certificateIdentity,
  createCertificateAuthority,
  createSigningRequest,
  isSignedBy,
  issueCertificate,
  keyMatchesCertificate,
  PkiError,
  signRequest,
} from './pki.ts';

const HOUR = 3_600_000;
const runtime = virtualRuntime(7);
const authority = await createCertificateAuthority(runtime, 'atoll test');

describe('certificate authority', () => {
  it('is a self-signed authority that signs no further authorities', () => {
    const certificate = new X509Certificate(authority.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(keyMatchesCertificate(authority.key, authority.certificate)).toBe(true);
  });

  it('issues what was asked for, backdated by five minutes, signed by the authority', async () => {
    const issued = await issueCertificate(runtime, authority, {
      commonName: '#a, O=b+CN=c\n',
      organizations: ['x', 'y=z', 'ü'],
      dnsNames: ['hub.local'],
      ipAddresses: ['127.0.0.1', '::1'],
      usage: 'server',
      lifetimeMs: HOUR,
    });
    const identity = certificateIdentity(issued.certificate);
    expect(identity).toMatchObject({
      commonNames: ['#a, O=b+CN=c\n'],
      organizations: ['x', 'y=z', 'ü'],
      otherAttributes: [],
      notBefore: runtime.clock.now() - 300_000,
      notAfter: runtime.clock.now() + HOUR,
    });
    expect(identity.serial).toMatch(/^[4-7][0-9a-f]{31}$/);
    const certificate = new X509Certificate(issued.certificate);
    expect(certificate.checkHost('hub.local')).toBe('hub.local');
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkIP('::1')).toBe('::1');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.ca).toBe(false);
    expect(isSignedBy(issued.certificate, authority.certificate)).toBe(true);
    const other = await createCertificateAuthority(runtime, 'atoll test');
    expect(isSignedBy(issued.certificate, other.certificate)).toBe(false);
    expect(keyMatchesCertificate(issued.key, issued.certificate)).toBe(true);
    expect(keyMatchesCertificate(authority.key, issued.certificate)).toBe(false);
  });

  it('never issues beyond its own end, nor for no time at all', async () => {
    const options = { commonName: 'a', usage: 'client', lifetimeMs: 100 * 365 * 24 * HOUR } as const;
    const { certificate } = await issueCertificate(runtime, authority, options);
    expect(certificateIdentity(certificate).notAfter).toBe(
      certificateIdentity(authority.certificate).notAfter,
    );
    await expect(issueCertificate(runtime, authority, { ...options, lifetimeMs: 0 })).rejects.toThrow(
      PkiError,
    );
    await expect(
      issueCertificate(runtime, authority, { ...options, lifetimeMs: HOUR, ipAddresses: ['localhost'] }),
    ).rejects.toThrow('"localhost" is not an IP address');
  });
});

describe('signing requests', () => {
  it('gives the subject that the signer chose, not the one that was asked for', async () => {
    const { key, request } = await createSigningRequest(runtime, {
      commonName: 'admin',
      organizations: ['system:masters'],
    });
    const certificate = await signRequest(runtime, authority, request, {
      commonName: 'spoke:one',
      organizations: ['atoll:spokes'],
      usage: 'client',
      lifetimeMs: HOUR,
    });
    expect(certificateIdentity(certificate)).toMatchObject({
      commonNames: ['spoke:one'],
      organizations: ['atoll:spokes'],
    });
    expect(keyMatchesCertificate(key, certificate)).toBe(true);
    expect(new X509Certificate(certificate).keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  });

  it('asks again for the same key', async () => {
    const first = await createSigningRequest(runtime, { commonName: 'a' });
    const again = await createSigningRequest(runtime, { commonName: 'a' }, first.key);
    expect(again.key).toBe(first.key);
    const digests = [];
    for (const { request } of [first, again]) {
      digests.push(
        certificateIdentity(await signRequest(runtime, authority, request, clientOptions)).keyDigest,
      );
    }
    expect(digests[0]).toBe(digests[1]);
    await expect(createSigningRequest(runtime, { commonName: 'a' }, 'nonsense')).rejects.toThrow(PkiError);
  });

  it('refuses a request whose signature does not prove its key', async () => {
    const { request } = await createSigningRequest(runtime, { commonName: 'a' });
    const der = Buffer.from(request.replace(/-----[^-]+-----|\s/g, ''), 'base64');
    const name = der.indexOf(Buffer.from([0x0c, 0x01, 0x61]));
    expect(name).toBeGreaterThan(0);
    der[name + 2] = 0x62;
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    await expect(signRequest(runtime, authority, forged, clientOptions)).rejects.toThrow(
      'the signing request is not signed with the key that it names',
    );
  });

  it('refuses what is no request', async () => {
    for (const text of ['', 'hello', authority.certificate, authority.key]) {
      await expect(signRequest(runtime, authority, text, clientOptions)).rejects.toThrow(PkiError);
    }
    await expect(signRequest(runtime, authority, 'x'.repeat(20_000), clientOptions)).rejects.toThrow(
      'exceeds 16384 characters',
    );
  });

  it('takes a request of openssl and makes a chain that openssl verifies', async (context) => {
    const directory = mkdtempSync(join(tmpdir(), 'atoll-pki-'));
    try {
      const openssl = (...parameters: string[]): string =>
        execFileSync('openssl', parameters, { cwd: directory, stdio: 'pipe' }).toString();
      try {
        openssl('version');
      } catch {
        context.skip('openssl is not installed');
      }
      openssl(
        'req',
        '-new',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-subj',
        '/CN=x',
        '-keyout',
        'key',
        '-out',
        'request',
      );
      const now = systemRuntime();
      const ca = await createCertificateAuthority(now, 'ca');
      const request = readFileSync(join(directory, 'request'), 'utf8');
      const { writeFileSync } = await import('node:fs');
      writeFileSync(join(directory, 'cert'), await signRequest(now, ca, request, clientOptions));
      writeFileSync(join(directory, 'ca'), ca.certificate);
      expect(openssl('verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', 'ca', 'cert')).toContain(
        'OK',
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('certificateIdentity', () => {
  it('refuses what is no certificate', () => {
    expect(() => certificateIdentity('nonsense')).toThrow(PkiError);
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(() => certificateIdentity(publicKey.export({ type: 'spki', format: 'der' }))).toThrow(PkiError);
  });

  it('leaves no trace of the loader in the global Reflect', () => {
    expect('getMetadata' in Reflect).toBe(false);
  });
});

const clientOptions = { commonName: 'c', usage: 'client', lifetimeMs: HOUR } as const;
