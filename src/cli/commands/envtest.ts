import { chmodSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { STAND_INS } from '../envtest/stand-ins.ts';
import { writePrivate } from '../fleet-directory.ts';

/** Prints what makes envtest use Atoll: programs that are there already, or for a `directory` ones that run on this very Node. */
export function printEnvtest(directory: string | undefined): void {
  const bin = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'bin');
  const assets = directory === undefined ? bin : resolve(directory);
  if (directory !== undefined) {
    mkdirSync(assets, { recursive: true });
    for (const program of Object.keys(STAND_INS)) {
      const path = join(assets, program);
      writePrivate(path, `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(join(bin, program))} "$@"\n`);
      chmodSync(path, 0o755);
    }
  }
  process.stdout.write(`export KUBEBUILDER_ASSETS=${quoted(assets)}\n`);
}

function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
