import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { certificateIdentity, isSignedBy, type KeyPair } from '../kube/pki.ts';
import { virtualRuntime } from '../runtime/index.ts';
import {
  followCertificates,
  frontProxyCertificates,
  linkCertificates,
  serverCertificates,
} from './certificates.ts';

const DAY = 86_400_000;

it('the certificate of a hub that runs is renewed long before it ends, whatever failed in between', async () => {
  const runtime = virtualRuntime(1);
  const { clock } = runtime;
  const directory = mkdtempSync(join(tmpdir(), 'atoll-certificates-'));
  try {
    const read = (): ReturnType<typeof linkCertificates> => linkCertificates(runtime, directory, 'hub');
    const { authority, server } = await read();
    const renewed: KeyPair[] = [];
    let tell: (pair: KeyPair) => void = () => {};
    const first = new Promise<KeyPair>((resolve) => {
      tell = resolve;
    });
    let fails = false;
    const stop = followCertificates(
      runtime,
      { server },
      async () => {
        if (fails) throw new Error('the disk is full');
        return { server: (await read()).server };
      },
      ({ server: pair }) => {
        renewed.push(pair);
        tell(pair);
      },
    );
    const ends = certificateIdentity(server.certificate).notAfter;
    await clock.advance(ends - clock.now() - 62 * DAY);
    expect(renewed).toEqual([]);
    fails = true;
    await clock.advance(10 * DAY);
    expect(renewed).toEqual([]);
    fails = false;
    await clock.advance(DAY / 2);
    const pair = await first;
    expect(isSignedBy(pair.certificate, authority.certificate)).toBe(true);
    expect(certificateIdentity(pair.certificate).notAfter).toBeGreaterThan(ends + 250 * DAY);
    expect(clock.now()).toBeLessThan(ends - 45 * DAY);
    stop();
    await clock.advance(400 * DAY);
    expect(renewed).toHaveLength(1);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

it('what an authority has signed is made anew when the authority is', async () => {
  const runtime = virtualRuntime(1);
  const directory = mkdtempSync(join(tmpdir(), 'atoll-certificates-'));
  try {
    const before = await serverCertificates(runtime, directory, 'atoll');
    const proxyBefore = await frontProxyCertificates(runtime, directory);
    expect(await serverCertificates(runtime, directory, 'atoll')).toEqual(before);
    expect(await frontProxyCertificates(runtime, directory)).toEqual(proxyBefore);
    for (const name of ['ca', 'front-proxy-ca'])
      for (const part of ['crt', 'key']) rmSync(join(directory, `${name}.${part}`));
    const { authority, server, admin } = await serverCertificates(runtime, directory, 'atoll');
    const proxy = await frontProxyCertificates(runtime, directory);
    expect(authority.certificate).not.toBe(before.authority.certificate);
    for (const [{ certificate }, by] of [
      [server, authority.certificate],
      [admin, authority.certificate],
      [proxy.client, proxy.authority.certificate],
    ] as const)
      expect(isSignedBy(certificate, by)).toBe(true);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

it('an authority that ends in two years goes on under the same key, so that neither side has to know of it', async () => {
  const runtime = virtualRuntime(1);
  const { clock } = runtime;
  const directory = mkdtempSync(join(tmpdir(), 'atoll-certificates-'));
  try {
    const before = await serverCertificates(runtime, directory, 'atoll');
    const ends = certificateIdentity(before.authority.certificate).notAfter;
    const renewed = Promise.withResolvers<Awaited<ReturnType<typeof serverCertificates>>>();
    const stop = followCertificates(
      runtime,
      before,
      () => serverCertificates(runtime, directory, 'atoll'),
      (now) => {
        if (now.authority.certificate !== before.authority.certificate) renewed.resolve(now);
      },
    );
    clock.jump(ends - clock.now() - 731 * DAY);
    await clock.advance(DAY / 2);
    expect((await serverCertificates(runtime, directory, 'atoll')).authority).toEqual(before.authority);
    clock.jump(DAY);
    await clock.advance(DAY / 2);
    const after = await renewed.promise;
    expect(certificateIdentity(after.authority.certificate).notAfter).toBeGreaterThan(ends + 2900 * DAY);
    expect(certificateIdentity(after.authority.certificate).commonNames).toEqual(['atoll atoll']);
    expect(after.authority.key).toBe(before.authority.key);
    for (const { certificate } of [before.server, before.admin, after.server, after.admin])
      for (const { authority } of [before, after])
        expect(isSignedBy(certificate, authority.certificate)).toBe(true);
    stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
