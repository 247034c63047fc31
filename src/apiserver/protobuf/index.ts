/**
 * Protobuf request bodies of built-in kinds, as client-go sends them from 0.32 on. One table-driven decoder to JSON; answers
 * stay JSON, which every client accepts.
 */
export { decodeProtobuf, goDuration, PROTOBUF } from './decode.ts';
export { ProtobufError } from './wire.ts';
