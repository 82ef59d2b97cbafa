// The behavior of a simulated disk: how long operations take, which fail, and what a power loss leaves. The
// seeded plan below is driven by a profile that faults may change; a test that needs one exact moment (crash
// after the ninth rename, lose the second batch) brings its own.
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
  | 'sync-names'
  // The synchronous operations of append handles. A handle's sync is a `sync`.
  | 'handle-open'
  | 'handle-write'
  | 'handle-truncate';

/** `no-descriptors` is only for `handle-open`: the process has too many open files. */
export type Verdict = 'ok' | 'full' | 'failed' | 'no-descriptors';

export interface DiskOperation {
  /** 1 for the first operation of this disk: a test can name any boundary by its number. */
  readonly index: number;
  readonly kind: DiskOperationKind;
  /** The store or the path. */
  readonly subject: string;
}

/** A change that was not made durable. */
export interface UnsyncedChange {
  readonly kind: 'batch' | 'name' | 'page';
  /** The store, the name, or path and number of the page (`log/a#0`). */
  readonly subject: string;
}

/** What one power loss leaves. Called once per change: any subset may survive. */
export interface PowerLoss {
  survives(change: UnsyncedChange): boolean;
  /**
   * Decides how long a file is afterwards: its length is uncertain by this many bytes, from 0 (the shortest
   * it was since its last sync) to all of them. Pages inside it that do not survive are as they were at
   * the last sync, zeros if they are new.
   */
  survivingBytes(uncertainBytes: number, path: string): number;
}

export interface DiskPlan {
  delayMs(operation: DiskOperation): number;
  /** Called at the moment at which the operation would take effect. */
  verdict(operation: DiskOperation): Verdict;
  /** Called when it has taken effect and before the process gets its result. */
  done(operation: DiskOperation): void;
  /** How many of `count` writes in flight a kill lets through, counted from the oldest. */
  survivingWrites(count: number): number;
  losePower(): PowerLoss;
}

export interface DiskProfile {
  /** Fraction of the operations that are slow, and the longest delay. */
  readonly slowProbability: number;
  readonly slowMsMax: number;
  /** Nothing can be added until there is space again. */
  readonly isFull: boolean;
  /** Fraction of the syncs that fail. Such an error is final for the process that sees it. */
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
  'handle-open': [0, 0],
  'handle-write': [0, 0],
  'handle-truncate': [0, 0],
};

const ADDS: ReadonlySet<DiskOperationKind> = new Set([
  'find-room',
  'reopen',
  'buffered-write',
  'synced-write',
  'secure',
  'append',
  'names',
  'handle-open',
  'handle-write',
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
  readonly #pages: SeededRandom;
  profile: DiskProfile = calmDisk;

  constructor(random: SeededRandom) {
    this.#delays = random.fork('delays');
    this.#faults = random.fork('faults');
    this.#losses = random.fork('losses');
    this.#pages = random.fork('pages');
  }

  delayMs(operation: DiskOperation): number {
    const { slowProbability, slowMsMax } = this.profile;
    const [fromMs, toMs] = USUAL_MS[operation.kind];
    if (slowProbability > 0 && this.#delays.float() < slowProbability) {
      return slowMsMax ** this.#delays.float(); // from 1 ms up, each order of magnitude equally likely
    }
    return fromMs + (toMs - fromMs) * this.#delays.float();
  }

  verdict({ kind }: DiskOperation): Verdict {
    const { isFull, syncFailureProbability } = this.profile;
    if (isFull && ADDS.has(kind)) return 'full';
    if (syncFailureProbability === 0 || !SYNCS.has(kind)) return 'ok';
    return this.#faults.float() < syncFailureProbability ? 'failed' : 'ok';
  }

  done(_operation: DiskOperation): void {}

  survivingWrites(count: number): number {
    return Math.floor(this.#losses.float() * (count + 1));
  }

  /**
   * Some power losses take everything unsynced, some nothing, most a part of it. Pages have their own probability: if
   * all of them survive, a file is torn at its end, otherwise it has holes too.
   */
  losePower(): PowerLoss {
    const random = this.#losses;
    const pages = this.#pages;
    const keepProbability = [0, 0.5, 0.5, 0.9, 1][Math.floor(random.float() * 5)] ?? 0;
    const keepPageProbability = [0, 0.5, 0.9, 1, 1][Math.floor(pages.float() * 5)] ?? 0;
    return {
      survives: ({ kind }) =>
        kind === 'page' ? pages.float() < keepPageProbability : random.float() < keepProbability,
      survivingBytes: (uncertainBytes) => {
        const isWhole = random.float() < keepProbability;
        const part = Math.max(random.float() * 1.25 - 0.25, 0); // often nothing at all
        return isWhole ? uncertainBytes : Math.floor(part * uncertainBytes);
      },
    };
  }
}
