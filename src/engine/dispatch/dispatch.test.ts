import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import {
  type Bundle,
  comparePositions,
  type DispatchSpec,
  dispatchName,
  dispatchRecogniser,
  dispatchSigner,
  fleetRevision,
  type HubTrust,
  judgeDispatch,
  packBundles,
  rememberingVerifier,
  unpackBundles,
  verifyDispatch,
} from './index.ts';

/** Keys come from outside the room: it draws no randomness. */
function createSigningKey(): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  };
}

const key = createSigningKey();
const sign = dispatchSigner(key.privateKey);
const trust: HubTrust = { lineage: 'l-1', publicKey: key.publicKey };
const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' };

function spec(generation: number, changes: Partial<DispatchSpec> = {}, epoch: number = 1): DispatchSpec {
  return {
    source: {
      apiVersion: 'v',
      kind: 'Propagation',
      namespace: 'shop',
      name: 'shop',
      uid: 'u',
      generation: 1,
    },
    position: { lineage: 'l-1', epoch, generation },
    revision: 'sha256:1',
    bundles: ['b'],
    objects: [ref],
    patches: [],
    tombstones: [],
    publicKey: key.publicKey,
    ...changes,
  };
}

const signed = (...args: Parameters<typeof spec>): DispatchSpec => sign('oslo', 'd', spec(...args));

describe('bundles', () => {
  const objects = fc.array(
    fc.record({
      apiVersion: fc.constant('v1'),
      kind: fc.constant('ConfigMap'),
      metadata: fc.record({ name: fc.string() }),
      data: fc.jsonValue(),
    }),
  );

  it('hold what was packed, under the name of its digest', () => {
    fc.assert(
      fc.property(objects, (list) => {
        const content = JSON.parse(JSON.stringify(list)) as KubeObject[];
        const { digest, bundles } = packBundles(content);
        expect(unpackBundles(bundles, digest)).toEqual(content);
        expect(packBundles(structuredClone(content)).bundles).toEqual(bundles);
      }),
    );
  });

  const large: KubeObject[] = Array.from({ length: 3 }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `m${i}` },
    data: { noise: randomBytes(500 * 1024).toString('base64') },
  }));

  it('come in parts that a real API server takes, and are put together again', () => {
    const { digest, bundles } = packBundles(large);
    expect(bundles.length).toBeGreaterThan(1);
    for (const bundle of bundles) expect(JSON.stringify(bundle).length).toBeLessThan(1_000_000);
    expect(unpackBundles(bundles, digest)).toEqual(large);
  });

  it('are refused where they are damaged, by what is wrong', () => {
    const { digest, bundles } = packBundles(large);
    const first = bundles[0] as Bundle;
    expect(() => unpackBundles(bundles.slice(1), digest)).toThrow(/incomplete: \d of \d parts/);
    expect(() => unpackBundles([], digest)).toThrow(/incomplete: 0 of \? parts/);
    expect(() => unpackBundles([first, ...bundles], digest)).toThrow(/incomplete/);
    const broken = { ...first, spec: { ...first.spec, data: Buffer.from('nothing').toString('base64') } };
    expect(() => unpackBundles([broken, ...bundles.slice(1)], digest)).toThrow();
    const other = packBundles([large[0] as KubeObject]);
    expect(() => unpackBundles(other.bundles, digest)).toThrow(
      /do not have the content that digest \w+ names/,
    );
    const noList: Bundle = {
      ...first,
      spec: { ...first.spec, parts: 1, data: gzipSync('{"a":1}').toString('base64') },
    };
    expect(() => unpackBundles([noList], digest)).toThrow(/does not hold a list of objects/);
  });

  it('of a large intent are the same but for the one that a change is in', () => {
    const many = Array.from({ length: 400 }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `m${i}`, namespace: 'n' },
      data: { text: `${i} `.repeat(600) },
    }));
    const names = (objects: readonly KubeObject[]): string[] =>
      packBundles(objects).bundles.map((bundle) => bundle.metadata.name ?? '');
    const before = names(many);
    expect(before.length).toBeGreaterThan(4);
    const changed = many.map((object, i) => (i === 200 ? { ...object, data: { text: 'new' } } : object));
    const shorter = many.filter((_, i) => i !== 100);
    for (const after of [changed, shorter]) {
      const fresh = names(after).filter((name) => !before.includes(name));
      expect(fresh.length).toBeLessThanOrEqual(2);
      expect(unpackBundles(packBundles(after).bundles, packBundles(after).digest)).toEqual(after);
    }
  });

  it('that grow without end when unpacked are refused', () => {
    const { digest, bundles } = packBundles([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'm' },
        data: 'a'.repeat(70 * 1024 * 1024),
      } as KubeObject,
    ]);
    expect(() => unpackBundles(bundles, digest)).toThrow();
    // Packing 70 MiB takes long where others want the processor, too.
  }, 60_000);
});

describe('signatures', () => {
  it('fit one spoke, one dispatch, one content', () => {
    const good = signed(1);
    expect(verifyDispatch(key.publicKey, 'oslo', 'd', good)).toBe(true);
    expect(verifyDispatch(key.publicKey, 'bern', 'd', good)).toBe(false);
    expect(verifyDispatch(key.publicKey, 'oslo', 'e', good)).toBe(false);
    expect(verifyDispatch(key.publicKey, 'oslo', 'd', { ...good, objects: [] })).toBe(false);
    expect(verifyDispatch(createSigningKey().publicKey, 'oslo', 'd', good)).toBe(false);
    expect(verifyDispatch('not a key', 'oslo', 'd', good)).toBe(false);
    expect(verifyDispatch(key.publicKey, 'oslo', 'd', spec(1))).toBe(false);
  });

  it('are verified once as long as nothing of them changes', () => {
    const verify = rememberingVerifier();
    const good = signed(1);
    const other = createSigningKey().publicKey;
    for (let time = 0; time < 2; time++) {
      expect(verify(key.publicKey, 'oslo', 'd', good)).toBe(true);
      expect(verify(key.publicKey, 'oslo', 'd', structuredClone(good))).toBe(true);
      expect(verify(key.publicKey, 'bern', 'd', good)).toBe(false);
      expect(verify(key.publicKey, 'oslo', 'e', good)).toBe(false);
      expect(verify(key.publicKey, 'oslo', 'd', { ...good, objects: [] })).toBe(false);
      expect(verify(key.publicKey, 'oslo', 'd', spec(1))).toBe(false);
      expect(verify(other, 'oslo', 'd', good)).toBe(false);
    }
  });

  it('are recognised by whoever has the key', () => {
    const isOwn = dispatchRecogniser(key.privateKey);
    const good = signed(1);
    expect(isOwn('oslo', 'd', JSON.parse(JSON.stringify(good)) as DispatchSpec)).toBe(true);
    expect(isOwn('bern', 'd', good)).toBe(false);
    expect(isOwn('oslo', 'e', good)).toBe(false);
    expect(isOwn('oslo', 'd', { ...good, objects: [] })).toBe(false);
    expect(isOwn('oslo', 'd', spec(1))).toBe(false);
    expect(isOwn('oslo', 'd', { ...good, signature: 'x' })).toBe(false);
    expect(isOwn('oslo', 'd', { ...good, signature: 7 as never })).toBe(false);
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(isOwn('oslo', 'd', { ...good, patches: deep })).toBe(false);
    expect(dispatchRecogniser(createSigningKey().privateKey)('oslo', 'd', good)).toBe(false);
  });
});

describe('judging a dispatch', () => {
  const judge = (
    next: DispatchSpec,
    accepted?: DispatchSpec,
    known: HubTrust | undefined = trust,
  ): string => {
    const verdict = judgeDispatch('oslo', 'd', next, known, accepted);
    return verdict.verdict === 'refuse' ? verdict.reason : verdict.verdict;
  };

  it('[K36] takes what its hub signed for it, and the first hub that comes', () => {
    expect(judge(signed(1))).toBe('accept');
    expect(judge(signed(2), signed(1))).toBe('accept');
    expect(judgeDispatch('oslo', 'd', signed(1), undefined, undefined).verdict).toBe('accept');
    expect(judge({ ...signed(1), objects: [] })).toBe('BadSignature');
    expect(judge(sign('bern', 'd', spec(1)))).toBe('BadSignature');
    expect(judge(spec(1))).toBe('BadSignature');
  });

  it('[K37] takes none of another hub', () => {
    const stranger = createSigningKey();
    const foreign = dispatchSigner(stranger.privateKey)(
      'oslo',
      'd',
      spec(9, { publicKey: stranger.publicKey }),
    );
    expect(judge(foreign)).toBe('AnotherHub');
    expect(judge(signed(9, { position: { lineage: 'l-2', epoch: 9, generation: 9 } }))).toBe('AnotherHub');
  });

  it('never goes back', () => {
    expect(judge(signed(1), signed(2))).toBe('StaleGeneration');
    expect(judge(signed(9), signed(1, {}, 2))).toBe('StaleGeneration');
    expect(judge(signed(1, {}, 2), signed(9))).toBe('accept');
    expect(judge(signed(2, { revision: 'sha256:2' }), signed(2))).toBe('StaleGeneration');
    expect(judge(signed(2, { objects: [] }), signed(2))).toBe('StaleGeneration');
    fc.assert(
      fc.property(fc.nat(5), fc.nat(5), fc.nat(2), fc.nat(2), (a, b, epochA, epochB) => {
        const verdict = judge(signed(a, { revision: 'x' }, epochA), signed(b, {}, epochB));
        const later = epochA > epochB || (epochA === epochB && a > b);
        expect(verdict).toBe(later ? 'accept' : 'StaleGeneration');
      }),
      { numRuns: 50 },
    );
  });

  it('knows a word again that a hub had to write anew, whatever else it says then', () => {
    expect(judge(signed(2), signed(2))).toBe('known');
    const before = signed(2, { tombstones: [{ ref: { ...ref, name: 'gone' }, reason: 'x' }] });
    expect(judge(signed(2, { source: { ...before.source, generation: 7 } }), before)).toBe('known');
  });
});

describe('names and positions', () => {
  it('are readable, short and unique by the UID', () => {
    expect(dispatchName({ kind: 'Propagation', namespace: 'shop', name: 'cart', uid: '12345678-aaaa' })).toBe(
      'shop-cart-12345678',
    );
    expect(
      dispatchName({ kind: 'ClusterPropagation', namespace: '', name: 'my.base', uid: 'abcdefgh-1' }),
    ).toBe('clusterpropagation-my-base-abcdefgh');
    expect(
      dispatchName({ kind: 'K', namespace: 'n'.repeat(60), name: 'x', uid: 'abcdefgh' }).length,
    ).toBeLessThanOrEqual(63);
  });

  it('order by epoch, then generation, within one lineage', () => {
    const at = (epoch: number, generation: number, lineage: string = 'l'): DispatchSpec['position'] => ({
      lineage,
      epoch,
      generation,
    });
    expect(comparePositions(at(1, 2), at(1, 2))).toBe(0);
    expect(comparePositions(at(1, 9), at(2, 1))).toBeLessThan(0);
    expect(comparePositions(at(1, 3), at(1, 2))).toBeGreaterThan(0);
    expect(comparePositions(at(1, 3), at(1, 2, 'm'))).toBeUndefined();
  });

  it('make one word for all that a spoke was told, in any order', () => {
    const a = { name: 'a', generation: 1 };
    const b = { name: 'b', generation: 2 };
    expect(fleetRevision([a, b])).toBe(fleetRevision([b, a]));
    expect(fleetRevision([a, b])).not.toBe(fleetRevision([a, { ...b, generation: 3 }]));
    expect(fleetRevision([])).toBe('');
  });
});
