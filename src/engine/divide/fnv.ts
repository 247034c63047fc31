const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const encoder = new TextEncoder();

/** FNV-1, 32 bits: multiply, then mix in. KubeFed orders clusters of equal weight by it. */
export function fnv1(text: string): number {
  let hash = OFFSET_BASIS;
  for (const byte of encoder.encode(text)) hash = Math.imul(hash, PRIME) ^ byte;
  return hash >>> 0;
}

/** FNV-1a, 32 bits: mix in, then multiply. */
export function fnv1a(text: string): number {
  let hash = OFFSET_BASIS;
  for (const byte of encoder.encode(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}
