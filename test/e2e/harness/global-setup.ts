import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { must } from './command.ts';
import { type KubectlBinary, kubectlBinaries } from './kubectl-binaries.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The package under test: a checkout, or what ATOLL_E2E_PACKAGE names (built already). */
    packageRoot: string;
    /** The repository that the tests lie in. */
    checkout: string;
    /** Every fleet of the run lives below it. */
    temporaryRoot: string;
    /** Whose API servers the tests run on: see `vitest.real.config.ts`. */
    servers: 'embedded' | 'real';
    /** Oldest first. */
    kubectls: KubectlBinary[];
  }
}

const checkout = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

/** Builds what is stale, makes a place for the fleets, and at the end kills by pid whatever a failed test left behind. */
export default async function setup(project: TestProject): Promise<() => void> {
  const built = process.env['ATOLL_E2E_PACKAGE'];
  if (built === undefined)
    await must(process.execPath, [join(checkout, 'scripts', 'build.mjs')], {
      cwd: checkout,
      timeoutMs: 600_000,
    });
  const temporaryRoot = mkdtempSync(join(tmpdir(), 'atoll-e2e-'));
  project.provide('checkout', checkout);
  project.provide('packageRoot', built ?? checkout);
  project.provide('temporaryRoot', temporaryRoot);
  const kubectls = kubectlBinaries();
  project.provide('kubectls', kubectls);
  if (kubectls.length === 0)
    process.stderr.write(
      '\n!! No kubectl on PATH or in ATOLL_KUBECTL_ALL: the end-to-end tests are SKIPPED.\n\n',
    );
  if (!process.env['KUBEBUILDER_ASSETS'])
    process.stderr.write(
      '\n!! KUBEBUILDER_ASSETS is not set: hubs and spokes on real kube-apiservers (e2e-real) are NOT tested.\n\n',
    );
  return () => {
    for (const fleet of readdirSync(temporaryRoot)) killLeftovers(join(temporaryRoot, fleet, 'run'));
    if (process.env['ATOLL_E2E_KEEP'] === undefined) rmSync(temporaryRoot, { recursive: true, force: true });
    else process.stderr.write(`kept: ${temporaryRoot}\n`);
  };
}

function killLeftovers(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const pid = Number(readFileSync(join(folder, name), 'utf8').trim());
    if (!Number.isInteger(pid) || pid <= 0) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
