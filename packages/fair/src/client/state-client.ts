// The client of the state service: a thin shell that owns the stream, the timers and the state (see
// client-state.ts), and leaves the messages and the view to an Exchange.
//
// Whether the service is unreachable, slow, wrong or restarted, decisions continue from the view. Pending
// outcomes are bounded by the number of cells, and dropped once none was acknowledged for the retry budget.
//
// F8  `noteOutcome`, `rotated` and `gain` are on the path of requests: they never throw and do no I/O.
import {
  backoffMs,
  type Clock,
  type Logger,
  type Random,
  type SynclineError,
  type Timer,
  unreachable,
} from '@syncline/kernel';
import type { SyncRequest, SyncResponse, Welcome } from '../wire/sync-messages.js';
import { type ClientEvent, type ClientState, hasStream, nextState } from './client-state.js';
import {
  type ClientMetrics,
  type ClientStatus,
  ConnectionLog,
  type Refusal,
  refusalOf,
} from './client-status.js';
import {
  FlushSchedule,
  OutageGain,
  type OutageGainOptions,
  RetryBudget,
  Wakeups,
} from './client-timers.js';
import type { Exchange, ExchangeEvent } from './exchange.js';
import type { ClientStream, StateTransport } from './fair-remote.js';
import { countPending, hasPending, hasUnsent, type SharedView } from './shared-view.js';

const BACKOFF = { initialMs: 100, maxMs: 2_000, jitter: 'full' } as const;
/** People have to fix a configuration, so retrying more often would not help. */
const REFUSED_RETRY_MS = 30_000;
/** How often gauges are set, and an idle tracker checks for the next window. */
const PULSE_MS = 1_000;
/** A clock that is further off, in parts of a window, makes instances use different structures. */
const SKEW_PART_MAX = 0.1;

export interface StateClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: ClientMetrics;
  readonly transport: StateTransport;
  readonly view: SharedView;
  readonly exchange: Exchange;
}

export interface StateClientOptions {
  readonly windowMs: number;
  readonly flushIntervalMs: number;
  readonly retryBudgetMs: number;
  /** When to treat silence as an empty state; undefined if the service always answers. */
  readonly silenceMs: number | undefined;
  readonly gain: OutageGainOptions;
}

export class StateClient {
  readonly #deps: StateClientDeps;
  readonly #options: StateClientOptions;
  readonly #log: ConnectionLog;
  readonly #schedule: FlushSchedule;
  /** For outcomes to be acknowledged. */
  readonly #outcomesBudget: RetryBudget;
  /** For a new stream to become live, so that one that hangs is abandoned. */
  readonly #answerBudget: RetryBudget;
  readonly #gain: OutageGain;
  readonly #wakeups: Wakeups;
  #state: ClientState = 'waiting';
  #stream: ClientStream | undefined;
  #isFull = false;
  #isClosing = false;
  /** We have ended the stream ourselves. */
  #isEnding = false;
  #attempts = 0;
  #receivedAtMs: number | undefined;
  /** Whether the service has sent anything on this stream. */
  #hasReceived = false;
  #refusal: Refusal | undefined;
  /** Fires the event that ends a state after a timeout. */
  #stateTimer: Timer | undefined;
  #pulseTimer: Timer | undefined;

  constructor(deps: StateClientDeps, options: StateClientOptions) {
    const { clock, logger } = deps;
    const { flushIntervalMs, retryBudgetMs, gain } = options;
    this.#deps = deps;
    this.#options = options;
    this.#log = new ConnectionLog(logger);
    this.#schedule = new FlushSchedule(clock, flushIntervalMs, () => this.#flushDue());
    this.#outcomesBudget = new RetryBudget(clock, retryBudgetMs, () => this.#giveUp());
    this.#answerBudget = new RetryBudget(clock, retryBudgetMs, () => this.#on('overdue'));
    this.#gain = new OutageGain(clock, gain);
    this.#wakeups = new Wakeups(clock);
  }

  /** Connects, and stays connected as well as it can, until `close`. */
  start(): void {
    this.#on('retry');
    this.#pulse();
  }

  /** Hot: what an outcome is multiplied by in the view. */
  get gain(): number {
    return this.#gain.factor;
  }

  get isLive(): boolean {
    return this.#state === 'live';
  }

  /** In sync with the service, as far as it has answered: a silent one may not exist. */
  get isConnected(): boolean {
    return this.isLive && this.#hasReceived;
  }

  /** Hot: an outcome was folded into what is pending. */
  noteOutcome(): void {
    this.#outcomesBudget.begin();
    if (this.#state === 'live') this.#schedule.request();
  }

  /** The tracker has moved to another window; what was pending for the last but one is gone. */
  rotated(droppedCells: number): void {
    this.#deps.metrics.dropped('rotated', droppedCells);
    this.#deps.clock.defer(() => this.#fetchNew());
  }

  status(): ClientStatus {
    const { clock, view, exchange } = this.#deps;
    const { epoch, activeInstances } = exchange;
    return {
      connected: this.isConnected,
      epoch,
      activeInstances,
      pendingCells: countPending(view),
      msSinceSync:
        this.#receivedAtMs === undefined ? undefined : clock.monotonicMs() - this.#receivedAtMs,
      gain: this.gain,
      refused: this.#refusal,
    };
  }

  /** Flushes once more, if there is a stream, and ends it. Unacknowledged outcomes are lost. */
  async close(timeoutMs: number): Promise<void> {
    const { clock, view, exchange, metrics, transport } = this.#deps;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    this.#isClosing = true;
    this.#flush();
    await this.#wakeups.until(() => !hasStream(this.#state) || !hasPending(view), deadlineMs);
    metrics.dropped('closed', exchange.dropAll());
    this.#isEnding = true;
    this.#stream?.end();
    await this.#wakeups.until(() => !hasStream(this.#state), deadlineMs);
    this.#on('closed');
    await transport.close();
  }

  #on(event: ClientEvent, error?: SynclineError): void {
    const from = this.#state;
    const to = nextState(from, event);
    if (from === to) return;
    this.#state = to;
    this.#stateTimer?.cancel();
    if (hasStream(from) && !hasStream(to)) this.#leaveStream();
    this.#enter(to, event, error);
    this.#publish();
    this.#wakeups.wake();
  }

  #enter(state: ClientState, event: ClientEvent, error: SynclineError | undefined): void {
    const { silenceMs } = this.#options;
    switch (state) {
      case 'waiting':
        if (!this.#isEnding) this.#log.lost(event, error);
        this.#after(backoffMs(this.#attempts, BACKOFF, this.#deps.random), 'retry');
        this.#attempts += 1;
        return;
      case 'greeting':
        this.#open();
        return;
      case 'syncing':
        if (silenceMs !== undefined) this.#after(silenceMs, 'synced');
        return;
      case 'live':
        this.#attempts = 0;
        this.#refusal = undefined;
        this.#answerBudget.end();
        this.#logConnected();
        this.#flushSoon();
        return;
      case 'refused':
        this.#refusal = refusalOf(error);
        this.#log.refused(error);
        this.#after(REFUSED_RETRY_MS, 'retry');
        return;
      case 'closed':
        this.#stop();
        return;
      default:
        unreachable(state);
    }
  }

  #open(): void {
    const { transport, exchange, metrics } = this.#deps;
    if (this.#log.attempt()) metrics.reconnect();
    this.#isFull = false;
    this.#hasReceived = false;
    this.#answerBudget.restart();
    this.#stream = transport.open({
      onMessage: (response) => this.#receive(response),
      onDrain: () => this.#drained(),
      onEnd: (error) => this.#ended(error),
    });
    this.#handle(exchange.begin(this.#send));
  }

  readonly #send = (request: SyncRequest): void => {
    if (this.#stream?.send(request) === false) this.#isFull = true;
  };

  #receive(response: SyncResponse): void {
    this.#receivedAtMs = this.#deps.clock.monotonicMs();
    const isFirst = !this.#hasReceived;
    this.#hasReceived = true;
    if (isFirst && this.isLive) this.#logConnected();
    this.#handle(this.#deps.exchange.receive(response, this.#send));
  }

  #logConnected(): void {
    if (this.isConnected) this.#log.connected(this.status());
  }

  #handle(events: readonly ExchangeEvent[]): void {
    for (const event of events) {
      if (event.kind === 'acked') this.#acknowledged();
      else if (event.kind === 'snapshot') this.#gain.regained();
      else {
        if (event.kind === 'welcomed') this.#compareClocks(event.welcome);
        this.#on(event.kind);
      }
    }
    if (!hasPending(this.#deps.view)) this.#outcomesBudget.end();
    this.#wakeups.wake();
  }

  #acknowledged(): void {
    if (!hasUnsent(this.#deps.view)) return;
    this.#outcomesBudget.restart();
    this.#flushSoon();
  }

  #drained(): void {
    this.#isFull = false;
    this.#flushSoon();
  }

  /** Immediately while closing, because the caller waits for it. */
  #flushSoon(): void {
    if (this.#isClosing) this.#flush();
    else if (hasUnsent(this.#deps.view)) this.#schedule.request();
  }

  #ended(error: SynclineError | undefined): void {
    this.#stream = undefined;
    const isInvalid = error?.code === 'invalid-argument';
    // The round itself may be invalid; resent, it would end every stream.
    if (isInvalid) this.#deps.exchange.rejectRound();
    const isRefused = error?.code === 'conflict' || (isInvalid && this.#state === 'greeting');
    this.#on(isRefused ? 'refused' : 'ended', error);
  }

  #flushDue(): void {
    this.#deps.view.rotate();
    this.#flush();
    if (this.isLive && this.#options.flushIntervalMs > 0 && hasUnsent(this.#deps.view)) {
      this.#schedule.request();
    }
  }

  #flush(): void {
    const { view, exchange } = this.#deps;
    if (!this.isLive || this.#isFull) return;
    exchange.flush(this.#send);
    if (!hasPending(view)) this.#outcomesBudget.end();
  }

  #fetchNew(): void {
    if (this.#state === 'syncing' || this.#state === 'live') {
      this.#deps.exchange.fetchNew(this.#send);
    }
  }

  /** Nothing was acknowledged for too long: by now the outcomes are outdated. */
  #giveUp(): void {
    if (!hasPending(this.#deps.view)) return;
    this.#deps.metrics.dropped('budget', this.#deps.exchange.dropAll());
    if (this.isLive) this.#on('overdue');
  }

  #leaveStream(): void {
    this.#stream?.cancel();
    this.#stream = undefined;
    this.#schedule.cancel();
    this.#answerBudget.end();
    this.#gain.lost(this.#deps.exchange.activeInstances);
  }

  #after(ms: number, event: ClientEvent): void {
    this.#stateTimer = this.#deps.clock.setTimer(ms, () => this.#on(event), { unref: true });
  }

  #compareClocks(welcome: Welcome | undefined): void {
    if (welcome === undefined) return;
    const skewMs = welcome.serverTimeMs - this.#deps.clock.nowMs();
    this.#deps.metrics.clockSkew(skewMs);
    if (Math.abs(skewMs) > SKEW_PART_MAX * this.#options.windowMs) this.#log.skewed(skewMs);
  }

  #pulse(): void {
    this.#deps.view.rotate();
    this.#publish();
    this.#pulseTimer = this.#deps.clock.setTimer(PULSE_MS, () => this.#pulse(), { unref: true });
  }

  #publish(): void {
    this.#deps.metrics.publish(this.status());
  }

  #stop(): void {
    this.#pulseTimer?.cancel();
    this.#outcomesBudget.cancel();
    this.#answerBudget.cancel();
    this.#gain.regained();
    this.#log.closed();
  }
}
