// Writes the output to keys of Redis: values, hashes and counters, each row once.
//
// A guard beside the keys says how far the output goes, so that even increments can be repeated safely. In a
// cluster all keys must lie in one slot: put a hash tag into the prefix, as in `{totals}:`.
import { SynclineError } from '@syncline/kernel';
import { showKey } from '../state/key.js';
import { RedisConnection, type RedisServer } from './redis-connection.js';
import { type Command, RedisGuard } from './redis-guard.js';
import type { OutboxRow, OutboxSink } from './sink.js';

/** A change of one key. The prefix of the sink is put in front of `key`. */
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
  /** Stands before every key, and names the guard: `<prefix>syncline:guard`. */
  readonly prefix: string;
  /** The changes that a row makes. Default: sets its key to the value as JSON; null deletes it. */
  readonly write?: (row: OutboxRow) => readonly KvWrite[];
}

const GUARD = 'syncline:guard';

export function redisKvSink(options: RedisKvSinkOptions & RedisServer): OutboxSink {
  const { uid, prefix, write = defaultWrite } = options;
  const connection = new RedisConnection(options);
  const guard = new RedisGuard({ uid, connection, guardKey: `${prefix}${GUARD}` });
  return {
    kind: 'outbox',
    uid,
    contract: 'idempotent',
    mark: () => guard.mark(),
    claim: (fence) => guard.claim(fence),
    deliver: (part, fence) =>
      guard.deliver(part, fence, (row) => write(row).map((change) => toCommand(prefix, change))),
    close: async () => connection.close(),
  };
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
  }
}

function toWord(value: string | Uint8Array): string | Buffer {
  return typeof value === 'string' ? value : Buffer.from(value);
}
