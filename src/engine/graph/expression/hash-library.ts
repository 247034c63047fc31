import { createHash } from 'node:crypto';
import { BYTES, globalOverload, type Library, type Overload, STRING } from '../../../cel/index.ts';
import { fnv64a } from '../fnv.ts';

function hashing(name: string, digest: (text: string) => Uint8Array): Overload {
  return globalOverload(`hash_${name}_string`, [STRING], BYTES, (text) => digest(text as string), {
    cost: ([text]) => 1 + Math.ceil((text as string).length / 10),
  });
}

function fnvBytes(text: string): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(fnv64a(Buffer.from(text, 'utf8')));
  return Uint8Array.from(bytes);
}

function hashed(algorithm: string): (text: string) => Uint8Array {
  return (text) => Uint8Array.from(createHash(algorithm).update(text).digest());
}

/** Digests of texts, as bytes: what is written to a field goes through `base64.encode`. */
export const hashLibrary: Library = {
  name: 'hash',
  functions: [
    { name: 'hash.fnv64a', overloads: [hashing('fnv64a', fnvBytes)] },
    { name: 'hash.sha256', overloads: [hashing('sha256', hashed('sha256'))] },
    { name: 'hash.md5', overloads: [hashing('md5', hashed('md5'))] },
  ],
};
