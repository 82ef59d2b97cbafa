// Messages of fair.state.v1 as bytes, for hostile clients.

function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
}

function field(number: number, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(body.length)]), body]);
}

function double(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = number * 8 + 1;
  bytes.writeDoubleLE(value, 1);
  return bytes;
}

/** A DeltaUpdate of empty deltas, two bytes each. */
export function encodeDeltas(seed: number, count: number): Buffer {
  const delta = Buffer.from([0x12, 0]);
  const deltas = Buffer.alloc(count * delta.length, delta);
  return field(1, Buffer.concat([Buffer.from([0x08, ...varint(seed)]), deltas]));
}

export function encodeStateRequest(seed: number): Buffer {
  return field(2, Buffer.from([0x08, ...varint(seed)]));
}

/** The Hello of a tracker with 3 levels of 100 columns, exponential, keyed. */
export function encodeHello(tracker: string, clientId: string): Buffer {
  const config = Buffer.concat([
    Buffer.from([0x08, 3, 0x10, 100, 0x18, 1]),
    double(4, 0.01),
    Buffer.from([0x28, ...varint(300_000), 0x30, 1]),
    double(7, 1), // a fixed64 with any value
    double(8, 0.04),
    double(9, 0.00004),
  ]);
  return field(
    3,
    Buffer.concat([
      field(1, Buffer.from(tracker)),
      field(2, Buffer.from(clientId)),
      field(3, config),
    ]),
  );
}
