import { scale, UNKNOWN_SIZE } from '../check/cost-range.ts';
import { BYTES, STRING } from '../types/type.ts';
import { CelError, type Value } from '../values/value.ts';
import { traversal } from './cost.ts';
import { globalOverload, type Library, type Overload } from './function.ts';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function decode(value: Value): Value {
  const text = value as string;
  const digits = text.replace(/=+$/, '');
  if (!BASE64.test(text) || digits.length % 4 === 1 || (text !== digits && text.length % 4 !== 0)) {
    return new CelError('illegal base64 data');
  }
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

function resized(factor: number): Pick<Overload, 'cost' | 'estimate'> {
  return {
    cost: traversal(0).cost,
    estimate: ([value]) => {
      const size = value?.size ?? UNKNOWN_SIZE;
      return {
        cost: scale(size, 0.1),
        resultSize: { min: Math.floor(size.min * factor), max: scale(size, factor).max + 4 },
      };
    },
  };
}

export const encodersLibrary: Library = {
  name: 'encoders',
  functions: [
    {
      name: 'base64.decode',
      overloads: [globalOverload('base64_decode_string', [STRING], BYTES, decode, resized(0.75))],
    },
    {
      name: 'base64.encode',
      overloads: [
        globalOverload(
          'base64_encode_bytes',
          [BYTES],
          STRING,
          (value) => Buffer.from(value as Uint8Array).toString('base64'),
          resized(4 / 3),
        ),
      ],
    },
  ],
};
