// Operators, the building blocks of a running pipeline. Batches are pushed through them synchronously, so between two
// batches of a source nothing is in flight, and a barrier needs no coordination.
//
// Event time is pushed the same way: a watermark W declares that no more items at or before W will arrive. An operator
// with several inputs takes the lowest.
//
// X31  A watermark never decreases, and it reaches an operator after all items that it covers.
import { AssertionError, SynclineError } from '@syncline/kernel';
import { recordName } from '../ends/partition-name.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { Entry } from '../snapshot/entry.js';
import { type Key, showKey } from '../state/key.js';
import { badRecord } from '../state/state-error.js';
import type { AnyCells } from '../store/pipeline-states.js';
import type { Batch } from './batch.js';

/** The progress of one partition, for operators that order by version. */
export interface PartitionProgress {
  readonly origin: string;
  isIdle: boolean;
  isEnded: boolean;
}

/** Counters for metrics, and for checking that no item was lost. */
export interface OperatorCounters {
  late: number;
  older: number;
  conflicts: number;
  deadLetters: number;
  /** Items that a full reorder has released before their version was sealed. */
  releasedEarly: number;
  /** Items that a reorder currently holds back. */
  held?: number;
}

export function newCounters(): OperatorCounters {
  return { late: 0, older: 0, conflicts: 0, deadLetters: 0, releasedEarly: 0 };
}

/** Receives the items that an operator rejected. */
export interface DeadLetters {
  add(uid: string, batch: Batch, at: number, error: SynclineError): void;
}

/** Passed to an operator when a run creates it. */
export interface OperatorEnv {
  readonly name: string;
  readonly keyGroups: number;
  readonly counters: OperatorCounters;
  readonly deadLetters: DeadLetters | undefined;
  /** Receives late items. If undefined, they are dropped and counted. */
  readonly late: Operator | undefined;
  /** Partitions of all sources upstream of the operator. */
  readonly partitions: () => Iterable<PartitionProgress>;
  /** What `saved` returned at the last barrier. */
  readonly restored: Json | undefined;
  cells(state: string): AnyCells;
  forEach(state: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void>;
}

/** The event time up to which everything has arrived, or `'idle'` if no input is active. */
export type Watermark = number | 'idle';

interface Edge {
  readonly operator: Operator;
  readonly input: number;
}

export abstract class Operator {
  readonly name: string;
  readonly #edges: Edge[] = [];
  readonly #inputs: Watermark[] = [];
  #watermarkMs = Number.NEGATIVE_INFINITY;
  #isIdle = false;

  constructor(name: string) {
    this.name = name;
  }

  /** Everything at or before this has been forwarded. */
  get watermarkMs(): number {
    return this.#watermarkMs;
  }

  protected get isIdle(): boolean {
    return this.#isIdle;
  }

  connect(operator: Operator): void {
    this.#edges.push({ operator, input: operator.addInput() });
  }

  protected addInput(): number {
    return this.#inputs.push(Number.NEGATIVE_INFINITY) - 1;
  }

  /** Restores the watermark from before a restart. */
  resume(ms: number): void {
    this.#watermarkMs = ms;
  }

  abstract take(batch: Batch, input: number): void;

  /** Rebuilds everything that is derived from the states, after they are loaded. */
  async load(): Promise<void> {}

  /** What the checkpoint stores in addition to the states. */
  saved(): Json | undefined {
    return undefined;
  }

  /** Called between two batches of a source, in topological order. */
  settle(): void {}

  /** Fires the clock timers that are due. */
  tick(_nowMs: number): void {}

  /** Wall-clock time at which the next clock timer is due. */
  get nextTickMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  /** The only partitions to read for now, so that a full buffer can drain. Undefined if all may be read. */
  wanted(): ReadonlySet<string> | undefined {
    return undefined;
  }

  /** The watermark of an input has risen, or the input has become idle and no longer counts. */
  advance(input: number, watermark: Watermark): void {
    this.#inputs[input] = watermark;
    const known = this.#inputs.filter((each) => each !== 'idle');
    if (known.length === 0) this.forwardIdle();
    else this.reach(Math.min(...known));
  }

  /** All inputs have reached `ms`. Operators that act on event time override this, and forward afterwards. */
  protected reach(ms: number): void {
    this.forward(ms);
  }

  protected forward(ms: number): void {
    if (ms <= this.#watermarkMs && !this.#isIdle) return;
    this.#isIdle = false;
    this.#watermarkMs = Math.max(ms, this.#watermarkMs);
    for (const { operator, input } of this.#edges) operator.advance(input, this.#watermarkMs);
  }

  protected forwardIdle(): void {
    if (this.#isIdle) return;
    this.#isIdle = true;
    for (const { operator, input } of this.#edges) operator.advance(input, 'idle');
  }

  protected emit(batch: Batch): void {
    for (const { operator, input } of this.#edges) operator.take(batch, input);
  }
}

/**
 * Runs `step` for each item. If it throws, `undo` is called and the item goes to the dead letters; without dead
 * letters, the run stops with `bad-record`.
 */
export function eachItem(
  batch: Batch,
  env: OperatorEnv,
  step: (at: number) => void,
  undo: (at: number) => void,
): void {
  const { length } = batch.items;
  let at = 0;
  for (;;) {
    try {
      for (; at < length; at += 1) step(at);
      return;
    } catch (thrown) {
      refuse(batch, at, env, thrown, () => undo(at));
      at += 1;
    }
  }
}

/** Throws if user code has returned a promise, which would be passed on as a value. */
export function checkNoPromise(returned: unknown): void {
  if (!(returned instanceof Promise)) return;
  returned.catch(() => undefined); // its rejection would end the process
  throw badRecord(
    'it returned a promise, but operators do not wait. Do asynchronous work in a source or a sink',
  );
}

/** Passes a rejected item to the dead letters, or throws. */
export function refuse(
  batch: Batch,
  at: number,
  env: OperatorEnv,
  thrown: unknown,
  undo: () => void,
): void {
  if (thrown instanceof AssertionError || isStoreError(thrown)) throw thrown;
  const error = itemError(batch, at, env.name, thrown);
  if (error.details['code'] === 'version-conflict') env.counters.conflicts += 1;
  if (env.deadLetters === undefined) throw error;
  undo();
  env.counters.deadLetters += 1;
  env.deadLetters.add(env.name, batch, at, error);
}

/**
 * Whether the error is not caused by the item: the store cannot be read or written. `unavailable` means that it is being
 * reopened after its disk was full, so the run returns to its last epoch and tries again.
 */
function isStoreError(thrown: unknown): boolean {
  if (!(thrown instanceof SynclineError)) return false;
  const codes = ['corrupt', 'too-new', 'storage-failed', 'storage-full', 'unavailable'];
  return codes.includes(thrown.code);
}

function itemError(batch: Batch, at: number, name: string, thrown: unknown): SynclineError {
  const cause = SynclineError.from(thrown, 'bad-record');
  const { origin, epoch } = batch;
  const round = batch.rounds[at] as number;
  const key = batch.keys?.[at];
  const ofKey = key === undefined ? '' : `, key ${showKey(key)}`;
  return new SynclineError(
    'bad-record',
    `operator "${name}" failed on ${recordName(origin, round)}${ofKey}: ${cause.message}. ` +
      'Fix the operator, or give it `onError` with a sink for dead letters to skip such records.',
    {
      details: {
        ...cause.details,
        uid: name,
        partition: origin,
        position: round,
        incarnation: epoch,
        code: cause.code,
      },
      cause,
    },
  );
}

/** Throws if one item produces too many outputs. */
export function checkOutputs(count: number): void {
  const { value: outputsMax } = streamsLimits.outputsPerItemMax;
  if (count < outputsMax) return;
  throw new SynclineError(
    'limit-exceeded',
    `an operator emitted more than ${outputsMax} items for one item or timer`,
    { details: { limit: 'outputsPerItemMax' } },
  );
}

/** Records the changes of the current item, to undo them if the item is rejected. */
export class Journal {
  readonly #notes: {
    readonly cells: AnyCells;
    readonly key: Key;
    readonly isPresent: boolean;
    readonly value: unknown;
    readonly version: unknown;
  }[] = [];
  readonly #callbacks: (() => void)[] = [];

  /** Must be called before a key changes. */
  note(cells: AnyCells, key: Key): void {
    const cell = cells.find(key);
    const isPresent = cell !== undefined;
    const value = isPresent ? cells.valueAt(cell) : undefined;
    const version = isPresent ? cells.versionAt(cell) : undefined;
    this.#notes.push({ cells, key, isPresent, value, version });
  }

  /** `undo` calls back after the changes are undone, the newest callback first. */
  onUndo(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  clear(): void {
    this.#notes.length = 0;
    this.#callbacks.length = 0;
  }

  undo(): void {
    for (const { cells, key, isPresent, value, version } of this.#notes.reverse()) {
      const cell = cells.edit(key);
      if (!isPresent) {
        if (cell !== undefined) cells.remove(cell);
      } else if (cell === undefined) cells.insert(key, value, version);
      else cells.change(cell, value, version);
    }
    for (const callback of this.#callbacks.reverse()) callback();
    this.clear();
  }
}
