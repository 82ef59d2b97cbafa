// Writes the output to Redis keys: values, hashes and counters, each row exactly once.
//
// A guard key records how much output has been written, so that even increments can be retried safely. In a cluster all
// keys must be in one slot: put a hash tag into the prefix, as in `{totals}:`.
import { inspect } from 'node:util';
import { type OptionNames, SynclineError } from '@syncline/kernel';
import { showKey } from '../state/key.js';
import { checkRedisOptions, type RedisServer } from './redis-connection.js';
import { type Command, guardedSink, toWord } from './redis-guard.js';
import type { OutboxRow, OutboxSink } from './sink.js';

/** Of a value in an error message. */
const SHOWN_LENGTH_MAX = 256;

/** A change to one key. The prefix of the sink is prepended to `key`. */
export type KvWrite =
  | { readonly kind: 'set'; readonly key: string; readonly value: string | Uint8Array }
  | { readonly kind: 'delete'; readonly key: string }
  | {
      readonly kind: 'set-field';
      readonly key: string;
      readonly field: string;
      readonly value: string | Uint8Array;
    }
  | {
      readonly kind: 'increment-field';
      readonly key: string;
      readonly field: string;
      /** A safe integer. */
      readonly by: number;
    };

export interface RedisKvSinkOptions {
  readonly uid: string;
  /** Prepended to every key. The guard is stored at `<prefix>syncline:guard`. */
  readonly prefix: string;
  /** The changes that a row makes. Default: sets its key to the value as JSON; null deletes it. */
  readonly write?: (row: OutboxRow) => readonly KvWrite[];
}

const OPTIONS: OptionNames<RedisKvSinkOptions> = { uid: true, prefix: true, write: true };
const GUARD = 'syncline:guard';

export function redisKvSink(options: RedisKvSinkOptions & RedisServer): OutboxSink {
  checkRedisOptions(options, 'redisKvSink', OPTIONS);
  const { uid, prefix, write = defaultWrite } = options;
  return guardedSink(options, { uid, guardKey: `${prefix}${GUARD}` }, (row) =>
    write(row).map((change) => toCommand(prefix, change)),
  );
}

function defaultWrite({ id, key, value }: OutboxRow): readonly KvWrite[] {
  if (key === undefined)
    throw new SynclineError(
      'bad-record',
      `output ${id} has no key to write to. Use keyBy before this sink, or pass write.`,
    );
  const name = String(key);
  if (value === null) return [{ kind: 'delete', key: name }];
  return [{ kind: 'set', key: name, value: JSON.stringify(value) }];
}

function toCommand(prefix: string, change: KvWrite): Command {
  const key = `${prefix}${change.key}`;
  if (change.key === GUARD)
    throw new SynclineError('bad-record', `the key ${showKey(key)} is reserved for the guard`);
  switch (change.kind) {
    case 'set':
      return ['SET', key, toWord(change.value)];
    case 'delete':
      return ['DEL', key];
    case 'set-field':
      return ['HSET', key, change.field, toWord(change.value)];
    case 'increment-field':
      if (!Number.isSafeInteger(change.by))
        throw new SynclineError('bad-record', `cannot increment by ${change.by}: not an integer`);
      return ['HINCRBY', key, change.field, change.by];
    default:
      throw new SynclineError(
        'bad-record',
        `write returned ${inspect(change).slice(0, SHOWN_LENGTH_MAX)}; expected a change with the kind set, delete, set-field or increment-field`,
      );
  }
}
