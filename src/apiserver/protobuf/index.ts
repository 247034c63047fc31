/**
 * The protobuf form of built-in kinds, which typed clients of Go prefer: bodies are read into the JSON that upstream's types
 * would give, and answers, lists and watch frames are written byte for byte as upstream's types write them. Both work from
 * one table. What is malformed, and kinds without such a form, are a {@link ProtobufError}.
 */
export { decodeProtobuf, goDuration, PROTOBUF } from './decode.ts';
export { encodeProtobuf, encodeWatchFrame, hasProtobufForm } from './encode.ts';
export { ProtobufError } from './wire.ts';
