import { describe, expect, it } from 'vitest';
import { decodeBody, parseJsonBody, parseYamlBody, strictWarnings } from './body.ts';
import { checkRoute, negotiate, negotiateStatus, negotiateStream } from './negotiation.ts';
import { warningHeader } from './respond.ts';

const none = new URLSearchParams();

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const METADATA = 'as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const custom = { views: true, protobuf: false };

describe('negotiation', () => {
  it('[V2] chooses by quality, precision and order', () => {
    const format = (accept: string): string => negotiate({ accept }, none).format;
    expect(negotiate({}, none)).toEqual({ format: 'json', pretty: false });
    expect(format('application/yaml;q=0.5, application/json')).toBe('json');
    expect(format('application/yaml')).toBe('yaml');
    expect(format('*/*, application/yaml')).toBe('yaml');
    expect(
      negotiate({ accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }, none),
    ).toMatchObject({ as: 'Table', metaVersion: 'v1' });
    expect(
      negotiate({ accept: 'application/json;as=Thing;v=v9;g=meta.k8s.io,*/*' }, none).as,
    ).toBeUndefined();
    expect(() => negotiate({ accept: 'foo/bar' }, none)).toThrow(
      `only the following media types are accepted: application/json, application/yaml, ${PROTOBUF}`,
    );
  });

  it('[V4] offers protobuf for what has that form, and never for tables', () => {
    expect(negotiate({ accept: `${PROTOBUF},application/json` }, none).format).toBe('protobuf');
    expect(negotiate({ accept: `${PROTOBUF},application/json` }, none, custom).format).toBe('json');
    expect(() => negotiate({ accept: PROTOBUF }, none, custom)).toThrow('are accepted');
    expect(negotiate({ accept: `${PROTOBUF};${METADATA}` }, none, custom)).toMatchObject({
      format: 'protobuf',
    });
    expect(() => negotiate({ accept: `${PROTOBUF};as=Table;v=v1;g=meta.k8s.io` }, none)).toThrow(
      'are accepted',
    );
    expect(negotiateStream({ accept: `${PROTOBUF};stream=watch` }, none).format).toBe('protobuf');
    expect(() => negotiateStream({ accept: 'application/yaml' }, none)).toThrow(
      `are accepted: application/json;stream=watch, ${PROTOBUF};stream=watch`,
    );
    expect(negotiateStatus({ accept: PROTOBUF }, '/api').format).toBe('protobuf');
    expect(negotiateStatus({ accept: 'foo/bar' }, '/api?pretty=true')).toEqual({
      format: 'json',
      pretty: false,
    });
  });

  it('[V2] checks what routes of built-in resources have before anything else', () => {
    expect(() => checkRoute({ accept: 'application/*' }, false)).toThrow(
      `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ${PROTOBUF}`,
    );
    expect(() => checkRoute({ accept: 'text/html' }, true)).toThrow(
      `, application/json;stream=watch, ${PROTOBUF};stream=watch`,
    );
    for (const accept of ['', '*/*', 'text/html, application/yaml;q=0.1', `${PROTOBUF};stream=watch`])
      expect(() => checkRoute({ accept }, false)).not.toThrow();
    expect(() => checkRoute({ accept: 'text/plain' }, false, ['text/plain'])).not.toThrow();
  });

  it('[V2] prints prettily when asked, and for people', () => {
    expect(negotiate({}, new URLSearchParams('pretty')).pretty).toBe(true);
    expect(negotiate({ 'user-agent': 'curl/8' }, none).pretty).toBe(true);
    expect(negotiate({ 'user-agent': 'curl/8' }, new URLSearchParams('pretty=false')).pretty).toBe(false);
  });

  it('[V31] finds repeated keys with their paths', () => {
    const duplicateKeys = (text: string): readonly string[] => parseJsonBody(Buffer.from(text)).strict;
    expect(
      duplicateKeys('{"a":{"b":1,"b":2},"c":[{"d":1},{"d":1,"d":2,"d":3}],"e":"{\\"a\\":1,\\"a\\":2}"}'),
    ).toEqual(['duplicate field "a.b"', 'duplicate field "c[1].d"']);
    expect(duplicateKeys('{"a\\u0062":1,"ab":2}')).toEqual(['duplicate field "ab"']);
    expect(duplicateKeys('[{"a":1},{"a":1}]')).toEqual([]);
  });

  it('[V2] reads YAML as Kubernetes does', () => {
    const read = (text: string): unknown => parseYamlBody(Buffer.from(text)).value;
    expect(read('a: yes\nb: 1:30\nc: 2020-01-01\nd: 010\ne: "1"\nf: ~\ng: 1.5')).toEqual({
      a: true,
      b: '1:30',
      c: '2020-01-01',
      d: 8,
      e: '1',
      f: null,
      g: 1.5,
    });
    const [problem = ''] = parseYamlBody(
      Buffer.from('c: {"d": 1, d: 2}\na: {b: 1, b: 2}\nc: 1\n1: x\n1: y'),
    ).strict;
    expect(problem).toBe(
      'yaml: unmarshal errors:\n  line 1: key "d" already set in map\n  line 2: key "b" already set in map\n  line 3: key "c" already set in map\n  line 5: key 1 already set in map',
    );
    expect(strictWarnings(problem)).toHaveLength(4);
    expect(() => read('a: [')).toThrow('error parsing YAML');
    expect(() => read(`${'a: &a [x]\n'}b: [${'*a, '.repeat(5)}]\n${'- '.repeat(3)}`)).toThrow(
      'error parsing YAML',
    );
  });

  it('[V2] tells problems of YAML in the words of other servers', () => {
    const create = (body: string): unknown =>
      decodeBody({ 'content-type': 'application/yaml' }, Buffer.from(body), 'ConfigMap');
    expect(() => create('a: [')).toThrow(
      'the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected node content (613a205b)',
    );
    expect(() => create('- a')).toThrow('json: cannot unmarshal array into Go value');
  });

  it('[V32] bounds and escapes warnings', () => {
    expect(warningHeader(['a "b"', 'a "b"', 'c\\'])).toBe('299 - "a \\"b\\"", 299 - "c\\\\"');
    expect(warningHeader(['x'.repeat(5000)]).length).toBeLessThan(300);
  });
});
