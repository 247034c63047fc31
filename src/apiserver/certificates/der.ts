/** One element of DER (X.690). `content` is a view of the input. */
export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
}

export const OCTET_STRING = 0x04;
export const OBJECT_IDENTIFIER = 0x06;
export const SEQUENCE = 0x30;
export const SET = 0x31;

/** The input is not DER, or not what was expected of it. */
export class DerError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DerError';
  }
}

/** The element that all of `bytes` is. Throws {@link DerError} for anything else. */
export function readDer(bytes: Uint8Array): DerElement {
  const [element, ...more] = readElements(bytes);
  if (element === undefined || more.length > 0) throw new DerError('one element is expected');
  return element;
}

/** The elements that a constructed one holds. Lengths must be definite and within the input. */
export function readElements(bytes: Uint8Array): DerElement[] {
  const elements: DerElement[] = [];
  let at = 0;
  while (at < bytes.byteLength) {
    const tag = bytes[at] ?? 0;
    if ((tag & 0x1f) === 0x1f) throw new DerError('tags of several bytes are not supported');
    let length = bytes[at + 1];
    at += 2;
    if (length === undefined) throw new DerError('an element ends before its length');
    if (length >= 0x80) {
      const size = length & 0x7f;
      if (size === 0 || size > 3) throw new DerError('a length is indefinite or too large');
      length = 0;
      for (let i = 0; i < size; i++) length = length * 256 + (bytes[at + i] ?? 0);
      at += size;
    }
    if (at + length > bytes.byteLength) throw new DerError('an element is longer than what holds it');
    elements.push({ tag, content: bytes.subarray(at, at + length) });
    at += length;
  }
  return elements;
}

/** The children of an element of a certain tag. */
export function childrenOf(element: DerElement | undefined, tag: number): DerElement[] {
  if (element?.tag !== tag) throw new DerError(`an element of type 0x${tag.toString(16)} is expected`);
  return readElements(element.content);
}

/** An object identifier as the hex of its content, to compare with constants. */
export function identifierOf(element: DerElement | undefined): string {
  if (element?.tag !== OBJECT_IDENTIFIER) throw new DerError('an object identifier is expected');
  return Buffer.from(element.content).toString('hex');
}

const UTF8 = 0x0c;
const PRINTABLE = 0x13;
const TELETEX = 0x14;
const IA5 = 0x16;
const BMP = 0x1e;

/** The text of any of the string types that names use. */
export function textOf(element: DerElement | undefined): string {
  const bytes = Buffer.from(element?.content ?? []);
  switch (element?.tag) {
    case UTF8:
      return bytes.toString('utf8');
    case PRINTABLE:
    case IA5:
    case TELETEX:
      return bytes.toString('latin1');
    case BMP:
      return bytes.swap16().toString('utf16le');
    default:
      throw new DerError('a text is expected');
  }
}
