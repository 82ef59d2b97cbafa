// When the next checkpoint starts, and when reading must pause because none can start.
//
// Triggers are the interval, a number of records, changed state over its limit, and requests. Those that
// come while a checkpoint is in flight collapse into one.
import type { Clock } from '@syncline/kernel';
import type { CheckpointInfo } from './checkpoint.js';
import type { Session } from './recovery.js';

export interface PaceSettings {
  readonly everyMs: number;
  readonly everyRecords: number;
  /** Between the end of a checkpoint, sinks included, and the next one. */
  readonly minPauseMs: number;
  readonly dirtyBytesMax: number;
}

/** Someone who waits for a checkpoint. */
export interface CheckpointRequest {
  resolve(info: CheckpointInfo | undefined): void;
  reject(error: unknown): void;
}

export class CheckpointPace {
  readonly #clock: Clock;
  readonly #settings: PaceSettings;
  #nextMs = 0;
  #earliestMs = 0;
  /** Records read until the last barrier. */
  #records = 0;
  #requests: CheckpointRequest[] = [];

  constructor(clock: Clock, settings: PaceSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  get dueInMs(): number {
    return this.#nextMs - this.#clock.monotonicMs();
  }

  recovered({ topology }: Session): void {
    this.#records = topology.recordsIn;
    this.#nextMs = this.#clock.monotonicMs() + this.#settings.everyMs;
  }

  /** For a run that has none in flight. */
  isDue(session: Session): boolean {
    if (this.#requests.length > 0) return true;
    const nowMs = this.#clock.monotonicMs();
    if (this.isFull(session)) return nowMs >= this.#earliestMs;
    return nowMs >= this.#nextMs && this.hasNews(session);
  }

  /** So much has been read since the last barrier that the next checkpoint must come first. */
  isFull({ topology, states }: Session): boolean {
    const { everyRecords, dirtyBytesMax } = this.#settings;
    return (
      topology.recordsIn - this.#records >= everyRecords || states.changedBytes > dirtyBytesMax
    );
  }

  /** Without any there is no epoch. */
  hasNews({ topology, states, writers }: Session): boolean {
    if (topology.recordsIn !== this.#records || states.changedBytes > 0) return true;
    return [...writers.values()].some((writer) => writer.hasOutput);
  }

  /** The barrier of a checkpoint. Returns whom it is for. */
  started({ topology }: Session): readonly CheckpointRequest[] {
    this.#records = topology.recordsIn;
    this.#nextMs = this.#clock.monotonicMs() + this.#settings.everyMs;
    const requests = this.#requests;
    this.#requests = [];
    return requests;
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

  /** The run is over; `thrown` is what it failed on. */
  refuse(thrown: unknown): void {
    for (const { resolve, reject } of this.#requests) {
      if (thrown === undefined) resolve(undefined);
      else reject(thrown);
    }
    this.#requests = [];
  }
}
