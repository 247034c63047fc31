import { readFileSync, realpathSync, statSync } from 'node:fs';
import { type Document, isMap, isScalar, isSeq, type Pair, parseAllDocuments, type YAMLMap } from 'yaml';
import { writeWhole } from '../fleet-directory.ts';

export interface FormatOptions {
  readonly filename: readonly string[];
  /** Say which files would change, and change none. */
  readonly check?: boolean;
}

const TOP = ['apiVersion', 'kind', 'metadata', 'spec'];
const SPEC = ['schema', 'resources'];
const SCHEMA = [
  'apiVersion',
  'kind',
  'group',
  'scope',
  'shortNames',
  'categories',
  'metadata',
  'types',
  'spec',
  'status',
];
const NODE = ['id', 'includeWhen', 'forEach', 'def', 'externalRef', 'template', 'readyWhen', 'propagateWhen'];
const OBJECT = ['apiVersion', 'kind', 'metadata', 'spec'];

/**
 * Writes files with definitions as they are usually written: fields in one order, two blanks, no blanks at the ends of lines. Comments
 * stay, other objects keep their order. Returns the exit code: with `check` 1 where a file would change.
 */
export function formatGraphs({ filename, check }: FormatOptions): number {
  let differs = false;
  for (const path of filename) {
    const before = readFileSync(path, 'utf8');
    const after = formatted(before, path);
    if (after === before) continue;
    differs = true;
    if (check !== true) replaceFile(path, after);
    process.stdout.write(`${path}\n`);
  }
  return differs && check === true ? 1 : 0;
}

/** A link stays one, and who may read the file stays as it is. */
function replaceFile(path: string, content: string): void {
  const file = realpathSync(path);
  writeWhole(file, content, statSync(file).mode);
}

/** The text in its usual form. Throws an Error that names `label` where it is no YAML. */
export function formatted(text: string, label: string): string {
  const documents = parseAllDocuments(text, { version: '1.1', keepSourceTokens: false });
  if (!Array.isArray(documents)) return text;
  for (const document of documents) {
    const [error] = document.errors;
    if (error) throw new Error(`${label}: ${error.message}`);
    order(document);
  }
  return documents
    .map((document) =>
      document.toString({ lineWidth: 0, indent: 2, indentSeq: true, flowCollectionPadding: false }),
    )
    .map((written, index) => (index === 0 || written.startsWith('---') ? written : `---\n${written}`))
    .join('');
}

function order(document: Document.Parsed): void {
  const { contents } = document;
  if (!isMap(contents) || String(contents.get('kind')) !== 'ResourceGraphDefinition') return;
  sort(contents, TOP);
  const spec = contents.get('spec');
  if (!isMap(spec)) return;
  sort(spec, SPEC);
  const schema = spec.get('schema');
  if (isMap(schema)) sort(schema, SCHEMA);
  const resources = spec.get('resources');
  for (const node of isSeq(resources) ? resources.items : []) {
    if (!isMap(node)) continue;
    sort(node, NODE);
    for (const body of [node.get('template'), node.get('externalRef')]) if (isMap(body)) sort(body, OBJECT);
  }
}

/** The named keys first; others after them, as they were. */
function sort(map: YAMLMap, first: readonly string[]): void {
  const place = ({ key }: Pair): number => {
    const at = first.indexOf(isScalar(key) ? String(key.value) : String(key));
    return at < 0 ? first.length : at;
  };
  map.items = map.items.toSorted((a, b) => place(a) - place(b));
}
