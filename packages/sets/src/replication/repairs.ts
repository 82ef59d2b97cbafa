// Writes what a pull has found to the log and to memory, behind the closed gate.
//
//   small   append parts and end ─▶ sync ─▶ apply, while commands wait ─▶ open the gate
//   large   append and apply each part as it comes, clients get -LOADING ─▶ append the end ─▶ sync ─▶ apply drops
//
// A repair that fails has changed nothing: a small one touches memory only once it is durable, and the adds of a
// large one are undone.
//
// S34  A repair counts completely or not at all.
// S35  It is durable before memory shows it, and half of it is never visible.
import { SynclineError, type VersionVector } from '@syncline/kernel';
import type { SegmentLog } from '@syncline/kernel/node';
import type { SetsState } from '../engine/sets-state.js';
import { type LoopShare, RecordKind, type Turns } from '../engine/turns.js';
import type { WriteGate } from '../engine/write-gate.js';
import type { WriteHold } from '../keyspace.js';
import { Payload } from './payload.js';
import {
  applyAdds,
  applyDrops,
  dropUncovered,
  mergeVersion,
  RepairPart,
  repairEnd,
  repairHead,
} from './repair.js';

export interface RepairsDeps {
  readonly state: SetsState;
  readonly turns: Turns;
  readonly gate: WriteGate;
  readonly loop: LoopShare;
  /** Elements that are applied between two checks of the clock. */
  readonly sliceElements: number;
  /** Undefined: nothing is stored. */
  log(): SegmentLog | undefined;
  /** The version has advanced because of a repair. */
  onRepaired(): void;
}

export interface RepairCounts {
  readonly added: number;
  readonly dropped: number;
}

export class Repairs {
  readonly #deps: RepairsDeps;
  #isRunning = false;
  #isLoading = false;

  constructor(deps: RepairsDeps) {
    this.#deps = deps;
  }

  /** Parts of a repair are in the log or in memory, but not its end: no checkpoint may be taken. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** A large one is being loaded: nothing is served. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Closes the gate. The repair must be finished or abandoned. Rejects with `aborted`. */
  async begin(kind: 'small' | 'large', signal: AbortSignal): Promise<Repair> {
    const hold = await this.#deps.gate.close(signal);
    this.#isRunning = true;
    this.#isLoading = kind === 'large';
    const showDigest = this.#deps.state.holdDigest();
    return new Repair(this.#deps, hold, kind === 'large', () => {
      showDigest();
      this.#isRunning = false;
      this.#isLoading = false;
    });
  }
}

export class Repair {
  readonly #deps: RepairsDeps;
  readonly #hold: WriteHold;
  readonly #isLarge: boolean;
  readonly #onEnd: () => void;
  #records = 0;
  #added = 0;
  /** Not applied yet. */
  readonly #adds: Payload[] = [];
  #isOver = false;

  constructor(deps: RepairsDeps, hold: WriteHold, isLarge: boolean, onEnd: () => void) {
    this.#deps = deps;
    this.#hold = hold;
    this.#isLarge = isLarge;
    this.#onEnd = onEnd;
  }

  /** Throws `storage-full`; then it must be abandoned. */
  async add(frame: Uint8Array): Promise<void> {
    this.#append(RepairPart.add, frame);
    const payload = new Payload(frame, 'invalid-argument');
    if (this.#isLarge)
      this.#added += await this.#run(
        applyAdds(this.#deps.state, payload, this.#deps.sliceElements),
      );
    else this.#adds.push(payload);
  }

  async finish(drops: readonly Uint8Array[], version: VersionVector): Promise<RepairCounts> {
    const { state, gate, onRepaired, sliceElements } = this.#deps;
    for (const frame of drops) this.#append(RepairPart.drop, frame);
    await this.#seal(version);
    const release = gate.holdReads();
    let dropped = 0;
    try {
      for (const frame of drops)
        dropped += await this.#run(applyDrops(state, new Payload(frame, 'corrupt'), sliceElements));
      for (const payload of this.#adds)
        this.#added += await this.#run(applyAdds(state, payload, sliceElements));
      mergeVersion(state, version);
    } finally {
      release();
    }
    this.#end();
    onRepaired();
    return { added: this.#added, dropped };
  }

  /** Undoes what it has changed. Does nothing once it is finished. */
  async abandon(): Promise<void> {
    if (this.#isOver) return;
    if (this.#isLarge && this.#records > 0) await this.#run(dropUncovered(this.#deps.state));
    this.#end();
  }

  #append(part: RepairPart, payload: Uint8Array): void {
    const head = repairHead(part, this.#records);
    this.#write(RecordKind.repair, [head, payload]);
    this.#records += 1;
  }

  #write(kind: number, parts: readonly Uint8Array[]): void {
    const { turns, log } = this.#deps;
    if (turns.failure !== undefined) throw turns.failure;
    try {
      log()?.append(kind, parts);
      turns.spaceAvailable();
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code !== 'storage-full' && error.code !== 'unavailable') turns.fail(error);
      throw error;
    }
  }

  /** From here on it counts. It is unknown what a failed sync has left on disk, so then the node stops. */
  async #seal(version: VersionVector): Promise<void> {
    const { turns, log } = this.#deps;
    this.#write(RecordKind.repairEnd, repairEnd(this.#records, version));
    try {
      await log()?.sync();
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      turns.fail(error);
      throw error;
    }
  }

  async #run<Result>(steps: Generator<void, Result, undefined>): Promise<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      const pause = this.#deps.loop.yieldIfOverBudget();
      if (pause !== undefined) await pause;
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#hold.release();
    this.#onEnd();
  }
}
