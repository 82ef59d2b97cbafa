// The frames of a simulated stream of the state service: its messages as bytes, and what HTTP/2 adds to them:
// credit for messages that were read, a status at the end, and pings.
//
// Every frame carries its send time in simulated time. Processes cannot see it, but checks need it, since a
// late value has decayed less than at the service.
import { type ErrorCode, SynclineError } from '@syncline/kernel';

export type StreamFrame =
  | { readonly kind: 'message'; readonly body: Uint8Array; readonly sentMs: number }
  | { readonly kind: 'credit' | 'ping' }
  | { readonly kind: 'end'; readonly error: SynclineError | undefined };

const KINDS = ['message', 'credit', 'ping', 'end'] as const;
const HEADER_BYTES = 13;

export function encodeStreamFrame(frame: StreamFrame, sentMs: number): Uint8Array {
  const body = bodyOf(frame);
  const bytes = Buffer.alloc(HEADER_BYTES + body.length);
  bytes.writeUInt32BE(body.length);
  bytes.writeUInt8(KINDS.indexOf(frame.kind), 4);
  bytes.writeDoubleBE(sentMs, 5);
  bytes.set(body, HEADER_BYTES);
  return bytes;
}

/** Reassembles frames from arbitrary chunks. */
export class StreamFrames {
  #pending: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
  }

  take(): StreamFrame | undefined {
    const pending = this.#pending;
    if (pending.length < HEADER_BYTES) return undefined;
    const end = HEADER_BYTES + pending.readUInt32BE();
    if (pending.length < end) return undefined;
    this.#pending = pending.subarray(end);
    const body = pending.subarray(HEADER_BYTES, end);
    const kind = KINDS[pending.readUInt8(4)] ?? 'ping';
    if (kind === 'message') return { kind, body, sentMs: pending.readDoubleBE(5) };
    if (kind === 'end') return { kind, error: errorOf(body) };
    return { kind };
  }
}

function bodyOf(frame: StreamFrame): Uint8Array {
  if (frame.kind === 'message') return frame.body;
  if (frame.kind !== 'end' || frame.error === undefined) return Buffer.alloc(0);
  return Buffer.from(JSON.stringify({ code: frame.error.code, text: frame.error.message }));
}

function errorOf(body: Buffer): SynclineError | undefined {
  if (body.length === 0) return undefined;
  const { code, text } = JSON.parse(body.toString()) as { code: ErrorCode; text: string };
  return new SynclineError(code, text);
}
