import type { OpenApiSchema } from '../../src/schema/open-api-schema.ts';

/** Texts to try where a pattern or a format asks for something particular. */
const TEXTS = [
  ...[
    'sample',
    's',
    'Sample',
    '1',
    'v1.30.0',
    '1h',
    '10.0.0.1',
    '10.0.0.0/8',
    'https://sample.example',
    'example.com/sample',
  ],
  ...[
    'sample.example.com',
    '0644',
    'c2FtcGxl',
    '2030-01-01T00:00:00Z',
    'example.com/v1',
    'sample: value',
    '50%',
    '500m',
    'fd00::1',
  ],
];
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2030-01-01T00:00:00Z',
  date: '2030-01-01',
  duration: '1h',
  byte: 'c2FtcGxl',
  ipv4: '10.0.0.1',
  ipv6: 'fd00::1',
  cidr: '10.0.0.0/8',
  uri: 'https://sample.example',
};

/** The smallest value that a structural schema asks for: what is required, and nothing else. Throws where it finds none. */
export function sampleOf(schema: OpenApiSchema, path: string = '$'): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum?.length) return schema.enum[0];
  if (schema['x-kubernetes-int-or-string']) return 1;
  switch (schema.type) {
    case 'object':
      return objectOf(schema, path);
    case 'array': {
      const { items } = schema;
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(items ?? {}, `${path}[]`));
    }
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, Math.min(1, schema.maximum ?? 1));
    case 'boolean':
      return true;
    case 'string':
      return textOf(schema, path);
    default:
      return {};
  }
}

function objectOf(schema: OpenApiSchema, path: string): Record<string, unknown> {
  const properties = schema.properties ?? {};
  const wanted = new Set(schema.required);
  // One way of several will do, where ways differ in what they require.
  const [way] = schema.oneOf ?? schema.anyOf ?? [];
  for (const name of way?.required ?? []) wanted.add(name);
  const out: Record<string, unknown> = {};
  for (const name of wanted) out[name] = sampleOf(properties[name] ?? {}, `${path}.${name}`);
  const names = Object.keys(properties);
  for (let at = 0; Object.keys(out).length < (schema.minProperties ?? 0); at++) {
    const name = names[at] ?? `key-${at}`;
    const values = schema.additionalProperties;
    out[name] = sampleOf(properties[name] ?? (typeof values === 'object' ? values : {}), `${path}.${name}`);
  }
  return out;
}

function textOf(schema: OpenApiSchema, path: string): string {
  const { pattern, format, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  const known = format === undefined ? undefined : FORMATS[format];
  const fits = (text: string): boolean =>
    text.length >= minLength &&
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern).test(text));
  const found = [...(known === undefined ? [] : [known]), ...TEXTS].find(fits);
  if (found === undefined)
    throw new Error(`${path}: no sample fits ${JSON.stringify({ pattern, minLength, maxLength })}`);
  return found;
}
