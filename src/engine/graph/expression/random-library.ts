import { createHash } from 'node:crypto';
import { CelError, globalOverload, INT, type Library, STRING, type Value } from '../../../cel/index.ts';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
/** Longer ones than any name or password; keeps a mistake from filling the memory. */
const MAX_LENGTH = 65_536;

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Each character is four bytes of the digest modulo 36; after eight characters the digest begins again. */
function seededString(length: Value, seed: Value): Value {
  const count = Number(length);
  if (count <= 0) return new CelError('random.seededString: the length must be positive');
  if (count > MAX_LENGTH)
    return new CelError(`random.seededString: the length must be at most ${MAX_LENGTH}`);
  const digest = sha256(seed as string);
  let round = '';
  for (let at = 0; at < digest.length; at += 4) round += ALPHABET[digest.readUInt32BE(at) % ALPHABET.length];
  return round.repeat(Math.ceil(count / round.length)).slice(0, count);
}

/** From `min` up to and without `max`: the first eight bytes of the digest modulo the distance. */
function seededInt(min: Value, max: Value, seed: Value): Value {
  const [low, high] = [BigInt(min as number), BigInt(max as number)];
  if (low >= high) return new CelError('random.seededInt: min must be less than max');
  const value = low + (sha256(seed as string).readBigUInt64BE(0) % (high - low));
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Values that look random and are the same for the same seed, as kro computes them. */
export const randomLibrary: Library = {
  name: 'random',
  functions: [
    {
      name: 'random.seededString',
      overloads: [
        globalOverload('random_seededString_int_string', [INT, STRING], STRING, seededString, {
          cost: ([length]) => 1 + Math.ceil(Math.min(MAX_LENGTH, Math.max(0, Number(length))) / 10),
        }),
      ],
    },
    {
      name: 'random.seededInt',
      overloads: [globalOverload('random_seededInt_int_int_string', [INT, INT, STRING], INT, seededInt)],
    },
  ],
};
