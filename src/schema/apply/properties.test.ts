import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from '../json.ts';
import { difference, isEmptySet, isSubset, setOf } from './field-set.ts';
import { decodeFieldsV1, encodeFieldsV1 } from './fields-v1.ts';
import { type History, history } from './testing/fixtures/history.ts';
import { schemaless, widget } from './testing/fixtures/types.ts';
import { toFieldSet } from './to-field-set.ts';
import { objectType } from './typed-schema.ts';

const word = fc.constantFrom('a', 'b', 'c');
const words = fc.dictionary(word, word, { maxKeys: 3 });
const spec: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      size: fc.integer({ min: 0, max: 2 }),
      note: fc.option(word, { nil: null }),
      either: fc.oneof(word, fc.integer({ min: 0, max: 2 })),
      tags: fc.uniqueArray(word, { maxLength: 3 }),
      words: fc.array(word, { maxLength: 2 }),
      parts: fc.uniqueArray(
        fc.record(
          { name: word, value: fc.integer({ min: 0, max: 2 }), more: words },
          { requiredKeys: ['name'] },
        ),
        { maxLength: 3, selector: (part) => part.name },
      ),
      free: fc.dictionary(word, fc.oneof(word, words, fc.array(word, { maxLength: 2 })), { maxKeys: 2 }),
      map: words,
      box: fc.record({ a: word, b: word }, { requiredKeys: [] }),
      nested: fc.record({ a: word, b: word }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .map((value) => value as JsonObject);

type Step = { readonly who: 'm1' | 'm2' | 'u1' | 'u2'; readonly spec: JsonObject; readonly force: boolean };
const step: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom('m1', 'm2', 'u1', 'u2'),
  spec,
  force: fc.boolean(),
});

const object = (value: JsonObject): JsonObject => ({
  apiVersion: 'x.dev/v1',
  kind: 'Widget',
  metadata: { name: 'w' },
  spec: value,
});

function take(h: History, { who, spec: value, force }: Step): void {
  if (who.startsWith('m')) h.apply(who, object(clone(value)), { force });
  else
    h.update(who, (live) => ({
      ...object(clone(value)),
      ...(live.metadata ? { metadata: live.metadata } : {}),
    }));
}

const anyType = fc.constantFrom(widget, schemaless);

describe('any history', () => {
  it('[V27] applying the same twice changes nothing the second time', () => {
    fc.assert(
      fc.property(anyType, fc.array(step, { maxLength: 6 }), spec, (type, steps, value) => {
        const h = history(type, 'x.dev/v1');
        for (const each of steps) take(h, each);
        h.apply('m1', object(value), { force: true });
        const before = h.live;
        expect(h.apply('m1', object(value))).toMatchObject({ changed: false });
        expect(h.live).toEqual(before);
      }),
      { numRuns: 300 },
    );
  });

  it('[V27] after a forced apply its values hold, and it owns what it said', () => {
    fc.assert(
      fc.property(anyType, fc.array(step, { maxLength: 6 }), spec, (type, steps, value) => {
        const h = history(type, 'x.dev/v1');
        for (const each of steps) take(h, each);
        h.apply('m1', object(value), { force: true });
        const named = setOf(['f:apiVersion'], ['f:kind'], ['f:metadata', 'f:name']);
        const said = difference(toFieldSet(object(value), objectType(type)), named);
        expect(h.owners()['m1 Apply']).toEqual(isEmptySet(said) ? undefined : encodeFieldsV1(said));
        const { size, words: list } = value;
        if (size !== undefined) expect(h.spec().size).toEqual(size);
        if (list !== undefined) expect(h.spec().words).toEqual(list);
        const tags = value.tags as string[] | undefined;
        if (type === widget && tags !== undefined) {
          expect((h.spec().tags as string[]).filter((tag) => tags.includes(tag))).toEqual(tags);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('[V27] everything that is owned exists, and only what changed by force or update changes hands', () => {
    fc.assert(
      fc.property(anyType, fc.array(step, { minLength: 1, maxLength: 8 }), (type, steps) => {
        const h = history(type, 'x.dev/v1');
        for (const each of steps) {
          const before = h.owners();
          take(h, each);
          const after = h.owners();
          const mine = `${each.who} ${each.who.startsWith('m') ? 'Apply' : 'Update'}`;
          for (const who of Object.keys(after)) {
            if (who === mine || who.startsWith('before-first-apply')) continue;
            const now = decodeFieldsV1(after[who]);
            const then = decodeFieldsV1(before[who]);
            expect(now && then && isSubset(now, then)).toBe(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('[V27] an applier that leaves takes along what only it owned', () => {
    fc.assert(
      fc.property(anyType, spec, spec, (type, first, second) => {
        const alone = history(type, 'x.dev/v1');
        alone.apply('m2', object(second));
        const both = history(type, 'x.dev/v1');
        // Something in it must be owned, else the object counts as untracked: empty lists are nobody's.
        both.apply('m1', object({ ...first, on: true }));
        both.apply('m2', object(second), { force: true });
        both.apply('m1', { apiVersion: 'x.dev/v1', kind: 'Widget', metadata: { name: 'w' } });
        expect(both.owners()).toEqual(alone.owners());
        const left = (h: History): JsonObject => encodeFieldsV1(toFieldSet(h.live ?? {}, objectType(type)));
        const { 'f:metadata': _both, ...bothFields } = left(both);
        const { 'f:metadata': _alone, ...aloneFields } = left(alone);
        expect(bothFields).toEqual(aloneFields);
      }),
      { numRuns: 300 },
    );
  });

  it('[V27] appliers of disjoint fields commute: values and owners are the same in either order', () => {
    const fields = ['size', 'note', 'either', 'tags', 'words', 'parts', 'free', 'map', 'box', 'nested'];
    const only = (value: JsonObject, wanted: (field: string) => boolean): JsonObject =>
      Object.fromEntries(Object.entries(value).filter(([field]) => wanted(field)));
    fc.assert(
      fc.property(anyType, spec, spec, fc.subarray(fields), spec, (type, first, second, mine, before) => {
        const left = object(only(first, (field) => mine.includes(field)));
        const right = object(only(second, (field) => !mine.includes(field)));
        const run = (order: readonly (readonly [string, JsonObject])[]): History => {
          const h = history(type, 'x.dev/v1');
          h.apply('m0', object(clone(before)));
          for (const [who, value] of order) h.apply(who, clone(value), { force: true });
          return h;
        };
        const one = run([
          ['m1', left],
          ['m2', right],
        ]);
        const other = run([
          ['m2', right],
          ['m1', left],
        ]);
        expect(other.spec()).toEqual(one.spec());
        expect(other.owners()).toEqual(one.owners());
      }),
      { numRuns: 300 },
    );
  });
});
