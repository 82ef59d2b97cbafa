// The state service: shared cells for instances that throttle together. A core without I/O: encoded messages
// come in through streams, encoded messages go out through sinks, and time and randomness are ports.
//
//   ServiceStream ─ decode, order, refuse ─┬─ DefaultNamespace (never said hello)
//                                          └─ TrackerRegistry ─ NamedTracker (said hello)
//   both: FairStore ─ Applied ─▶ SeedMirror ─ BroadcastHub ─ rounds, snapshots ─▶ StreamOutbox ─▶ sink
//
// F15  Default and named streams, and two trackers, never see each other's cells.
import { SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import { AnswerPace } from './answer-pace.js';
import { DefaultNamespace } from './default-namespace.js';
import { describeHub, type NamespaceFacts } from './namespace-facts.js';
import { RefusalLog, ServiceStream, type ServiceStreamDeps } from './service-stream.js';
import {
  DEFAULT_LABEL,
  DEFAULT_SETTINGS,
  type StateServiceDeps,
  type StateServiceOptions,
} from './state-options.js';
import { type StateStream, StreamOutbox, type StreamSink } from './stream-outbox.js';
import { TrackerRegistry } from './tracker-registry.js';

export interface StateServiceStatus {
  readonly streams: number;
  readonly streamsMax: number;
  readonly trackers: number;
  /** False while a shared store is unreachable: streams are ended and hellos refused. */
  readonly isReachable: boolean;
}

export interface StateServiceFacts extends StateServiceStatus {
  /** The default tracker first, under the name `default`. */
  readonly namespaces: readonly NamespaceFacts[];
}

export class StateService {
  readonly #deps: ServiceStreamDeps;
  readonly #streams = new Set<ServiceStream>();
  readonly #reachability: { close(): void } | undefined;
  #isReachable = true;
  #isClosed = false;

  constructor(deps: StateServiceDeps, options: StateServiceOptions = {}) {
    const settings = { ...DEFAULT_SETTINGS, ...options };
    const shared = { ...deps, pace: new AnswerPace(deps.clock) };
    this.#deps = {
      ...deps,
      defaults: new DefaultNamespace(shared, settings),
      registry: new TrackerRegistry(shared, settings),
      refusals: new RefusalLog(deps),
      checkReachable: () => this.#checkReachable(),
      onEnd: (stream) => this.#streams.delete(stream),
    };
    this.#reachability = deps.store.shared?.onReachable((isReachable) =>
      this.#setReachable(isReachable),
    );
  }

  /** A stream of a client. If there are too many, the returned stream has already ended. */
  connect(sink: StreamSink): StateStream {
    const stream = new ServiceStream(this.#deps, new StreamOutbox(sink));
    const { value: streamsMax } = fairLimits.streamsMax;
    const hasRoom = this.#streams.size < streamsMax;
    this.#streams.add(stream);
    if (this.#isClosed) stream.end(closedError());
    else if (!hasRoom) stream.end(tooManyStreams(streamsMax));
    return stream;
  }

  status(): StateServiceStatus {
    return {
      streams: this.#streams.size,
      streamsMax: fairLimits.streamsMax.value,
      trackers: this.#deps.registry.trackers.size,
      isReachable: this.#isReachable,
    };
  }

  /** A description of the state: the `limit` highest cells per namespace. */
  describe(limit: number): StateServiceFacts {
    const { defaults, registry, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    const named = Array.from(registry.trackers, ([name, { hub, config }]) =>
      describeHub({ name, config, hub }, limit, nowMs),
    );
    const shown = { name: DEFAULT_LABEL, config: undefined, hub: defaults.hub };
    const plain = describeHub(shown, limit, nowMs);
    return { ...this.status(), namespaces: [plain, ...named] };
  }

  /** Ends all streams. The store stays open: the caller owns it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reachability?.close();
    this.#endAll(closedError());
    this.#deps.registry.close();
    this.#deps.defaults.close();
  }

  #checkReachable(): void {
    if (!this.#isReachable) throw lostStore();
  }

  #setReachable(isReachable: boolean): void {
    if (isReachable === this.#isReachable) return;
    this.#isReachable = isReachable;
    this.#deps.logger.info('reachability of the shared fair store changed', { isReachable });
    if (isReachable) this.#deps.defaults.reload();
    else this.#endAll(lostStore());
    if (!isReachable) this.#deps.registry.close();
  }

  #endAll(error: SynclineError): void {
    for (const stream of [...this.#streams]) stream.end(error);
  }
}

function tooManyStreams(streamsMax: number): SynclineError {
  const text = `this service already has ${streamsMax} streams, which is the limit. Close some, or run another service over Redis.`;
  const details = { limit: 'streamsMax', limitValue: streamsMax };
  return new SynclineError('limit-exceeded', text, { details });
}

function closedError(): SynclineError {
  return new SynclineError('unavailable', 'the state service is shutting down. Reconnect.');
}

function lostStore(): SynclineError {
  const text = 'the store of the shared state is unreachable. Reconnect; it may be back soon.';
  return new SynclineError('unavailable', text);
}
