// What nodes and clients of the register say to each other: JSON behind a length of four bytes.
import { assert, type Connection, SynclineError } from '@syncline/kernel';
import type { Update } from './register-core.js';

export type Frame =
  /** Client to node. */
  | {
      readonly kind: 'add';
      readonly client: string;
      readonly request: number;
      readonly amount: number;
    }
  | { readonly kind: 'read'; readonly client: string }
  /** Node to client. */
  | { readonly kind: 'added' }
  | { readonly kind: 'value'; readonly total: number; readonly request: number }
  | { readonly kind: 'refused'; readonly code: string }
  /** Node to node: who I am; what I have of you; something new. */
  | { readonly kind: 'replicate'; readonly node: string }
  | { readonly kind: 'have'; readonly counter: number }
  | { readonly kind: 'update'; readonly update: Update };

const HEADER_BYTES = 4;
const FRAME_BYTES_MAX = 64 * 1024;

export function encodeFrame(frame: Frame): Uint8Array {
  const body = Buffer.from(JSON.stringify(frame));
  assert(body.length <= FRAME_BYTES_MAX, 'a frame fits its limit');
  const bytes = Buffer.alloc(HEADER_BYTES + body.length);
  bytes.writeUInt32BE(body.length);
  body.copy(bytes, HEADER_BYTES);
  return bytes;
}

/** Undefined at the end of the stream. */
export type FrameStream = AsyncGenerator<Frame, undefined>;

/** Frames as they arrive. An end in the middle of a frame is an error, like a reset. */
export async function* readFrames(connection: Connection): FrameStream {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of connection.incoming) {
    pending = Buffer.concat([pending, chunk]);
    for (let next = splitFrame(pending); next !== undefined; next = splitFrame(pending)) {
      pending = next.rest;
      yield JSON.parse(next.body.toString()) as Frame;
    }
  }
  if (pending.length > 0) throw new SynclineError('unavailable', 'the peer ended within a frame');
  return undefined;
}

function splitFrame(bytes: Buffer): { body: Buffer; rest: Buffer } | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const bodyBytes = bytes.readUInt32BE();
  if (bodyBytes > FRAME_BYTES_MAX) {
    throw new SynclineError('limit-exceeded', `a frame of ${bodyBytes} bytes was announced`);
  }
  const end = HEADER_BYTES + bodyBytes;
  if (bytes.length < end) return undefined;
  return { body: bytes.subarray(HEADER_BYTES, end), rest: bytes.subarray(end) };
}
