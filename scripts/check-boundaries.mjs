// Checks the rules of .dependency-cruiser.mjs. dependency-cruiser reads TypeScript by a compiler API that TypeScript 7 does
// not have, so it is given JavaScript: one tree with every import that a source names, one with those that run.
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { root, runScript } from './install.mjs';

const ROOMS = [
  ...['runtime', 'schema', 'cel', 'kube', 'engine', 'apiserver', 'link', 'dialects'],
  ...['hub', 'spoke', 'provision', 'cli', 'ui', 'testing'],
];
const IMPORT = /\b(?:from|import)\s*\(?\s*'([^'\n]+)'/g;
const out = join(root, '.cache', 'boundaries');

await runScript(() => {
  const stray = readdirSync(join(root, 'src')).filter((name) => !ROOMS.includes(name));
  if (stray.length > 0) {
    process.stdout.write(`No room of the house: ${stray.map((name) => `src/${name}`).join(', ')}\n`);
    return 1;
  }
  project();
  const binary = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs');
  const rules = join(root, '.dependency-cruiser.mjs');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [binary, '--config', rules, '--output-type', 'err-long', 'types', 'values'],
    { cwd: out, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  process.stdout.write(stdout.replace(/\b(?:types|values)\/(src\/[\w./-]+)\.js\b/g, '$1.ts'));
  process.stderr.write(stderr);
  // The number of violations is what it exits with.
  return status === 0 ? 0 : 1;
});

function project() {
  rmSync(out, { recursive: true, force: true });
  for (const path of globSync('src/**/*.ts', { cwd: root })) {
    if (/\.(test|fixture|test-d)\.ts$/.test(path)) continue;
    const source = readFileSync(join(root, path), 'utf8');
    const imports = [...new Set([...source.matchAll(IMPORT)].map((match) => match[1]))];
    write('types', path, imports.map((specifier) => `import '${specifier}';\n`).join(''));
    write('values', path, stripTypeScriptTypes(source));
  }
  for (const tree of ['types', 'values'])
    copyFileSync(join(root, 'package.json'), join(out, tree, 'package.json'));
}

function write(tree, path, code) {
  const target = join(out, tree, path.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, code.replace(/((?:from|import)\s*\(?\s*'\.{1,2}\/[^'\n]+)\.ts'/g, "$1.js'"));
}
