import { badRequest } from '../../kube/status-error.ts';
import type { JsonObject } from '../../schema/json.ts';

/** `k8s\0`, which begins every protobuf body. */
const MAGIC: readonly number[] = [0x6b, 0x38, 0x73, 0x00];

export function isProtobuf(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

interface Field {
  readonly number: number;
  readonly value: number | Uint8Array;
}

/** The fields of one message. Throws 400 for what is cut off or of a wire type that Kubernetes does not use here. */
function* fields(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 63; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) throw badRequest('the protobuf body of the request is cut off');
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    // Ten bytes are a negative number, which means the same as any other here: less than nothing.
    at += 1;
    return -1;
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    if (tag % 8 === 0) yield { number, value: varint() };
    else if (tag % 8 === 2) {
      const length = varint();
      if (length < 0 || at + length > bytes.length)
        throw badRequest('the protobuf body of the request is cut off');
      yield { number, value: bytes.subarray(at, at + length) };
      at += length;
    } else throw badRequest('the protobuf body of the request has a field of an unexpected type');
  }
}

function text(value: number | Uint8Array): string {
  return typeof value === 'number' ? '' : Buffer.from(value).toString('utf8');
}

/** DeleteOptions from its protobuf form: an envelope with the kind, and the message in it. */
export function decodeDeleteOptions(bytes: Uint8Array): JsonObject {
  let raw: Uint8Array = new Uint8Array();
  for (const { number, value } of fields(bytes.subarray(MAGIC.length)))
    if (number === 2 && typeof value !== 'number') raw = value;
  const options: JsonObject = {};
  const dryRun: string[] = [];
  for (const { number, value } of fields(raw)) {
    if (number === 1 && typeof value === 'number') options.gracePeriodSeconds = value;
    else if (number === 2 && typeof value !== 'number') options.preconditions = preconditions(value);
    else if (number === 3) options.orphanDependents = value === 1;
    else if (number === 4) options.propagationPolicy = text(value);
    else if (number === 5) dryRun.push(text(value));
  }
  if (dryRun.length > 0) options.dryRun = dryRun;
  return options;
}

function preconditions(bytes: Uint8Array): JsonObject {
  const out: JsonObject = {};
  for (const { number, value } of fields(bytes)) {
    if (number === 1) out.uid = text(value);
    else if (number === 2) out.resourceVersion = text(value);
  }
  return out;
}
