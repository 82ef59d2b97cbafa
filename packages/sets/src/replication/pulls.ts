// Pulls of this node: one at a time, when something was missed, and now and then to be sure.
//
// The core (puller.ts) knows neither time nor disk. This module drives it: from which peer, in which slices, for how
// long, and what to do about the outcome.
import {
  type Clock,
  type Logger,
  type Metrics,
  type Random,
  SynclineError,
  type Timer,
  type VersionVector,
} from '@syncline/kernel';
import type { SetsState } from '../engine/sets-state.js';
import type { LoopShare, Turns } from '../engine/turns.js';
import { setsLimits } from '../limits.js';
import type { PullCounts, PullOutcome } from '../sets.js';
import type { PullLimits } from './pull-limits.js';
import type { OfferMessage, PullMessage } from './pull-messages.js';
import { PullSchedule, type PullTrigger } from './pull-schedule.js';
import { Puller } from './puller.js';
import { PushCheck, type PushCheckDeps } from './push-check.js';
import type { Repair, RepairCounts, Repairs } from './repairs.js';

export interface PullsDeps extends Pick<PushCheckDeps, 'channel'> {
  readonly state: SetsState;
  readonly turns: Turns;
  readonly loop: LoopShare;
  readonly repairs: Repairs;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits: PullLimits;
  /** False: the peer is not connected. */
  send(peer: number, message: PullMessage): boolean;
  /** Prepares for a large pull: false if it must wait, because this node serves others that load first. */
  yieldToPeers(): boolean;
  /** True: the version covers our own operations that we do not have, and nothing may be pulled. */
  knowsOurLostWrites(version: VersionVector): boolean;
}

export interface PullsOptions {
  readonly intervalMs: number;
}

type GrowingCounts = { -readonly [Key in keyof PullCounts]: PullCounts[Key] };

interface Current {
  readonly peer: number;
  readonly puller: Puller;
  readonly stop: AbortController;
  /** Why it must end early. */
  end: PullOutcome | undefined;
  /** Messages so far. */
  received: number;
  wake: () => void;
}

export class Pulls {
  readonly #deps: PullsDeps;
  readonly #schedule: PullSchedule;
  readonly #pushes: PushCheck;
  readonly #counts = new Map<number, GrowingCounts>();
  /** Peers whose symbols did not decode: they are asked for a listing instead. */
  readonly #wantsListing = new Set<number>();
  #current: Current | undefined;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #session: number;
  #isCaughtUp = false;
  #failure: string | undefined;
  #isStopped = false;
  #isPlanned = false;

  constructor(deps: PullsDeps, options: PullsOptions) {
    this.#deps = deps;
    const { clock, random } = deps;
    this.#schedule = new PullSchedule(options, clock.monotonicMs(), random.float());
    this.#pushes = new PushCheck({ ...deps, version: () => deps.state.version.toVector() });
    this.#session = random.u32();
  }

  /** A pull has succeeded since the start. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  get divergedPeers(): readonly number[] {
    return this.#schedule.divergedPeers;
  }

  /** Why the last pull failed on this side; undefined if it did not. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get counts(): readonly PullCounts[] {
    return [...this.#counts.values()].map((counts) => ({ ...counts }));
  }

  /** A message of a pull of this node was sent or received. */
  countBytes(peer: number, bytes: number): void {
    this.#countsOf(peer).bytes += bytes;
  }

  peerUp(peer: number): void {
    this.#schedule.peerUp(peer, this.#isCaughtUp ? 'connect' : 'start');
    this.#plan();
  }

  peerDown(peer: number): void {
    this.#schedule.peerDown(peer);
    if (this.#current?.peer === peer) this.#endEarly('aborted');
  }

  request(peer: number, trigger: PullTrigger): void {
    this.#schedule.request(peer, trigger);
    this.#pushes.cancel();
    this.#plan();
  }

  requestAny(trigger: PullTrigger): void {
    this.#schedule.requestAny(trigger);
    this.#pushes.cancel();
    this.#plan();
  }

  /** Throws `invalid-argument` for what no honest peer sends; then the pull has ended. */
  receive(peer: number, message: PullMessage): void {
    const current = this.#current;
    if (current?.peer !== peer || current.puller.session !== message.session) return;
    try {
      current.puller.receive(message);
    } catch (thrown) {
      this.#endEarly('corrupt');
      throw thrown;
    }
    current.received += 1;
    current.wake();
  }

  /** Resolves when nothing is running any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#pushes.cancel();
    this.#endEarly('aborted');
    await this.#running;
  }

  #countsOf(peer: number): GrowingCounts {
    const counts = this.#counts.get(peer) ?? {
      peer,
      count: 0,
      bytes: 0,
      added: 0,
      dropped: 0,
      last: undefined,
    };
    this.#counts.set(peer, counts);
    return counts;
  }

  #endEarly(outcome: PullOutcome): void {
    const current = this.#current;
    if (current === undefined) return;
    current.end ??= outcome;
    current.stop.abort();
    current.wake();
  }

  /** Not immediately: the caller may be in the middle of a turn. */
  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#deps.clock.defer(() => {
      this.#isPlanned = false;
      this.#next();
    });
  }

  #next(): void {
    if (this.#isStopped || this.#running !== undefined) return;
    this.#timer?.cancel();
    const { clock, random } = this.#deps;
    const nowMs = clock.monotonicMs();
    const due = this.#schedule.next(nowMs, random.float());
    if (due === undefined) {
      const waitMs = Math.max(1, this.#schedule.dueMs() - nowMs);
      this.#timer = clock.setTimer(waitMs, () => this.#next(), { unref: true });
      return;
    }
    this.#running = this.#pullIfNeeded(...due).finally(() => {
      this.#running = undefined;
      this.#next();
    });
  }

  async #pullIfNeeded(peer: number, trigger: PullTrigger): Promise<void> {
    const isNeeded = trigger !== 'interval' || !(await this.#pushes.deliverEverything());
    if (this.#isStopped) return;
    if (isNeeded) {
      await this.#pull(peer, trigger);
      return;
    }
    const { clock, metrics } = this.#deps;
    metrics.add('syncline_sets_pulls_total', 1, { trigger, outcome: 'skipped' });
    this.#failure = undefined; // what an earlier pull missed is here
    this.#schedule.ended(peer, trigger, 'done', clock.monotonicMs());
  }

  async #pull(peer: number, trigger: PullTrigger): Promise<void> {
    const { clock, metrics, turns } = this.#deps;
    const startMs = clock.monotonicMs();
    const startBytes = this.#countsOf(peer).bytes;
    turns.commitNow(); // a pin is taken between turns
    const { state, limits } = this.#deps;
    this.#session = (this.#session + 1) >>> 0 || 1;
    const send = (message: PullMessage) => {
      if (!this.#deps.send(peer, message)) this.#endEarly('aborted');
    };
    const options = { session: this.#session, listing: this.#wantsListing.has(peer) };
    const puller = new Puller({ state, limits, send }, options);
    const current: Current = {
      peer,
      puller,
      stop: new AbortController(),
      end: undefined,
      received: 0,
      wake: () => {},
    };
    this.#current = current;
    const end = await this.#run(current, startMs).catch((thrown: unknown) => {
      return this.#failed(peer, toSynclineError(thrown));
    });
    // Even if what differs could not be determined.
    const outcome = puller.isDiverged ? 'diverged' : end;
    puller.close();
    this.#current = undefined;
    if (outcome !== 'busy') {
      const isApplied = outcome === 'applied' || outcome === 'nothing';
      const version = state.settledVersion();
      this.#deps.send(peer, { kind: 'done', session: puller.session, isApplied, version });
    }
    metrics.add('syncline_sets_pulls_total', 1, { trigger, outcome });
    const tookMs = clock.monotonicMs() - startMs;
    metrics.observe('syncline_sets_pull_seconds', tookMs / 1000);
    const counts = this.#countsOf(peer);
    counts.count += 1;
    const bytes = counts.bytes - startBytes;
    const { isEqual } = puller;
    counts.last = { trigger, outcome, isEqual, endedAtMs: clock.nowMs(), tookMs, bytes };
    metrics.add('syncline_sets_pull_symbols_total', puller.symbolsCount);
    if (outcome === 'diverged') this.#reportDivergence(peer, puller);
    this.#ended(peer, trigger, outcome);
  }

  #reportDivergence(peer: number, puller: Puller): void {
    const { logger, metrics, state } = this.#deps;
    const { version, liveDots } = state.digestNow();
    metrics.add('syncline_sets_divergence_total');
    logger.error('sets differ from those of a peer at the same version; not repaired', {
      peer,
      version: version.toString(),
      liveDots,
      ...puller.differences(),
    });
  }

  /** Repeats are not logged. */
  #failed(peer: number, { code, message }: SynclineError): 'busy' | 'aborted' | 'failed' {
    const { logger } = this.#deps;
    if (code === 'overloaded') {
      logger.info('pull ended early', { peer, reason: message });
      return 'busy';
    }
    if (code === 'aborted' || code === 'closed') return 'aborted';
    if (message !== this.#failure) logger.warn('pull failed', { peer, code, reason: message });
    this.#failure = message;
    return 'failed';
  }

  #ended(peer: number, trigger: PullTrigger, outcome: PullOutcome): void {
    const { clock } = this.#deps;
    if (outcome === 'corrupt') this.#wantsListing.add(peer);
    else if (outcome === 'applied') this.#wantsListing.delete(peer);
    const isGood = outcome === 'applied' || outcome === 'nothing';
    if (isGood) {
      this.#isCaughtUp = true;
      this.#failure = undefined;
    }
    const isFinal = outcome === 'diverged' || outcome === 'failed';
    const verdict = isGood ? 'done' : isFinal ? outcome : 'busy';
    this.#schedule.ended(peer, trigger, verdict, clock.monotonicMs());
  }

  async #run(current: Current, startMs: number): Promise<PullOutcome> {
    const { turns, repairs, loop } = this.#deps;
    const { puller, stop } = current;
    let repair: Repair | undefined;
    await turns.settled(); // what is shown is as durable as configured
    puller.open();
    try {
      for (let isChecked = false; ; ) {
        if (current.end !== undefined) return current.end;
        turns.commitNow(); // a pin is walked between turns
        const { received } = current;
        const step = puller.step();
        const { offer } = puller;
        if (offer !== undefined && !isChecked) {
          if (this.#deps.knowsOurLostWrites(offer.version)) return 'aborted';
          isChecked = true;
        }
        if (repair === undefined && puller.isLarge) {
          if (!this.#deps.yieldToPeers()) return 'busy';
          repair = await repairs.begin('large', stop.signal);
        }
        if (repair !== undefined) for (const frame of puller.takeFrames()) await repair.add(frame);
        if (step === 'more') await loop.yieldIfOverBudget();
        else if (step === 'wait') {
          // Some may have arrived while a part was stored.
          const isNew = current.received > received;
          if (!isNew) await this.#message(current, repair === undefined ? startMs : undefined);
        } else if (step === 'ready') break;
        else return step;
      }
      repair ??= await repairs.begin('small', stop.signal);
      const { added, dropped } = await this.#apply(puller, repair);
      this.#deps.metrics.add('syncline_sets_pull_dots_total', added, { kind: 'added' });
      this.#deps.metrics.add('syncline_sets_pull_dots_total', dropped, { kind: 'dropped' });
      const counts = this.#countsOf(current.peer);
      counts.added += added;
      counts.dropped += dropped;
      return 'applied';
    } finally {
      await repair?.abandon();
    }
  }

  async #apply(puller: Puller, repair: Repair): Promise<RepairCounts> {
    const { version } = puller.offer as OfferMessage;
    const drops = puller.drops();
    for (const frame of puller.takeFrames()) await repair.add(frame);
    return repair.finish(drops, version);
  }

  /** Waits for a message, but not forever. */
  async #message(current: Current, startMs: number | undefined): Promise<void> {
    const { clock } = this.#deps;
    const { pullIdleMs, pullTimeoutMs } = setsLimits;
    const leftMs =
      startMs === undefined
        ? pullIdleMs.value
        : Math.max(1, startMs + pullTimeoutMs.value - clock.monotonicMs());
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(Math.min(pullIdleMs.value, leftMs), () => {
        current.end ??= 'timeout';
        resolve();
      });
      current.wake = () => {
        timer.cancel();
        resolve();
      };
    });
    current.wake = () => {};
  }
}

function toSynclineError(thrown: unknown): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  throw thrown;
}
