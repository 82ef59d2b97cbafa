// Finds the records in the chunks of one segment and checks each against the chain.
//
// Chunks that hold only a part of a record are kept until it is complete, so that its body is handed out
// in one piece and nothing is read twice.
import { kernelLimits } from '../limits.js';
import type { Segment } from './segment.js';
import { RECORD_HEAD_BYTES, type RecordChain } from './segment-format.js';

const BODY_BYTES_MAX = kernelLimits.logRecordBytesMax.value;

export class RecordScanner {
  readonly #chain: RecordChain;
  readonly #segment: Segment;
  readonly #onRecord: (number: number, kind: number, body: Uint8Array) => void;
  /** Bytes behind the last record. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Bytes that the next record needs, as far as known. */
  #neededBytes = RECORD_HEAD_BYTES;
  #offset: number;

  constructor(
    chain: RecordChain,
    segment: Segment,
    offset: number,
    onRecord: (number: number, kind: number, body: Uint8Array) => void,
  ) {
    this.#chain = chain;
    this.#segment = segment;
    this.#offset = offset;
    this.#onRecord = onRecord;
  }

  /** Position in the segment behind the last good record. */
  get offset(): number {
    return this.#offset;
  }

  /** False once there was a bad record: nothing behind it counts. */
  push(chunk: Uint8Array): boolean {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#neededBytes) return true;
    const bytes = this.#held.length === 1 ? chunk : join(this.#held, this.#heldBytes);
    const start = this.#offset;
    const isGood = this.#scan(bytes);
    const rest = bytes.subarray(this.#offset - start);
    this.#held = rest.length === 0 ? [] : [rest];
    this.#heldBytes = rest.length;
    return isGood;
  }

  /** Takes every complete record from bytes that begin at the current offset. */
  #scan(bytes: Uint8Array): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const fileBytes = this.#segment.bytes;
    let at = 0;
    this.#neededBytes = RECORD_HEAD_BYTES;
    while (bytes.length - at >= RECORD_HEAD_BYTES) {
      const length = view.getUint32(at);
      const recordBytes = RECORD_HEAD_BYTES + length;
      if (length > BODY_BYTES_MAX || this.#offset + recordBytes > fileBytes) return false;
      if (at + recordBytes > bytes.length) {
        this.#neededBytes = recordBytes;
        break;
      }
      const kind = view.getUint8(at + 8);
      const body = bytes.subarray(at + RECORD_HEAD_BYTES, at + recordBytes);
      const crc = this.#chain.crcOfBody(kind, body);
      if (crc !== view.getUint32(at + 4)) return false;
      const { nextNumber } = this.#chain;
      this.#onRecord(nextNumber, kind, body);
      this.#segment.mark(nextNumber, this.#offset);
      this.#chain.advance(crc);
      this.#offset += recordBytes;
      at += recordBytes;
    }
    return true;
  }
}

/** Not a Buffer, whose `subarray` takes several times as long. */
function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const joined = new Uint8Array(bytes);
  let end = 0;
  for (const chunk of chunks) {
    joined.set(chunk, end);
    end += chunk.length;
  }
  return joined;
}
