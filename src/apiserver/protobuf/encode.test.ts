import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../schema/json.ts';
import { decodeProtobuf, encodeProtobuf, encodeWatchFrame, hasProtobufForm } from './index.ts';
import { durationNanos } from './special-values.ts';
import { INLINE, type ProtobufField, type ProtobufTable, protobufTable, REPEATED } from './table.ts';
import { wireWriter } from './wire-writer.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
/** Hexadecimal with texts in quotes. */
const bytes = (text: string): string =>
  text.replace(/"([^"]*)"/g, (_, plain: string) => hex(Buffer.from(plain))).replace(/\s/g, '');

const ENVELOPE_END = '1a00 2200';

describe('encodeProtobuf', () => {
  it('[V4] writes zeros that are no pointers, sorts maps and leaves out what is nil', () => {
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', creationTimestamp: null },
      data: { b: '2', a: '', é: 'x' },
      binaryData: { z: 'AQI=' },
    };
    const metadata = '0a01"a" 1200 1a00 2200 2a00 3200 3800 4200';
    const data = '1205 0a01"a"1200 1206 0a01"b"1201"2" 1207 0a02c3a9 1201"x"';
    const message = `0a11${metadata} ${data} 1a07 0a01"z"1202 0102`;
    const length = (bytes(message).length / 2).toString(16);
    expect(hex(encodeProtobuf(config))).toBe(
      bytes(`"k8s"00 0a0f 0a02"v1" 1209"ConfigMap" 12${length} ${message} ${ENVELOPE_END}`),
    );
  });

  it('[V4] frames events of a watch by their length', () => {
    const frame = encodeWatchFrame('ERROR', { apiVersion: 'v1', kind: 'Status', code: 410 });
    const object = encodeProtobuf({ apiVersion: 'v1', kind: 'Status', code: 410 });
    const view = Buffer.from(frame);
    expect(view.readUInt32BE(0)).toBe(frame.byteLength - 4);
    expect(hex(frame.subarray(4))).toBe(
      bytes('0a05"ERROR" 12') + hex(Buffer.of(object.byteLength + 2, 0x0a, object.byteLength)) + hex(object),
    );
  });

  it('[V4] writes every special value so that reading it gives the same', () => {
    const objects: JsonObject[] = [
      {
        apiVersion: 'v1',
        kind: 'Service',
        spec: {
          ports: [
            { port: 80, targetPort: 'http' },
            { port: 81, targetPort: 8081 },
          ],
        },
      },
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        spec: { renewTime: '2026-01-02T03:04:05.000120Z', leaseDurationSeconds: 0 },
      },
      { apiVersion: 'v1', kind: 'Node', status: { capacity: { cpu: '250m', memory: '1Gi' } } },
      { apiVersion: 'apps/v1', kind: 'ControllerRevision', data: { a: [1, { b: null }] }, revision: -1 },
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        spec: {
          versions: [
            {
              name: 'v1',
              schema: {
                openAPIV3Schema: {
                  default: { x: 1 },
                  maximum: 1.5,
                  additionalProperties: true,
                  items: { type: 'string' },
                  properties: { b: { additionalProperties: { type: 'integer' } }, a: { nullable: true } },
                },
              },
            },
          ],
        },
      },
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        status: { user: { extra: { scopes: ['a', 'b'] } } },
      },
      { apiVersion: 'v1', kind: 'Pod', spec: { terminationGracePeriodSeconds: 9007199254740993n } },
    ];
    for (const object of objects) expect(decodeProtobuf(encodeProtobuf(object))).toMatchObject(object);
  });

  it('[V4] has no form for custom kinds, and one for the metadata of all', () => {
    expect(hasProtobufForm('example.com/v1', 'Widget')).toBe(false);
    expect(() => encodeProtobuf({ apiVersion: 'example.com/v1', kind: 'Widget' })).toThrow(
      'no known protobuf form',
    );
    const list = {
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadataList',
      items: [{ metadata: { name: 'a' } }],
    };
    expect(decodeProtobuf(encodeProtobuf(list))).toMatchObject(list);
    expect(decodeProtobuf(encodeProtobuf({ ...list, apiVersion: 'meta.k8s.io/v1beta1' }))).toMatchObject({
      items: list.items,
    });
  });

  it('[V4] gives back what it has written, for any object of any kind', () => {
    const table = protobufTable();
    const kinds = Object.keys(table.kinds);
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.infiniteStream(fc.nat(1 << 20)), (kind, draws) => {
        const cut = kind.lastIndexOf('/');
        const draw = (limit: number): number => (draws.next().value ?? 0) % limit;
        const drawn = drawMessage(table, table.kinds[kind] ?? 0, draw, 0) as JsonObject;
        const object = { ...drawn, apiVersion: kind.slice(0, cut), kind: kind.slice(cut + 1) };
        const written = encodeProtobuf(object);
        const read = decodeProtobuf(written);
        expect(hex(encodeProtobuf(read))).toBe(hex(written));
        expect(without(read, object)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  const recorded = fileURLToPath(new URL('../../../../shared/data/kubernetes/reference/', import.meta.url));
  it.skipIf(!existsSync(recorded))('[V4] gives back recorded objects', () => {
    let count = 0;
    for (const file of readdirSync(recorded).filter((name) => name.endsWith('.json'))) {
      const { steps } = JSON.parse(readFileSync(`${recorded}${file}`, 'utf8')) as {
        steps: { expect: { body?: JsonObject } }[];
      };
      for (const { expect: answer } of steps) {
        const { body } = answer;
        if (body === undefined || !hasProtobufForm(String(body.apiVersion), String(body.kind))) continue;
        const object = JSON.parse(
          JSON.stringify(body)
            .replaceAll('<time>', '2026-01-02T03:04:05Z')
            .replaceAll('<microtime>', '2026-01-02T03:04:05.120000Z')
            .replaceAll('"<nodePort>"', '30000'),
        ) as JsonObject;
        expect([file, without(decodeProtobuf(encodeProtobuf(object)), object)]).toEqual([file, []]);
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(1000);
  });
});

/** Paths of what `whole` lacks of `part`; zeros, nulls and empty things may be left out. */
function without(whole: JsonValue | undefined, part: JsonValue, path: string = ''): string[] {
  if (Array.isArray(part)) {
    const items = Array.isArray(whole) ? whole : [];
    return part.flatMap((item, index) => without(items[index], item, `${path}[${index}]`));
  }
  if (typeof part === 'object' && part !== null) {
    const object = typeof whole === 'object' && whole !== null ? (whole as JsonObject) : {};
    return Object.entries(part).flatMap(([key, value]) => {
      // A typed object within another has no kind of its own.
      if (path !== '' && (key === 'apiVersion' || key === 'kind') && object[key] === undefined) return [];
      return without(object[key], value ?? null, `${path}.${key}`);
    });
  }
  return whole === part || (whole === undefined && !part) || (whole === null && !part) ? [] : [path];
}

const TEXTS = ['', 'a', 'longer than most', 'é', '𝒳', '0'.repeat(130)];
const NUMBERS = [0, 1, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)];

type Draw = (limit: number) => number;

function drawMessage(table: ProtobufTable, index: number, draw: Draw, depth: number): JsonValue {
  switch (table.special[index]) {
    case 'quantity':
      return ['1', '250m', '10Gi'][draw(3)] ?? '0';
    case 'int-or-string':
      return draw(2) === 0 ? draw(1000) : '25%';
    case 'time':
      return '2026-01-02T03:04:05Z';
    case 'micro-time':
      return `2026-01-02T03:04:05.${String(draw(1_000_000)).padStart(6, '0')}Z`;
    case 'duration':
      return ['1h0m0s', '1.5s', '250ms'][draw(3)] ?? '';
    case 'raw-json':
      return { a: [draw(9), 'x', null] };
    case 'array':
      return ['a', 'b'].slice(0, 1 + draw(2));
    case 'schema-or-bool':
      return draw(2) === 1;
    case 'schema-or-array':
      return { type: 'string' };
    case 'schema-or-string-array':
      return ['a'];
    default:
  }
  const out: JsonObject = {};
  for (const field of table.messages[index] ?? []) drawField(table, field, draw, depth, out);
  return out;
}

function drawField(
  table: ProtobufTable,
  field: ProtobufField,
  draw: Draw,
  depth: number,
  out: JsonObject,
): void {
  const [, name, type, flags, , valueType = 'string'] = field;
  if (draw(4) === 0 || depth > 6) return;
  const value = (of: string | number): JsonValue => {
    if (typeof of === 'number') return drawMessage(table, of, draw, depth + 1);
    if (of === 'bool') return draw(2) === 1;
    if (of === 'string') return TEXTS[draw(TEXTS.length)] ?? '';
    // No bytes at all are left out of JSON, where they are not told from nothing.
    if (of === 'bytes') return Buffer.from(TEXTS[1 + draw(TEXTS.length - 1)] ?? '').toString('base64');
    if (of === 'double') return draw(100) / 4;
    return NUMBERS[draw(NUMBERS.length)] ?? 0;
  };
  if ((flags & INLINE) !== 0) Object.assign(out, value(type));
  else if (type === 'map') out[name] = { b: value(valueType), a: value(valueType) };
  else if ((flags & REPEATED) !== 0) out[name] = [value(type), value(type)].slice(draw(2));
  else out[name] = value(type);
}

describe('wireWriter', () => {
  it('writes from the end, however much it is', () => {
    const writer = wireWriter();
    let expected = '';
    for (let index = 0; index < 3000; index++) {
      writer.varint(index);
      writer.text(index % 100 === 0 ? 'ü'.repeat(40) : 'ab');
      expected = (index % 100 === 0 ? hex(Buffer.from('ü'.repeat(40))) : '6162') + varint(index) + expected;
    }
    expect(hex(writer.take())).toBe(expected);
  });

  it('reads durations as Go writes them', () => {
    expect(['1h0m0s', '-1.5s', '250ms', '2µs', '0s', 'x'].map(durationNanos)).toEqual([
      3_600_000_000_000n,
      -1_500_000_000n,
      250_000_000n,
      2_000n,
      0n,
      0n,
    ]);
  });
});

function varint(value: number): string {
  return value < 0x80 ? hex(Buffer.of(value)) : hex(Buffer.of((value & 0x7f) | 0x80, value >> 7));
}
