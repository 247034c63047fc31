import { describe, expect, it } from 'vitest';
import { healthResponse } from './health.ts';

function ask(target: string, isReady = true, storageBroken?: string): [number, string] | undefined {
  const { pathname, searchParams } = new URL(target, 'http://x');
  const response = healthResponse(pathname, searchParams, {
    ready: () => isReady,
    storageBroken: () => storageBroken,
  });
  return response && [response.status, Buffer.from(response.body as Uint8Array).toString()];
}

describe('health checks', () => {
  it('are one word, or a line each', () => {
    expect(ask('/livez')).toEqual([200, 'ok']);
    const [status, text] = ask('/readyz?verbose') ?? [0, ''];
    expect(status).toBe(200);
    expect(text).toMatch(
      /^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]etcd ok\n[\s\S]*\[\+\]shutdown ok\nreadyz check passed\n$/,
    );
  });

  it('can be asked for by name, and left out by name', () => {
    expect(ask('/livez/etcd')).toEqual([200, 'ok']);
    expect(ask('/livez/poststarthook/rbac/bootstrap-roles?verbose')).toEqual([200, 'ok']);
    expect(ask('/livez/shutdown')).toBeUndefined();
    expect(ask('/livez/')).toBeUndefined();
    expect(ask('/healthz?verbose&exclude=etcd&exclude=nope')?.[1]).toMatch(
      /\[\+\]etcd excluded: ok\n[\s\S]*warn: some health checks cannot be excluded: no matches for "nope"\nhealthz check passed\n$/,
    );
  });

  it('fail while the server is not ready, unless that is left out', () => {
    expect(ask('/readyz', false)?.[0]).toBe(500);
    expect(ask('/readyz', false)?.[1]).toMatch(
      /\[-\]shutdown failed: reason withheld\nreadyz check failed\n$/,
    );
    expect(ask('/readyz?exclude=shutdown', false)).toEqual([200, 'ok']);
    expect(ask('/livez', false)).toEqual([200, 'ok']);
    expect(ask('/metrics')).toBeUndefined();
  });

  it('fail once the storage takes no more writes, so that whoever watches over the server starts it again', () => {
    const why = 'the disk is gone';
    expect(ask('/livez', true, why)?.[0]).toBe(500);
    expect(ask('/livez', true, why)?.[1]).toContain('[-]etcd failed: reason withheld\n');
    expect(ask('/livez', true, why)?.[1]).not.toContain(why);
    expect(ask('/readyz/etcd-readiness', true, why)?.[0]).toBe(500);
    expect(ask('/livez/ping', true, why)).toEqual([200, 'ok']);
  });
});
