// The entry point `@syncline/kernel/wire`: the Protobuf wire format, for hand-written codecs.
export { WireFields } from './wire/wire-fields.js';
export { type WireFailure, WireReader } from './wire/wire-reader.js';
export { varintBytes, WireWriter, writeVarint } from './wire/wire-writer.js';
