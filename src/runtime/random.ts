import { randomBytes, randomFillSync } from 'node:crypto';

/** The only source of randomness. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** `length` random bytes; from the system's secure source except under a seed. */
  bytes(length: number): Uint8Array;
}

/** Bytes that are fetched at once for those who ask for a few, as each request does: a call of the system costs more than they. */
const POOL_BYTES = 4096;
const POOLED_BYTES = 64;

export function systemRandom(): Random {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    next: () => Math.random(),
    bytes(length) {
      if (length > POOLED_BYTES) return randomBytes(length);
      if (used + length > POOL_BYTES) {
        randomFillSync(pool);
        used = 0;
      }
      const given = Uint8Array.prototype.slice.call(pool, used, used + length);
      // Given once, and then nowhere to be found.
      pool.fill(0, used, used + length);
      used += length;
      return given;
    },
  };
}

/** Repeatable randomness (mulberry32). Never for keys. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    bytes: (length) => {
      const given = new Uint8Array(length);
      for (let i = 0; i < length; i++) given[i] = Math.floor(next() * 256);
      return given;
    },
  };
}

/** RFC 9562 version 4. */
export function uuid(random: Random): string {
  const b = random.bytes(16);
  b[6] = ((b[6] ?? 0) & 0x0f) | 0x40;
  b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(b.buffer, b.byteOffset, b.byteLength).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The alphabet of Kubernetes name suffixes: no vowels, no look-alikes. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** A random suffix as Kubernetes' generateName makes it. */
export function nameSuffix(random: Random, length: number = 5): string {
  let out = '';
  for (let i = 0; i < length; i++)
    out += SUFFIX_ALPHABET[Math.floor(random.next() * SUFFIX_ALPHABET.length)] ?? 'x';
  return out;
}

/** `valueMs` spread by ±`fraction`, so that many clients do not act at once. */
export function jitter(random: Random, valueMs: number, fraction: number): number {
  return valueMs * (1 + fraction * (random.next() * 2 - 1));
}
