import { afterEach, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, openShop, paint, ready, shopStatus } from './shop.ts';

type Mutable = Record<string, unknown>;

let fleet: SimulatedFleet;
let lie: ((object: KubeObject & Mutable) => void) | undefined;
afterEach(async () => {
  lie = undefined;
  await fleet.stop();
});

/** Answers what is read of `plural` as `lie` has it: no API server of ours stands between. */
function lying(plural: string, api: Handler): Handler {
  const told = (object: unknown): unknown => {
    if (lie && typeof object === 'object' && object !== null) lie(object as KubeObject & Mutable);
    return object;
  };
  const line = (text: string): string => {
    if (text === '') return text;
    const event = JSON.parse(text) as { type: string; object: unknown };
    if (event.type !== 'BOOKMARK') told(event.object);
    return JSON.stringify(event);
  };
  const mapped = (chunk: Uint8Array, map: (text: string) => string): Uint8Array =>
    Buffer.from(map(Buffer.from(chunk).toString('utf8')));
  return async (request) => {
    const response = await api(request);
    if (request.method !== 'GET' || !request.path.includes(`/${plural}?`) || response.status !== 200)
      return response;
    const { body } = response;
    if (body instanceof Uint8Array)
      return {
        ...response,
        body: mapped(body, (text) => {
          const list = JSON.parse(text) as { items: unknown[] };
          list.items.forEach(told);
          return JSON.stringify(list);
        }),
      };
    return {
      ...response,
      body: (async function* () {
        for await (const chunk of body as AsyncIterable<Uint8Array>)
          yield mapped(chunk, (text) => text.split('\n').map(line).join('\n'));
      })(),
    };
  };
}

async function open(plural: string): Promise<void> {
  fleet = await simulateFleet(5, ['a', 'b'], {
    network: (spoke, handler) => (spoke === 'a' ? lying(plural, handler) : handler),
  });
  await openShop(fleet);
  await ready(fleet, 2);
}

const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };

it.each<[string, string, string, unknown]>([
  ['conditions that are none', 'dispatches', 'status', { conditions: 'none' }],
  ['a condition that is nothing', 'dispatches', 'status', { conditions: [null] }],
  ['a position that is a word', 'dispatches', 'status', { position: 'first' }],
  ['an object that has no name', 'dispatches', 'status', { position: {}, objects: [{}], returned: [{}] }],
  ['a status of an object that is nothing', 'dispatches', 'status', { returned: [{ ref, status: null }] }],
  ['a status that is a list', 'dispatches', 'status', []],
  ['no order', 'dispatches', 'spec', null],
  ['an order of nothing', 'dispatches', 'spec', {}],
  ['an order without a position', 'dispatches', 'spec', { position: null, objects: [null], tombstones: 1 }],
  ['orders that are no list', 'clusters', 'status', { dispatches: { length: 1 } }],
  ['orders that are nothing', 'clusters', 'status', { dispatches: [null] }],
  ['kept objects that are none', 'clusters', 'status', { dispatches: [{ name: 'x', kept: [{}] }] }],
])('what one cluster makes up holds up no other: %s', async (_what, plural, part, value) => {
  await open(plural);
  lie = (object) => {
    object[part] = value;
  };
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the honest one has it');
  await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the other one as well');
  const isUntold = plural === 'dispatches' && part === 'status';
  await fleet.until(() => shopStatus(fleet)['ready'] === (isUntold ? 1 : 2), 'it is told');
  lie = undefined;
  fleet.cut('a');
  await fleet.rest(1_000);
  fleet.heal('a');
  await paint(fleet, fleet.hub, 'green');
  await ready(fleet, 2);
  expect(['a', 'b'].map((name) => colour(fleet.spoke(name)))).toEqual(['green', 'green']);
});
