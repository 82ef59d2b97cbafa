// Lengths and counts as Protobuf writes them: seven bits a byte, lowest first, all but the last marked.

/** Bytes that a number below 2^32 takes. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** Gives the position behind it. */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let at = position;
  let rest = value;
  while (rest >= 0x80) {
    bytes[at] = rest | 0x80; // the array keeps the low 8 bits
    at += 1;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}
