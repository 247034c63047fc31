#!/usr/bin/env node
/**
 * Takes the descriptions of built-in kinds from the npm package `kubernetes-types`, whose comments are the documentation of
 * Kubernetes' own API (Apache-2.0; see NOTICE):
 *
 *   node scripts/generate-descriptions.ts --to <file>
 *
 * Run by every build: the texts are in what is built, not in this repository. The same input gives the same output.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { DescriptionFile } from '../src/apiserver/catalogue/descriptions.ts';
import type { OpenApiSchema } from '../src/schema/open-api-schema.ts';

/** The comments of one type: its own, and those of its fields. */
export interface TypeComments {
  own: string;
  readonly fields: Map<string, string>;
}

const PACKAGE = new URL('../node_modules/kubernetes-types/', import.meta.url);
/** Words of our own for what the package, which is older than the catalogue, does not have: by definition and field. */
const OWN = new URL('own-descriptions.json', import.meta.url);
const DEFINITIONS = new URL('../data/definitions.json.gz', import.meta.url);

/** Modules whose definitions are not named `io.k8s.api.<group>.<version>`. */
const MODULE_PREFIXES: Readonly<Record<string, string>> = {
  'api/resource': 'io.k8s.apimachinery.pkg.api.resource',
  'apiextensions/v1': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1',
  'meta/v1': 'io.k8s.apimachinery.pkg.apis.meta.v1',
  runtime: 'io.k8s.apimachinery.pkg.runtime',
  version: 'io.k8s.apimachinery.pkg.version',
};

/** Every kind has these, and every kind says the same of them. */
const OF_ANY_KIND = ['apiVersion', 'kind', 'metadata'];
const ANY_KIND = 'io.k8s.api.core.v1.ConfigMap';

/**
 * The comments of a declaration file by type. The files are generated: a declaration or field a line, its comment in front
 * of it, nothing else at these depths.
 */
export function parseDeclarations(text: string): Map<string, TypeComments> {
  const types = new Map<string, TypeComments>();
  let current: TypeComments | undefined;
  let comment = '';
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const opened = /^ {0,4}\/\*\*(.*)$/.exec(line);
    if (opened) {
      const body = [opened[1] ?? ''];
      while (!(body.at(-1) ?? '').endsWith('*/') && at + 1 < lines.length) {
        at += 1;
        body.push((lines[at] ?? '').replace(/^ *\* ?(?!\/)/, '').replace(/^ *(?=\*\/)/, ''));
      }
      comment = body.join('\n').replace(/\*\/$/, '').trim();
      continue;
    }
    const declared = /^export (?:interface|type) (\w+)/.exec(line);
    const field = /^ {4}(?:readonly )?"?([\w$-]+)"?\??: /.exec(line);
    if (declared) {
      current = { own: comment, fields: new Map() };
      types.set(declared[1] ?? '', current);
    } else if (field && current && comment !== '') current.fields.set(field[1] ?? '', comment);
    // A comment is of the next line only.
    comment = '';
  }
  return types;
}

/** The comments of all types of the package by the name of their definition. */
export function readPackage(directory: URL): Map<string, TypeComments> {
  const all = new Map<string, TypeComments>();
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.d.ts')).sort()) {
    const module = file.replaceAll('\\', '/').slice(0, -'.d.ts'.length);
    const prefix = MODULE_PREFIXES[module] ?? `io.k8s.api.${module.replace('/', '.')}`;
    const text = readFileSync(join(directory.pathname, file), 'utf8');
    for (const [type, comments] of parseDeclarations(text)) all.set(`${prefix}.${type}`, comments);
  }
  return all;
}

/** Adds words to comments where they have none; '' stands for the type itself. */
export function withOwnWords(
  comments: ReadonlyMap<string, TypeComments>,
  words: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Map<string, TypeComments> {
  const all = new Map(comments);
  for (const [name, { '': own = '', ...fields }] of Object.entries(words)) {
    const found = comments.get(name) ?? { own: '', fields: new Map<string, string>() };
    all.set(name, {
      own: found.own || own,
      fields: new Map([...Object.entries(fields), ...found.fields]),
    });
  }
  return all;
}

/**
 * What the package says of the definitions and fields of the catalogue, and of nothing else. A definition that the package
 * has in another version only takes the texts of that.
 */
export function deriveDescriptions(
  definitions: Readonly<Record<string, OpenApiSchema>>,
  comments: ReadonlyMap<string, TypeComments>,
): DescriptionFile {
  const otherVersions = new Map<string, TypeComments>();
  for (const [name, texts] of comments) otherVersions.set(withoutVersion(name), texts);
  const anyKind = comments.get(ANY_KIND)?.fields;
  const texts: string[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, texts.length);
    return texts.push(text) - 1;
  };
  const described: DescriptionFile['definitions'] = {};
  for (const [name, schema] of Object.entries(definitions)) {
    const found = comments.get(name) ?? otherVersions.get(withoutVersion(name));
    const isKind = schema['x-kubernetes-group-version-kind'] !== undefined;
    const fields: Record<string, number> = {};
    for (const field of Object.keys(schema.properties ?? {})) {
      const text =
        found?.fields.get(field) ?? (isKind && OF_ANY_KIND.includes(field) ? anyKind?.get(field) : undefined);
      if (text !== undefined) fields[field] = numberOf(text);
    }
    const own = found === undefined || found.own === '' ? null : numberOf(found.own);
    if (own !== null || Object.keys(fields).length > 0) described[name] = [own, fields];
  }
  return { texts, definitions: described };
}

function withoutVersion(name: string): string {
  return name.replace(/\.v\d+(?:(?:alpha|beta)\d+)?\./, '.');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { to: { type: 'string' } } });
  if (values.to === undefined) {
    process.stderr.write('usage: generate-descriptions.ts --to <file>\n');
    process.exit(2);
  }
  const definitions = JSON.parse(gunzipSync(readFileSync(DEFINITIONS)).toString('utf8')) as Record<
    string,
    OpenApiSchema
  >;
  const words = JSON.parse(readFileSync(OWN, 'utf8')) as Record<string, Record<string, string>>;
  const derived = deriveDescriptions(definitions, withOwnWords(readPackage(PACKAGE), words));
  writeFileSync(values.to, gzipSync(JSON.stringify(derived), { level: 9 }));
}
