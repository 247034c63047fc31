import { describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../../server.fixture.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = '/apis/example.com/v1/namespaces/default/things';

type Json = Record<string, unknown>;

function definition(spec: Json): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec, status: { type: 'object', properties: { ready: { type: 'boolean' } } } },
            },
          },
        },
      ],
    },
  };
}

function rule(text: string, more: Json = {}): Json {
  return { rule: text, ...more };
}

function thing(spec: Json, name = 'a'): Json {
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name }, spec };
}

async function serving(spec: Json): Promise<Fixture> {
  const fixture = await startServer();
  const created = await fixture.post(CRDS, definition(spec));
  expect(created.status, created.text).toBe(201);
  return fixture;
}

function causes(answer: { body: { details?: { causes?: { field: string; message: string }[] } } }): string[] {
  return (answer.body.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
}

describe('rules of custom resources', () => {
  it('[V47] are asked about every value that has them', async () => {
    const { post } = await serving({
      type: 'object',
      properties: {
        low: { type: 'integer' },
        high: { type: 'integer' },
        ports: {
          type: 'array',
          maxItems: 10,
          items: {
            type: 'object',
            properties: { port: { type: 'integer' } },
            'x-kubernetes-validations': [
              rule('self.port > 0', { fieldPath: '.port', message: 'must be positive' }),
            ],
          },
        },
        weights: {
          type: 'object',
          maxProperties: 10,
          additionalProperties: {
            type: 'number',
            'x-kubernetes-validations': [rule('self <= 1.0', { reason: 'FieldValueForbidden' })],
          },
        },
      },
      'x-kubernetes-validations': [
        rule('!has(self.low) || !has(self.high) || self.low <= self.high', {
          messageExpression: "'low ' + (self.low > 100 ? 'is far' : 'is') + ' above high'",
        }),
      ],
    });
    expect(
      (await post(THINGS, thing({ low: 1, high: 2, ports: [{ port: 80 }], weights: { a: 1 } }))).status,
    ).toBe(201);
    const refused = await post(
      THINGS,
      thing({ low: 3, high: 2, ports: [{ port: 1 }, { port: 0 }], weights: { a: 1.5 } }, 'b'),
    );
    expect(refused.status).toBe(422);
    expect(causes(refused).sort()).toEqual([
      'spec.ports[1].port: Invalid value: "object": must be positive',
      'spec.weights[a]: Forbidden: failed rule: self <= 1.0',
      'spec: Invalid value: "object": low is above high',
    ]);
  });

  it('[V47] about changes compare values that belong together', async () => {
    const { post, put } = await serving({
      type: 'object',
      properties: {
        items: {
          type: 'array',
          maxItems: 10,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string', maxLength: 10 },
              size: {
                type: 'integer',
                'x-kubernetes-validations': [rule('self >= oldSelf', { message: 'may only grow' })],
              },
            },
          },
        },
        once: {
          type: 'string',
          maxLength: 10,
          'x-kubernetes-validations': [
            rule("oldSelf.orValue(self) == self && self != 'no'", { optionalOldSelf: true }),
          ],
        },
      },
    });
    const created = await post(
      THINGS,
      thing({
        items: [
          { name: 'a', size: 5 },
          { name: 'b', size: 1 },
        ],
        once: 'x',
      }),
    );
    expect(created.status, created.text).toBe(201);
    expect((await post(THINGS, thing({ once: 'no' }, 'b'))).status).toBe(422);
    const { metadata } = created.body;
    const update = (spec: Json): ReturnType<Fixture['put']> =>
      put(`${THINGS}/a`, { ...thing(spec), metadata });
    // Found by their keys, in another order.
    const shrunk = await update({
      items: [
        { name: 'b', size: 2 },
        { name: 'c', size: 0 },
        { name: 'a', size: 4 },
      ],
      once: 'y',
    });
    expect(causes(shrunk).sort()).toEqual([
      'spec.items[2].size: Invalid value: "integer": may only grow',
      `spec.once: Invalid value: "string": failed rule: oldSelf.orValue(self) == self && self != 'no'`,
    ]);
    expect((await update({ items: [{ name: 'a', size: 9 }], once: 'x' })).status).toBe(200);
  });

  it('[V49] are not asked again about what did not change', async () => {
    const spec = {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 20 },
        count: { type: 'integer', 'x-kubernetes-validations': [rule('self < 10')] },
      },
    };
    const { post, merge, get, put } = await serving({
      type: 'object',
      properties: { name: { type: 'string', maxLength: 20 }, count: { type: 'integer' } },
    });
    expect((await post(THINGS, thing({ name: 'x', count: 50 }))).status).toBe(201);
    const stored = (await get(`${CRDS}/things.example.com`)).body;
    const stricter = await put(`${CRDS}/things.example.com`, {
      ...definition(spec),
      metadata: stored.metadata,
    });
    expect(stricter.status, stricter.text).toBe(200);
    const renamed = await merge(`${THINGS}/a`, { spec: { name: 'y' } });
    expect(renamed.status, renamed.text).toBe(200);
    expect(causes(await merge(`${THINGS}/a`, { spec: { count: 51 } }))).toEqual([
      'spec.count: Invalid value: "integer": failed rule: self < 10',
    ]);
    expect((await merge(`${THINGS}/a`, { spec: { count: 5 } })).status).toBe(200);
  });

  it('[V49] are not asked again about items of a list that is as it was', async () => {
    const list = (rules: Json[]): Json => ({
      type: 'array',
      maxItems: 10,
      items: { type: 'integer', ...(rules.length > 0 ? { 'x-kubernetes-validations': rules } : {}) },
    });
    const spec = (rules: Json[]): Json => ({
      type: 'object',
      properties: { sizes: list(rules), note: { type: 'string' } },
    });
    const { post, merge, get, put } = await serving(spec([]));
    expect((await post(THINGS, thing({ sizes: [1, 50] }))).status).toBe(201);
    const stored = (await get(`${CRDS}/things.example.com`)).body;
    const stricter = { ...definition(spec([rule('self < 10')])), metadata: stored.metadata };
    expect((await put(`${CRDS}/things.example.com`, stricter)).status).toBe(200);
    expect((await merge(`${THINGS}/a`, { spec: { note: 'same sizes' } })).status).toBe(200);
    // Nothing tells which item an item was, so one more asks about all of them.
    expect(causes(await merge(`${THINGS}/a`, { spec: { sizes: [1, 50, 2] } }))).toEqual([
      'spec.sizes[1]: Invalid value: "integer": failed rule: self < 10',
    ]);
  });

  it('[V48] end at a budget', async () => {
    const { post } = await serving({
      type: 'object',
      properties: {
        list: {
          type: 'array',
          maxItems: 80,
          items: { type: 'integer' },
          'x-kubernetes-validations': [
            rule('self.all(a, self.all(b, self.all(c, a + b + c >= 0)))', { message: 'too dear' }),
          ],
        },
      },
    });
    const list = Array.from({ length: 80 }, (_, index) => index);
    const answer = await post(THINGS, thing({ list }));
    if (answer.status === 422)
      expect(causes(answer)[0]).toContain('call cost exceeds limit for rule: too dear');
  });
});

describe('rules in definitions', () => {
  const refusal = async (spec: Json): Promise<string[]> => {
    const { post } = await startServer();
    const answer = await post(CRDS, definition(spec));
    expect(answer.status).toBe(422);
    return causes(answer);
  };
  const PATH = 'spec.validation.openAPIV3Schema.properties[spec]';

  it('[V47] must compile, and give a bool', async () => {
    expect(
      (await refusal({ type: 'integer', 'x-kubernetes-validations': [rule('self == 1 &&')] }))[0],
    ).toContain('compilation failed: ERROR: <input>:1:13: Syntax error');
    expect((await refusal({ type: 'integer', 'x-kubernetes-validations': [rule('self + 1')] }))[0]).toContain(
      'cel expression must evaluate to a bool',
    );
    expect(
      (await refusal({ type: 'integer', 'x-kubernetes-validations': [rule("self == 'a'")] }))[0],
    ).toContain("found no matching overload for '_==_' applied to '(int, string)'");
  });

  it('[V47] may not speak of old values that cannot be told', async () => {
    const items = { type: 'string', maxLength: 5, 'x-kubernetes-validations': [rule('self == oldSelf')] };
    expect((await refusal({ type: 'array', maxItems: 5, items }))[0]).toContain(
      'oldSelf cannot be used on the uncorrelatable portion of the schema',
    );
  });

  it('[V47] ask for old values as an option only where they look at them', async () => {
    const idle = { rule: 'self > 1', optionalOldSelf: false };
    expect(await refusal({ type: 'integer', 'x-kubernetes-validations': [idle] })).toEqual([
      expect.stringContaining(
        'optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in rule',
      ),
    ]);
  });

  it('[V48] may not cost too much by estimate', async () => {
    const text = { type: 'string' };
    const list = (items: Json, more: Json = {}): Json => ({ type: 'array', items, ...more });
    const dear = [rule('self.all(a, self.exists(b, a != b && a.contains(b)))')];
    expect(await refusal(list(text, { 'x-kubernetes-validations': dear }))).toEqual(
      expect.arrayContaining([
        expect.stringContaining(
          `${PATH}.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x`,
        ),
      ]),
    );
    const { post } = await startServer();
    const bounded = list(
      { type: 'string', maxLength: 10 },
      { maxItems: 50, 'x-kubernetes-validations': dear },
    );
    expect((await post(CRDS, definition(bounded))).status).toBe(201);
  });

  it('[V48] count as often as their values can occur', async () => {
    const inner = {
      type: 'string',
      maxLength: 100,
      'x-kubernetes-validations': [rule("self.matches('^[a-z]{1,20}$')")],
    };
    const { post } = await startServer();
    expect((await post(CRDS, definition({ type: 'array', maxItems: 1000, items: inner }))).status).toBe(201);
    expect((await refusal({ type: 'array', items: inner }))[0]).toContain(
      'estimated rule cost exceeds budget',
    );
  });
});
