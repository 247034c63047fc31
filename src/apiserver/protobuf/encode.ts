import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { writeInteger, writeSpecial, writeText } from './special-values.ts';
import { INLINE, POINTER, type ProtobufTable, protobufTable, REPEATED, type SpecialForm } from './table.ts';
import { FIXED64, LENGTH, MAGIC, ProtobufError, VARINT } from './wire.ts';
import { type WireWriter, wireWriter } from './wire-writer.ts';

/** A message as the encoder goes through it: fields from the last to the first. */
interface Plan {
  readonly fields: readonly FieldPlan[];
  readonly form: SpecialForm | undefined;
  /** The message without any value: what is left out of JSON is still on the wire. */
  zero: Uint8Array | undefined;
}

interface FieldPlan {
  readonly number: number;
  readonly name: string;
  readonly type: string | number;
  readonly repeated: boolean;
  readonly pointer: boolean;
  readonly inline: boolean;
  /** Of the values of a map. */
  readonly valueType: string | number;
}

const NOTHING: JsonObject = {};
const plans = new WeakMap<ProtobufTable, (Plan | undefined)[]>();

function planOf(table: ProtobufTable, index: number): Plan {
  let known = plans.get(table);
  if (known === undefined) {
    known = [];
    plans.set(table, known);
  }
  let plan = known[index];
  if (plan === undefined) {
    const fields = (table.messages[index] ?? []).map(
      ([number, name, type, flags, , valueType = 'string']): FieldPlan => ({
        number,
        name,
        type,
        repeated: (flags & REPEATED) !== 0,
        pointer: (flags & POINTER) !== 0,
        inline: (flags & INLINE) !== 0,
        valueType,
      }),
    );
    plan = {
      fields: fields.sort((a, b) => b.number - a.number),
      form: table.special[index],
      zero: undefined,
    };
    known[index] = plan;
  }
  return plan;
}

function messageOf(table: ProtobufTable, apiVersion: string, kind: string): number | undefined {
  // Documents of discovery are of v1, and do not say so.
  return table.meta[kind] ?? table.kinds[`${apiVersion === '' ? 'v1' : apiVersion}/${kind}`];
}

/** Whether objects of a kind can be written in protobuf. Custom kinds and lists of them cannot. */
export function hasProtobufForm(apiVersion: string, kind: string): boolean {
  return messageOf(protobufTable(), apiVersion, kind) !== undefined;
}

/**
 * An object or list in Kubernetes' protobuf form: the magic bytes, the envelope and the message, byte for byte as the types
 * of Go write it. Throws {@link ProtobufError} for a kind without such a form.
 */
export function encodeProtobuf(object: unknown): Uint8Array {
  const writer = wireWriter();
  writeObject(writer, object);
  return writer.take();
}

/**
 * An event as a frame of a watch stream: four bytes of length (big-endian), then a WatchEvent without envelope, which holds
 * an object with one.
 */
export function encodeWatchFrame(type: string, object: unknown): Uint8Array {
  const writer = wireWriter();
  writeObject(writer, object);
  writer.varint(writer.size);
  writer.tag(1, LENGTH);
  writer.varint(writer.size);
  writer.tag(2, LENGTH);
  writeText(writer, 1, type);
  const { size } = writer;
  writer.bytes(Uint8Array.of(size >>> 24, size >>> 16, size >>> 8, size));
  return writer.take();
}

function writeObject(writer: WireWriter, object: unknown): void {
  const { apiVersion = '', kind = '' } = isObject(object) ? object : NOTHING;
  const table = protobufTable();
  const message = messageOf(table, String(apiVersion), String(kind));
  if (message === undefined || !isObject(object))
    throw new ProtobufError(
      `the kind ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)} has no known protobuf form`,
    );
  // Content type and encoding are empty: the message is what the envelope's media type says.
  writeText(writer, 4, '');
  writeText(writer, 3, '');
  writeNested(writer, table, 2, message, object);
  const before = writer.size;
  writeText(writer, 2, String(kind));
  writeText(writer, 1, String(apiVersion));
  writer.varint(writer.size - before);
  writer.tag(1, LENGTH);
  writer.bytes(MAGIC);
}

/** A field that is a message. */
function writeNested(
  writer: WireWriter,
  table: ProtobufTable,
  field: number,
  index: number,
  value: JsonValue | undefined,
): void {
  const before = writer.size;
  writeMessage(writer, table, index, value);
  writer.varint(writer.size - before);
  writer.tag(field, LENGTH);
}

function writeMessage(
  writer: WireWriter,
  table: ProtobufTable,
  index: number,
  value: JsonValue | undefined,
): void {
  const plan = planOf(table, index);
  if (plan.form !== undefined) {
    writeSpecial(writer, plan.form, value, (field, nested) => {
      const type = plan.fields.find(({ number }) => number === field)?.type;
      if (typeof type === 'number') writeNested(writer, table, field, type, nested);
    });
    return;
  }
  if (isObject(value)) for (const field of plan.fields) writeField(writer, table, field, value);
  else {
    plan.zero ??= zeroOf(table, plan);
    writer.bytes(plan.zero);
  }
}

function zeroOf(table: ProtobufTable, plan: Plan): Uint8Array {
  const writer = wireWriter();
  for (const field of plan.fields) writeField(writer, table, field, NOTHING);
  return writer.take();
}

function writeField(writer: WireWriter, table: ProtobufTable, field: FieldPlan, object: JsonObject): void {
  const { number, type, pointer } = field;
  if (field.inline && typeof type === 'number') {
    writeNested(writer, table, number, type, object);
    return;
  }
  const value = object[field.name];
  if (type === 'map') writeMap(writer, table, field, value);
  else if (field.repeated) {
    if (!Array.isArray(value)) return;
    for (let index = value.length - 1; index >= 0; index--)
      writeValue(writer, table, number, type, value[index]);
  } else if (value !== undefined && value !== null) writeValue(writer, table, number, type, value);
  // Go writes what is no pointer even when it is zero; bytes are there or not like a pointer.
  else if (!pointer && type !== 'bytes') writeValue(writer, table, number, type, undefined);
}

function writeMap(
  writer: WireWriter,
  table: ProtobufTable,
  { number, valueType }: FieldPlan,
  map: JsonValue | undefined,
): void {
  if (!isObject(map)) return;
  const keys = Object.keys(map).sort(byBytes);
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] ?? '';
    const value = map[key];
    const before = writer.size;
    if (valueType !== 'bytes' || typeof value === 'string') writeValue(writer, table, 2, valueType, value);
    writeText(writer, 1, key);
    writer.varint(writer.size - before);
    writer.tag(number, LENGTH);
  }
}

/** The order of UTF-8, which is not that of UTF-16 beyond the basic plane. */
function byBytes(a: string, b: string): number {
  const plain = a < b ? -1 : a > b ? 1 : 0;
  return /[\ud800-\uffff]/.test(a + b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : plain;
}

function writeValue(
  writer: WireWriter,
  table: ProtobufTable,
  number: number,
  type: string | number,
  value: JsonValue | undefined,
): void {
  if (typeof type === 'number') {
    writeNested(writer, table, number, type, value);
    return;
  }
  switch (type) {
    case 'string':
      writeText(writer, number, typeof value === 'string' ? value : '');
      return;
    case 'bytes': {
      const bytes = Buffer.from(typeof value === 'string' ? value : '', 'base64');
      writer.bytes(bytes);
      writer.varint(bytes.byteLength);
      writer.tag(number, LENGTH);
      return;
    }
    case 'bool':
      writer.varint(value === true ? 1 : 0);
      writer.tag(number, VARINT);
      return;
    case 'double':
      writer.double(Number(value ?? 0));
      writer.tag(number, FIXED64);
      return;
    default:
      writeInteger(writer, number, value);
  }
}
