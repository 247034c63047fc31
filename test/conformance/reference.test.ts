import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Requests with the answers that a real kube-apiserver gave, and the program that replays them. Neither is ours. */
const shared = fileURLToPath(new URL('../../../shared/', import.meta.url));
const cases = join(shared, 'data/kubernetes/reference');
const program = join(shared, 'tools/replay-reference.mjs');
const present = existsSync(cases) && existsSync(program);
if (!present) console.warn(`SKIPPED: there are no recorded answers of a real API server at ${cases}`);

/** The package under test: this checkout, or what ATOLL_E2E_PACKAGE names (built already). */
const checkout = fileURLToPath(new URL('../../', import.meta.url));
const packageRoot = process.env['ATOLL_E2E_PACKAGE'] ?? checkout;

/**
 * What is known to be answered differently, by the reason: steps (`case/step`), and cases whose tables describe a column in
 * other words.
 */
const known = JSON.parse(readFileSync(new URL('known-differences.json', import.meta.url), 'utf8')) as Record<
  string,
  string[]
>;
const knownNames = new Set(Object.values(known).flat());

const TOKEN = 'admin-token';
const RELEASE = '1.32';
const COLUMN_DESCRIPTION = /\/columnDefinitions\/\d+\/description$/;

interface Report {
  readonly cases: readonly {
    readonly name: string;
    readonly steps: readonly { readonly id: string; readonly diffs: readonly Difference[] }[];
  }[];
}

interface Difference {
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

/** The command as people start it, configured as the recorded server was. */
async function startCommand(): Promise<{ url: string; stop(): Promise<void> }> {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(
    process.execPath,
    [
      main,
      'apiserver',
      '--memory',
      '--port=0',
      `--admin-token=${TOKEN}`,
      '--controllers=none',
      '--disable-admission-plugins=ServiceAccount',
      `--emulated-version=${RELEASE}`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  let text = '';
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const found = /listens on (https:\S+)/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
    child.on('error', reject);
    void ended.then(() => reject(new Error(`the server ended:\n${text}`)));
  });
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function replay(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'atoll-conformance-'));
  const server = await startCommand();
  try {
    const { text, complaints } = await output(directory, [
      program,
      '--server',
      server.url,
      '--token',
      TOKEN,
      '--json',
      cases,
    ]);
    if (text === '') throw new Error(`the replay said nothing: ${complaints}`);
    return JSON.parse(text) as Report;
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs the program with its output in a file, since it ends before a pipe has taken everything. */
function output(directory: string, args: readonly string[]): Promise<{ text: string; complaints: string }> {
  const file = join(directory, 'report.json');
  const descriptor = openSync(file, 'w');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', descriptor, 'pipe'] });
    const complaints: Buffer[] = [];
    child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk));
    child.on('error', reject);
    child.on('close', () => {
      closeSync(descriptor);
      resolve({ text: readFileSync(file, 'utf8'), complaints: Buffer.concat(complaints).toString() });
    });
  });
}

function build(): void {
  if (packageRoot !== checkout) return;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(checkout, 'scripts', 'build.mjs')], {
    cwd: checkout,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the build failed:\n${stdout}${stderr}`);
}

describe.skipIf(!present)('recorded answers of kube-apiserver 1.32', () => {
  let report: Report | undefined;
  /** By step, and by case for descriptions of columns. */
  const different = new Map<string, Difference>();

  beforeAll(async () => {
    build();
    report = await replay();
    for (const { name, steps } of report.cases)
      for (const { id, diffs } of steps)
        for (const difference of diffs) {
          const at = COLUMN_DESCRIPTION.test(difference.path) ? name : `${name}/${id}`;
          if (!different.has(at)) different.set(at, difference);
        }
  }, 600_000);

  afterAll(() => {
    if (report === undefined) return;
    const settled = [...knownNames].filter((name) => !different.has(name));
    if (settled.length > 0)
      console.warn(`these are equal now; take them out of known-differences.json: ${settled.join(' ')}`);
  });

  /** What cases whose names begin with `letter` answer differently and should not. */
  function surprises(letter: string): { name: string; first: Difference }[] {
    const replayed = report?.cases.filter(({ name }) => name.startsWith(`${letter}-`));
    expect(replayed?.length).toBeGreaterThan(0);
    return [...different]
      .filter(([name]) => name.startsWith(`${letter}-`) && !knownNames.has(name))
      .map(([name, first]) => ({ name, first }));
  }

  it('are all replayed', () => expect(report?.cases.length).toBeGreaterThan(140));
  it('[V34 V35 V38 V39] objects of every kind: as stored, in tables, as metadata', () =>
    expect(surprises('a')).toEqual([]));
  it('[V40] what is wrong with objects of every kind', () => expect(surprises('b')).toEqual([]));
  it('[V1 V2 V36] paths, methods, media types and names that nobody serves', () =>
    expect(surprises('c')).toEqual([]));
  it('[V10 V12 V13 V25 V26 V41] updates, patches, status and scale', () =>
    expect(surprises('d')).toEqual([]));
  it('[V27 V28 V29] server-side apply', () => expect(surprises('e')).toEqual([]));
  it('[V15 V18 V19 V24] lists, chunks and selectors', () => expect(surprises('f')).toEqual([]));
  it('[V20 V21 V22] watches', () => expect(surprises('g')).toEqual([]));
  it('[V33 V44 V45 V46 V47 V51] definitions and their objects', () => expect(surprises('h')).toEqual([]));
  it('[V14] deletions', () => expect(surprises('i')).toEqual([]));
  it('[V57 V62 V63 V64] who asks and what they may', () => expect(surprises('j')).toEqual([]));
  it('[V5 V6 V7 V70] what the server tells of itself', () => expect(surprises('k')).toEqual([]));
  it('[V17 V41 V53 V58 V65] policies, namespaces, bindings, evictions, tokens and signing requests', () =>
    expect(surprises('l')).toEqual([]));
});
