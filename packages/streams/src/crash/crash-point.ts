// The faults that can occur at each step of a pipeline, and the disk plan that injects them.
//
//   kill, losePower   the process ends before the step or after it, or in the middle of an append
//   diskFull          the step fails for lack of space; a run continues by itself, a start may fail
//   failSync          the step fails, and what became durable is unknown; the process must end
//   abort, stop       the run is ended by its signal, or by `stop()`, while the step is in progress
import {
  createSeededRandom,
  type DiskOperation,
  type PowerLoss,
  SeededDiskPlan,
  type SimNode,
  type Verdict,
} from '@syncline/kernel/testing';

export type CrashKind = 'kill' | 'losePower' | 'abort' | 'stop' | keyof typeof REFUSED;

export interface CrashPoint {
  /** Number of the step, from 1. */
  readonly step: number;
  /** `during`: half of the appended bytes reach the file. */
  readonly moment: 'before' | 'during' | 'after';
  readonly kind: CrashKind;
  /** Decides what survives a power loss. */
  readonly seed: number;
}

/** How a disk operation fails, and the error that the process may end with. */
const REFUSED = {
  diskFull: { verdict: 'full', code: 'storage-full' },
  failSync: { verdict: 'failed', code: 'storage-failed' },
} as const;

const APPENDS: ReadonlySet<string> = new Set(['append', 'handle-write']);
const ADDS: ReadonlySet<string> = new Set([
  ...APPENDS,
  'buffered-write',
  'synced-write',
  'names',
  'handle-open',
]);
const SYNCS: ReadonlySet<string> = new Set(['synced-write', 'sync', 'sync-names']);
const READS: ReadonlySet<string> = new Set(['read', 'open', 'find-room', 'reopen']);
/** Power losses to try at each moment. Each leaves different data. */
const LOSSES = 2;

/** All single faults of a run with these steps. */
export function pointsOf(kinds: readonly string[], seed: number): readonly CrashPoint[] {
  return kinds.flatMap((kind, index) => {
    const step = index + 1;
    const points: CrashPoint[] = [];
    for (const moment of ['before', 'during', 'after'] as const) {
      if (moment === 'during' && !APPENDS.has(kind)) continue;
      points.push({ step, moment, kind: 'kill', seed });
      for (let loss = 0; loss < LOSSES; loss += 1) {
        points.push({ step, moment, kind: 'losePower', seed: seed + 10 * step + loss });
      }
    }
    points.push({ step, moment: 'before', kind: 'abort', seed });
    points.push({ step, moment: 'before', kind: 'stop', seed });
    if (ADDS.has(kind)) points.push({ step, moment: 'before', kind: 'diskFull', seed });
    if (SYNCS.has(kind)) points.push({ step, moment: 'before', kind: 'failSync', seed });
    return points;
  });
}

/** Called when a fault is injected. */
export interface Struck {
  /** The process has ended. */
  ended(at: string): void;
  /** The step failed, or the run was asked to end. The process continues. */
  failed(at: string): void;
}

/** Counts the steps of one run and injects a fault at one of them. */
export class Steps extends SeededDiskPlan {
  readonly kinds: string[] = [];
  readonly #losses: SeededDiskPlan;
  readonly #node: SimNode;
  readonly #point: CrashPoint | undefined;
  readonly #struck: Struck;
  readonly #abort = new AbortController();
  readonly #stop = new AbortController();
  /** The fault was injected. */
  #isOver = false;

  /** Disk delays depend only on `delaysSeed`: with the same seed, steps have the same numbers. */
  constructor(node: SimNode, point: CrashPoint | undefined, delaysSeed: number, struck: Struck) {
    super(createSeededRandom(delaysSeed));
    this.#losses = new SeededDiskPlan(createSeededRandom(point?.seed ?? 0));
    this.#node = node;
    this.#point = point;
    this.#struck = struck;
    node.disk.plan = this;
  }

  /** The signal to pass to the run. */
  get abortSignal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborted when `stop()` should be called. */
  get stopSignal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The run was asked to end, so another one must continue. */
  get isStopped(): boolean {
    return this.abortSignal.aborted || this.stopSignal.aborted;
  }

  /** Whether the injected fault allows the process to end with this error. */
  mayEndWith(code: string, isStarted: boolean): boolean {
    if (!this.#isOver) return false;
    const { kind } = this.#point ?? {};
    if (kind === 'abort') return code === 'aborted' && !isStarted;
    if (kind !== 'diskFull' && kind !== 'failSync') return false;
    return REFUSED[kind].code === code && (kind === 'failSync' || !isStarted);
  }

  /** The error of a process that ended normally although a sync failed. */
  get unreportedFailure(): string | undefined {
    const isFailed = this.#isOver && this.#point?.kind === 'failSync';
    return isFailed ? 'a sync failed, but the run continued' : undefined;
  }

  override verdict(operation: DiskOperation): Verdict {
    if (READS.has(operation.kind)) return 'ok';
    const step = this.#count(operation.kind);
    const verdict = this.#strike(step, 'before', operation.kind);
    if (verdict !== 'ok') return verdict;
    // A full disk writes half of an append. The process ends before it sees the error.
    return this.#isAt(step, 'during') && APPENDS.has(operation.kind) ? 'full' : 'ok';
  }

  /** Called directly after the verdict: nothing else is counted in between. */
  override done(operation: DiskOperation): void {
    if (READS.has(operation.kind)) return;
    this.#strike(this.kinds.length, 'during', operation.kind);
    this.#strike(this.kinds.length, 'after', operation.kind);
  }

  override survivingWrites(count: number): number {
    return this.#losses.survivingWrites(count);
  }

  override losePower(): PowerLoss {
    return this.#losses.losePower();
  }

  /** Wraps a call of a sink or source. Disk operations inside it are counted separately. */
  async around<T>(name: string, call: () => Promise<T>): Promise<T> {
    const { life } = this.#node;
    const step = this.#count(name);
    this.#strike(step, 'before', name);
    if (life?.isDead !== false) return await never();
    const result = await call();
    if (life.isDead) return await never();
    this.#strike(step, 'after', name);
    return life.isDead ? await never() : result;
  }

  #count(kind: string): number {
    return this.#isOver ? 0 : this.kinds.push(kind);
  }

  #isAt(step: number, moment: CrashPoint['moment']): boolean {
    return !this.#isOver && this.#point?.step === step && this.#point.moment === moment;
  }

  #strike(step: number, moment: CrashPoint['moment'], kind: string): Verdict {
    const point = this.#point;
    if (point === undefined || !this.#isAt(step, moment)) return 'ok';
    // After a restart, other steps have this number.
    if (moment === 'during' && !APPENDS.has(kind)) return 'ok';
    if (point.kind === 'diskFull' && !ADDS.has(kind)) return 'ok';
    if (point.kind === 'failSync' && !SYNCS.has(kind)) return 'ok';
    this.#isOver = true;
    const at = `${point.kind} ${moment} ${kind}`;
    switch (point.kind) {
      case 'kill':
      case 'losePower':
        this.#node[point.kind]();
        this.#struck.ended(at);
        return 'ok';
      case 'abort':
      case 'stop':
        this.#struck.failed(at);
        (point.kind === 'abort' ? this.#abort : this.#stop).abort();
        return 'ok';
      case 'diskFull':
      case 'failSync':
        this.#struck.failed(at);
        return REFUSED[point.kind].verdict;
      default:
        return point.kind satisfies never;
    }
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
