// `npm run up|down|reset`: installs and builds what is missing, then runs the command. Needs nothing but Node 20 and npm.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled, node, root, runScript } from './install.mjs';

await runScript(() => {
  ensureInstalled();
  ensureBuilt();
  return run([join(root, 'bin', 'atoll.mjs'), ...process.argv.slice(2)]);
});

function run(args) {
  const child = spawn(node, args, { stdio: 'inherit' });
  const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends SIGINT to the child as well: passing it on would make it two.
      if (signal !== 'SIGINT' || !terminal) child.kill(signal);
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (signal === null) return resolve(code ?? 1);
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  });
}
