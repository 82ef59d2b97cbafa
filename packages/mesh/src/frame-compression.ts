// Compressed frames: a whole Frame in Snappy's block format, as the body of another one.
//
// M6  What a compressed frame uncompresses to is bounded before anything is allocated, and holds no other such one.
import { decodeFrame, encodeFrame, type Frame, LENGTH_BYTES } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { SnappyCodec } from './mesh.js';
import { malformed, WireReader } from './wire.js';

/** `encoded` is a frame with its length, and so is the result. It stays as it is if that is not smaller. */
export function compressFrame(snappy: SnappyCodec, encoded: Uint8Array): Uint8Array {
  if (encoded.length <= meshLimits.compressAboveBytes.value) return encoded;
  const compressed = snappy.compressSync(encoded.subarray(LENGTH_BYTES));
  const frame = encodeFrame({ channel: 0, kind: 'snappy', compressed });
  return frame.length < encoded.length ? frame : encoded;
}

export function uncompressFrame(snappy: SnappyCodec, compressed: Uint8Array): Frame {
  const declaredBytes = new WireReader(compressed).varint();
  const bytesMax = meshLimits.frameBytesMax.value;
  if (declaredBytes > bytesMax) {
    throw malformed(`it uncompresses to ${declaredBytes} bytes, at most ${bytesMax}`);
  }
  const bytes = uncompress(snappy, compressed);
  if (bytes.length !== declaredBytes) throw malformed('it uncompresses to another size');
  const frame = decodeFrame(bytes);
  if (frame.kind === 'snappy') throw malformed('a compressed frame holds another one');
  return frame;
}

function uncompress(snappy: SnappyCodec, compressed: Uint8Array): Uint8Array {
  try {
    return snappy.uncompressSync(compressed);
  } catch (error) {
    throw malformed(`it does not uncompress (${String(error)})`);
  }
}
