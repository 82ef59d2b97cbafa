// Hello and Welcome, between values and bytes. They are sent once per stream, so this need not be fast.
//
// A field of a message that comes twice is merged, as protobuf says: that is why the readers take what
// was read before.
import * as wire from '@syncline/kernel/wire';
import type { Hello, Welcome, WireTrackerConfig } from './sync-messages.js';

const configMessage = wire.message<WireTrackerConfig>({
  levels: wire.uint32(1),
  columns: wire.uint32(2),
  policy: wire.int32(3),
  ratePerSecond: wire.double(4),
  windowMs: wire.looseUint(5),
  hash: wire.int32(6),
  keyCheck: wire.fixed64(7),
  increment: wire.double(8),
  decrement: wire.double(9),
});

const helloMessage = wire.message<Hello>({
  tracker: wire.text(1),
  clientId: wire.text(2),
  config: { ...wire.nested(3, configMessage), absent: () => emptyOf(configMessage) },
  lastEpoch: wire.looseUint(4),
});

const welcomeMessage = wire.message<Welcome>({
  epoch: wire.looseUint(1),
  activeInstances: wire.uint32(2),
  serverTimeMs: wire.looseUint(3),
  wantView: wire.bool(4),
  maxElements: wire.uint32(5),
});

export const noHello: Hello = emptyOf(helloMessage);

export function readHello(reader: wire.WireReader, before: Hello): Hello {
  return readInside(reader, helloMessage, before);
}

export function writeHello(writer: wire.WireWriter, hello: Hello): void {
  helloMessage.write(writer, hello);
}

export function readWelcome(reader: wire.WireReader, before?: Welcome): Welcome {
  return readInside(reader, welcomeMessage, before);
}

export function writeWelcome(writer: wire.WireWriter, field: number, welcome: Welcome): void {
  const start = writer.begin(field);
  welcomeMessage.write(writer, welcome);
  writer.end(start);
}

function readInside<Value>(
  reader: wire.WireReader,
  form: wire.Message<Value>,
  before?: Value,
): Value {
  const outerEnd = reader.enter();
  const value = form.read(reader, before);
  reader.leave(outerEnd);
  return value;
}

/** All fields have their defaults. */
function emptyOf<Value>(form: wire.Message<Value>): Value {
  return wire.decode(form, new Uint8Array(), { name: 'message' });
}
