// Published changes from Redis, over their own connection. It may break at any time, and messages published in
// the meantime are lost: listeners are notified when they can rely on it and when not, and repair by reading.
//
// An idle connection can be dead without notice, so it is pinged every few seconds.
import type { Timer } from '@syncline/kernel';
import type { Redis } from 'ioredis';
import { createClient, type RedisSource } from './redis-client.js';
import type { RedisDeps } from './redis-connection.js';

const PING_INTERVAL_MS = 2_000;

export interface SubscriptionListener {
  onMessage(channel: string, message: Buffer): void;
  /** From here on nothing is missed, until `onLost`. */
  onLive(): void;
  onLost(): void;
  /** Redis does not allow it: no changes will arrive, unless `onLive` is called. */
  onRefused(): void;
}

export class RedisSubscriber {
  readonly #deps: RedisDeps;
  readonly #client: Redis;
  readonly #listeners = new Map<string, SubscriptionListener>();
  #pingTimer: Timer | undefined;
  #hasAnswered = true;

  constructor(deps: RedisDeps, source: RedisSource) {
    this.#deps = deps;
    this.#client = createClient(source, deps.random);
    this.#client.on('ready', () => {
      for (const [pattern, listener] of this.#listeners) void this.#begin(pattern, listener);
    });
    this.#client.on('close', () => {
      for (const listener of this.#listeners.values()) listener.onLost();
    });
    this.#client.on('error', (error: Error) => {
      deps.logger.debug('subscription to Redis failed', { slice: 'fair', error: error.message });
    });
    this.#client.on('pmessageBuffer', (pattern: string, channel: Buffer, message: Buffer) => {
      this.#listeners.get(String(pattern))?.onMessage(channel.toString('latin1'), message);
    });
    this.#armPing();
  }

  /** One listener per pattern. */
  listen(pattern: string, listener: SubscriptionListener): { close(): void } {
    this.#listeners.set(pattern, listener);
    if (this.#client.status === 'ready') void this.#begin(pattern, listener);
    return {
      close: () => {
        if (this.#listeners.get(pattern) !== listener) return; // already closed; the pattern may belong to another listener now
        this.#listeners.delete(pattern);
        if (this.#client.status === 'ready') this.#client.punsubscribe(pattern).catch(() => {});
      },
    };
  }

  close(): void {
    this.#pingTimer?.cancel();
    this.#listeners.clear();
    this.#client.disconnect();
  }

  #armPing(): void {
    this.#pingTimer = this.#deps.clock.setTimer(PING_INTERVAL_MS, () => this.#ping(), {
      unref: true,
    });
  }

  #ping(): void {
    this.#armPing();
    if (this.#client.status !== 'ready') {
      this.#hasAnswered = true; // checked again on a new connection
      return;
    }
    if (!this.#hasAnswered) {
      this.#hasAnswered = true;
      this.#client.disconnect(true);
      return;
    }
    this.#hasAnswered = false;
    this.#client.ping().then(
      () => {
        this.#hasAnswered = true;
      },
      () => {}, // the connection broke, which it reports itself
    );
  }

  async #begin(pattern: string, listener: SubscriptionListener): Promise<void> {
    try {
      await this.#client.psubscribe(pattern);
    } catch (thrown) {
      if (!(thrown instanceof Error) || thrown.name !== 'ReplyError') return; // it closes; `ready` starts over
      const error = thrown.message;
      const text = 'Redis refused a subscription; polling for changes instead';
      this.#deps.logger.warn(text, { slice: 'fair', error });
      if (this.#listeners.get(pattern) === listener) listener.onRefused();
      return;
    }
    if (this.#listeners.get(pattern) === listener) listener.onLive();
  }
}
