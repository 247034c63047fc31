import { formatTime, sleep as sleepFor } from '../../../../runtime/index.ts';
import { parseDuration } from '../../simulation.ts';
import { complain, type Program, print } from '../process.ts';
import { runProgram } from '../run-program.ts';
import { optionsOf } from './options.ts';

const ok: Program = () => Promise.resolve(0);
export const yes: Program = ok;
export const no: Program = () => Promise.resolve(1);

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  a: '\x07',
  b: '\b',
  e: '\x1b',
};

function withoutEscapes(text: string): string {
  return text.replace(/\\(0[0-7]{1,3}|x[0-9a-fA-F]{1,2}|[ntr\\abe])/g, (_, code: string) => {
    if (code.startsWith('0')) return String.fromCharCode(Number.parseInt(code, 8));
    if (code.startsWith('x')) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return ESCAPES[code] ?? '';
  });
}

export const echo: Program = async (process) => {
  const words = [...process.args];
  let newline = true;
  let escapes = false;
  while (/^-[neE]+$/.test(words[0] ?? '')) {
    const option = words.shift() ?? '';
    if (option.includes('n')) newline = false;
    escapes = option.includes('e');
  }
  const text = words.join(' ');
  await print(process.stdout, (escapes ? withoutEscapes(text) : text) + (newline ? '\n' : ''));
  return 0;
};

export const printf: Program = async (process) => {
  const [format, ...values] = process.args;
  if (format === undefined) return complain(process, 'a format is missing', 2);
  const rest = [...values];
  let out = '';
  do {
    const before = rest.length;
    out += withoutEscapes(format).replace(/%(-?\d{0,3})([sd%])/g, (_, width: string, kind: string) => {
      if (kind === '%') return '%';
      const value = rest.shift() ?? '';
      const text = kind === 'd' ? String(Math.trunc(Number(value) || 0)) : value;
      return width.startsWith('-') ? text.padEnd(Number(width.slice(1))) : text.padStart(Number(width));
    });
    if (rest.length === before) break;
  } while (rest.length > 0);
  await print(process.stdout, out);
  return 0;
};

export const env: Program = async (process) => {
  const environment = new Map(process.environment);
  const rest = [...process.args];
  while (rest[0] !== undefined && /^[A-Za-z_]\w*=/.test(rest[0])) {
    const [, name = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(rest.shift() ?? '') ?? [];
    environment.set(name, value);
  }
  const [name, ...args] = rest;
  if (name !== undefined) {
    const child = { ...process, name, args, environment };
    return runProgram(child, {
      missing: () => complain(process, `can't execute '${name}': No such file or directory`, 127),
    });
  }
  for (const [variable, value] of environment) await print(process.stdout, `${variable}=${value}\n`);
  return 0;
};

export const printenv: Program = async (process) => {
  if (process.args.length === 0) return env(process);
  let code = 0;
  for (const name of process.args) {
    const value = process.environment.get(name);
    if (value === undefined) code = 1;
    else await print(process.stdout, `${value}\n`);
  }
  return code;
};

export const hostname: Program = async (process) => {
  const { hostName, files } = process.machine;
  if (process.args.includes('-i')) {
    const line = Buffer.from(files.read('/etc/hosts'))
      .toString()
      .split('\n')
      .find((each) => each.endsWith(hostName));
    await print(process.stdout, `${line?.split(/\s/)[0] ?? '127.0.0.1'}\n`);
    return 0;
  }
  await print(process.stdout, `${hostName}\n`);
  return 0;
};

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAY_MS = 86_400_000;

/** UTC, as containers have it. */
export const date: Program = async (process) => {
  const now = process.machine.clock.now();
  const iso = formatTime(now);
  const options = optionsOf(process.args.filter((argument) => !argument.startsWith('+')));
  const asked = process.args.find((argument) => argument.startsWith('+'));
  // 1970-01-01 was a Thursday.
  const day = DAYS[(Math.floor(now / DAY_MS) + 4) % 7] ?? '';
  const month = MONTHS[Number(iso.slice(5, 7)) - 1] ?? '';
  const parts: Readonly<Record<string, string>> = {
    Y: iso.slice(0, 4),
    y: iso.slice(2, 4),
    m: iso.slice(5, 7),
    d: iso.slice(8, 10),
    e: String(Number(iso.slice(8, 10))).padStart(2),
    H: iso.slice(11, 13),
    M: iso.slice(14, 16),
    S: iso.slice(17, 19),
    N: String(now % 1_000)
      .padStart(3, '0')
      .padEnd(9, '0'),
    s: String(Math.floor(now / 1_000)),
    F: iso.slice(0, 10),
    T: iso.slice(11, 19),
    Z: 'UTC',
    z: '+0000',
    A: day,
    a: day.slice(0, 3),
    B: month,
    b: month.slice(0, 3),
    '%': '%',
    n: '\n',
  };
  const iso8601 = options.has('Iseconds') || process.args.includes('-Iseconds') ? '%FT%T+00:00' : '%F';
  const format =
    asked?.slice(1) ?? (process.args.some((each) => each.startsWith('-I')) ? iso8601 : '%a %b %e %T %Z %Y');
  await print(
    process.stdout,
    `${format.replace(/%([A-Za-z%])/g, (whole, letter: string) => parts[letter] ?? whole)}\n`,
  );
  return 0;
};

export const sleep: Program = async (process) => {
  let total = 0;
  for (const text of process.args) {
    const ms = text === 'infinity' ? 365 * DAY_MS : parseDuration(text);
    if (ms === undefined) return complain(process, `invalid number '${text}'`);
    total += ms;
  }
  if (process.args.length === 0) return complain(process, 'missing operand');
  const { clock } = process.machine;
  const until = clock.monotonic() + total;
  // A timer of the machine holds 24 days.
  for (let left = total; left > 0; left = until - clock.monotonic())
    await sleepFor(clock, Math.min(left, DAY_MS), process.signal);
  return 0;
};

export const pwd: Program = async (process) => {
  await print(process.stdout, `${process.directory}\n`);
  return 0;
};

export const id: Program = async (process) => {
  const { userId, groupId } = process.machine;
  const name = (number: number): string => (number === 0 ? '(root)' : '');
  const text = process.args.includes('-u')
    ? String(userId)
    : process.args.includes('-g')
      ? String(groupId)
      : `uid=${userId}${name(userId)} gid=${groupId}${name(groupId)} groups=${groupId}${name(groupId)}`;
  await print(process.stdout, `${text}\n`);
  return 0;
};

export const whoami: Program = async (process) => {
  const { userId } = process.machine;
  if (userId !== 0) return complain(process, `unknown uid ${userId}`);
  await print(process.stdout, 'root\n');
  return 0;
};

export const uname: Program = async (process) => {
  const { hostName, node } = process.machine;
  const options = optionsOf(process.args);
  const machine = node.architecture === 'arm64' ? 'aarch64' : 'x86_64';
  const parts = [
    ...(options.has('a', 's') || process.args.length === 0 ? ['Linux'] : []),
    ...(options.has('a', 'n') ? [hostName] : []),
    ...(options.has('a', 'r') ? [node.kernel] : []),
    ...(options.has('a', 'm') ? [machine] : []),
  ];
  await print(process.stdout, `${parts.join(' ')}\n`);
  return 0;
};

export const ps: Program = async (process) => {
  const row = (pid: string, user: string, time: string, command: string): string =>
    `${pid.padStart(5)} ${user.padEnd(8)} ${time.padStart(5)} ${command}\n`;
  await print(process.stdout, row('PID', 'USER', 'TIME', 'COMMAND'));
  await print(process.stdout, row('1', 'root', '0:00', process.machine.command.join(' ')));
  await print(process.stdout, row('7', 'root', '0:00', [process.name, ...process.args].join(' ')));
  return 0;
};

export const seq: Program = async (process) => {
  const numbers = process.args.map(Number);
  const [from = 1, step = 1, to = 0] =
    numbers.length === 1 ? [1, 1, numbers[0]] : numbers.length === 2 ? [numbers[0], 1, numbers[1]] : numbers;
  if (numbers.length === 0 || numbers.some((each) => !Number.isInteger(each)) || step === 0)
    return complain(process, 'whole numbers are needed');
  for (let number = from; step > 0 ? number <= to : number >= to; number += step) {
    await process.budget.step(process.signal);
    await print(process.stdout, `${number}\n`);
  }
  return 0;
};

export const which: Program = async (process) => {
  let code = 0;
  for (const name of process.args) {
    if (process.machine.programs.has(name)) await print(process.stdout, `/bin/${name}\n`);
    else code = 1;
  }
  return code;
};

/** `stty size`; all other settings are taken without effect. */
export const stty: Program = async (process) => {
  if (process.terminal === undefined) return complain(process, 'standard input: Not a tty');
  const { columns, rows } = process.terminal.size;
  if (process.args.includes('size')) await print(process.stdout, `${rows} ${columns}\n`);
  return 0;
};
