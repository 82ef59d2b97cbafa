// Reads a segment log once, from the segment that contains the first wanted record to the first bad record.
//
// Nothing on disk changes here; log-cut.ts then removes what lies after the end that was found. A crash can leave a
// torn record, a segment without its header, or (after a power loss) pages of zeros and missing segments after the
// last sync. All of these end the log at the last record of an unbroken chain. What no crash can leave, or what
// belongs to someone else, is refused.
//
// K40  Records are replayed in order, with no gaps, each as it was appended.
// K43  A log that lost its beginning, that has another owner or a newer format is refused, unchanged.
import { SynclineError } from '../error.js';
import type { Files } from '../files/files.js';
import { kernelLimits } from '../limits.js';
import {
  CHAIN_START,
  type DecodedHeader,
  decodeSegmentHeader,
  HEADER_BYTES_MAX,
  parseSegmentName,
  RECORD_HEAD_BYTES,
  RecordChain,
  Segment,
} from './segment-format.js';

const CHUNK_BYTES = kernelLimits.logReadChunkBytes.value;
const BODY_BYTES_MAX = kernelLimits.logRecordBytesMax.value;

export interface ReplayOptions {
  /** Below the root of `files`; created if missing. Nothing else may write there. */
  readonly directory: string;
  /** At most 255 bytes, stored in every segment. A log of another owner is refused as `corrupt`. */
  readonly owner: Uint8Array;
  /** The first record that is wanted. Segments that end before it are not read. At least 1. */
  readonly replayFrom: number;
  /** For a log that was closed: a bad record is `corrupt`, instead of the place where the log is cut. */
  readonly mustBeWhole: boolean;
  /**
   * Called for each record from `replayFrom` on, in order; `body` is only valid until it returns, or until its
   * promise has resolved. If it throws, `open` rejects with the error and nothing on disk has changed.
   */
  onRecord(number: number, kind: number, body: Uint8Array): Promise<void> | void;
  /** Awaited after each chunk of about 1 MiB, to report progress and to let others run. */
  onProgress?(readBytes: number, totalBytes: number): Promise<void> | void;
}

export interface ReplayedLog {
  /** Every segment on disk, oldest first. */
  readonly found: readonly Segment[];
  /** Index of the first segment that was read. Those before it hold only records before `replayFrom`. */
  readonly firstRead: number;
  /** Continues after the last good record. Undefined if the good part ends before `replayFrom`. */
  readonly chain: RecordChain | undefined;
  /** Undefined if everything that was read is good. */
  readonly end: LogEnd | undefined;
}

/** Where the good part ends. */
export interface LogEnd {
  /** Index of the segment in `found`. */
  readonly index: number;
  /** 0 if no part of this segment is good, not even its header. */
  readonly offset: number;
  readonly reason: string;
}

export async function replayLog(files: Files, options: ReplayOptions): Promise<ReplayedLog> {
  const { directory, replayFrom } = options;
  const found = await findSegments(files, directory);
  checkBeginning(found, options);
  if (found.length === 0) {
    return { found, firstRead: 0, chain: new RecordChain(replayFrom, CHAIN_START), end: undefined };
  }
  const headers = await readHeaders(files, found, options);
  const reader = new LogReader(files, options, found);
  const firstRead = found.length - headers.length;
  const end = (await reader.read(firstRead, headers)) ?? endBefore(replayFrom, found, reader.chain);
  if (end !== undefined && options.mustBeWhole) throw notWhole(found, end);
  const reachesFar = reader.chain !== undefined && reader.chain.nextNumber >= replayFrom;
  return { found, firstRead, chain: reachesFar ? reader.chain : undefined, end };
}

async function findSegments(files: Files, directory: string): Promise<Segment[]> {
  const found: Segment[] = [];
  for (const name of await files.list(directory)) {
    const firstNumber = parseSegmentName(name);
    const stat = firstNumber === undefined ? undefined : await files.stat(`${directory}/${name}`);
    if (firstNumber === undefined || stat?.kind !== 'file') continue;
    found.push(new Segment(directory, firstNumber, stat.bytes));
  }
  return found.sort((left, right) => left.firstNumber - right.firstNumber);
}

/** K43  The records between the caller's snapshot and the oldest segment cannot be reconstructed. */
function checkBeginning(found: readonly Segment[], options: ReplayOptions): void {
  const { directory, replayFrom } = options;
  const oldest = found[0];
  if (oldest === undefined ? replayFrom === 1 : oldest.firstNumber <= replayFrom) return;
  const missing =
    oldest === undefined
      ? `the log in ${directory} has no segments, but should continue at record ${replayFrom}`
      : `records ${replayFrom} to ${oldest.firstNumber - 1} of the log in ${directory} are missing: ` +
        `its oldest segment is ${oldest.path}`;
  throw new SynclineError(
    'corrupt',
    `${missing}. Restore the missing files from a backup, or remove the data directory to start empty.`,
    { details: { reason: 'missing', directory, replayFrom, firstNumber: oldest?.firstNumber } },
  );
}

/**
 * Headers from the segment that holds `replayFrom` to the newest. If that segment has lost its header, the
 * one before it is needed too, to know where the chain ends.
 */
async function readHeaders(
  files: Files,
  found: readonly Segment[],
  options: ReplayOptions,
): Promise<readonly DecodedHeader[]> {
  const headers: DecodedHeader[] = [];
  for (const segment of found.toReversed()) {
    const bytes = await files.readAt(segment.path, 0, HEADER_BYTES_MAX);
    const decoded = decodeSegmentHeader(bytes);
    headers.unshift(checkHeader(decoded, segment, options));
    if (segment.firstNumber <= options.replayFrom && headers[0]?.kind === 'ok') break;
  }
  return headers;
}

function checkHeader(
  decoded: DecodedHeader,
  segment: Segment,
  { owner }: ReplayOptions,
): DecodedHeader {
  if (decoded.kind === 'too-new') {
    throw new SynclineError(
      'corrupt',
      `${segment.path} has format ${decoded.format}, which this version cannot read. ` +
        'Start it with the version that wrote it, or a later one.',
      { details: { reason: 'too-new', path: segment.path, format: decoded.format } },
    );
  }
  if (decoded.kind === 'damaged') return decoded;
  if (Buffer.compare(decoded.header.owner, owner) !== 0) {
    throw new SynclineError(
      'corrupt',
      `${segment.path} belongs to another owner. Probably its directory was copied from another ` +
        'node. Use the directory of this node, or an empty one.',
      { details: { reason: 'owner', path: segment.path } },
    );
  }
  return decoded.header.firstNumber === segment.firstNumber ? decoded : { kind: 'damaged' };
}

class LogReader {
  readonly #files: Files;
  readonly #options: ReplayOptions;
  readonly #found: readonly Segment[];
  #readBytes = 0;
  #totalBytes = 0;
  /** Undefined until a header was good. */
  chain: RecordChain | undefined;

  constructor(files: Files, options: ReplayOptions, found: readonly Segment[]) {
    this.#files = files;
    this.#options = options;
    this.#found = found;
  }

  /** `headers` are those of the segments from `firstRead` on. */
  async read(firstRead: number, headers: readonly DecodedHeader[]): Promise<LogEnd | undefined> {
    for (const { bytes } of this.#found.slice(firstRead)) this.#totalBytes += bytes;
    for (const [position, decoded] of headers.entries()) {
      const index = firstRead + position;
      const segment = this.#found[index];
      if (segment === undefined) break;
      const reason = this.#continueWith(segment, decoded);
      if (reason !== undefined) return { index, offset: 0, reason };
      const offset = await this.#readSegment(segment, decoded);
      if (offset < segment.bytes) return { index, offset, reason: 'a bad record' };
    }
    return undefined;
  }

  /** The reason why the log cannot continue with this segment. */
  #continueWith({ firstNumber }: Segment, decoded: DecodedHeader): string | undefined {
    if (decoded.kind !== 'ok') return 'a damaged header';
    const { chainCrc } = decoded.header;
    this.chain ??= new RecordChain(firstNumber, chainCrc);
    const { nextNumber, crc } = this.chain;
    if (firstNumber > nextNumber) return `records ${nextNumber} to ${firstNumber - 1} are missing`;
    return firstNumber === nextNumber && chainCrc === crc
      ? undefined
      : 'it does not continue the segment before it';
  }

  /** Returns the offset after the last good record. */
  async #readSegment(segment: Segment, decoded: DecodedHeader): Promise<number> {
    if (decoded.kind !== 'ok' || this.chain === undefined) return 0;
    const { onRecord, onProgress, replayFrom } = this.#options;
    const scanner = new RecordScanner(this.chain, segment, decoded.bytes, (number, kind, body) =>
      number >= replayFrom ? onRecord(number, kind, body) : undefined,
    );
    for await (const chunk of this.#chunks(segment, decoded.bytes)) {
      const isGood = await scanner.push(chunk);
      this.#readBytes += chunk.length;
      await onProgress?.(this.#readBytes, this.#totalBytes);
      if (!isGood) break;
    }
    return scanner.offset;
  }

  /** Reads one chunk ahead, so that the disk is busy while records are replayed. */
  async *#chunks({ path, bytes }: Segment, from: number): AsyncGenerator<Uint8Array> {
    const read = (offset: number) => {
      const chunk = this.#files.readAt(path, offset, CHUNK_BYTES);
      chunk.catch(() => {}); // it may be abandoned; a caller that awaits it gets the error
      return chunk;
    };
    let offset = from;
    let ahead = offset < bytes ? read(offset) : undefined;
    while (ahead !== undefined) {
      const chunk = await ahead;
      if (chunk.length === 0) return; // the file is shorter than it was
      offset += chunk.length;
      ahead = offset < bytes ? read(offset) : undefined;
      yield chunk;
    }
  }
}

/**
 * Finds the records in the chunks of one segment and checks each against the chain. Chunks that contain only part of
 * a record are kept until it is complete, so that its body is contiguous and nothing is read twice.
 */
class RecordScanner {
  readonly #chain: RecordChain;
  readonly #segment: Segment;
  readonly #onRecord: ReplayOptions['onRecord'];
  /** Bytes after the last record. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Bytes that the next record needs, as far as known. */
  #neededBytes = RECORD_HEAD_BYTES;
  #offset: number;

  constructor(
    chain: RecordChain,
    segment: Segment,
    offset: number,
    onRecord: ReplayOptions['onRecord'],
  ) {
    this.#chain = chain;
    this.#segment = segment;
    this.#offset = offset;
    this.#onRecord = onRecord;
  }

  /** Position in the segment after the last good record. */
  get offset(): number {
    return this.#offset;
  }

  /** False once there was a bad record: everything after it is ignored. */
  async push(chunk: Uint8Array): Promise<boolean> {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#neededBytes) return true;
    const bytes = this.#held.length === 1 ? chunk : join(this.#held, this.#heldBytes);
    const start = this.#offset;
    const isGood = await this.#scan(bytes);
    const rest = bytes.subarray(this.#offset - start);
    this.#held = rest.length === 0 ? [] : [rest];
    this.#heldBytes = rest.length;
    return isGood;
  }

  /** Takes every complete record from bytes that begin at the current offset. */
  async #scan(bytes: Uint8Array): Promise<boolean> {
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
      const pending = this.#onRecord(nextNumber, kind, body);
      if (pending !== undefined) await pending;
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

/** A log whose records are all before `replayFrom` has lost its end. */
function endBefore(
  replayFrom: number,
  found: readonly Segment[],
  chain: RecordChain | undefined,
): LogEnd | undefined {
  const last = found.at(-1);
  if (chain === undefined || last === undefined || chain.nextNumber >= replayFrom) return undefined;
  const reason = `records ${chain.nextNumber} to ${replayFrom - 1} are missing`;
  return { index: found.length - 1, offset: last.bytes, reason };
}

function notWhole(found: readonly Segment[], { index, offset, reason }: LogEnd): SynclineError {
  const path = found[index]?.path;
  return new SynclineError(
    'corrupt',
    `the log is damaged in ${path} at byte ${offset} (${reason}), although it was closed cleanly. ` +
      'Check the disk, and restore the data directory from a backup.',
    { details: { reason: 'damaged', path, offset } },
  );
}
