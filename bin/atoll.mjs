#!/usr/bin/env node
// Starts the command line of Atoll. Plain JavaScript that old versions of Node understand, so that their users get a
// working command or a remedy instead of a syntax error.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NEEDED_MAJOR = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, 'dist', 'cli', 'main.js');

if (!existsSync(main)) {
  fail(`atoll is not built yet. Build it with: npm --prefix ${root} run build`);
} else if (major(process.versions.node) >= NEEDED_MAJOR) {
  await import(pathToFileURL(main).href);
} else {
  const node = bundledNode();
  if (node === undefined) {
    fail(`atoll needs Node ${NEEDED_MAJOR} or newer, this is ${process.version}. ${remedy()}`);
  } else {
    // Not this file again: a bundled Node that is too old after all must not start itself for ever.
    runWith(node, [main, ...process.argv.slice(2)]);
  }
}

/** The Node that a checkout brings as a dev dependency. */
function bundledNode() {
  for (const folder of [join(root, 'node_modules', 'node'), join(root, '..', 'node')]) {
    const binary = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (!existsSync(binary)) continue;
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (major(manifest.version) >= NEEDED_MAJOR) return binary;
  }
  return undefined;
}

function remedy() {
  return existsSync(join(root, 'package-lock.json'))
    ? `Get the one that the project uses with: npm --prefix ${root} run build`
    : `Try: npx -p node@${NEEDED_MAJOR} -p atoll atoll ${process.argv.slice(2).join(' ')}`.trimEnd();
}

/** Runs a command in place of this process, as far as that can be had: its input, output, signals and end are ours. */
function runWith(node, args) {
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal sends SIGINT to the child as well: passing it on would make it two.
  const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !terminal) child.kill(signal);
    });
  }
  child.on('error', (error) => fail(`${node} cannot be started (${error.message}). ${remedy()}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function major(version) {
  return Number.parseInt(version.split('.')[0], 10);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
