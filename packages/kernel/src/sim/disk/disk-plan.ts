// What a simulated disk does to those who use it: how long things take, what fails, and what is left
// after the power was lost. The seeded plan below is driven by a profile that faults may change; a test
// that wants one exact moment (crash after the ninth rename, lose the second batch) brings its own.
import type { SeededRandom } from '../../seeded-random.js';

export type DiskOperationKind =
  | 'open'
  | 'find-room'
  | 'reopen'
  | 'read'
  | 'buffered-write'
  | 'synced-write'
  | 'secure'
  | 'append'
  | 'sync'
  | 'names'
  | 'sync-names';

export interface DiskOperation {
  /** 1 for the first operation of this disk: a test can name any boundary by its number. */
  readonly index: number;
  readonly kind: DiskOperationKind;
  /** The store or the path. */
  readonly subject: string;
}

/** A change that was not made durable. */
export interface UnsyncedChange {
  readonly kind: 'batch' | 'name';
  readonly subject: string;
}

/** What one loss of power leaves. Asked once per change: any subset may survive. */
export interface PowerLoss {
  survives(change: UnsyncedChange): boolean;
  /** How many of a file's unsynced bytes are left, counted from the first of them. */
  survivingBytes(unsyncedBytes: number, path: string): number;
}

export interface DiskPlan {
  delayMs(operation: DiskOperation): number;
  /** Asked at the moment at which the operation would take effect. */
  verdict(operation: DiskOperation): 'ok' | 'full' | 'failed';
  /** Called when it has taken effect and before the process hears of it. */
  done(operation: DiskOperation): void;
  /** How many of `count` writes under way a kill lets through, counted from the oldest. */
  survivingWrites(count: number): number;
  losePower(): PowerLoss;
}

export interface DiskProfile {
  /** Part of the operations that are slow, and how slow at most. */
  readonly slowProbability: number;
  readonly slowMsMax: number;
  /** Nothing can be added until there is room again. */
  readonly isFull: boolean;
  /** Part of the syncs that fail. Such an error is final for the process that sees it. */
  readonly syncFailureProbability: number;
}

export const calmDisk: DiskProfile = {
  slowProbability: 0,
  slowMsMax: 0,
  isFull: false,
  syncFailureProbability: 0,
};

/** Usual times in ms, from and to. */
const USUAL_MS: Readonly<Record<DiskOperationKind, readonly [number, number]>> = {
  open: [1, 20],
  'find-room': [1, 50],
  reopen: [1, 50],
  read: [0.01, 0.2],
  'buffered-write': [0.01, 0.3],
  'synced-write': [0.5, 5],
  secure: [1, 50],
  append: [0.01, 0.3],
  sync: [0.5, 5],
  names: [0.01, 0.3],
  'sync-names': [0.5, 5],
};

const ADDS: ReadonlySet<DiskOperationKind> = new Set([
  'find-room',
  'reopen',
  'buffered-write',
  'synced-write',
  'secure',
  'append',
  'names',
]);
const SYNCS: ReadonlySet<DiskOperationKind> = new Set([
  'synced-write',
  'secure',
  'sync',
  'sync-names',
]);

export class SeededDiskPlan implements DiskPlan {
  readonly #delays: SeededRandom;
  readonly #faults: SeededRandom;
  readonly #losses: SeededRandom;
  profile: DiskProfile = calmDisk;

  constructor(random: SeededRandom) {
    this.#delays = random.fork('delays');
    this.#faults = random.fork('faults');
    this.#losses = random.fork('losses');
  }

  delayMs(operation: DiskOperation): number {
    const { slowProbability, slowMsMax } = this.profile;
    const [fromMs, toMs] = USUAL_MS[operation.kind];
    if (slowProbability > 0 && this.#delays.float() < slowProbability) {
      return slowMsMax ** this.#delays.float(); // from 1 ms up, each order of magnitude alike
    }
    return fromMs + (toMs - fromMs) * this.#delays.float();
  }

  verdict({ kind }: DiskOperation): 'ok' | 'full' | 'failed' {
    const { isFull, syncFailureProbability } = this.profile;
    if (isFull && ADDS.has(kind)) return 'full';
    if (syncFailureProbability === 0 || !SYNCS.has(kind)) return 'ok';
    return this.#faults.float() < syncFailureProbability ? 'failed' : 'ok';
  }

  done(_operation: DiskOperation): void {}

  survivingWrites(count: number): number {
    return Math.floor(this.#losses.float() * (count + 1));
  }

  /** Some losses take all that was not synced, some nothing, most a part of it. */
  losePower(): PowerLoss {
    const random = this.#losses;
    const keepProbability = [0, 0.5, 0.5, 0.9, 1][Math.floor(random.float() * 5)] ?? 0;
    return {
      survives: () => random.float() < keepProbability,
      survivingBytes: (unsyncedBytes) => {
        const isWhole = random.float() < keepProbability;
        return isWhole ? unsyncedBytes : Math.floor(random.float() * unsyncedBytes);
      },
    };
  }
}
