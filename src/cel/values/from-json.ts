import { DYN, type Type } from '../types/type.ts';
import { adapterOf } from '../types/type-adapter.ts';
import type { Value } from './value.ts';

/**
 * JSON (or a host's data: bigints, dates, byte arrays) as a value, read as the type says: `1` is a double where a double is
 * declared, a text a timestamp where that is. Nothing is copied; what is inside is looked at when an expression does.
 */
export function fromJson(json: unknown, type: Type = DYN): Value {
  return adapterOf(type)(json);
}
