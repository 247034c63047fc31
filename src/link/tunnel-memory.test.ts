import { afterEach, expect, it, vi } from 'vitest';
import { ask, cleanUp, enrolled, startHub, startSpoke } from './tunnel.fixture.ts';
import { TUNNEL_PROTOCOL } from './tunnel-protocol.ts';

afterEach(async () => {
  vi.restoreAllMocks();
  await cleanUp();
});

it('copies no names of protocols for a connection: each copy would keep all that buffers are cut from', async () => {
  const hub = await startHub();
  const copies = vi.spyOn(Buffer, 'from');
  startSpoke(hub.port, { keyStore: await enrolled('one') });
  expect(await ask(await hub.up('one'), '/')).toBe('GET / ');
  const ofProtocols = copies.mock.calls.filter(([from]) => {
    const bytes: unknown = from;
    return bytes instanceof Uint8Array && Buffer.concat([bytes]).includes(TUNNEL_PROTOCOL);
  });
  expect(ofProtocols).toEqual([]);
});
