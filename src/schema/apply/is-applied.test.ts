import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from '../json.ts';
import { isApplied } from './index.ts';
import { type History, history } from './testing/fixtures/history.ts';
import { deployment, schemaless, widget } from './testing/fixtures/types.ts';

const word = fc.constantFrom('a', 'b', 'c');
const words = fc.dictionary(word, word, { maxKeys: 2 });
const spec = fc
  .record(
    {
      size: fc.integer({ min: 0, max: 2 }),
      note: fc.option(word, { nil: null }),
      tags: fc.uniqueArray(word, { maxLength: 3 }),
      words: fc.array(word, { maxLength: 2 }),
      parts: fc.uniqueArray(fc.record({ name: word, more: words }, { requiredKeys: ['name'] }), {
        maxLength: 3,
        selector: (part) => part.name,
      }),
      free: fc.dictionary(word, fc.oneof(word, words), { maxKeys: 2 }),
      map: words,
    },
    { requiredKeys: [] },
  )
  .map((value) => value as JsonObject);
const step = fc.record({ who: fc.constantFrom('m1', 'm2', 'u1'), spec });

const object = (value: JsonObject, labels?: JsonObject): JsonObject => ({
  apiVersion: 'x.dev/v1',
  kind: 'Widget',
  metadata: { name: 'w', ...(labels ? { labels } : {}) },
  spec: value,
});

function take(h: History, who: string, value: JsonObject): void {
  if (who.startsWith('m')) h.apply(who, object(clone(value)), { force: true });
  else
    h.update(who, (live) => ({
      ...object(clone(value)),
      ...(live.metadata ? { metadata: live.metadata } : {}),
    }));
}

const pod = (...containers: JsonObject[]): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'n', labels: { app: 'd' } },
  spec: { replicas: 2, template: { spec: { containers } } },
});
const web = { name: 'web', image: 'web:1', ports: [{ containerPort: 80 }] };
const side = { name: 'side', image: 'side:1' };

describe('what is applied already', () => {
  it('is never told of a configuration that would change the object', () => {
    let told = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(widget, schemaless),
        fc.array(step, { maxLength: 5 }),
        spec,
        (type, steps, value) => {
          const h = history(type, 'x.dev/v1');
          for (const each of steps) take(h, each.who, each.spec);
          const config = object(value);
          for (let round = 0; round < 2; round++) {
            if (isApplied(h.live ?? {}, config, 'm1')) {
              told += 1;
              const before = h.live;
              expect(h.apply('m1', clone(config), { force: true })).toMatchObject({ changed: false });
              expect(h.live).toEqual(before);
            } else h.apply('m1', clone(config), { force: true });
          }
        },
      ),
      { numRuns: 500 },
    );
    expect(told).toBeGreaterThan(100);
  });

  it('is told of lists with keys, whatever others added and the server defaulted', () => {
    const h = history(deployment, 'apps/v1');
    h.apply('m1', pod(web, side));
    const defaulted = { ...web, ports: [{ containerPort: 80, protocol: 'TCP' }] };
    const live = h.update('server', (now) => ({ ...now, spec: pod(defaulted, side).spec as JsonObject }));
    expect(isApplied(live, pod(web, side), 'm1')).toBe(true);
    expect(isApplied(live, pod(web, side), 'm2')).toBe(false);
    const more = h.update('u1', (now) => ({ ...now, spec: { ...(now.spec as JsonObject), paused: true } }));
    expect(isApplied(more, pod(web, side), 'm1')).toBe(true);
  });

  it.each([
    ['another value', pod({ ...web, image: 'web:2' }, side)],
    ['an item less', pod(web)],
    ['an item more', pod(web, side, { name: 'third', image: 'x' })],
    ['another order', pod(side, web)],
    ['a field less', pod({ name: 'web', image: 'web:1' }, side)],
    ['a field more', pod({ ...web, tty: true }, side)],
    ['another version', { ...pod(web, side), apiVersion: 'apps/v2' }],
    ['a label more', { ...pod(web, side), metadata: { name: 'd', labels: { app: 'd', x: 'y' } } }],
    ['no labels', { ...pod(web, side), metadata: { name: 'd' } }],
  ])('is not told of %s', (_what, config) => {
    const h = history(deployment, 'apps/v1');
    h.apply('m1', pod(web, side));
    expect(isApplied(h.live ?? {}, config as JsonObject, 'm1')).toBe(false);
  });

  it('is not told where a record was written by hand', () => {
    const h = history(deployment, 'apps/v1');
    h.apply('m1', pod(web));
    const broken = JSON.parse(JSON.stringify(h.live).replaceAll('"k:{', '"k:['));
    expect(isApplied(broken, pod(web), 'm1')).toBe(false);
    expect(isApplied({ metadata: { managedFields: 'x' } }, pod(web), 'm1')).toBe(false);
    expect(isApplied({}, pod(web), 'm1')).toBe(false);
  });
});
