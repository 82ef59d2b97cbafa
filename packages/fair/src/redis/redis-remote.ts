// `redisRemote`: a tracker that shares its state through Redis alone, without a server of ours.
//
// Each instance runs its own state service on top of Redis, with a single stream. So instances over
// Redis, services over Redis and clients of those services follow one set of rules, and can be mixed.

import { type Clock, type Logger, refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import type {
  ClientStream,
  FairRemote,
  StateStreamListener,
  StateTransport,
} from '../client/fair-remote.js';
import type { FairStore, Namespace } from '../state/fair-store.js';
import { namespaceOf } from '../state/hello-checks.js';
import { checkTrackerName } from '../state/state-options.js';
import { StateService } from '../state/state-service.js';
import type { StateStream } from '../state/stream-outbox.js';
import { refuseUnless } from '../tuning.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';
import type { SyncRequest, SyncResponse } from '../wire/sync-messages.js';
import { checkSource, type RedisSource } from './redis-client.js';
import type { RedisDeps } from './redis-connection.js';
import { createRedisFairStore, type RedisFairStore } from './redis-fair-store.js';

export type RedisRemoteOptions = RedisSource & {
  /** The name under which instances share state: 1 to 64 letters, digits or `._@-`. */
  readonly tracker: string;
  /** How changes of others arrive. Default `pubsub`; `poll` is for a Redis that forbids subscriptions. */
  readonly fanOut?: 'pubsub' | 'poll';
  /** Polling interval for `poll`: changes by others are seen up to this much later. Default 1000. */
  readonly pollIntervalMs?: number;
  /** Replaces the clock of Redis, in whole ms, for evaluations that bring their own. */
  readonly scriptNowMs?: () => number;
};

const REMOTE_OPTIONS = {
  url: true,
  client: true,
  tracker: true,
  fanOut: true,
  pollIntervalMs: true,
  scriptNowMs: true,
} as const;

/** The option `remote` of a tracker. Throws `invalid-argument`, with `details.field`. */
export function redisRemote(options: RedisRemoteOptions): FairRemote {
  const { tracker, fanOut = 'pubsub', pollIntervalMs = 1_000 } = options;
  refuseUnknownOptions(options, 'redisRemote', REMOTE_OPTIONS);
  checkSource(options);
  checkTrackerName(tracker);
  refuseUnless(fanOut === 'pubsub' || fanOut === 'poll', 'fanOut', {
    value: fanOut,
    wanted: "'pubsub' or 'poll'",
  });
  refuseUnless(pollIntervalMs >= 10 && pollIntervalMs <= 60_000, 'pollIntervalMs', {
    value: pollIntervalMs,
    wanted: '10 to 60,000 ms',
  });
  return {
    tracker,
    wire: 'named',
    createTransport: (deps) => openTransport(deps, { ...options, fanOut, pollIntervalMs }),
  };
}

/**
 * Carries messages between the client of a tracker and a state service in the same process, on top of Redis.
 */
function openTransport(deps: RedisDeps, options: RedisRemoteOptions): StateTransport {
  const { scriptNowMs } = options;
  const store = createRedisFairStore(options, scriptNowMs ? { ...deps, scriptNowMs } : deps);
  const service = new StateService({ ...deps, store: namedOnly(store) });
  const { clock, logger } = deps;
  return {
    open: (listener) => new InProcessStream({ clock, logger, store }, service, listener),
    async close() {
      await service.close();
      await store.close();
    },
  };
}

/** Our only stream sends a hello, so the default tracker in the same Redis need not be read. */
function namedOnly(store: RedisFairStore): FairStore {
  return {
    applyDelta: (namespace, seed, deltas, id) => store.applyDelta(namespace, seed, deltas, id),
    joinView: (namespace, seed, cells) => store.joinView(namespace, seed, cells),
    getSeed: (namespace, seed) => store.getSeed(namespace, seed),
    evictBefore: (namespace, seed) =>
      namespace.name === '' ? 0 : store.evictBefore(namespace, seed),
    seeds: (namespace) => (namespace.name === '' ? [] : store.seeds(namespace)),
    forget: (namespace, seed) => store.forget(namespace, seed),
    shared: store.shared,
    watch: (namespace, onChange) =>
      namespace.name === '' ? { close() {} } : store.watch(namespace, onChange),
    close: () => store.close(),
  };
}

// A stream between a client and a state service of the same process: requests are delivered one at a time, as
// the service expects, and answers never within a call of the client.
//
// Two things that a separate service would know are added here: the Welcome carries the clock of Redis, the
// reference for all instances, and a new instance reads from `:active` which window is being written.

/** Queued requests; above this the client has to wait. A flush is two messages by default. */
const QUEUE_MAX = 16;
/** How far our clock may be behind, as a fraction of a window. */
const SKEW_PART_MAX = 0.1;

export interface InProcessStreamDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: RedisFairStore;
}

export class InProcessStream implements ClientStream {
  readonly #deps: InProcessStreamDeps;
  readonly #listener: StateStreamListener;
  readonly #stream: StateStream;
  readonly #requests: SyncRequest['kind'][] = [];
  #sent: Promise<void> = Promise.resolve();
  #namespace: Namespace | undefined;
  /** Wall clock of Redis less ours. */
  #clockOffsetMs = 0;
  #mustDrain = false;
  #isOver = false;

  constructor(deps: InProcessStreamDeps, service: StateService, listener: StateStreamListener) {
    this.#deps = deps;
    this.#listener = listener;
    this.#stream = service.connect({
      write: (message) => {
        this.#later(() => listener.onMessage(this.#withRedisTime(decodeSyncResponse(message))));
        return true;
      },
      end: (error) => this.#later(() => this.#end(error)),
    });
  }

  send(request: SyncRequest): boolean {
    if (request.kind === 'hello') this.#namespace = namespaceOf(request.tracker, request.config);
    const message = encodeSyncRequest(request);
    this.#requests.push(request.kind);
    this.#sent = this.#sent.then(() => this.#deliver(request.kind, message));
    this.#mustDrain ||= this.#requests.length >= QUEUE_MAX;
    return !this.#mustDrain;
  }

  end(): void {
    this.#sent = this.#sent.then(() => {
      this.#stream.closed();
      this.#end(undefined);
    });
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.closed();
  }

  async #deliver(kind: SyncRequest['kind'], message: Uint8Array): Promise<void> {
    if (!this.#isOver && kind === 'hello') await this.#compareWithRedis();
    if (!this.#isOver) await this.#stream.receive(message);
    this.#requests.shift();
    if (!this.#mustDrain || this.#requests.length > 0) return;
    this.#mustDrain = false;
    if (!this.#isOver) this.#listener.onDrain();
  }

  #later(callback: () => void): void {
    void this.#afterThisCall(callback);
  }

  async #afterThisCall(callback: () => void): Promise<void> {
    await Promise.resolve();
    if (!this.#isOver) callback();
  }

  #end(error: SynclineError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.onEnd(error);
  }

  /** If Redis does not answer, neither does it to the hello that follows. */
  async #compareWithRedis(): Promise<void> {
    const { clock, store } = this.#deps;
    try {
      this.#clockOffsetMs = (await store.redisNowMs()) - clock.nowMs();
      if (this.#namespace !== undefined) await this.#readActive(this.#namespace);
    } catch (thrown) {
      if (!this.#isOver) this.#stream.closed();
      this.#end(SynclineError.from(thrown));
    }
  }

  /**
   * A new instance reads which window the others write; the service then loads it with the one before. If that
   * window starts well after our own time, our clock is behind: outcomes would go to a window that no one else reads.
   */
  async #readActive(namespace: Namespace): Promise<void> {
    const { clock, logger, store } = this.#deps;
    const active = await store.activeSeed(namespace);
    if (active === undefined) return;
    const { windowMs } = namespace;
    const behindMs = Number(active) - clock.nowMs();
    if (behindMs > SKEW_PART_MAX * windowMs) {
      const fields = {
        slice: 'fair',
        tracker: namespace.name,
        activeSeed: String(active),
        behindMs,
      };
      logger.warn(
        'other instances already write to a later window; the clock of this host is slow',
        fields,
      );
    }
  }

  #withRedisTime(response: SyncResponse): SyncResponse {
    const { welcome } = response;
    if (welcome === undefined) return response;
    const serverTimeMs = Math.round(welcome.serverTimeMs + this.#clockOffsetMs);
    return { ...response, welcome: { ...welcome, serverTimeMs } };
  }
}
