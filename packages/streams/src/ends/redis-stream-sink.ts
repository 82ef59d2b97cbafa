// Appends the output to a Redis Stream, each row exactly once, with the id `<epoch>-<number of the row>`.
//
// The stream belongs to one sink of one pipeline. Consumers may read and trim it; an XADD by another client is detected
// before the next row is written.
import { type OptionNames, SynclineError } from '@syncline/kernel';
import { checkRedisOptions, type RedisServer } from './redis-connection.js';
import { guardedSink, toWord } from './redis-guard.js';
import type { OutboxRow, OutboxSink } from './sink.js';

export interface RedisStreamSinkOptions {
  readonly uid: string;
  /** The key of the stream. The guard is stored at `{<stream>}:syncline`. */
  readonly stream: string;
  /** Names and values of an entry. Default: `id`, the stable output id, and `value`, as JSON. */
  readonly fields?: (row: OutboxRow) => Readonly<Record<string, string | Uint8Array>>;
}

const OPTIONS: OptionNames<RedisStreamSinkOptions> = { uid: true, stream: true, fields: true };

export function redisStreamSink(options: RedisStreamSinkOptions & RedisServer): OutboxSink {
  checkRedisOptions(options, 'redisStreamSink', OPTIONS);
  const { uid, stream, fields = defaultFields } = options;
  const keys = { uid, guardKey: guardKeyOf(stream), streamKey: stream };
  return guardedSink(options, keys, (row, epoch, n) => {
    const words = Object.entries(fields(row)).flatMap(([name, value]) => [name, toWord(value)]);
    if (words.length === 0) throw noFields(uid, row);
    return [['XADD', stream, `${epoch}-${n}`, ...words]];
  });
}

function defaultFields({ id, value }: OutboxRow): Readonly<Record<string, string>> {
  return { id, value: JSON.stringify(value) };
}

/** In a cluster both keys must be in one slot, which the part in braces determines. */
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
