import { readData } from '../catalogue/data-file.ts';

/** `[number, JSON name, type, flags, map key type, map value type]`; a type is a scalar's name or the index of a message. */
export type ProtobufField = [number, string, string | number, number, (string | number)?, (string | number)?];

export const REPEATED = 1;
export const POINTER = 2;
export const EMIT_EMPTY = 4;
export const INLINE = 8;

/** How a message whose JSON is not an object of its fields looks in JSON. */
export type SpecialForm =
  | 'quantity'
  | 'int-or-string'
  | 'time'
  | 'micro-time'
  | 'duration'
  | 'raw-json'
  | 'array'
  | 'schema-or-bool'
  | 'schema-or-array'
  | 'schema-or-string-array';

/** What decodes the protobuf form of built-in kinds: facts only, derived by `scripts/generate-protobuf.ts`. */
export interface ProtobufTable {
  readonly messages: readonly (readonly ProtobufField[])[];
  readonly special: Readonly<Record<number, SpecialForm>>;
  /** `apps/v1/Deployment` → message. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Messages of meta/v1 that may arrive under any group and version. */
  readonly meta: Readonly<Record<string, number>>;
}

let table: ProtobufTable | undefined;

/** Read at the first protobuf body: most servers never see one. */
export function protobufTable(): ProtobufTable {
  table ??= readData<ProtobufTable>('protobuf.json.gz');
  return table;
}
