import type { ByteSink, ByteSource } from '../../../streams/byte-pipe.ts';
import { contentOf, FileError, type FileNode, type FileSystem, normalizePath } from '../file-system.ts';
import { complain, type Process, type Program, print, sourceOf, withoutEnd } from '../process.ts';
import {
  type ReadExactly,
  readTarEntry,
  TAR_END,
  type TarEntry,
  TarError,
  tarHeader,
  tarPadding,
} from '../tar-archive.ts';
import { optionsOf } from './options.ts';

const VALUED = ['f', 'C', 'file', 'directory', 'exclude'];

/** `tar c|x|t [-f archive] [-C directory] [paths]`, with `-` for standard input and output. */
export const tar: Program = async (process) => {
  const [first = '', ...rest] = process.args;
  // The dash before the first letters is optional.
  const args = first !== '' && !first.startsWith('-') ? [`-${first}`, ...rest] : process.args;
  const options = optionsOf(args, VALUED);
  const archive = options.value('f', 'file') ?? '-';
  const asked = options.value('C', 'directory');
  const directory = asked === undefined ? process.directory : normalizePath(asked, process.directory);
  const { files } = process.machine;
  if (asked !== undefined && (!files.has(directory) || files.find(directory).kind !== 'directory'))
    return complain(process, `can't change directory to '${asked}': No such file or directory`);
  const path = normalizePath(archive, process.directory);
  try {
    if (options.has('c', 'create')) {
      const sink = archive === '-' ? process.stdout : fileSink(files, path);
      return await create(process, options.operands, directory, sink);
    }
    if (!options.has('x', 't', 'extract', 'list'))
      return await complain(process, 'one of c, x and t is needed');
    const read = exactReader(archive === '-' ? process.stdin : sourceOf(files.read(path)));
    return await extract(process, read, directory, {
      list: options.has('t', 'list'),
      verbose: options.has('v', 'verbose'),
      keepMode: !options.has('no-same-permissions'),
    });
  } catch (error) {
    if (error instanceof TarError) return complain(process, error.message);
    throw error;
  }
};

function fileSink(files: FileSystem, path: string): ByteSink {
  const file = files.open(path, false);
  return { write: async (chunk) => file.write(chunk), end: () => {} };
}

function exactReader(source: ByteSource): ReadExactly {
  let left: Uint8Array = new Uint8Array();
  return async (count) => {
    const parts: Uint8Array[] = [];
    let missing = count;
    while (missing > 0) {
      if (left.byteLength === 0) {
        const chunk = await source.read();
        if (chunk === undefined) break;
        left = chunk;
      }
      const part = left.subarray(0, missing);
      left = left.subarray(part.byteLength);
      missing -= part.byteLength;
      parts.push(part);
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  };
}

async function create(
  process: Process,
  paths: readonly string[],
  directory: string,
  sink: ByteSink,
): Promise<number> {
  if (paths.length === 0) return complain(process, 'empty archive');
  let code = 0;
  for (const path of paths) {
    if (path.startsWith('/')) await print(process.stderr, "tar: removing leading '/' from member names\n");
    try {
      await add(process, normalizePath(path, directory), withoutEnd(path.replace(/^\/+/, ''), '/'), sink);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      code = await complain(process, `${path}: ${error.message}`);
    }
  }
  await sink.write(TAR_END);
  return code;
}

async function add(process: Process, path: string, name: string, sink: ByteSink): Promise<void> {
  await process.budget.step(process.signal);
  const node = process.machine.files.find(path, { followLast: false });
  await sink.write(tarHeader(entryOf(node, name)));
  if (node.kind === 'file') {
    await sink.write(contentOf(node));
    await sink.write(tarPadding(node.size));
  }
  if (node.kind !== 'directory') return;
  for (const child of [...node.entries.keys()].sort())
    await add(
      process,
      `${path === '/' ? '' : path}/${child}`,
      name === '' ? child : `${name}/${child}`,
      sink,
    );
}

function entryOf(node: FileNode, name: string): TarEntry {
  return {
    kind: node.kind,
    path: node.kind === 'directory' ? `${name === '' ? '.' : name}/` : name,
    mode: node.mode,
    modifiedAt: node.modifiedAt,
    size: node.kind === 'file' ? node.size : 0,
    target: node.kind === 'link' ? node.target : '',
  };
}

const CHUNK_BYTES = 64 * 1024;

async function extract(
  process: Process,
  read: ReadExactly,
  directory: string,
  how: { list: boolean; verbose: boolean; keepMode: boolean },
): Promise<number> {
  const { files } = process.machine;
  let code = 0;
  for (let entry = await readTarEntry(read); entry !== undefined; entry = await readTarEntry(read)) {
    await process.budget.step(process.signal);
    if (how.list || how.verbose) await print(process.stdout, `${entry.path}\n`);
    let sink: { write(bytes: Uint8Array): void } | undefined;
    if (!how.list) {
      try {
        sink = unpack(files, entry, directory, how.keepMode);
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        code = await complain(process, `can't open '${entry.path}': ${error.message}`);
      }
    }
    for (let left = entry.size; left > 0; ) {
      const chunk = await read(Math.min(left, CHUNK_BYTES));
      if (chunk.byteLength === 0) throw new TarError('short read');
      left -= chunk.byteLength;
      sink?.write(chunk);
    }
    await read(tarPadding(entry.size).byteLength);
  }
  // What follows the end is read, so that whoever sends it is not cut off.
  for (let rest = await read(CHUNK_BYTES); rest.byteLength > 0; rest = await read(CHUNK_BYTES)) {
    // dropped
  }
  return code;
}

function unpack(
  files: FileSystem,
  entry: TarEntry,
  directory: string,
  keepMode: boolean,
): { write(bytes: Uint8Array): void } | undefined {
  // Names that lead out of the directory are those of an attacker.
  if (entry.path.split('/').includes('..')) throw new TarError(`name with '..' skipped: '${entry.path}'`);
  const path = normalizePath(entry.path.replace(/^\/+/, ''), directory);
  const parent = path.slice(0, Math.max(1, path.lastIndexOf('/')));
  if (entry.kind === 'directory') {
    if (!files.has(path)) files.makeDirectory(path, { parents: true });
    return undefined;
  }
  if (!files.has(parent)) files.makeDirectory(parent, { parents: true });
  if (entry.kind === 'link') {
    if (files.has(path)) files.remove(path);
    files.link(path, entry.target);
    return undefined;
  }
  const file = files.open(path, false);
  if (keepMode) files.setMode(path, entry.mode);
  return file;
}
