// Unsigned integers, big endian, at a place in bytes: in keys they then sort like their numbers.

export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

export function writeUint64(bytes: Uint8Array, at: number, value: number): void {
  writeUint32(bytes, at, Math.floor(value / 2 ** 32));
  writeUint32(bytes, at + 4, value >>> 0);
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) |
      ((bytes[at + 1] ?? 0) << 16) |
      ((bytes[at + 2] ?? 0) << 8) |
      (bytes[at + 3] ?? 0)) >>>
    0
  );
}

export function readUint64(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at) * 2 ** 32 + readUint32(bytes, at + 4);
}
