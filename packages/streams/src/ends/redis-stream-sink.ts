// Appends the output to a Redis Stream, each row once: its id is `<epoch>-<number of the row>`.
//
// The stream belongs to one sink of one pipeline. Consumers may read and trim it; a foreign XADD is noticed
// before the next row is written.
import { SynclineError } from '@syncline/kernel';
import { RedisConnection, type RedisServer } from './redis-connection.js';
import { RedisGuard } from './redis-guard.js';
import type { OutboxRow, OutboxSink } from './sink.js';

export interface RedisStreamSinkOptions {
  readonly uid: string;
  /** The key of the stream. The guard lies beside it, in `{<stream>}:syncline`. */
  readonly stream: string;
  /** Names and values of an entry. Default: `id`, the stable output id, and `value`, as JSON. */
  readonly fields?: (row: OutboxRow) => Readonly<Record<string, string | Uint8Array>>;
}

export function redisStreamSink(options: RedisStreamSinkOptions & RedisServer): OutboxSink {
  const { uid, stream, fields = defaultFields } = options;
  const connection = new RedisConnection(options);
  const guard = new RedisGuard({
    uid,
    connection,
    guardKey: guardKeyOf(stream),
    streamKey: stream,
  });
  return {
    kind: 'outbox',
    uid,
    contract: 'idempotent',
    mark: () => guard.mark(),
    claim: (fence) => guard.claim(fence),
    deliver: (part, fence) =>
      guard.deliver(part, fence, (row, n) => {
        const words = Object.entries(fields(row)).flatMap(([name, value]) => [name, toWord(value)]);
        if (words.length === 0) throw noFields(uid, row);
        return [['XADD', stream, `${part.epoch}-${n}`, ...words]];
      }),
    close: async () => connection.close(),
  };
}

function defaultFields({ id, value }: OutboxRow): Readonly<Record<string, string>> {
  return { id, value: JSON.stringify(value) };
}

function toWord(value: string | Uint8Array): string | Buffer {
  return typeof value === 'string' ? value : Buffer.from(value);
}

/** In a cluster both keys must lie in one slot, which the part in braces decides. */
function guardKeyOf(stream: string): string {
  if (/\{[^}]+\}/.test(stream)) return `${stream}:syncline`;
  if (!/[{}]/.test(stream) && stream !== '') return `{${stream}}:syncline`;
  throw new SynclineError(
    'invalid-argument',
    `cannot use ${JSON.stringify(stream)} as a stream: braces must enclose a hash tag, as in {orders}:out`,
    { details: { field: 'stream' } },
  );
}

function noFields(uid: string, row: OutboxRow): SynclineError {
  return new SynclineError('bad-record', `sink "${uid}": fields() returned none for ${row.id}`);
}
