// One connection to Redis that is either ready or closed.
//
// By default ioredis reconnects by itself, queues commands in the meantime and resends interrupted ones. After a lost
// connection, however, the position or the guard must be checked again, so all of this is disabled: the first failure
// closes the connection, and the next call opens another one.
import { createHash } from 'node:crypto';
import { refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import { Redis, type RedisOptions } from 'ioredis';
import { streamsLimits } from '../limits.js';
import { optionMissing } from './end-error.js';

/** Settings that the adapters rely on. Not a `Pick`: the options of ioredis 5 have no `protocol`. */
export type RedisSettings = Omit<RedisOptions, 'replyMapping'>;

/** The address of Redis 7.0 or later. */
export type RedisServer =
  | {
      /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
      readonly url: string;
    }
  | {
      /** Creates a client, for options that a URL cannot express. Spread `settings` last. */
      readonly client: (settings: RedisSettings) => Redis;
    };

/** Throws `invalid-argument`. `own` names the options that a source or sink has besides the server. */
export function checkRedisOptions(options: RedisServer, where: string, own: object): void {
  refuseUnknownOptions(options, where, { ...own, url: true, client: true });
  if (!('url' in options) && !('client' in options))
    throw optionMissing(where, 'url', 'as in redis://127.0.0.1:6379');
}

export type RedisArgument = string | number | Buffer;

export interface RedisScript {
  readonly text: string;
  /** The argument of EVALSHA. */
  readonly sha1: string;
}

export function defineScript(text: string): RedisScript {
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

export class RedisConnection {
  readonly #server: RedisServer;
  #client: Promise<Redis> | undefined;

  constructor(server: RedisServer) {
    if ('url' in server && !/^rediss?:\/\/./.test(server.url)) {
      throw new SynclineError(
        'invalid-argument',
        'the URL of Redis must begin with redis:// or rediss://, as in redis://127.0.0.1:6379',
        { details: { field: 'url' } },
      );
    }
    this.#server = server;
  }

  /** Resolves to the reply, with strings as buffers. */
  async call(command: string, ...args: readonly RedisArgument[]): Promise<unknown> {
    const [reply] = await this.#send([[command, ...args]]);
    return reply;
  }

  /** Runs the commands in one MULTI. If Redis rejects a command, its reply in the list is an error. */
  async transaction(...commands: readonly (readonly RedisArgument[])[]): Promise<unknown[]> {
    const replies = await this.#send([['MULTI'], ...commands, ['EXEC']]);
    return replies.at(-1) as unknown[];
  }

  /** Runs a script by its hash, or by its text if Redis does not know it. */
  async script(
    { sha1, text }: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await this.call('EVALSHA', sha1, ...rest);
    } catch (thrown) {
      if (!(thrown instanceof SynclineError) || !thrown.message.includes('NOSCRIPT')) throw thrown;
      return await this.call('EVAL', text, ...rest);
    }
  }

  /** Pending calls fail. The next call connects again. */
  close(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.then(
      (open) => open.disconnect(),
      () => undefined,
    );
  }

  async #send(commands: readonly (readonly RedisArgument[])[]): Promise<unknown[]> {
    this.#client ??= this.#connect();
    const connecting = this.#client;
    try {
      const client = await connecting;
      const calls = commands.map(([name, ...args]) => client.callBuffer(String(name), args));
      const replies = await Promise.allSettled(calls);
      return replies.map((reply) => {
        if (reply.status === 'fulfilled') return reply.value;
        throw reply.reason;
      });
    } catch (thrown) {
      if (thrown instanceof Error && thrown.name === 'ReplyError') throw refusal(thrown);
      if (this.#client === connecting) this.close();
      if (thrown instanceof SynclineError) throw thrown;
      throw unreachable(thrown);
    }
  }

  async #connect(): Promise<Redis> {
    const settings: RedisSettings = {
      protocol: 2,
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: streamsLimits.redisConnectTimeoutMs.value,
      commandTimeout: streamsLimits.redisCommandTimeoutMs.value,
      retryStrategy: () => null,
    };
    const server = this.#server;
    const client = 'url' in server ? new Redis(server.url, settings) : server.client(settings);
    let reason: unknown;
    client.on('error', (error: Error) => {
      reason = error;
    });
    try {
      await client.connect();
      return client;
    } catch (thrown) {
      client.disconnect();
      // ioredis rejects with "Connection is closed"; the preceding event has the reason.
      if (reason instanceof Error && reason.name === 'ReplyError') throw refusal(reason);
      throw unreachable(reason ?? thrown);
    }
  }
}

function unreachable(thrown: unknown): SynclineError {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new SynclineError('unavailable', `cannot reach Redis (${why})`, {
    outcome: 'unknown',
    cause: thrown,
  });
}

/** An error reply from Redis itself, so nothing was applied. */
function refusal(thrown: Error): SynclineError {
  const { message } = thrown;
  if (/^(NOAUTH|WRONGPASS|NOPERM)\b/.test(message)) {
    const advice = 'Check user, password and permissions.';
    return new SynclineError('unauthenticated', `Redis refused access (${message}). ${advice}`, {
      cause: thrown,
    });
  }
  const isTemporary =
    /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|MISCONF|NOREPLICAS)\b/.test(
      message,
    );
  return new SynclineError('unavailable', `Redis refused a command: ${message}`, {
    retryable: isTemporary,
    cause: thrown,
  });
}

export function isWrongType(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.message.includes('WRONGTYPE');
}
