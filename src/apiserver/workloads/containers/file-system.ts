/** A file, a directory or a symbolic link of a simulated container. */
export type FileNode = RegularFile | Directory | Link;

interface Attributes {
  /** Permission bits, such as 0o644. */
  mode: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

export interface RegularFile extends Attributes {
  readonly kind: 'file';
  chunks: Uint8Array[];
  size: number;
}

export interface Directory extends Attributes {
  readonly kind: 'directory';
  readonly entries: Map<string, FileNode>;
  /** Nothing can be changed in it, nor below. */
  readonly readOnly?: true;
}

export interface Link extends Attributes {
  readonly kind: 'link';
  readonly target: string;
}

export type FileErrorCode = keyof typeof FILE_ERRORS;

const FILE_ERRORS = {
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  EEXIST: 'File exists',
  EROFS: 'Read-only file system',
  ENOSPC: 'No space left on device',
  ENOTEMPTY: 'Directory not empty',
  ELOOP: 'Too many levels of symbolic links',
  ENAMETOOLONG: 'File name too long',
} as const;

/** What an operating system says of a path. */
export class FileError extends Error {
  readonly code: FileErrorCode;
  constructor(code: FileErrorCode) {
    super(FILE_ERRORS[code]);
    this.name = 'FileError';
    this.code = code;
  }
}

/** Bytes that containers may keep; what a node costs by itself is counted as well. */
export interface Space {
  /** Throws `ENOSPC`. Negative amounts give back. */
  take(bytes: number): void;
}

const NODE_BYTES = 256;
const MAX_NAME = 255;
const MAX_PATH = 4096;
const MAX_LINKS = 16;

/** Room for `limit` bytes, which come out of `outer` as well. */
export function boundedSpace(limit: number, outer?: Space): Space & { release(): void } {
  let used = 0;
  return {
    take(bytes) {
      if (bytes > 0 && used + bytes > limit) throw new FileError('ENOSPC');
      outer?.take(bytes);
      used += bytes;
    },
    release() {
      outer?.take(-used);
      used = 0;
    },
  };
}

/** The files of one container. Paths are absolute; all methods throw {@link FileError}. */
export interface FileSystem {
  /** Follows links, the last one too unless told otherwise. */
  find(path: string, options?: { followLast?: boolean }): FileNode;
  has(path: string): boolean;
  read(path: string): Uint8Array;
  /** Opens a file for writing, making it where it is missing; its content is gone unless `append`. */
  open(path: string, append: boolean): { write(bytes: Uint8Array): void };
  write(path: string, content: string | Uint8Array, mode?: number): void;
  makeDirectory(path: string, options?: { parents?: boolean; mode?: number }): void;
  link(path: string, target: string): void;
  remove(path: string): void;
  /** Moves whatever is there. */
  rename(from: string, to: string): void;
  touch(path: string): void;
  setMode(path: string, mode: number): void;
  /** Puts a directory in the place of whatever was at `path`. */
  mount(path: string, directory: Directory): void;
}

export function emptyDirectory(now: number, mode: number = 0o755): Directory {
  return { kind: 'directory', entries: new Map(), mode, modifiedAt: now };
}

/** A directory of files that cannot be changed; names may have slashes. */
export function readOnlyDirectory(
  files: Readonly<Record<string, Uint8Array>>,
  mode: number,
  now: number,
): Directory {
  const root: Directory = {
    kind: 'directory',
    entries: new Map(),
    mode: 0o755,
    modifiedAt: now,
    readOnly: true,
  };
  for (const [path, content] of Object.entries(files)) {
    let directory = root;
    const parts = path.split('/').filter((part) => part !== '' && part !== '.' && part !== '..');
    const name = parts.pop();
    if (name === undefined) continue;
    for (const part of parts) {
      const next = directory.entries.get(part);
      if (next?.kind === 'directory') directory = next;
      else {
        const made: Directory = {
          kind: 'directory',
          entries: new Map(),
          mode: 0o755,
          modifiedAt: now,
          readOnly: true,
        };
        directory.entries.set(part, made);
        directory = made;
      }
    }
    directory.entries.set(name, {
      kind: 'file',
      chunks: [content],
      size: content.byteLength,
      mode,
      modifiedAt: now,
    });
  }
  return root;
}

/** An absolute path without `.`, `..` and repeated slashes. */
export function normalizePath(path: string, from: string = '/'): string {
  const parts: string[] = [];
  for (const part of `${path.startsWith('/') ? '' : `${from}/`}${path}`.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  const last = path.split('/').findLast((part) => part !== '');
  return last ?? (path === '' ? '' : '/');
}

export function contentOf(file: RegularFile): Uint8Array {
  const [only] = file.chunks;
  if (file.chunks.length === 1 && only) return only;
  const whole = Buffer.concat(file.chunks, file.size);
  file.chunks = [whole];
  return whole;
}

export function fileSystem(now: () => number, space: Space): FileSystem {
  const root = emptyDirectory(now());

  interface Place {
    readonly parent: Directory;
    readonly name: string;
    readonly node: FileNode | undefined;
    readonly readOnly: boolean;
  }

  /** Where a path leads; its parent must exist. The root is in itself, under no name. */
  function place(path: string, followLast: boolean, depth: number = 0): Place {
    if (path.length > MAX_PATH) throw new FileError('ENAMETOOLONG');
    if (depth > MAX_LINKS) throw new FileError('ELOOP');
    const parts = path.split('/').filter((part) => part !== '' && part !== '.');
    const above: Directory[] = [];
    let parent = root;
    let at = '';
    for (const [index, part] of parts.entries()) {
      const last = index === parts.length - 1;
      if (part === '..') {
        parent = above.pop() ?? root;
        at = at.slice(0, Math.max(0, at.lastIndexOf('/')));
        if (last) return { parent, name: '', node: parent, readOnly: isReadOnly(above, parent) };
        continue;
      }
      if (part.length > MAX_NAME) throw new FileError('ENAMETOOLONG');
      const node = parent.entries.get(part);
      if (node?.kind === 'link' && (!last || followLast)) {
        const rest = parts.slice(index + 1).join('/');
        const target = node.target.startsWith('/') ? node.target : `${at}/${node.target}`;
        return place(`${target}/${rest}`, followLast, depth + 1);
      }
      if (last) return { parent, name: part, node, readOnly: isReadOnly(above, parent) };
      if (node === undefined) throw new FileError('ENOENT');
      if (node.kind !== 'directory') throw new FileError('ENOTDIR');
      above.push(parent);
      parent = node;
      at += `/${part}`;
    }
    return { parent: root, name: '', node: root, readOnly: false };
  }

  function isReadOnly(above: readonly Directory[], parent: Directory): boolean {
    return parent.readOnly === true || above.some((each) => each.readOnly === true);
  }

  function find(path: string, { followLast = true }: { followLast?: boolean } = {}): FileNode {
    const { node } = place(path, followLast);
    if (node === undefined) throw new FileError('ENOENT');
    if (path.endsWith('/') && path !== '/' && node.kind !== 'directory') throw new FileError('ENOTDIR');
    return node;
  }

  function put({ parent, name, readOnly }: Place, node: FileNode): void {
    if (readOnly) throw new FileError('EROFS');
    if (name === '') throw new FileError('EISDIR');
    space.take(NODE_BYTES + name.length);
    parent.entries.set(name, node);
    parent.modifiedAt = now();
  }

  function makeDirectory(path: string, mode: number): void {
    const target = place(path, true);
    if (target.node !== undefined) throw new FileError('EEXIST');
    put(target, emptyDirectory(now(), mode));
  }

  function open(path: string, append: boolean, mode: number = 0o644): { write(bytes: Uint8Array): void } {
    const target = place(path, true);
    if (target.readOnly) throw new FileError('EROFS');
    let file = target.node;
    if (file?.kind === 'directory' || path.endsWith('/')) throw new FileError('EISDIR');
    if (file?.kind !== 'file') {
      file = { kind: 'file', chunks: [], size: 0, mode, modifiedAt: now() };
      put(target, file);
    } else if (!append) {
      space.take(-file.size);
      file.chunks = [];
      file.size = 0;
    }
    const opened = file;
    opened.modifiedAt = now();
    return {
      write(bytes) {
        if (bytes.byteLength === 0) return;
        space.take(bytes.byteLength);
        // A copy: chunks of connections are views of larger buffers.
        opened.chunks.push(Uint8Array.from(bytes));
        opened.size += bytes.byteLength;
        opened.modifiedAt = now();
      },
    };
  }

  return {
    find,
    has(path) {
      try {
        find(path);
        return true;
      } catch (error) {
        if (error instanceof FileError) return false;
        throw error;
      }
    },
    read(path) {
      const node = find(path);
      if (node.kind === 'directory') throw new FileError('EISDIR');
      return node.kind === 'file' ? contentOf(node) : new Uint8Array();
    },
    open: (path, append) => open(path, append),
    write: (path, content, mode) =>
      open(path, false, mode).write(typeof content === 'string' ? Buffer.from(content) : content),
    makeDirectory(path, { parents = false, mode = 0o755 } = {}) {
      if (!parents) return makeDirectory(path, mode);
      let at = '';
      for (const part of path.split('/').filter((each) => each !== '')) {
        at += `/${part}`;
        const { node } = place(at, true);
        if (node === undefined) makeDirectory(at, mode);
        else if (node.kind !== 'directory') throw new FileError('ENOTDIR');
      }
    },
    link(path, target) {
      const where = place(path, false);
      if (where.node !== undefined) throw new FileError('EEXIST');
      put(where, { kind: 'link', target, mode: 0o777, modifiedAt: now() });
    },
    remove(path) {
      const { parent, name, node, readOnly } = place(path, false);
      if (node === undefined) throw new FileError('ENOENT');
      if (readOnly || name === '') throw new FileError('EROFS');
      if (node.kind === 'directory' && node.entries.size > 0) throw new FileError('ENOTEMPTY');
      if (node.kind === 'directory' && node.readOnly) throw new FileError('EROFS');
      parent.entries.delete(name);
      parent.modifiedAt = now();
      space.take(-(NODE_BYTES + name.length + (node.kind === 'file' ? node.size : 0)));
    },
    rename(from, to) {
      const source = place(from, false);
      const target = place(to, false);
      if (source.node === undefined) throw new FileError('ENOENT');
      if (source.readOnly || target.readOnly || source.name === '') throw new FileError('EROFS');
      if (target.name === '' || target.node?.kind === 'directory') throw new FileError('EEXIST');
      if (normalizePath(to).startsWith(`${normalizePath(from)}/`)) throw new FileError('ENOTEMPTY');
      if (target.node?.kind === 'file') space.take(-target.node.size);
      if (target.node !== undefined) space.take(-(NODE_BYTES + target.name.length));
      source.parent.entries.delete(source.name);
      space.take(target.name.length - source.name.length);
      target.parent.entries.set(target.name, source.node);
    },
    touch(path) {
      const target = place(path, true);
      if (target.readOnly) throw new FileError('EROFS');
      if (target.node === undefined)
        put(target, { kind: 'file', chunks: [], size: 0, mode: 0o644, modifiedAt: now() });
      else target.node.modifiedAt = now();
    },
    setMode(path, mode) {
      const { node, readOnly } = place(path, true);
      if (node === undefined) throw new FileError('ENOENT');
      if (readOnly) throw new FileError('EROFS');
      node.mode = mode & 0o7777;
    },
    mount(path, directory) {
      const parts = path.split('/').filter((part) => part !== '');
      const name = parts.pop();
      if (name === undefined) return;
      let parent = root;
      for (const part of parts) {
        const next = parent.entries.get(part);
        if (next?.kind === 'directory') parent = next;
        else {
          const made = emptyDirectory(now());
          parent.entries.set(part, made);
          parent = made;
        }
      }
      parent.entries.set(name, directory);
    },
  };
}
