import { describe, expect, it } from 'vitest';
import { message, string as text } from '../openapi/protobuf-writer.ts';
import { decodeProtobuf, goDuration, ProtobufError } from './index.ts';

const MAGIC = Buffer.from('6b387300', 'hex');
const number = (field: number, value: number): Buffer => Buffer.from([field << 3, value]);

function body(apiVersion: string, kind: string, parts: Buffer[]): Buffer {
  const type = message(1, [text(1, apiVersion), text(2, kind)]);
  return Buffer.concat([MAGIC, type, message(2, parts)]);
}

describe('decodeProtobuf', () => {
  it('[V3] reads metadata, maps and nested messages of a built-in kind', () => {
    const labels = message(11, [text(1, 'team'), text(2, 'shop')]);
    const metadata = message(1, [text(1, 'web'), text(3, 'default'), labels]);
    const port = message(1, [
      text(1, 'http'),
      text(2, 'TCP'),
      number(3, 80),
      message(4, [number(1, 1), text(3, 'http')]),
    ]);
    expect(decodeProtobuf(body('v1', 'Service', [metadata, message(2, [port])]))).toMatchObject({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'default', labels: { team: 'shop' } },
      spec: { ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 'http' }] },
    });
  });

  it('[V3] keeps zeros behind pointers and drops other zeros', () => {
    const spec = message(2, [number(1, 0), number(5, 0)]);
    const decoded = decodeProtobuf(body('apps/v1', 'Deployment', [spec]));
    expect((decoded.spec as Record<string, unknown>).replicas).toBe(0);
    expect(decoded.spec).not.toHaveProperty('minReadySeconds');
  });

  it('[V3] reads times, quantities and options of any group', () => {
    const time = message(8, [Buffer.from([1 << 3, 0x80, 0x01])]);
    expect(decodeProtobuf(body('v1', 'ConfigMap', [message(1, [text(1, 'a'), time])]))).toMatchObject({
      metadata: { creationTimestamp: '1970-01-01T00:02:08Z' },
    });
    const capacity = message(1, [text(1, 'cpu'), message(2, [text(1, '250m')])]);
    expect(decodeProtobuf(body('v1', 'Node', [message(3, [capacity])]))).toMatchObject({
      status: { capacity: { cpu: '250m' } },
    });
    expect(decodeProtobuf(body('policy/v1', 'DeleteOptions', [number(1, 0)]))).toMatchObject({
      gracePeriodSeconds: 0,
    });
  });

  it('[V3] refuses what is malformed, cut off, too deep or unknown', () => {
    const good = body('v1', 'ConfigMap', [message(1, [text(1, 'a')])]);
    expect(() => decodeProtobuf(Buffer.from('{}'))).toThrow(ProtobufError);
    for (let length = 5; length < good.length; length++) {
      // Every cut either fails cleanly or leaves whole fields only.
      try {
        decodeProtobuf(good.subarray(0, length));
      } catch (error) {
        expect(error).toBeInstanceOf(ProtobufError);
      }
    }
    expect(() => decodeProtobuf(body('example.com/v1', 'Widget', []))).toThrow('no known protobuf form');
    let schema: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 300; depth++) schema = message(22, [schema]);
    const definition = body('apiextensions.k8s.io/v1', 'CustomResourceDefinition', [
      message(2, [message(7, [message(4, [message(1, [schema])])])]),
    ]);
    expect(() => decodeProtobuf(definition)).toThrow(ProtobufError);
  });

  it('[V3] takes no JSON within that it would not take as a body, no number for a text, and no time that no text can tell', () => {
    const revision = (raw: Buffer): Buffer =>
      body('apps/v1', 'ControllerRevision', [message(2, [message(1, [raw])])]);
    const json = (content: string): Buffer =>
      body('apps/v1', 'ControllerRevision', [message(2, [text(1, content)])]);
    expect(decodeProtobuf(json('{"a":1}'))).toMatchObject({ data: { a: 1 } });
    let nested: Buffer = json('{}');
    for (let depth = 0; depth < 2_000; depth++) nested = revision(nested);
    const far = message(8, [Buffer.from([1 << 3, ...Array<number>(8).fill(0xff), 0x7f])]);
    for (const bad of [
      json('{"__proto__":{"x":1}}'),
      json(`${'['.repeat(2_000)}${']'.repeat(2_000)}`),
      json('{'),
      body('apps/v1', 'ControllerRevision', [message(2, [number(1, 5)])]),
      body('v1', 'ConfigMap', [message(2, [text(1, '__proto__'), text(2, 'x')])]),
      body('v1', 'ConfigMap', [message(1, [far])]),
      nested,
    ])
      expect(() => decodeProtobuf(bad)).toThrow(ProtobufError);
  });

  it('prints durations as Go does', () => {
    expect(
      [0n, 1n, 1_500n, 2_500_000n, 1_500_000_000n, 3_600_000_000_000n, -90_000_000_000n].map(goDuration),
    ).toEqual(['0s', '1ns', '1.5µs', '2.5ms', '1.5s', '1h0m0s', '-1m30s']);
  });
});
