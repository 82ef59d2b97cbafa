// One stream, from its first message to its end. It belongs to the default tracker until its hello, which
// must be its first message; a silent client receives the default tracker, too.
//
// Messages are handled one after another: when the store answers with a promise, the next one waits. A
// message that is refused ends the stream, and nothing of it was applied.
//
// F10  A refused message leaves cells, sequence numbers and broadcasts untouched.
import { type Clock, type Logger, SynclineError, unreachable } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import { decodeSyncRequest } from '../wire/sync-codec.js';
import type { Hello, SyncRequest } from '../wire/sync-messages.js';
import type { DefaultNamespace } from './default-namespace.js';
import { type MaybePromise, whenDone } from './fair-store.js';
import { checkHello } from './hello-checks.js';
import type { Member, NamedTracker } from './named-tracker.js';
import { DEFAULT_LABEL, type StateServiceDeps } from './state-options.js';
import type { StateStream, StreamOutbox } from './stream-outbox.js';
import type { TrackerRegistry } from './tracker-registry.js';

const DECODING = { elementsMax: fairLimits.elementsPerMessageMax.value };

export interface ServiceStreamDeps extends StateServiceDeps {
  readonly defaults: DefaultNamespace;
  readonly registry: TrackerRegistry;
  readonly refusals: RefusalLog;
  /** Throws `unavailable` while the store is unreachable. */
  checkReachable(): void;
  onEnd(stream: ServiceStream): void;
}

type Place =
  | { readonly kind: 'silent' }
  | { readonly kind: 'default' }
  | { readonly kind: 'greeting'; readonly tracker: string }
  | { readonly kind: 'named'; readonly tracker: NamedTracker; readonly member: Member };

export class ServiceStream implements StateStream {
  readonly #deps: ServiceStreamDeps;
  readonly #outbox: StreamOutbox;
  #place: Place = { kind: 'silent' };
  /** The message in flight, when it waits for the store. */
  #busy: Promise<void> | undefined;

  constructor(deps: ServiceStreamDeps, outbox: StreamOutbox) {
    this.#deps = deps;
    this.#outbox = outbox;
    deps.defaults.hub.join(outbox);
  }

  receive(message: Uint8Array): MaybePromise<void> {
    if (this.#busy !== undefined) return this.#wait(this.#busy.then(() => this.#handle(message)));
    const handled = this.#handle(message);
    return handled instanceof Promise ? this.#wait(handled) : undefined;
  }

  drained(): void {
    if (!this.#outbox.isBehind || this.#outbox.isEnded) return;
    if (this.#place.kind === 'named') this.#place.tracker.hub.drained(this.#outbox);
    else if (this.#place.kind === 'greeting') this.#outbox.drained();
    else this.#deps.defaults.hub.drained(this.#outbox);
  }

  closed(): void {
    this.#leave();
    this.#outbox.abandon();
    this.#deps.onEnd(this);
  }

  end(error: SynclineError): void {
    this.#leave();
    this.#outbox.end(error);
    this.#deps.onEnd(this);
  }

  #wait(handled: Promise<void>): Promise<void> {
    const busy = handled.then(() => {
      if (this.#busy === busy) this.#busy = undefined;
    });
    this.#busy = busy;
    return busy;
  }

  #handle(message: Uint8Array): MaybePromise<void> {
    if (this.#outbox.isEnded) return undefined;
    try {
      const receivedAtMs = this.#deps.clock.monotonicMs();
      this.#deps.checkReachable();
      const handled = this.#dispatch(decodeSyncRequest(message, DECODING), receivedAtMs);
      if (!(handled instanceof Promise)) return undefined;
      return handled.catch((thrown: unknown) => this.#refuse(thrown));
    } catch (thrown) {
      return this.#refuse(thrown);
    }
  }

  #dispatch(request: SyncRequest, receivedAtMs: number): MaybePromise<void> {
    const place = this.#place;
    switch (request.kind) {
      case 'hello':
        return this.#greet(request);
      case 'view-upload':
        if (place.kind !== 'named') throw notGreeted('view_upload');
        return place.tracker.receiveView(place.member, request);
      case 'delta-update':
        if (place.kind === 'named')
          return place.tracker.receiveDelta(place.member, request, receivedAtMs);
        this.#place = { kind: 'default' };
        return this.#deps.defaults.receive(this.#outbox, request, receivedAtMs);
      case 'state-request':
        if (place.kind === 'named')
          return place.tracker.receiveStateRequest(place.member, request.seed);
        this.#place = { kind: 'default' };
        return this.#deps.defaults.receive(this.#outbox, request, receivedAtMs);
      default:
        return unreachable(request);
    }
  }

  #greet(hello: Hello): MaybePromise<void> {
    const { defaults, registry } = this.#deps;
    if (this.#place.kind !== 'silent') {
      const text = 'hello is not the first message of this stream; open another stream for it';
      throw new SynclineError('invalid-argument', text, { details: { field: 'hello' } });
    }
    checkHello(hello);
    defaults.hub.leave(this.#outbox);
    this.#place = { kind: 'greeting', tracker: hello.tracker };
    const greeted = registry.greet(hello);
    return whenDone(greeted, (tracker) => {
      if (this.#outbox.isEnded) return;
      this.#deps.checkReachable();
      const stream = { outbox: this.#outbox, end: (error: SynclineError) => this.end(error) };
      this.#place = { kind: 'named', tracker, member: tracker.join(hello, stream) };
    });
  }

  #refuse(thrown: unknown): void {
    const error = SynclineError.from(thrown);
    const { metrics, logger, refusals } = this.#deps;
    const tracker = this.#label();
    if (this.#place.kind === 'greeting' && error.code !== 'unavailable')
      refusals.refused(this.#place.tracker, error);
    metrics.add('syncline_fair_rejected_messages_total', 1, { tracker, reason: error.code });
    logger.debug('message refused, stream ended', { tracker, code: error.code });
    this.end(error);
  }

  #label(): string {
    const { labels } = this.#deps.registry;
    if (this.#place.kind === 'named') return labels.labelOf(this.#place.tracker.namespace.name);
    if (this.#place.kind === 'greeting') return labels.knownLabelOf(this.#place.tracker);
    return DEFAULT_LABEL;
  }

  #leave(): void {
    if (this.#place.kind === 'named') this.#place.tracker.leave(this.#place.member);
    else this.#deps.defaults.hub.leave(this.#outbox);
    this.#place = { kind: 'default' };
  }
}

function notGreeted(field: string): SynclineError {
  const text = `${field} arrived before hello; only streams that begin with hello may send it`;
  return new SynclineError('invalid-argument', text, { details: { field } });
}

// Logs that instances of a tracker are refused. They retry every 30 s, and anyone may send a hello, so it is
// one line per tracker and minute; the metric counts all.

const INTERVAL_MS = 60_000;

export class RefusalLog {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  readonly #toldAtMs = new Map<string, number>();

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    this.#deps = deps;
  }

  refused(tracker: string, { code, message, details }: SynclineError): void {
    const { clock, logger } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - (this.#toldAtMs.get(tracker) ?? -INTERVAL_MS) < INTERVAL_MS) return;
    if (this.#toldAtMs.size >= fairLimits.trackersMax.value) this.#toldAtMs.clear();
    this.#toldAtMs.set(tracker, nowMs);
    logger.warn('an instance was refused; it decides on its own', {
      tracker,
      code,
      field: details['field'],
      reason: message,
    });
  }
}
