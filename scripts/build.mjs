// Builds dist/ from src/ when sources changed. `npm run build` runs this file.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureInstalled, node, Remedy, root, runScript, say, withLock } from './install.mjs';

const dist = join(root, 'dist');
const STAMP = '.built-from';

/**
 * Builds beside dist/ and swaps when the compiler is content, so that dist/ is always whole: never half a build, and never
 * a file whose source is gone. Says nothing when dist/ is of these sources.
 */
export function ensureBuilt() {
  if (isBuilt()) return;
  withLock(() => {
    if (isBuilt()) return;
    say('building');
    const began = fingerprint();
    removeDrafts();
    const draft = join(root, `dist-draft-${process.pid}`);
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { status } = spawnSync(
      node,
      [
        compiler,
        '-p',
        'tsconfig.build.json',
        '--outDir',
        draft,
        '--tsBuildInfoFile',
        join(draft, '.tsbuildinfo'),
      ],
      { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
    );
    if (status !== 0) {
      rmSync(draft, { recursive: true, force: true });
      throw new Remedy('The build failed (see above).');
    }
    writeDescriptions(draft);
    writeFileSync(join(draft, STAMP), began);
    const old = join(root, `dist-draft-${process.pid}-old`);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(draft, dist);
    rmSync(old, { recursive: true, force: true });
  });
}

/** What `kubectl explain` prints of built-in kinds: from a package, never from this repository. */
function writeDescriptions(directory) {
  const generator = join(root, 'scripts', 'generate-descriptions.ts');
  const { status } = spawnSync(node, [generator, '--to', join(directory, 'descriptions.json.gz')], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status === 0) return;
  rmSync(directory, { recursive: true, force: true });
  throw new Remedy('The descriptions of built-in kinds could not be written (see above).');
}

function isBuilt() {
  const stamp = join(dist, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint();
}

/** Names, sizes and times of all that goes into the build: much cheaper than contents, and a needless build costs a second. */
function fingerprint() {
  const hash = createHash('sha256');
  const add = (path, stat) => hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
  for (const name of [
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'data/definitions.json.gz',
    'scripts/generate-descriptions.ts',
    'scripts/own-descriptions.json',
  ])
    add(name, statSync(join(root, name)));
  const visit = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (/\.tsx?$/.test(path) && !path.endsWith('.test.ts')) add(path, statSync(join(root, path)));
    }
  };
  visit('src');
  return hash.digest('hex');
}

/** What interrupted builds left behind. The lock is held: nobody else has one. */
function removeDrafts() {
  for (const name of readdirSync(root)) {
    if (name.startsWith('dist-draft-')) rmSync(join(root, name), { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runScript(() => {
    ensureInstalled();
    ensureBuilt();
  });
}
