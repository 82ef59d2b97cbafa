// Decides when the next checkpoint starts, and when reading must pause because none can start.
//
// Triggers are the interval, the number of records, changed state or waiting output above its limit, and requests.
// Triggers that occur while a checkpoint is in flight are combined into one.
import type { Clock } from '@syncline/kernel';
import { OutboxStore } from '../store/outbox.js';
import type { CheckpointInfo } from './checkpoint.js';
import type { Session } from './recovery.js';

export interface PaceSettings {
  readonly everyMs: number;
  readonly everyRecords: number;
  /** Minimum time between the end of a checkpoint, including its sinks, and the next one. */
  readonly minPauseMs: number;
  readonly dirtyBytesMax: number;
  readonly outboxBytesMax: number;
}

/** Size of the rows in outboxes that are not part of a checkpoint yet. */
export function waitingBytesOf(sinks: Session['sinks']): number {
  let bytes = 0;
  for (const sink of sinks.values()) if (sink instanceof OutboxStore) bytes += sink.waitingBytes;
  return bytes;
}

/** A caller that waits for a checkpoint. */
export interface CheckpointRequest {
  resolve(info: CheckpointInfo | undefined): void;
  reject(error: unknown): void;
}

export class CheckpointPace {
  readonly #clock: Clock;
  readonly #settings: PaceSettings;
  #nextMs = 0;
  #earliestMs = 0;
  /** Records read up to the last barrier. */
  #records = 0;
  #requests: CheckpointRequest[] = [];
  #last: CheckpointInfo | undefined;

  constructor(clock: Clock, settings: PaceSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Infinity while there is nothing to store: the run is woken up when there is. */
  dueInMs(session: Session): number {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isUrgent(session)) return this.#earliestMs - nowMs;
    return this.hasUnsavedWork(session) ? this.#nextMs - nowMs : Number.POSITIVE_INFINITY;
  }

  recovered({ engine }: Session): void {
    this.#records = engine.recordsIn;
    this.#nextMs = this.#clock.monotonicMs() + this.#settings.everyMs;
  }

  /** Must only be called while no checkpoint is in flight. */
  isDue(session: Session): boolean {
    const isIdle =
      this.#requests.length > 0 && session.engine.isUpToDate && !this.hasUnsavedWork(session);
    if (isIdle) this.#answer(this.#last);
    const nowMs = this.#clock.monotonicMs();
    if (this.#isUrgent(session)) return nowMs >= this.#earliestMs;
    return nowMs >= this.#nextMs && this.hasUnsavedWork(session);
  }

  /** Whether a checkpoint should start as soon as the pause after the previous one is over. */
  #isUrgent(session: Session): boolean {
    return this.#requests.length > 0 || this.isFull(session);
  }

  /** Whether so much has changed since the last barrier that reading must wait for the next checkpoint. */
  isFull({ engine, states, sinks }: Session): boolean {
    const { everyRecords, dirtyBytesMax, outboxBytesMax } = this.#settings;
    const isMany = engine.recordsIn - this.#records >= everyRecords || engine.isFull;
    return isMany || states.changedBytes > dirtyBytesMax || waitingBytesOf(sinks) > outboxBytesMax;
  }

  /** Whether there is anything to store. Otherwise no epoch is created. */
  hasUnsavedWork({ engine, states }: Session): boolean {
    return engine.recordsIn !== this.#records || states.changedBytes > 0 || engine.hasOutput;
  }

  /** Called at the barrier of a checkpoint. Returns the requests that it fulfills. */
  started({ engine }: Session): readonly CheckpointRequest[] {
    this.#records = engine.recordsIn;
    this.#nextMs = this.#clock.monotonicMs() + this.#settings.everyMs;
    const requests = this.#requests;
    this.#requests = [];
    return requests;
  }

  /** Corrects the position of the barrier, which is not always known when the checkpoint starts. */
  stored(info: CheckpointInfo): void {
    this.#records = info.records;
    this.#last = info;
  }

  ended(): void {
    this.#earliestMs = this.#clock.monotonicMs() + this.#settings.minPauseMs;
    this.#nextMs = Math.max(this.#nextMs, this.#earliestMs);
  }

  request(): Promise<CheckpointInfo | undefined> {
    return new Promise((resolve, reject) => {
      this.#requests.push({ resolve, reject });
    });
  }

  /** Settles pending requests when the run ends. `thrown` is the error it failed with, if any. */
  refuse(thrown: unknown): void {
    if (thrown === undefined) this.#answer(undefined);
    for (const { reject } of this.#requests) reject(thrown);
    this.#requests = [];
  }

  #answer(info: CheckpointInfo | undefined): void {
    for (const { resolve } of this.#requests) resolve(info);
    this.#requests = [];
  }
}
