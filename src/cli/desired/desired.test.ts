import { afterEach, describe, expect, it } from 'vitest';
import { packBundles } from '../../engine/dispatch/index.ts';
import { type KubeObject, refOf } from '../../kube/object.ts';
import {
  appliedStatus,
  connected,
  deployment,
  dispatch,
  propagation,
  put,
  secret,
  startApi,
} from '../fleet.fixture.ts';
import { plainPaint } from '../output.ts';
import { desiredText, readDesired } from './desired.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function api(): Promise<Awaited<ReturnType<typeof startApi>>> {
  const started = await startApi();
  closers.push(started.close);
  return started;
}

/** An order as a hub writes it on a spoke, with its content. */
function ordered(name: string, objects: readonly KubeObject[], patches: unknown[] = []): KubeObject[] {
  const { digest, bundles } = packBundles(objects);
  const order = dispatch(propagation(name), objects, 3, appliedStatus(3));
  const named = bundles.map(({ metadata }) => metadata.name ?? '');
  return [
    ...bundles,
    { ...order, spec: { ...order.spec, revision: digest, bundles: named, patches } } as KubeObject,
  ];
}

describe('desired', () => {
  it('[S44] shows the objects of a spoke in native form, as they are customised for it', async () => {
    const [hub, spoke] = await Promise.all([api(), api()]);
    await put(hub.client, connected('edge'));
    const cart = deployment('cart', 2);
    const key = secret('key', { token: 'c2VjcmV0' });
    const operations = [{ op: 'replace', path: '/spec/replicas', value: 5 }];
    await put(
      spoke.client,
      ...ordered('all', [cart, key], [{ target: refOf(cart), override: 0, operations }]),
      ...ordered('more', [deployment('mail')]),
    );
    // With the rights of the hub: none of these objects is on the spoke.
    const report = await readDesired(hub.client, spoke.asHub, 'edge');
    expect(report.problems).toEqual([]);
    const [first, second, third] = report.objects;
    expect(first?.object).toEqual({ ...cart, spec: { ...(cart['spec'] as object), replicas: 5 } });
    expect(first).toMatchObject({ source: 'Propagation shop/all', generation: 3 });
    expect(JSON.stringify(second)).not.toContain('c2VjcmV0');
    expect(second?.object).toMatchObject({
      kind: 'Secret',
      data: { token: expect.stringMatching(/^sha256:/) },
    });
    expect(third?.object.metadata.name).toBe('mail');
    expect(desiredText(report, plainPaint)).toBe(
      [
        'NAMESPACE   KIND         NAME   SOURCE                  GENERATION',
        'shop        Deployment   cart   Propagation shop/all    3',
        'shop        Secret       key    Propagation shop/all    3',
        'shop        Deployment   mail   Propagation shop/more   3',
        '',
      ].join('\n'),
    );
  });

  it('says what of an order is not here, and shows the rest', async () => {
    const [hub, spoke] = await Promise.all([api(), api()]);
    await put(hub.client, connected('edge'));
    const [, lost] = ordered('lost', [deployment('lost')]);
    await put(spoke.client, lost as KubeObject, ...ordered('more', [deployment('mail')]));
    const report = await readDesired(hub.client, spoke.asHub, 'edge');
    expect(report.objects.map(({ object }) => object.metadata.name)).toEqual(['mail']);
    expect(report.problems).toEqual([
      expect.stringContaining(
        'Propagation shop/lost: its content is not on the spoke yet; the hub sends it again',
      ),
    ]);
  });

  it('an unknown cluster is an error with similar names, one without orders an empty report', async () => {
    const [hub, spoke] = await Promise.all([api(), api()]);
    await put(hub.client, connected('edge-1'));
    await expect(readDesired(hub.client, spoke.asHub, 'egde-1')).rejects.toThrow(
      'no cluster "egde-1"; similar: edge-1',
    );
    const report = await readDesired(hub.client, spoke.asHub, 'edge-1');
    expect(desiredText(report, plainPaint)).toBe('Nothing is ordered for edge-1.\n');
    expect(desiredText(report, plainPaint, 3)).toBe(
      'Of the 3 objects that are ordered for edge-1 none is of that namespace and kind.\n',
    );
  });
});
