#!/usr/bin/env node
/**
 * Derives the table that reads and writes Kubernetes' protobuf bodies:
 *
 *   node scripts/generate-protobuf.ts --from <directory with protobuf-fields.json and protobuf-special.json>
 *
 * Writes `data/protobuf.json.gz`: field numbers, JSON names and types of the messages that stable kinds are made of. Only
 * facts; the same input gives the same output.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { ProtobufField, ProtobufTable } from '../src/apiserver/protobuf/table.ts';

interface SourceField {
  number: number;
  type: string;
  repeated: boolean;
  map?: [string, string];
  json?: string;
  inline?: boolean;
  pointer?: boolean;
  emitEmpty?: boolean;
}

const SCALARS = new Set(['int32', 'int64', 'string', 'bytes', 'bool', 'double', 'map']);
const UNSTABLE = /v\d+(alpha|beta)\d+/;
/** Bodies that may arrive under any group and version. */
const ALWAYS = ['DeleteOptions', 'CreateOptions', 'UpdateOptions', 'PatchOptions', 'Status'];
const META = 'k8s.io.apimachinery.pkg.apis.meta.v1';
/**
 * Forms that any object and any list can be asked for in, of which only the list differs between the versions, and the
 * document of aggregated discovery, which is the same in both.
 */
const DOCUMENT_FORMS: Readonly<Record<string, string>> = {
  'meta.k8s.io/v1/PartialObjectMetadata': `${META}.PartialObjectMetadata`,
  'meta.k8s.io/v1/PartialObjectMetadataList': `${META}.PartialObjectMetadataList`,
  'meta.k8s.io/v1beta1/PartialObjectMetadata': `${META}.PartialObjectMetadata`,
  'meta.k8s.io/v1beta1/PartialObjectMetadataList': `${META}beta1.PartialObjectMetadataList`,
  'apidiscovery.k8s.io/v2/APIGroupDiscoveryList': 'k8s.io.api.apidiscovery.v2.APIGroupDiscoveryList',
  'apidiscovery.k8s.io/v2beta1/APIGroupDiscoveryList': 'k8s.io.api.apidiscovery.v2.APIGroupDiscoveryList',
};

function derive(
  fields: Record<string, Record<string, SourceField>>,
  source: { special: Record<string, string>; kinds: Record<string, string> },
): ProtobufTable {
  const kinds: Record<string, string> = {};
  for (const [kind, message] of Object.entries(source.kinds).sort())
    if (!UNSTABLE.test(kind)) kinds[kind] = message;
  Object.assign(kinds, DOCUMENT_FORMS);
  const reached = new Set<string>();
  const visit = (message: string): void => {
    if (SCALARS.has(message) || reached.has(message)) return;
    reached.add(message);
    for (const field of Object.values(fields[message] ?? {})) {
      visit(field.type);
      for (const type of field.map ?? []) visit(type);
    }
  };
  for (const message of Object.values(kinds)) visit(message);
  for (const name of ALWAYS) visit(`${META}.${name}`);
  const names = [...reached].sort();
  const id = (type: string): string | number => (SCALARS.has(type) ? type : names.indexOf(type));
  const messages = names.map((name) =>
    Object.entries(fields[name] ?? {}).map(([key, field]): ProtobufField => {
      const flags =
        (field.repeated ? 1 : 0) |
        (field.pointer ? 2 : 0) |
        (field.emitEmpty ? 4 : 0) |
        (field.inline ? 8 : 0);
      return [
        field.number,
        field.json ?? key,
        id(field.type),
        flags,
        ...(field.map ? [id(field.map[0]), id(field.map[1])] : []),
      ] as ProtobufField;
    }),
  );
  const special: Record<string, string> = {};
  names.forEach((name, index) => {
    const form = source.special[name];
    if (form !== undefined) special[index] = form;
  });
  return {
    messages,
    special: special as ProtobufTable['special'],
    kinds: Object.fromEntries(Object.entries(kinds).map(([kind, message]) => [kind, names.indexOf(message)])),
    meta: Object.fromEntries(ALWAYS.map((name) => [name, names.indexOf(`${META}.${name}`)])),
  };
}

const { values } = parseArgs({
  options: { from: { type: 'string' }, to: { type: 'string', default: 'data' } },
});
if (values.from === undefined)
  throw new Error('--from is required: the directory with protobuf-fields.json and protobuf-special.json');
const read = (name: string): unknown => JSON.parse(readFileSync(join(values.from ?? '', name), 'utf8'));
const table = derive(read('protobuf-fields.json') as never, read('protobuf-special.json') as never);
writeFileSync(join(values.to, 'protobuf.json.gz'), gzipSync(JSON.stringify(table), { level: 9 }));
