// Reads Redis Streams, one partition per stream, without a consumer group: the checkpoint keeps the position.
//
// A position is the id of the last entry read and a checksum of its content. Every read checks in the same MULTI that
// this entry still exists: if it was trimmed, later entries may be gone too, and if it differs, the stream was deleted
// and recreated. So trimming must keep the entry at the position, as `ack: 'trim'` does. Deletions from the middle show
// in `max-deleted-entry-id`, which Redis has had since 7.0.
//
// XREAD is only used to wait for entries. Its reply is ignored, since it does not include the check.
import { type OptionNames, SynclineError } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import { positionLost } from './end-error.js';
import { checkStreams, decodeJson, RecordBatch } from './record-batch.js';
import {
  checkRedisOptions,
  isWrongType,
  RedisConnection,
  type RedisServer,
} from './redis-connection.js';
import type { Source, SourceBatch } from './source.js';

/** The last entry read. `0-0` if the stream ended without entries. */
export interface RedisPosition {
  readonly [name: string]: string | number;
  readonly id: string;
  readonly crc: number;
}

export interface RedisEntry {
  readonly id: string;
  readonly stream: string;
  readonly fields: ReadonlyMap<string, Buffer>;
}

export interface RedisStreamSourceOptions<T> {
  readonly uid: string;
  /** The keys of the streams. Each is a partition. */
  readonly streams: readonly string[];
  /** Converts an entry to a record. Default: the field `value`, parsed as JSON. If it throws, the record is bad. */
  readonly decode?: (entry: RedisEntry) => T;
  /** `trim` removes entries that a committed checkpoint contains (XTRIM MINID). Default `none`. */
  readonly ack?: 'none' | 'trim';
  /** False reads up to the current end of each stream and finishes. Default true: waits for more entries. */
  readonly follow?: boolean;
  /** Accepts entries deleted from the middle (XDEL), which cannot be distinguished from data loss. Default false. */
  readonly allowGaps?: boolean;
}

const OPTIONS: OptionNames<RedisStreamSourceOptions<unknown>> = {
  uid: true,
  streams: true,
  decode: true,
  ack: true,
  follow: true,
  allowGaps: true,
};
const START: RedisPosition = { id: '0-0', crc: 0 };
/** Entries of the first reply. The size of later ones depends on the entries received. */
const FIRST_COUNT = 64;

interface StoredEntry {
  readonly id: string;
  /** Name, value, name, value … */
  readonly fields: readonly Buffer[];
}

export function redisStreamSource<T>(
  options: RedisStreamSourceOptions<T> & RedisServer,
): Source<T, RedisPosition> {
  checkRedisOptions(options, 'redisStreamSource', OPTIONS);
  return new RedisStreamSource(options);
}

class RedisStreamSource<T> implements Source<T, RedisPosition> {
  readonly uid: string;
  readonly isFinite: boolean;
  readonly #options: RedisStreamSourceOptions<T> & RedisServer;
  /** For everything but reading: reads block, so each needs its own connection. */
  readonly #connection: RedisConnection;

  constructor(options: RedisStreamSourceOptions<T> & RedisServer) {
    const { streams, uid } = options;
    checkStreams(uid, streams);
    this.uid = uid;
    this.isFinite = options.follow === false;
    this.#options = options;
    this.#connection = new RedisConnection(options);
  }

  async partitions(): Promise<readonly string[]> {
    return this.#options.streams;
  }

  async check(stream: string, position: RedisPosition): Promise<void> {
    await this.#next(this.#connection, stream, position, 1);
  }

  async *read(
    stream: string,
    from: RedisPosition | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceBatch<T, RedisPosition>> {
    const connection = new RedisConnection(this.#options);
    const close = () => connection.close();
    signal.addEventListener('abort', close);
    try {
      let position = from ?? START;
      let count = FIRST_COUNT;
      // Split only by the records: after a restart the batches are the same, regardless of how replies are split.
      let batch = new RecordBatch<T>();
      for (;;) {
        const entries = await this.#next(connection, stream, position, count);
        const isEnd = entries.length < count;
        for (const [index, entry] of entries.entries()) {
          position = { id: entry.id, crc: crcOf(entry) };
          batch.add(rawOf(entry), () => this.#decode(stream, entry));
          if (!batch.isFull && !(isEnd && index === entries.length - 1)) continue;
          yield batch.toSourceBatch(position);
          batch = new RecordBatch();
        }
        count = countFor(entries);
        if (!isEnd) continue;
        if (batch.count > 0) {
          yield batch.toSourceBatch(position);
          batch = new RecordBatch();
        }
        if (this.isFinite) {
          yield { items: [], position, end: true };
          return;
        }
        await waitForNewer(connection, stream, position);
      }
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }

  async ack(positions: ReadonlyMap<string, RedisPosition>): Promise<void> {
    if (this.#options.ack !== 'trim') return;
    for (const [stream, { id }] of positions) {
      await this.#connection.call('XTRIM', stream, 'MINID', '=', id);
    }
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  /** The entries after a position. Throws `position-lost` if the entry at the position is gone. */
  async #next(
    connection: RedisConnection,
    stream: string,
    position: RedisPosition,
    count: number,
  ): Promise<readonly StoredEntry[]> {
    const { id } = position;
    const [info, at, behind] = await connection.transaction(
      ['XINFO', 'STREAM', stream],
      ['XRANGE', stream, id, id],
      ['XRANGE', stream, `(${id}`, '+', 'COUNT', count],
    );
    const lost = (found: string) =>
      positionLost({ uid: this.uid, partition: stream, position, found });
    if (info instanceof Error) {
      if (isWrongType(info) || info.message.includes('WRONGTYPE')) throw notAStream(stream, info);
      if (id === START.id) return [];
      throw lost('the stream does not exist');
    }
    const facts = factsOf(info);
    const deleted = facts.get('max-deleted-entry-id');
    if (deleted === undefined) throw tooOld(stream);
    if (id !== START.id) {
      const [entry] = entriesOf(at);
      if (entry === undefined) throw lost(describeStream(facts));
      if (crcOf(entry) !== position.crc)
        throw lost('another entry has this id, so the stream was deleted and created again');
      if (this.#options.allowGaps !== true && compareIds(deleted, id) > 0)
        throw lost(
          `entry ${deleted} after it was deleted. If that was intended, set allowGaps: true`,
        );
    }
    return entriesOf(behind);
  }

  #decode(stream: string, { id, fields }: StoredEntry): T {
    const named = new Map<string, Buffer>();
    for (let index = 0; index + 1 < fields.length; index += 2) {
      named.set(String(fields[index]), fields[index + 1] ?? Buffer.alloc(0));
    }
    const { decode } = this.#options;
    if (decode !== undefined) return decode({ id, stream, fields: named });
    const value = named.get('value');
    if (value === undefined) {
      const names = [...named.keys()].slice(0, 5).join(', ');
      throw new Error(`entry ${id} has no field "value", only ${names}; pass decode to read it`);
    }
    return decodeJson<T>(value);
  }
}

async function waitForNewer(
  connection: RedisConnection,
  stream: string,
  { id }: RedisPosition,
): Promise<void> {
  const blockMs = streamsLimits.redisBlockMs.value;
  await connection.call('XREAD', 'COUNT', 1, 'BLOCK', blockMs, 'STREAMS', stream, id);
}

/** The number of entries that fill a batch if they are as large as the last ones. */
function countFor(entries: readonly StoredEntry[]): number {
  const { batchItemsMax, batchBytesMax } = streamsLimits;
  if (entries.length === 0) return FIRST_COUNT;
  const bytes = entries.reduce((sum, { fields }) => sum + bytesOf(fields), 0);
  const fitting = Math.floor((batchBytesMax.value * entries.length) / Math.max(1, bytes));
  return Math.max(1, Math.min(batchItemsMax.value, fitting));
}

function bytesOf(fields: readonly Buffer[]): number {
  return fields.reduce((sum, field) => sum + field.length, 0);
}

/** The content for a dead letter: the only value of the entry, or all names and values as JSON. */
function rawOf({ fields }: StoredEntry): Buffer {
  const value = fields[1];
  if (fields.length === 2 && value !== undefined) return value;
  return Buffer.from(JSON.stringify(fields.map((field) => field.toString())));
}

/** Covers names and values with their lengths, so that moving a byte between them changes the checksum. */
function crcOf({ fields }: StoredEntry): number {
  const parts = fields.flatMap((field) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(field.length);
    return [length, field];
  });
  return crc32(Buffer.concat(parts));
}

function entriesOf(reply: unknown): StoredEntry[] {
  if (reply instanceof Error) throw reply;
  const entries = reply as readonly (readonly [Buffer, readonly Buffer[]])[];
  return entries.map(([id, fields]) => ({ id: id.toString(), fields }));
}

function factsOf(info: unknown): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  const list = info as readonly unknown[];
  for (let index = 0; index + 1 < list.length; index += 2) {
    const value = list[index + 1];
    if (Buffer.isBuffer(value) || typeof value === 'number') {
      facts.set(String(list[index]), String(value));
    } else if (Array.isArray(value)) facts.set(String(list[index]), String(value[0]));
  }
  return facts;
}

function describeStream(facts: ReadonlyMap<string, string>): string {
  if (facts.get('length') === '0') return 'the stream is empty: it was trimmed or created again';
  return `the stream has no such entry; it holds ${facts.get('first-entry')} to ${facts.get('last-entry')}`;
}

/** Both halves are 64-bit integers, which JavaScript numbers cannot represent exactly. */
function compareIds(left: string, right: string): number {
  const [leftMs = 0n, leftSeq = 0n] = left.split('-').map(BigInt);
  const [rightMs = 0n, rightSeq = 0n] = right.split('-').map(BigInt);
  if (leftMs !== rightMs) return leftMs < rightMs ? -1 : 1;
  if (leftSeq !== rightSeq) return leftSeq < rightSeq ? -1 : 1;
  return 0;
}

function notAStream(stream: string, cause: Error): SynclineError {
  return new SynclineError('invalid-argument', `the key "${stream}" in Redis is not a stream`, {
    details: { field: 'streams', stream },
    cause,
  });
}

function tooOld(stream: string): SynclineError {
  return new SynclineError(
    'incompatible',
    `cannot read stream "${stream}": this Redis does not report deleted entries. Use Redis 7.0 or later.`,
  );
}
