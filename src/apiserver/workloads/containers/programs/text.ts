import { FileError, normalizePath } from '../file-system.ts';
import {
  complain,
  type Input,
  inputOf,
  type Process,
  type Program,
  print,
  readAll,
  sourceOf,
} from '../process.ts';
import { optionsOf } from './options.ts';

/** What programs hold of their input at most; less where they work on it for long. */
const MAX_HELD = 8 * 1024 * 1024;
const MAX_SORTED = 1024 * 1024;

/** The inputs that operands name, `-` or none being standard input; what cannot be read is complained of. */
async function* inputs(
  process: Process,
  operands: readonly string[],
  failed: { code: number },
): AsyncGenerator<{ name: string; input: Input }> {
  if (operands.length === 0) yield { name: '-', input: process.stdin };
  for (const name of operands) {
    if (name === '-') {
      yield { name, input: process.stdin };
      continue;
    }
    try {
      const content = process.machine.files.read(normalizePath(name, process.directory));
      yield { name, input: inputOf(sourceOf(content)) };
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      failed.code = await complain(process, `${name}: ${error.message}`);
    }
  }
}

export const cat: Program = async (process) => {
  const failed = { code: 0 };
  for await (const { input } of inputs(process, optionsOf(process.args).operands, failed))
    for (let chunk = await input.read(); chunk !== undefined; chunk = await input.read())
      await process.stdout.write(chunk);
  return failed.code;
};

/** `-5`, `-n 5` and `-c 5` as they were always written. */
function amountOf(
  args: readonly string[],
  otherwise: string,
): { bytes: boolean; text: string; operands: readonly string[] } {
  const options = optionsOf(
    args.map((argument) => (/^-\d+$/.test(argument) ? `-n${argument.slice(1)}` : argument)),
    ['n', 'c', 'lines', 'bytes'],
  );
  const bytes = options.value('c', 'bytes');
  return {
    bytes: bytes !== undefined,
    text: bytes ?? options.value('n', 'lines') ?? otherwise,
    operands: options.operands,
  };
}

export const head: Program = async (process) => {
  const { bytes, text, operands } = amountOf(process.args, '10');
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) return complain(process, `invalid number '${text}'`);
  const failed = { code: 0 };
  for await (const { input } of inputs(process, operands, failed)) {
    let left = count;
    while (left > 0) {
      const chunk = bytes ? await input.read() : await input.readLine();
      if (chunk === undefined) break;
      const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk.subarray(0, left);
      await process.stdout.write(piece);
      left -= bytes ? piece.byteLength : 1;
    }
  }
  return failed.code;
};

export const tail: Program = async (process) => {
  const { bytes, text, operands } = amountOf(process.args, '10');
  const count = Number(text.replace(/^\+/, ''));
  if (!Number.isInteger(count)) return complain(process, `invalid number '${text}'`);
  const fromStart = text.startsWith('+');
  const failed = { code: 0 };
  for await (const { input } of inputs(process, operands, failed)) {
    if (fromStart) {
      let skip = Math.max(0, count - 1);
      for (;;) {
        const chunk = bytes || skip === 0 ? await input.read() : await input.readLine();
        if (chunk === undefined) break;
        if (typeof chunk === 'string') {
          skip -= 1;
          continue;
        }
        const dropped = bytes ? Math.min(skip, chunk.byteLength) : 0;
        skip -= dropped;
        await process.stdout.write(chunk.subarray(dropped));
      }
      continue;
    }
    const whole = await readAll(input, MAX_HELD);
    await process.stdout.write(
      whole.subarray(bytes ? Math.max(0, whole.byteLength - count) : startOfLast(whole, count)),
    );
  }
  return failed.code;
};

/** Where the last `count` lines begin. */
function startOfLast(bytes: Uint8Array, count: number): number {
  if (count === 0) return bytes.byteLength;
  let at = bytes.byteLength - 1;
  for (let left = count; left > 0 && at > 0; left--) {
    at = bytes.lastIndexOf(0x0a, at - 1);
    if (at < 0) return 0;
  }
  return at <= 0 ? 0 : at + 1;
}

export const wc: Program = async (process) => {
  const options = optionsOf(process.args);
  const all = !options.has('l', 'w', 'c', 'm');
  const failed = { code: 0 };
  for await (const { name, input } of inputs(process, options.operands, failed)) {
    let lines = 0;
    let words = 0;
    let bytes = 0;
    let inWord = false;
    for (let chunk = await input.read(); chunk !== undefined; chunk = await input.read()) {
      bytes += chunk.byteLength;
      for (const byte of chunk) {
        if (byte === 0x0a) lines += 1;
        const space = byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
        if (!space && !inWord) words += 1;
        inWord = !space;
      }
    }
    const columns = [
      ...(all || options.has('l') ? [lines] : []),
      ...(all || options.has('w') ? [words] : []),
      ...(all || options.has('c', 'm') ? [bytes] : []),
    ];
    const numbers =
      columns.length === 1 ? String(columns[0]) : columns.map((each) => String(each).padStart(9)).join(' ');
    await print(process.stdout, `${numbers}${name === '-' ? '' : ` ${name}`}\n`);
  }
  return failed.code;
};

export const tee: Program = async (process) => {
  const options = optionsOf(process.args);
  const files = options.operands.map((path) =>
    process.machine.files.open(normalizePath(path, process.directory), options.has('a')),
  );
  for (let chunk = await process.stdin.read(); chunk !== undefined; chunk = await process.stdin.read()) {
    for (const file of files) file.write(chunk);
    await process.stdout.write(chunk);
  }
  return 0;
};

/** Plain texts only: a pattern from outside must not be able to take the server's time. */
export const grep: Program = async (process) => {
  const options = optionsOf(process.args, ['e']);
  const [first, ...others] = options.operands;
  const given = options.value('e');
  const pattern = given ?? first;
  if (pattern === undefined) return complain(process, 'a text to look for is missing', 2);
  const fold = (text: string): string => (options.has('i') ? text.toLowerCase() : text);
  const atStart = !options.has('F') && pattern.startsWith('^');
  const atEnd = !options.has('F') && pattern.endsWith('$');
  const wanted = fold(pattern.slice(atStart ? 1 : 0, atEnd ? -1 : undefined));
  const fits = (line: string): boolean => {
    if (atStart && atEnd) return line === wanted;
    if (atStart) return line.startsWith(wanted);
    return atEnd ? line.endsWith(wanted) : line.includes(wanted);
  };
  const failed = { code: 0 };
  const paths = given === undefined ? others : options.operands;
  let found = 0;
  for await (const { name, input } of inputs(process, paths, failed)) {
    for (let line = await input.readLine(); line !== undefined; line = await input.readLine()) {
      await process.budget.step(process.signal);
      const text = line.replace(/\n$/, '');
      if (fits(fold(text)) === options.has('v')) continue;
      found += 1;
      if (!options.has('q', 'c'))
        await print(process.stdout, `${paths.length > 1 ? `${name}:` : ''}${text}\n`);
    }
  }
  if (options.has('c')) await print(process.stdout, `${found}\n`);
  return failed.code === 0 ? Number(found === 0) : 2;
};

async function allLines(
  process: Process,
  operands: readonly string[],
  failed: { code: number },
): Promise<string[]> {
  const lines: string[] = [];
  for await (const { input } of inputs(process, operands, failed)) {
    const text = Buffer.from(await readAll(input, MAX_SORTED)).toString('utf8');
    if (text !== '') lines.push(...text.replace(/\n$/, '').split('\n'));
  }
  return lines;
}

export const sort: Program = async (process) => {
  const options = optionsOf(process.args);
  const failed = { code: 0 };
  let lines = await allLines(process, options.operands, failed);
  if (options.has('n')) lines.sort((a, b) => (Number.parseFloat(a) || 0) - (Number.parseFloat(b) || 0));
  else lines.sort();
  if (options.has('r')) lines.reverse();
  if (options.has('u')) lines = [...new Set(lines)];
  await print(process.stdout, lines.map((line) => `${line}\n`).join(''));
  return failed.code;
};

export const uniq: Program = async (process) => {
  const options = optionsOf(process.args);
  const failed = { code: 0 };
  const runs: { line: string; count: number }[] = [];
  for (const line of await allLines(process, options.operands, failed)) {
    const last = runs.at(-1);
    if (last?.line === line) last.count += 1;
    else runs.push({ line, count: 1 });
  }
  const counted = options.has('c');
  await print(
    process.stdout,
    runs.map(({ line, count }) => `${counted ? `${String(count).padStart(7)} ` : ''}${line}\n`).join(''),
  );
  return failed.code;
};
