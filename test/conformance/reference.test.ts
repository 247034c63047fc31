import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createApiServer,
  memoryDriver,
  serveHttps,
  staticTokenAuthenticator,
} from '../../src/apiserver/index.ts';
import { serverCertificates } from '../../src/cli/certificates.ts';
import { systemRuntime } from '../../src/runtime/runtime.ts';

/** Requests with the answers that a real kube-apiserver gave, and the program that replays them. Neither is ours. */
const shared = fileURLToPath(new URL('../../../shared/', import.meta.url));
const cases = join(shared, 'data/kubernetes/reference');
const program = join(shared, 'tools/replay-reference.mjs');
const present = existsSync(cases) && existsSync(program);
if (!present) console.warn(`SKIPPED: there are no recorded answers of a real API server at ${cases}`);

/** Steps (`case/step`) that are known to be answered differently, by the reason. */
const known = JSON.parse(readFileSync(new URL('known-differences.json', import.meta.url), 'utf8')) as Record<
  string,
  string[]
>;
const knownSteps = new Set(Object.values(known).flat());

const TOKEN = 'admin-token';
/** The catalogue has no descriptions, so columns have none either. */
const UNDESCRIBED = /\/columnDefinitions\/\d+\/description$/;

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

async function replay(): Promise<Report> {
  const silent = (): void => {};
  const log = { debug: silent, info: silent, warn: silent, error: silent, with: () => log };
  const runtime = systemRuntime(log);
  const directory = mkdtempSync(join(tmpdir(), 'atoll-conformance-'));
  const certificates = await serverCertificates(runtime, directory, 'conformance');
  const server = await createApiServer({
    runtime,
    storage: memoryDriver(),
    authenticate: staticTokenAuthenticator([
      { token: TOKEN, user: { name: 'admin', uid: 'admin-uid', groups: ['system:masters'] } },
    ]),
    anonymous: true,
    caCertificate: certificates.authority.certificate,
    clientCa: certificates.authority,
    controllers: false,
    disableAdmissionPlugins: ['ServiceAccount'],
  });
  const https = await serveHttps(runtime, {
    port: 0,
    certificate: certificates.server.certificate,
    key: certificates.server.key,
    clientCa: certificates.authority.certificate,
    handle: (request, connection) => server.handle(request, connection),
  });
  try {
    const url = `https://127.0.0.1:${https.port}`;
    const { text, complaints } = await output(directory, [
      program,
      '--server',
      url,
      '--token',
      TOKEN,
      '--json',
      cases,
    ]);
    if (text === '') throw new Error(`the replay said nothing: ${complaints}`);
    return JSON.parse(text) as Report;
  } finally {
    await https.close(0);
    await server.close();
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

describe.skipIf(!present)('recorded answers of kube-apiserver 1.32', () => {
  let report: Report | undefined;
  const different = new Map<string, readonly Difference[]>();

  beforeAll(async () => {
    report = await replay();
    for (const { name, steps } of report.cases)
      for (const step of steps) {
        const diffs = step.diffs.filter(({ path }) => !UNDESCRIBED.test(path));
        if (diffs.length > 0) different.set(`${name}/${step.id}`, diffs);
      }
  }, 60_000);

  afterAll(() => {
    if (report === undefined) return;
    const settled = [...knownSteps].filter((step) => !different.has(step));
    if (settled.length > 0)
      console.warn(
        `these steps are equal now; take them out of known-differences.json: ${settled.join(' ')}`,
      );
  });

  it('are given by this server too, but for the known differences', () => {
    expect(report?.cases.length).toBeGreaterThan(140);
    const regressions = [...different]
      .filter(([step]) => !knownSteps.has(step))
      .map(([step, diffs]) => ({ step, first: diffs[0] }));
    expect(regressions).toEqual([]);
  });
});
