/** A file of an archive. */
export interface ArchivedFile {
  /** Relative, with `/`. At most 255 characters, its last part at most 100. */
  readonly path: string;
  readonly content: Uint8Array;
}

const BLOCK = 512;

/** A tar archive (POSIX ustar). The files are their owner's only. `modifiedMs` since the epoch. */
export function tarArchive(files: readonly ArchivedFile[], modifiedMs: number): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const { path, content } of files) {
    parts.push(header(path, content.byteLength, modifiedMs), content);
    const rest = content.byteLength % BLOCK;
    if (rest > 0) parts.push(new Uint8Array(BLOCK - rest));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(parts);
}

function header(path: string, size: number, modifiedMs: number): Uint8Array {
  const { prefix, name } = split(path);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;
  block.write(name, 0, 100, 'utf8');
  block.write(octal(0o600, 8), 100, 'latin1');
  block.write(octal(0, 8), 108, 'latin1');
  block.write(octal(0, 8), 116, 'latin1');
  block.write(octal(size, 12), 124, 'latin1');
  block.write(octal(Math.floor(modifiedMs / 1000), 12), 136, 'latin1');
  block.write('        ', 148, 'latin1');
  block.write('0', 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  block.write(prefix, 345, 155, 'utf8');
  // The sum counts its own field as spaces.
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function split(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  const at = path.lastIndexOf('/');
  const prefix = path.slice(0, Math.max(0, at));
  const name = path.slice(at + 1);
  if (at < 0 || Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100)
    throw new Error(`the path ${JSON.stringify(path.slice(0, 300))} is too long for an archive`);
  return { prefix, name };
}
