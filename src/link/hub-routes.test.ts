import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { type HubRoutes, hubRoutes } from './hub-routes.ts';

const options = { hubAddress: ['a:1', 'b:2'], hubCaPem: '' };
const order = (routes: HubRoutes): string =>
  `${routes.current().address} ${routes.current().transports.join(' ')}`;

describe('hubRoutes', () => {
  it('takes addresses in turn', () => {
    const routes = hubRoutes(virtualRuntime(1).clock, options);
    expect(order(routes)).toBe('a:1 tls websocket');
    routes.next();
    expect(order(routes)).toBe('b:2 tls websocket');
    routes.next();
    expect(order(routes)).toBe('a:1 tls websocket');
  });

  it('prefers what was needed twice in a row, for that address, for a while', async () => {
    const { clock } = virtualRuntime(1);
    const routes = hubRoutes(clock, options);
    routes.worked('websocket');
    expect(order(routes)).toBe('a:1 tls websocket');
    routes.worked('websocket');
    expect(order(routes)).toBe('a:1 websocket tls');
    routes.next();
    expect(order(routes)).toBe('b:2 tls websocket');
    routes.next();
    await clock.advance(600_001);
    expect(order(routes)).toBe('a:1 tls websocket');
    routes.worked('tls');
    routes.worked('websocket');
    expect(order(routes)).toBe('a:1 tls websocket');
  });

  it('does not take a single failure for the way’s', () => {
    const routes = hubRoutes(virtualRuntime(1).clock, options);
    routes.failed('tls');
    routes.worked('tls');
    routes.failed('tls');
    expect(order(routes)).toBe('a:1 tls websocket');
    routes.failed('tls');
    expect(order(routes)).toBe('a:1 websocket tls');
    routes.worked('tls');
    expect(order(routes)).toBe('a:1 tls websocket');
  });

  it('goes back when the other way fails as well', () => {
    const routes = hubRoutes(virtualRuntime(1).clock, options);
    for (let i = 0; i < 2; i++) routes.failed('tls');
    for (let i = 0; i < 2; i++) routes.failed('websocket');
    expect(order(routes)).toBe('a:1 tls websocket');
  });
});
