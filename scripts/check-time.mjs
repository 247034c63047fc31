// Time and randomness are injected: what reads them from the machine occurs in src/runtime only. Biome's noRestrictedGlobals
// covers the timer functions by name; this covers what is reached through an object.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

const BANNED = [
  [/\bDate\s*\.\s*now\b/, 'runtime.clock.now()'],
  [/\bnew\s+Date\b(?!\s*\(\s*[^)\s])/, 'new Date(runtime.clock.now())'],
  [/(?<!new\s)(?<![.\w])Date\s*\(/, 'new Date(runtime.clock.now())'],
  [/\bTemporal\s*\.\s*Now\b/, 'runtime.clock.now()'],
  [/\bprocess\s*\.\s*(hrtime|uptime)\b/, 'runtime.clock.monotonic()'],
  [/\bperformance\s*\.\s*(now|timeOrigin)\b/, 'runtime.clock.monotonic()'],
  [/\bAbortSignal\s*\.\s*timeout\b/, 'a timer of runtime.clock and an AbortController'],
  [/\bglobalThis\s*\.\s*(set|clear)(Timeout|Interval|Immediate)\b/, 'runtime.clock'],
  [/\bscheduler\s*\.\s*(wait|yield)\b/, 'runtime.clock'],
  [/\bMath\s*\.\s*random\b/, 'runtime.random'],
  [/\b(randomUUID|randomBytes|randomInt|randomFillSync|getRandomValues)\b/, 'runtime.random'],
];

/** Comments and plain strings, which may name what they please. */
const SILENT = /\/\*[\s\S]*?\*\/|(?<![:'"`/\\])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g;

const files = globSync('src/**/*.{ts,tsx}', { cwd: root })
  .filter((path) => !path.startsWith(join('src', 'runtime')) && !/\.(test|bench)\.tsx?$/.test(path))
  .sort();
let found = 0;
for (const path of files) {
  const code = readFileSync(join(root, path), 'utf8').replace(SILENT, (text) => text.replace(/[^\n]/g, ' '));
  code.split('\n').forEach((line, index) => {
    for (const [pattern, instead] of BANNED) {
      const match = pattern.exec(line);
      if (match === null) continue;
      found += 1;
      process.stdout.write(
        `${path}:${index + 1}:${match.index + 1} ${match[0].trim()} is not injected; use ${instead}\n`,
      );
    }
  });
}
process.stdout.write(
  `${found} uses of the machine's time or randomness outside src/runtime in ${files.length} files\n`,
);
process.exitCode = found === 0 ? 0 : 1;
