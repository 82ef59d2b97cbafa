// The replies of one connection: encoded one after another, in RESP2 or RESP3 as requested by the client, then sent.
//
//   ReplyWriter     the current turn. Its replies are in one buffer, which is passed on with them and must not change
//                   then. The next one has the size that turns have needed, so an idle connection holds none.
//   SessionOutput   completed turns, in order. They wait to be synced if necessary, then for the sink to accept them.
import { assert, type SynclineError } from '@syncline/kernel';
import { respErrorOf } from '@syncline/protocol';
import { type ByteList, copyBytes } from '../byte-list.js';
import type { Client } from '../commands/client.js';
import type { RespSink } from '../sets.js';

const ARRAY = 0x2a;
const BULK = 0x24;
const ERROR = 0x2d;
const INTEGER = 0x3a;
const MAP = 0x25;
const SET = 0x7e;
const SIMPLE = 0x2b;
const VERBATIM = 0x3d;

const NO_BYTES = Buffer.alloc(0);
const BUFFER_BYTES_MIN = 64;
const BUFFER_BYTES_MAX = 65_536;
/** Type, at most 17 characters of a number, line end. */
const HEADER_BYTES_MAX = 20;
const DIGITS_VALUE_MAX = 999_999_999;

/**
 * What a command answers with. Values that Redis encodes differently in RESP3 have one method, which knows the
 * protocol of the connection: a command never checks the version.
 */
export type Reply = Omit<ReplyWriter, 'length' | 'complete' | 'completePart' | 'take' | 'isTaken'>;

export class ReplyWriter {
  /** Bytes that are written and not taken. */
  length = 0;
  /**
   * Undefined while there is room. Otherwise a promise: wait before writing the rest of a large reply. It rejects
   * with `closed` when the client is gone.
   */
  readonly room: () => Promise<void> | undefined;
  readonly #client: Pick<Client, 'protocol'>;
  #turn = new TurnReplies();
  #buffer: Buffer = NO_BYTES;
  #nextSize = BUFFER_BYTES_MIN;
  /** Bytes that were taken before. Marks count from the first byte of the connection. */
  #taken = 0;

  constructor(client: Pick<Client, 'protocol'>, room: () => Promise<void> | undefined) {
    this.#client = client;
    this.room = room;
  }

  /** A reply is complete. An error may take its place if it `isRefusable`; `hasChanges`: the turn has changed sets. */
  complete(isRefusable: boolean, hasChanges: boolean): void {
    this.#turn.add(this.length, isRefusable, hasChanges);
  }

  /** What was written is a part of a reply, and may be sent. It read nothing that can be undone. */
  completePart(): void {
    this.#turn.hasPart = true;
    this.complete(false, false);
  }

  /** Passes on what is complete; what follows it stays. */
  take(): TurnReplies {
    const turn = this.#turn;
    const buffer = this.#buffer;
    const { length } = this;
    const { end } = turn;
    assert(end <= length, 'only what was written can be taken');
    this.#turn = new TurnReplies();
    const wanted = Math.min(BUFFER_BYTES_MAX, Math.max(BUFFER_BYTES_MIN, end + HEADER_BYTES_MAX));
    if (buffer.length > this.#nextSize || end < this.#nextSize / 2) this.#nextSize = wanted;
    this.#buffer = NO_BYTES;
    this.#taken += end;
    this.length = 0;
    if (end < length) this.raw(buffer.subarray(end, length));
    turn.bytes = end === buffer.length ? buffer : buffer.subarray(0, end);
    return turn;
  }

  /** Marks the end of what was written, for `rewind`. */
  mark(): number {
    return this.#taken + this.length;
  }

  isTaken(mark: number): boolean {
    return mark < this.#taken;
  }

  /** Removes what was written since the mark and has not been passed on. False: some of it has. */
  rewind(mark: number): boolean {
    this.length = Math.max(0, mark - this.#taken);
    return !this.isTaken(mark);
  }

  integer(value: number): void {
    this.#header(INTEGER, value);
  }

  /** `buffer` from `start` to `end`, copied. */
  bulk(buffer: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start + HEADER_BYTES_MAX + 2);
    this.#header(BULK, end - start);
    this.#copy(buffer, start, end);
    this.#lineEnd();
  }

  bulkText(text: string): void {
    this.#text(BULK, '', text);
  }

  /** An item of a list: of the arguments, mostly. */
  bulkOf(list: ByteList, index: number): void {
    this.bulk(list.buffer, list.start(index), list.end(index));
  }

  simple(text: string): void {
    this.#line(SIMPLE, text);
  }

  /** With its prefix, without the dash: `ERR syntax error`. Line ends become blanks. */
  error(text: string): void {
    this.#line(ERROR, text);
  }

  nullBulk(): void {
    this.#plain(this.#isResp3() ? '_\r\n' : '$-1\r\n');
  }

  nullArray(): void {
    this.#plain(this.#isResp3() ? '_\r\n' : '*-1\r\n');
  }

  /** The next `length` replies are its items. */
  array(length: number): void {
    this.#header(ARRAY, length);
  }

  /** An array in RESP2. */
  set(length: number): void {
    this.#header(this.#isResp3() ? SET : ARRAY, length);
  }

  /** Twice as many replies follow; a flat array in RESP2. */
  map(length: number): void {
    if (this.#isResp3()) this.#header(MAP, length);
    else this.#header(ARRAY, length * 2);
  }

  /** A bulk string in RESP2. */
  verbatim(text: string): void {
    if (this.#isResp3()) this.#text(VERBATIM, 'txt:', text);
    else this.bulkText(text);
  }

  /** Pre-encoded, for a reply that never changes. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#copy(bytes, 0, bytes.length);
  }

  #isResp3(): boolean {
    return this.#client.protocol === 3;
  }

  #text(type: number, prefix: string, text: string): void {
    const size = prefix.length + text.length;
    this.#reserve(size + HEADER_BYTES_MAX + 2);
    this.#header(type, size);
    this.#plain(prefix);
    this.#plain(text);
    this.#lineEnd();
  }

  #line(type: number, text: string): void {
    this.#reserve(text.length + 3);
    this.#byte(type);
    this.#plain(text.replaceAll(/[\r\n]/g, ' '));
    this.#lineEnd();
  }

  #header(type: number, value: number): void {
    this.#reserve(value >= 0 && value <= 9 ? 4 : HEADER_BYTES_MAX);
    this.#byte(type);
    if (value >= 0 && value <= DIGITS_VALUE_MAX) this.#digits(value);
    else this.#plain(String(value));
    this.#lineEnd();
  }

  /** Creating and copying a string takes longer than writing most headers. */
  #digits(value: number): void {
    if (value >= 10) this.#digits((value / 10) | 0);
    this.#byte(0x30 + (value % 10));
  }

  /** One byte per character. */
  #plain(text: string): void {
    this.#reserve(text.length);
    this.length += this.#buffer.write(text, this.length, 'latin1');
  }

  #byte(byte: number): void {
    this.#buffer[this.length] = byte;
    this.length += 1;
  }

  #lineEnd(): void {
    this.#buffer[this.length] = 0x0d;
    this.#buffer[this.length + 1] = 0x0a;
    this.length += 2;
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    copyBytes(bytes, start, end, this.#buffer, this.length);
    this.length += end - start;
  }

  #reserve(bytes: number): void {
    if (this.length + bytes > this.#buffer.length) this.#grow(this.length + bytes);
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafe(Math.max(this.#nextSize, this.#buffer.length * 2, bytes));
    if (this.length > 0) grown.set(this.#buffer.subarray(0, this.length));
    this.#buffer = grown;
  }
}

/**
 * The replies of one turn of a connection, and what is sent instead of them if the turn is undone or cannot be
 * synced. An error may replace a reply only if its command read or changed sets: others, such as HELLO or MULTI, have
 * changed the connection anyway, and their clients must know.
 */
class TurnReplies {
  bytes: Uint8Array = NO_BYTES;
  /** They are sent once the log is synced up to this number. */
  number = 0;
  /** Bytes of the replies that are complete, or that may be sent before they are. */
  end = 0;
  /** Where each reply ends, times two; plus one if an error may replace it. */
  readonly #ends: number[] = [];
  /** Replies that were made before the first change of the turn. */
  #cleanCount = 0;
  /** Some bytes are only a part of a reply, which an error cannot replace. */
  hasPart = false;

  add(end: number, isRefusable: boolean, hasChanges: boolean): void {
    this.#ends.push(2 * end + (isRefusable ? 1 : 0));
    this.end = end;
    if (!hasChanges) this.#cleanCount = this.#ends.length;
  }

  /** The turn was undone: replies after its first change become errors. */
  undo(error: SynclineError): void {
    this.refuse(error, this.#cleanCount);
    this.#ends.length = this.#cleanCount;
    this.add(this.bytes.length, false, false);
  }

  /** Errors replace the replies from the index `from` on. */
  refuse(error: SynclineError, from = 0): void {
    // Redis uses this prefix for its own disk problems.
    const refusal = Buffer.from(`-${respErrorOf(error, 'MISCONF')}\r\n`, 'latin1');
    let start = 0;
    const left = this.#ends.map((each, index) => {
      const reply = this.bytes.subarray(start, each >>> 1);
      start = each >>> 1;
      return index >= from && each % 2 === 1 ? refusal : reply;
    });
    this.bytes = Buffer.concat(left);
  }
}

export class SessionOutput {
  /** Bytes that wait for a sync or that the sink has not accepted. */
  unsentBytes = 0;
  readonly #onDrained: () => void;
  /** In order: what waits for a sync or for the sink, or comes after something that does. */
  readonly #queue: TurnReplies[] = [];
  #syncedThrough = 0;
  #sink: RespSink | undefined;
  #isSinkFull = false;
  #hasProgress = false;
  #isEnding = false;
  #isDropped = false;

  /** `onDrained` is called when less waits than before. */
  constructor(onDrained: () => void) {
    this.#onDrained = onDrained;
  }

  /** True if the sink has taken something since the last call. */
  takeProgress(): boolean {
    const hasProgress = this.#hasProgress;
    this.#hasProgress = false;
    return hasProgress;
  }

  writeTo(sink: RespSink): void {
    assert(this.#sink === undefined, 'a session has one sink');
    this.#sink = sink;
    this.#pump();
  }

  /** With a number above 0 the replies wait until the log is synced up to it. */
  write(turn: TurnReplies, number: number): void {
    if (this.#isDropped || turn.bytes.length === 0) return;
    const isFree = this.#queue.length === 0 && !this.#isSinkFull;
    if (number === 0 && isFree && this.#sink !== undefined) {
      this.#hand(this.#sink, turn.bytes);
      return;
    }
    turn.number = number;
    this.#queue.push(turn);
    this.unsentBytes += turn.bytes.length;
  }

  /** Something waits for a sync. */
  get isHolding(): boolean {
    return this.#queue.some(({ number }) => number > this.#syncedThrough);
  }

  synced(number: number): void {
    this.#syncedThrough = number;
    this.#pump();
  }

  /** A sync failed: what waits for it is refused. False when a part of a reply was among it. */
  refuse(error: SynclineError): boolean {
    const first = this.#queue.findIndex(({ number }) => number > this.#syncedThrough);
    const held = first < 0 ? [] : this.#queue.slice(first);
    if (held.some(({ hasPart }) => hasPart)) return false;
    for (const turn of held) {
      this.unsentBytes -= turn.bytes.length;
      turn.refuse(error);
      turn.number = 0;
      this.unsentBytes += turn.bytes.length;
    }
    this.#pump();
    return true;
  }

  /** The connection is closed after what waits. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#endIfSent();
  }

  drop(): void {
    this.#isDropped = true;
    this.#queue.length = 0;
    this.unsentBytes = 0;
  }

  #hand(sink: RespSink, bytes: Uint8Array): void {
    this.#hasProgress = true;
    if (!sink.write(bytes)) this.#waitForSink(sink);
  }

  #waitForSink(sink: RespSink): void {
    this.#isSinkFull = true;
    sink.drained().then(
      () => {
        this.#isSinkFull = false;
        this.#pump();
      },
      () => this.drop(), // the session is notified by the signal `gone`
    );
  }

  #pump(): void {
    const sink = this.#sink;
    if (sink === undefined || this.#isDropped) return;
    let taken = 0;
    for (; taken < this.#queue.length && !this.#isSinkFull; taken += 1) {
      const { bytes, number } = this.#queue[taken] as TurnReplies;
      if (number > this.#syncedThrough) break;
      this.unsentBytes -= bytes.length;
      this.#hand(sink, bytes);
    }
    this.#queue.splice(0, taken);
    this.#endIfSent();
    if (taken > 0) this.#onDrained();
  }

  #endIfSent(): void {
    if (this.#isEnding && this.#queue.length === 0 && !this.#isSinkFull) this.#sink?.end();
  }
}
