/** Archives of `tar` in the forms that are usual: ustar with the extensions of POSIX (pax) and GNU for long names. */

export interface TarEntry {
  readonly kind: 'file' | 'directory' | 'link';
  readonly path: string;
  readonly mode: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  readonly size: number;
  /** Of a link. */
  readonly target: string;
}

/** What is wrong with an archive, in the words of `tar`. */
export class TarError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TarError';
  }
}

export const BLOCK_BYTES = 512;
/** Largest extension header that is taken. */
const MAX_EXTENSION = 64 * 1024;
const MAX_SIZE = 2 ** 40;

/** Two empty blocks end an archive. */
export const TAR_END: Uint8Array = new Uint8Array(2 * BLOCK_BYTES);

/** What follows content of `size` bytes up to the next block. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** The header of an entry, which its content follows. */
export function tarHeader(entry: TarEntry): Uint8Array {
  const { path, target } = entry;
  const records: string[] = [];
  if (Buffer.byteLength(path) > 100) records.push(paxRecord('path', path));
  if (Buffer.byteLength(target) > 100) records.push(paxRecord('linkpath', target));
  const own = block(entry, { directory: '5', link: '2', file: '0' }[entry.kind], entry.size);
  if (records.length === 0) return own;
  const content = Buffer.from(records.join(''));
  const extension = block({ ...entry, path: 'pax-header', target: '', mode: 0o644 }, 'x', content.byteLength);
  return Buffer.concat([extension, content, tarPadding(content.byteLength), own]);
}

/** The length at its front counts itself. */
function paxRecord(name: string, value: string): string {
  const rest = Buffer.byteLength(` ${name}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length += 1;
  return `${length} ${name}=${value}\n`;
}

function block(
  entry: Pick<TarEntry, 'path' | 'mode' | 'modifiedAt' | 'target'>,
  type: string,
  size: number,
): Uint8Array {
  const out = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, offset: number, length: number): void => {
    out.write(value.toString(8).padStart(length - 1, '0'), offset, 'latin1');
  };
  out.set(Buffer.from(entry.path).subarray(0, 100), 0);
  octal(entry.mode & 0o7777, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.max(0, Math.floor(entry.modifiedAt / 1000)), 136, 12);
  out.write(type, 156, 'latin1');
  out.set(Buffer.from(entry.target).subarray(0, 100), 157);
  out.write('ustar\x0000root', 257, 'latin1');
  out.write('root', 297, 'latin1');
  out.fill(0x20, 148, 156);
  const sum = out.reduce((total, byte) => total + byte, 0);
  out.write(`${sum.toString(8).padStart(6, '0')}\x00 `, 148, 'latin1');
  return out;
}

/** Reads exactly `count` bytes; fewer only at the end. */
export type ReadExactly = (count: number) => Promise<Uint8Array>;

/**
 * The next entry, or `undefined` at the end of the archive. The caller reads its content and padding before it asks again.
 * Throws {@link TarError}.
 */
export async function readTarEntry(read: ReadExactly): Promise<TarEntry | undefined> {
  let path: string | undefined;
  let target: string | undefined;
  let extendedSize: number | undefined;
  for (;;) {
    const header = Buffer.from(await read(BLOCK_BYTES));
    if (header.byteLength === 0 || header.every((byte) => byte === 0)) return undefined;
    if (header.byteLength < BLOCK_BYTES) throw new TarError('short read');
    checkSum(header);
    const type = String.fromCharCode(header[156] ?? 0);
    const size = extendedSize ?? sizeOf(header);
    if (size > MAX_SIZE) throw new TarError('an entry is too large');
    if (type === 'x' || type === 'g' || type === 'L' || type === 'K') {
      if (size > MAX_EXTENSION) throw new TarError('a header is too large');
      const content = Buffer.from(await read(size));
      await read(tarPadding(size).byteLength);
      if (type === 'L') path = zeroEnded(content);
      else if (type === 'K') target = zeroEnded(content);
      else if (type === 'x') {
        const records = paxRecords(content);
        path = records.get('path') ?? path;
        target = records.get('linkpath') ?? target;
        const given = records.get('size');
        if (given !== undefined) extendedSize = Number(given);
      }
      continue;
    }
    const isUstar = header.toString('latin1', 257, 262) === 'ustar';
    const prefix = isUstar ? zeroEnded(header.subarray(345, 500)) : '';
    const short = zeroEnded(header.subarray(0, 100));
    const kind = type === '5' ? 'directory' : type === '2' ? 'link' : 'file';
    if (!['0', '\x00', '5', '2', '7'].includes(type))
      throw new TarError(`unknown typeflag: 0x${type.charCodeAt(0).toString(16)}`);
    return {
      kind,
      path: path ?? (prefix === '' ? short : `${prefix}/${short}`),
      mode: octalOf(header.subarray(100, 108)) & 0o7777,
      modifiedAt: octalOf(header.subarray(136, 148)) * 1000,
      size: kind === 'file' ? size : 0,
      target: target ?? zeroEnded(header.subarray(157, 257)),
    };
  }
}

function zeroEnded(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.byteLength : end);
}

function octalOf(bytes: Buffer): number {
  const text = zeroEnded(bytes).trim();
  if (text === '') return 0;
  if (!/^[0-7]+$/.test(text)) throw new TarError('invalid tar header');
  return Number.parseInt(text, 8);
}

/** GNU writes sizes beyond 8 GiB in binary, with the first bit set. */
function sizeOf(header: Buffer): number {
  if (((header[124] ?? 0) & 0x80) === 0) return octalOf(header.subarray(124, 136));
  return Number(header.readBigUInt64BE(128) & 0x7fff_ffff_ffff_ffffn);
}

function checkSum(header: Buffer): void {
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte;
  if (octalOf(header.subarray(148, 156)) !== sum) throw new TarError('invalid tar magic');
}

function paxRecords(content: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  let at = 0;
  while (at < content.byteLength) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString('latin1', at, space));
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > content.byteLength)
      throw new TarError('invalid tar header');
    const record = content.toString('utf8', space + 1, at + length - 1);
    const equals = record.indexOf('=');
    if (equals > 0) records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}
