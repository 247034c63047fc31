import { describe, expect, it } from 'vitest';
import { parseJsonBody, parseYamlBody } from './body.ts';
import { negotiate } from './negotiation.ts';
import { warningHeader } from './respond.ts';

const none = new URLSearchParams();

describe('negotiation', () => {
  it('[V2] chooses by quality and order', () => {
    expect(negotiate({}, none)).toEqual({ format: 'json', pretty: false });
    expect(negotiate({ accept: 'application/yaml;q=0.5, application/json' }, none).format).toBe('json');
    expect(negotiate({ accept: 'application/yaml' }, none).format).toBe('yaml');
    expect(negotiate({ accept: 'application/vnd.kubernetes.protobuf,application/json' }, none).format).toBe(
      'json',
    );
    expect(
      negotiate({ accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }, none),
    ).toMatchObject({ as: 'Table', metaVersion: 'v1' });
    expect(
      negotiate({ accept: 'application/json;as=Thing;v=v9;g=meta.k8s.io,*/*' }, none).as,
    ).toBeUndefined();
    expect(() => negotiate({ accept: 'foo/bar' }, none)).toThrow(
      'only the following media types are accepted: application/json, application/yaml',
    );
  });

  it('[V2] prints prettily when asked, and for people', () => {
    expect(negotiate({}, new URLSearchParams('pretty')).pretty).toBe(true);
    expect(negotiate({ 'user-agent': 'curl/8' }, none).pretty).toBe(true);
    expect(negotiate({ 'user-agent': 'curl/8' }, new URLSearchParams('pretty=false')).pretty).toBe(false);
  });

  it('[V31] finds repeated keys with their paths', () => {
    const duplicateKeys = (text: string): readonly string[] => parseJsonBody(Buffer.from(text)).duplicates;
    expect(
      duplicateKeys('{"a":{"b":1,"b":2},"c":[{"d":1},{"d":1,"d":2,"d":3}],"e":"{\\"a\\":1,\\"a\\":2}"}'),
    ).toEqual(['a.b', 'c[1].d']);
    expect(duplicateKeys('{"a\\u0062":1,"ab":2}')).toEqual(['ab']);
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
    expect(parseYamlBody(Buffer.from('a: {b: 1, b: 2}')).duplicates).toEqual(['a.b']);
    expect(() => read('a: [')).toThrow('error parsing YAML');
    expect(() => read(`${'a: &a [x]\n'}b: [${'*a, '.repeat(5)}]\n${'- '.repeat(3)}`)).toThrow(
      'error parsing YAML',
    );
  });

  it('[V32] bounds and escapes warnings', () => {
    expect(warningHeader(['a "b"', 'a "b"', 'c\\'])).toBe('299 - "a \\"b\\"", 299 - "c\\\\"');
    expect(warningHeader(['x'.repeat(5000)]).length).toBeLessThan(300);
  });
});
