import { formatTime } from '../../../../runtime/index.ts';
import {
  baseName,
  type Directory,
  FileError,
  type FileNode,
  type FileSystem,
  normalizePath,
} from '../file-system.ts';
import { complain, type Process, type Program, print } from '../process.ts';
import { optionsOf } from './options.ts';

/** Does something to each path; what cannot be done is complained of with its path. */
async function forEach(
  process: Process,
  paths: readonly string[],
  act: (path: string, asked: string) => void,
  what: (asked: string) => string = (asked) => asked,
): Promise<number> {
  if (paths.length === 0) return complain(process, 'missing operand');
  let code = 0;
  for (const asked of paths) {
    try {
      act(normalizePath(asked, process.directory), asked);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      code = await complain(process, `${what(asked)}: ${error.message}`);
    }
  }
  return code;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function sizeOf(node: FileNode): number {
  return node.kind === 'file' ? node.size : node.kind === 'link' ? node.target.length : 4096;
}

function modeText(node: FileNode): string {
  const type = node.kind === 'directory' ? 'd' : node.kind === 'link' ? 'l' : '-';
  const bits = [...'rwxrwxrwx'].map((letter, index) => ((node.mode >> (8 - index)) & 1 ? letter : '-'));
  return type + bits.join('');
}

function longLine(name: string, node: FileNode): string {
  const time = formatTime(node.modifiedAt); // 2026-01-02T03:04:05Z
  const date = `${MONTHS[Number(time.slice(5, 7)) - 1]} ${String(Number(time.slice(8, 10))).padStart(2)} ${time.slice(11, 16)}`;
  const links = node.kind === 'directory' ? 2 : 1;
  const target = node.kind === 'link' ? ` -> ${node.target}` : '';
  return `${modeText(node)} ${String(links).padStart(4)} root     root     ${String(sizeOf(node)).padStart(9)} ${date} ${name}${target}\n`;
}

export const ls: Program = async (process) => {
  const options = optionsOf(process.args);
  const { files } = process.machine;
  const long = options.has('l');
  const show = (entries: readonly (readonly [string, FileNode])[]): string => {
    if (long) return entries.map(([name, node]) => longLine(name, node)).join('');
    if (process.terminal === undefined || options.has('1'))
      return entries.map(([name]) => `${name}\n`).join('');
    return entries.length === 0 ? '' : `${entries.map(([name]) => name).join('  ')}\n`;
  };
  const operands = options.operands.length === 0 ? ['.'] : options.operands;
  const plain: [string, FileNode][] = [];
  const directories: [string, Directory][] = [];
  const code = await forEach(process, operands, (path, asked) => {
    const node = files.find(path, { followLast: !long });
    if (node.kind === 'directory' && !options.has('d')) directories.push([asked, node]);
    else plain.push([asked, node]);
  });
  await print(process.stdout, show(plain));
  for (const [index, [name, directory]] of directories.entries()) {
    if (operands.length > 1) await print(process.stdout, `${index + plain.length > 0 ? '\n' : ''}${name}:\n`);
    const dots: [string, FileNode][] = options.has('a')
      ? [
          ['.', directory],
          ['..', directory],
        ]
      : [];
    const entries = [...directory.entries].filter(([each]) => options.has('a', 'A') || !each.startsWith('.'));
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    if (long) await print(process.stdout, `total ${entries.length * 4}\n`);
    await print(process.stdout, show([...dots, ...entries]));
  }
  return code;
};

export const mkdir: Program = (process) => {
  const options = optionsOf(process.args, ['m']);
  return forEach(
    process,
    options.operands,
    (path) => process.machine.files.makeDirectory(path, { parents: options.has('p') }),
    (asked) => `can't create directory '${asked}'`,
  );
};

export const rmdir: Program = (process) =>
  forEach(process, optionsOf(process.args).operands, (path) => {
    if (process.machine.files.find(path).kind !== 'directory') throw new FileError('ENOTDIR');
    process.machine.files.remove(path);
  });

export function removeTree(files: FileSystem, path: string): void {
  const node = files.find(path, { followLast: false });
  if (node.kind === 'directory')
    for (const name of [...node.entries.keys()]) removeTree(files, `${path === '/' ? '' : path}/${name}`);
  files.remove(path);
}

export const rm: Program = async (process) => {
  const options = optionsOf(process.args);
  const { files } = process.machine;
  const force = options.has('f');
  if (force && options.operands.length === 0) return 0;
  return forEach(
    process,
    options.operands,
    (path) => {
      try {
        if (
          files.find(path, { followLast: false }).kind === 'directory' &&
          !options.has('r', 'R', 'recursive')
        )
          throw new FileError('EISDIR');
        removeTree(files, path);
      } catch (error) {
        if (!(force && error instanceof FileError && error.code === 'ENOENT')) throw error;
      }
    },
    (asked) => `can't remove '${asked}'`,
  );
};

export const touch: Program = (process) =>
  forEach(process, optionsOf(process.args).operands, (path) => process.machine.files.touch(path));

export const chmod: Program = async (process) => {
  const [mode = '', ...paths] = process.args.filter((argument) => argument !== '-R');
  return forEach(process, paths, (path) => {
    const { files } = process.machine;
    const present = files.find(path).mode;
    if (/^[0-7]{3,4}$/.test(mode)) files.setMode(path, Number.parseInt(mode, 8));
    else if (/^[augo]*\+x$/.test(mode)) files.setMode(path, present | 0o111);
    else if (/^[augo]*-x$/.test(mode)) files.setMode(path, present & ~0o111);
    else throw new RangeError(`invalid mode '${mode}'`);
  });
};

/** Where a copy goes: into a directory under its own name. */
function targetOf(process: Process, source: string, target: string): string {
  const { files } = process.machine;
  const full = normalizePath(target, process.directory);
  return files.has(full) && files.find(full).kind === 'directory'
    ? `${full === '/' ? '' : full}/${baseName(source)}`
    : full;
}

const MAX_TREE_DEPTH = 64;

function copyTree(files: FileSystem, from: string, to: string, deep: boolean, depth: number = 0): void {
  const node = files.find(from);
  if (node.kind !== 'directory') {
    files.write(to, files.read(from), node.mode);
    return;
  }
  if (!deep || depth > MAX_TREE_DEPTH || `${to}/`.startsWith(`${from}/`)) throw new FileError('EISDIR');
  if (!files.has(to)) files.makeDirectory(to);
  for (const name of [...node.entries.keys()])
    copyTree(files, `${from}/${name}`, `${to}/${name}`, deep, depth + 1);
}

export const cp: Program = async (process) => {
  const options = optionsOf(process.args);
  const sources = options.operands.slice(0, -1);
  const target = options.operands.at(-1);
  if (target === undefined || sources.length === 0) return complain(process, 'missing operand');
  return forEach(process, sources, (path) =>
    copyTree(process.machine.files, path, targetOf(process, path, target), options.has('r', 'R', 'a')),
  );
};

export const mv: Program = async (process) => {
  const { operands } = optionsOf(process.args);
  const target = operands.at(-1);
  if (target === undefined || operands.length < 2) return complain(process, 'missing operand');
  return forEach(process, operands.slice(0, -1), (path) =>
    process.machine.files.rename(path, targetOf(process, path, target)),
  );
};

export const ln: Program = async (process) => {
  const options = optionsOf(process.args);
  const [target, name] = options.operands;
  if (!options.has('s')) return complain(process, 'only symbolic links (-s) are simulated');
  if (target === undefined) return complain(process, 'missing operand');
  return forEach(process, [name ?? baseName(target)], (path) => process.machine.files.link(path, target));
};

/** `test` and `[`. */
export const test: Program = async (process) => {
  const args = [...process.args];
  if (process.name === '[' && args.pop() !== ']') return complain(process, 'missing ]', 2);
  const negated = args[0] === '!';
  if (negated) args.shift();
  const result = holds(process, args);
  if (result === undefined) return complain(process, `${args.join(' ')}: unknown operand`, 2);
  return Number(result === negated);
};

function holds(process: Process, args: readonly string[]): boolean | undefined {
  const { files } = process.machine;
  const [first = '', second, third] = args;
  if (args.length === 0) return false;
  if (args.length === 1) return first !== '';
  if (args.length === 2 && second !== undefined) {
    if (first === '-n') return second !== '';
    if (first === '-z') return second === '';
    const path = normalizePath(second, process.directory);
    if (first === '-L' || first === '-h') {
      try {
        return files.find(path, { followLast: false }).kind === 'link';
      } catch (error) {
        if (error instanceof FileError) return false;
        throw error;
      }
    }
    if (!/^-[edfrwxs]$/.test(first)) return undefined;
    if (!files.has(path)) return false;
    const node = files.find(path);
    if (first === '-d') return node.kind === 'directory';
    if (first === '-f') return node.kind === 'file';
    if (first === '-s') return sizeOf(node) > 0;
    return first !== '-x' || (node.mode & 0o111) !== 0;
  }
  if (args.length !== 3 || third === undefined) return undefined;
  switch (second) {
    case '=':
    case '==':
      return first === third;
    case '!=':
      return first !== third;
    case '-eq':
      return Number(first) === Number(third);
    case '-ne':
      return Number(first) !== Number(third);
    case '-lt':
      return Number(first) < Number(third);
    case '-le':
      return Number(first) <= Number(third);
    case '-gt':
      return Number(first) > Number(third);
    case '-ge':
      return Number(first) >= Number(third);
    default:
      return undefined;
  }
}
