// Compressed frames: a whole Frame in Snappy's block format, as the body of another one.
//
// M6  The decompressed size is checked before anything is allocated, and compressed frames do not nest.
import { WireReader } from '@syncline/kernel/wire';
import { decodeFrame, encodeFrame, type Frame, LENGTH_BYTES, malformed } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { SnappyCodec } from './mesh.js';

/**
 * `encoded` is a frame with its length, and so is the result. Returned unchanged if compression does not make
 * it smaller.
 */
export function compressFrame(snappy: SnappyCodec, encoded: Uint8Array): Uint8Array {
  if (encoded.length <= meshLimits.compressAboveBytes.value) return encoded;
  const compressed = snappy.compressSync(encoded.subarray(LENGTH_BYTES));
  const frame = encodeFrame({ channel: 0, kind: 'snappy', compressed });
  return frame.length < encoded.length ? frame : encoded;
}

export function uncompressFrame(snappy: SnappyCodec, compressed: Uint8Array): Frame {
  const declaredBytes = new WireReader('frame', compressed).uint32();
  const bytesMax = meshLimits.frameBytesMax.value;
  if (declaredBytes > bytesMax) {
    throw malformed(`it decompresses to ${declaredBytes} bytes; at most ${bytesMax} are allowed`);
  }
  const bytes = uncompress(snappy, compressed);
  if (bytes.length !== declaredBytes) throw malformed('it decompresses to a different size');
  const frame = decodeFrame(bytes);
  if (frame.kind === 'snappy') throw malformed('a compressed frame contains another one');
  return frame;
}

function uncompress(snappy: SnappyCodec, compressed: Uint8Array): Uint8Array {
  try {
    return snappy.uncompressSync(compressed);
  } catch (error) {
    throw malformed(`it cannot be decompressed (${String(error)})`);
  }
}
