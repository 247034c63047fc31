/**
 * Writes docs/features.md: which test proves which line of the checklists. A test claims lines by the beginning of its
 * title: `[K27] a spoke goes on without its hub`, `[V25 V26] …`.
 *
 *   node scripts/features.ts            writes the file
 *   node scripts/features.ts --check    fails when it is not what the tests say
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'docs', 'features.md');

/** Lines that the documents of the project claim as done; each must have a test. */
const CLAIM = /\[((?:[A-Z]\d+)(?:[ ,]+[A-Z]\d+)*)\]/g;
/**
 * A text that is the first argument of a call, or a value in a table of titles, and begins with ids: `it('[K27] …'`,
 * `it.each(cases)('[K27] [K28] …'`, `waves: '[K77] …'`.
 */
const TITLE = /[(:]\s*(['"`])((?:\[[A-Z]\d+(?:[ ,]+[A-Z]\d+)*\]\s*)+)((?:\\.|(?!\1)[^\\])*)\1/g;

interface Feature {
  readonly ids: readonly string[];
  readonly title: string;
  readonly file: string;
}

const CHECKLISTS: readonly (readonly [string, string])[] = [
  ['K', 'KubeVela: clusters, blueprints, drift'],
  ['R', 'kro: resource graphs'],
  ['S', 'KubeStellar: placement and binding'],
  ['P', 'Cluster API: provisioning and pivot'],
  ['F', 'KubeFed: federated types'],
  ['A', 'Karmada: propagation'],
  ['V', 'Kubernetes API server'],
];

const features = findFeatures();
const text = render(features);
const missing = unproven(features);
for (const { id, file } of missing) {
  process.stderr.write(`${file} claims ${id}, and no test title begins with [${id}]\n`);
}
if (process.argv.includes('--check')) {
  const stale = !existsSync(target) || readFileSync(target, 'utf8') !== text;
  if (stale)
    process.stderr.write(
      'docs/features.md is not what the tests say; write it anew with: npm run features\n',
    );
  else process.stdout.write(`docs/features.md lists ${features.length} tests\n`);
  process.exitCode = stale || missing.length > 0 ? 1 : 0;
} else {
  writeFileSync(target, text);
  process.stdout.write(
    `docs/features.md: ${features.length} tests, ${idsOf(features).size} lines of the checklists\n`,
  );
  process.exitCode = missing.length > 0 ? 1 : 0;
}

function findFeatures(): Feature[] {
  const found: Feature[] = [];
  for (const file of globSync('{src,test}/**/*.test.ts', { cwd: root })) {
    const source = readFileSync(join(root, file), 'utf8');
    for (const [, , ids = '', title = ''] of source.matchAll(TITLE)) {
      found.push({ ids: ids.match(/[A-Z]\d+/g) ?? [], title: title.replace(/\\(.)/g, '$1').trim(), file });
    }
  }
  return found.sort(
    (a, b) =>
      compareIds(a.ids[0] ?? '', b.ids[0] ?? '') || compare(a.file, b.file) || compare(a.title, b.title),
  );
}

function idsOf(all: readonly Feature[]): Set<string> {
  return new Set(all.flatMap((feature) => feature.ids));
}

/** Lines that other documents name as done, `[K27]`, without a test. */
function unproven(all: readonly Feature[]): { id: string; file: string }[] {
  const proven = idsOf(all);
  const claims: { id: string; file: string }[] = [];
  for (const file of globSync(['README.md', 'ARCHITECTURE.md', 'docs/**/*.md'], { cwd: root }).sort()) {
    if (file === join('docs', 'features.md')) continue;
    for (const [, ids = ''] of readFileSync(join(root, file), 'utf8').matchAll(CLAIM)) {
      for (const id of ids.split(/[ ,]+/)) if (!proven.has(id)) claims.push({ id, file });
    }
  }
  return claims;
}

function render(all: readonly Feature[]): string {
  const lines = [
    '# Features and their tests',
    '',
    'Written by `npm run features` from the titles of the tests; each id is a line of a checklist. Do not edit.',
  ];
  const letters = [...new Set(all.map((feature) => feature.ids[0]?.[0] ?? ''))];
  for (const letter of letters) {
    const name = CHECKLISTS.find(([known]) => known === letter)?.[1] ?? 'Other';
    lines.push('', `## ${letter}: ${name}`, '', '| id | feature | test |', '|---|---|---|');
    for (const { ids, title, file } of all) {
      if (!ids[0]?.startsWith(letter)) continue;
      lines.push(
        `| ${ids.join(' ')} | ${title.replaceAll('|', '\\|').replaceAll('\n', ' ')} | [${file}](../${file}) |`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

function compareIds(a: string, b: string): number {
  const order = (id: string): number => CHECKLISTS.findIndex(([letter]) => letter === id[0]);
  return order(a) - order(b) || Number(a.slice(1)) - Number(b.slice(1));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
