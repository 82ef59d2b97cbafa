// Reads NATS JetStream, one partition per stream, in the order of its sequence numbers.
//
// A position is the creation time of the stream and the sequence number of the last message read. A consumer without
// acknowledgements delivers the messages after it, and their sequence numbers must be consecutive: a gap means that
// messages were deleted, or lost on the way from the server. A lookup tells which.
//
// Before a batch is passed on, the stream is checked again: if it is still the same one, everything received so far
// came from it. The client does not reconnect by itself: the run starts another read, which checks everything.
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import {
  connect,
  type NatsConnection,
  type NodeConnectionOptions,
  nanos,
} from '@nats-io/transport-node';
import { type OptionNames, refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { positionLost } from './end-error.js';
import { checkStreams, decodeJson, RecordBatch } from './record-batch.js';
import type { Source, SourceBatch } from './source.js';

/** The last message read, or the sequence number before the first message of the stream. */
export interface NatsPosition {
  readonly [name: string]: string;
  readonly created: string;
  /** A decimal number as text, because it may be too large for an exact JSON number. */
  readonly seq: string;
}

export interface NatsRecord {
  readonly stream: string;
  readonly subject: string;
  readonly seq: number;
  /** When the server stored the message. */
  readonly timeMs: number;
  readonly data: Uint8Array;
}

export interface NatsSourceOptions<T> {
  readonly uid: string;
  /** One or more servers of a cluster, such as `nats://127.0.0.1:4222`. */
  readonly servers: string | readonly string[];
  /** The names of the streams. Each is a partition. */
  readonly streams: readonly string[];
  /** Converts a message to a record. Default: its data, parsed as JSON. If it throws, the record is bad. */
  readonly decode?: (message: NatsRecord) => T;
  /** False reads up to the current end of each stream and finishes. Default true: waits for more messages. */
  readonly follow?: boolean;
  /** Accepts messages deleted from the middle, which cannot be distinguished from data loss. Default false. */
  readonly allowGaps?: boolean;
  /** Further options of the client, such as credentials and TLS. */
  readonly connection?: Omit<NodeConnectionOptions, 'servers' | 'reconnect'>;
}

const OPTIONS: OptionNames<NatsSourceOptions<unknown>> = {
  uid: true,
  servers: true,
  streams: true,
  decode: true,
  follow: true,
  allowGaps: true,
  connection: true,
};

/** Messages of the first pull. The size of later ones depends on the messages received. */
const FIRST_COUNT = 64;

export function natsSource<T>(options: NatsSourceOptions<T>): Source<T, NatsPosition> {
  refuseUnknownOptions(options, 'natsSource', OPTIONS);
  return new NatsSource(options);
}

interface Session {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
}

class NatsSource<T> implements Source<T, NatsPosition> {
  readonly uid: string;
  readonly isFinite: boolean;
  readonly #options: NatsSourceOptions<T>;

  constructor(options: NatsSourceOptions<T>) {
    const { streams, uid } = options;
    checkStreams(uid, streams);
    this.uid = uid;
    this.isFinite = options.follow === false;
    this.#options = options;
  }

  async partitions(): Promise<readonly string[]> {
    return this.#options.streams;
  }

  async check(stream: string, position: NatsPosition, signal: AbortSignal): Promise<void> {
    const session = await this.#open(signal);
    try {
      await this.#inspect(session.manager, stream, position);
    } finally {
      await session.connection.close();
    }
  }

  async *read(
    stream: string,
    from: NatsPosition | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceBatch<T, NatsPosition>> {
    const session = await this.#open(signal);
    const close = () => void session.connection.close();
    signal.addEventListener('abort', close);
    try {
      const { created, state } = await this.#inspect(session.manager, stream, from);
      // The oldest messages may have expired before anything was read.
      const start = from ?? { created, seq: String(Math.max(0, state.first_seq - 1)) };
      yield* this.#batches(session, stream, start, state.last_seq);
    } catch (thrown) {
      if (!signal.aborted) throw unreachable(thrown);
    } finally {
      signal.removeEventListener('abort', close);
      await session.connection.close();
    }
  }

  /** Pulls until the session breaks, or up to `endSeq` if the source is finite. */
  async *#batches(
    session: Session,
    stream: string,
    from: NatsPosition,
    endSeq: number,
  ): AsyncGenerator<SourceBatch<T, NatsPosition>> {
    const { connection, manager } = session;
    const { created } = from;
    let seq = safeSeq(from.seq);
    const isEnd = (pending: number) => this.isFinite && (seq >= endSeq || pending === 0);
    const { name, num_pending: pending } = await manager.consumers.add(stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: seq + 1,
      inactive_threshold: nanos(streamsLimits.natsConsumerIdleMs.value),
      mem_storage: true,
      num_replicas: 1,
    });
    if (isEnd(pending)) {
      yield { items: [], position: from, end: true };
      return;
    }
    const consumer = await jetstream(connection).consumers.get(stream, name);
    let count = FIRST_COUNT;
    // Split only by the records: after a restart the batches are the same, regardless of how pulls are split.
    let batch = new RecordBatch<T>();
    for (;;) {
      const pulled = await consumer.fetch({
        max_messages: count,
        expires: streamsLimits.natsPullMs.value,
      });
      let [pulledCount, pulledBytes] = [0, 0];
      for await (const message of pulled) {
        const before = { created, seq: String(seq) };
        if (message.seq !== seq + 1) await this.#checkGap(manager, stream, before, message.seq);
        seq = safeSeq(message.seq);
        const { subject, data, info } = message;
        const timeMs = info.timestampNanos / 1e6;
        batch.add(data, () => this.#decode({ stream, subject, seq, timeMs, data }));
        pulledCount += 1;
        pulledBytes += data.length;
        if (!batch.isFull && info.pending > 0 && !isEnd(info.pending)) continue;
        const position = { created, seq: String(seq) };
        await this.#inspect(manager, stream, position);
        const full = { ...batch.toSourceBatch(position), lagRecords: info.pending };
        yield isEnd(info.pending) ? { ...full, end: true } : full;
        if (isEnd(info.pending)) return;
        batch = new RecordBatch();
      }
      if (connection.isClosed()) throw unreachable(await connection.closed());
      await this.#inspect(manager, stream, { created, seq: String(seq) });
      count = countFor(pulledCount, pulledBytes);
    }
  }

  /** The current stream info. Throws `position-lost` if reading cannot continue after `position`. */
  async #inspect(
    manager: JetStreamManager,
    stream: string,
    position: NatsPosition | null,
  ): Promise<StreamInfo> {
    let info: StreamInfo;
    try {
      info = await manager.streams.info(stream);
    } catch (thrown) {
      if (!(thrown instanceof JetStreamApiError)) throw unreachable(thrown);
      if (thrown.code !== JetStreamApiCodes.StreamNotFound) throw unreachable(thrown);
      if (position !== null) throw this.#lost(stream, position, 'the stream does not exist');
      throw new SynclineError('not-found', `NATS has no stream "${stream}". Create it first.`, {
        details: { stream },
        cause: thrown,
      });
    }
    this.#checkConfig(info);
    if (position === null) return info;
    const { first_seq: firstSeq, last_seq: lastSeq } = info.state;
    const seq = safeSeq(position.seq);
    if (info.created !== position.created)
      throw this.#lost(stream, position, `the stream was recreated at ${info.created}`);
    if (lastSeq < seq)
      throw this.#lost(stream, position, `the stream ends at ${lastSeq}, before the position`);
    if (firstSeq > seq + 1 && this.#options.allowGaps !== true)
      throw this.#lost(stream, position, `the stream begins at ${firstSeq}`);
    return info;
  }

  /** Rejects streams that delete from the middle, because the checks cannot detect their gaps. */
  #checkConfig({ config }: StreamInfo): void {
    if (this.#options.allowGaps === true) return;
    const found =
      (config.retention !== 'limits' && `retention ${config.retention}`) ||
      (config.max_msgs_per_subject > 0 && `max_msgs_per_subject ${config.max_msgs_per_subject}`) ||
      (config.allow_rollup_hdrs && 'allow_rollup_hdrs') ||
      (config.allow_msg_ttl && 'allow_msg_ttl');
    if (!found) return;
    throw new SynclineError(
      'invalid-argument',
      `source "${this.uid}" refuses stream "${config.name}": with ${found} it deletes messages from the middle, ` +
        'which cannot be distinguished from data loss. Change the stream, or accept it with allowGaps: true.',
      { details: { field: 'streams', stream: config.name, found } },
    );
  }

  /** A message was skipped. If the server still has it, it was only lost in this session. */
  async #checkGap(
    manager: JetStreamManager,
    stream: string,
    position: NatsPosition,
    seq: number,
  ): Promise<void> {
    const missing = safeSeq(position.seq) + 1;
    await this.#inspect(manager, stream, position);
    const found = await manager.streams.getMessage(stream, { seq: missing });
    if (found !== null) throw unreachable(new Error(`message ${missing} was not delivered`));
    if (this.#options.allowGaps === true) return;
    const text = `message ${missing} was deleted, and ${seq} follows. If that was intended, set allowGaps: true`;
    throw this.#lost(stream, position, text);
  }

  #decode(message: NatsRecord): T {
    const { decode } = this.#options;
    return decode === undefined ? decodeJson<T>(message.data) : decode(message);
  }

  #lost(stream: string, position: NatsPosition, found: string): SynclineError {
    return positionLost({ uid: this.uid, partition: stream, position, found });
  }

  async #open(signal: AbortSignal): Promise<Session> {
    const { servers, connection: more } = this.#options;
    let connection: NatsConnection;
    try {
      connection = await connect({
        ...more,
        servers: typeof servers === 'string' ? servers : [...servers],
        reconnect: false,
        timeout: streamsLimits.natsConnectTimeoutMs.value,
      });
    } catch (thrown) {
      throw unreachable(thrown);
    }
    try {
      signal.throwIfAborted();
      return { connection, manager: await jetstreamManager(connection) };
    } catch (thrown) {
      await connection.close();
      throw unreachable(thrown);
    }
  }
}

function countFor(count: number, bytes: number): number {
  if (count === 0) return FIRST_COUNT;
  const fitting = Math.floor((streamsLimits.batchBytesMax.value * count) / Math.max(1, bytes));
  return Math.max(1, Math.min(streamsLimits.batchItemsMax.value, fitting));
}

/** The client uses numbers, so above 2^53 it could not distinguish consecutive messages. */
function safeSeq(seq: string | number): number {
  const number = Number(seq);
  if (Number.isSafeInteger(number)) return number;
  throw new SynclineError(
    'bad-record',
    `sequence number ${seq} is beyond 2^53, which cannot be read exactly`,
  );
}

function unreachable(thrown: unknown): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  if (thrown instanceof TypeError) throw thrown; // a bug, not a network error
  const why = thrown instanceof Error ? thrown.message : 'the connection was closed';
  if (/authorization|authentication/i.test(why)) {
    return new SynclineError(
      'unauthenticated',
      `NATS refused access (${why}). Check the credentials.`,
      {
        cause: thrown,
      },
    );
  }
  return new SynclineError('unavailable', `cannot read from NATS (${why})`, { cause: thrown });
}
