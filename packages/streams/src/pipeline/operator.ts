// Operators: what a pipeline is made of while it runs. Batches are pushed through them synchronously, so
// between two batches of a source nothing is on its way and a barrier needs no coordination.
//
// Event time is pushed the same way: a watermark W says that nothing at or before W is still to come. An
// operator with several inputs takes the lowest, and W never goes back.
//
// X31  A watermark never goes back, and reaches an operator after all items that it vouches for.
import { AssertionError, SynclineError } from '@syncline/kernel';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { Entry } from '../snapshot/entry.js';
import { type Key, showKey } from '../state/key.js';
import type { AnyCells } from '../store/pipeline-states.js';
import type { Batch } from './batch.js';

/** How far one partition has come, for operators that order by version. */
export interface PartitionProgress {
  readonly origin: string;
  isIdle: boolean;
  isEnded: boolean;
}

/** Counts what happened, for metrics and for the check that nothing got lost. */
export interface OperatorCounters {
  late: number;
  older: number;
  conflicts: number;
  deadLetters: number;
}

/** Takes items that an operator refused. */
export interface DeadLetters {
  add(uid: string, batch: Batch, at: number, error: SynclineError): void;
}

/** What an operator is given when a run creates it. */
export interface OperatorEnv {
  readonly name: string;
  readonly keyGroups: number;
  readonly counters: OperatorCounters;
  readonly deadLetters: DeadLetters | undefined;
  /** Gets late items. Undefined: they are dropped and counted. */
  readonly late: Operator | undefined;
  /** Partitions of all sources that reach the operator. */
  readonly partitions: () => Iterable<PartitionProgress>;
  /** What `saved` returned at the last barrier. */
  readonly restored: Json | undefined;
  cells(state: string): AnyCells;
  forEach(state: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void>;
}

interface Edge {
  readonly operator: Operator;
  readonly input: number;
}

export abstract class Operator {
  readonly name: string;
  readonly #edges: Edge[] = [];
  /** By input. */
  readonly #inputMs: number[] = [];
  #watermarkMs = Number.NEGATIVE_INFINITY;

  constructor(name: string) {
    this.name = name;
  }

  /** Everything at or before it has been handed on. */
  get watermarkMs(): number {
    return this.#watermarkMs;
  }

  connect(operator: Operator): void {
    this.#edges.push({ operator, input: operator.#inputMs.push(Number.NEGATIVE_INFINITY) - 1 });
  }

  get inputs(): number {
    return this.#inputMs.length;
  }

  abstract take(batch: Batch, input: number): void;

  /** Rebuilds what is derived from states after they were loaded. */
  async load(): Promise<void> {}

  /** What goes into the checkpoint beside the states. */
  saved(): Json | undefined {
    return undefined;
  }

  /** Called between two batches of a source, from the sources down. */
  settle(): void {}

  /** Clock timers that are due. */
  tick(_nowMs: number): void {}

  /** When the next clock timer is due, in wall time. */
  get nextTickMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  /** Partitions that alone may be read, so that a full buffer can empty. Undefined: all of them. */
  wanted(): ReadonlySet<string> | undefined {
    return undefined;
  }

  /** The watermark of an input has risen. */
  advance(input: number, ms: number): void {
    this.#inputMs[input] = ms;
    this.reach(Math.min(...this.#inputMs));
  }

  /** All inputs have reached `ms`. An operator that acts on event time does so, then forwards. */
  protected reach(ms: number): void {
    this.forward(ms);
  }

  protected forward(ms: number): void {
    if (ms <= this.#watermarkMs) return;
    this.#watermarkMs = ms;
    for (const { operator, input } of this.#edges) operator.advance(input, ms);
  }

  protected emit(batch: Batch): void {
    for (const { operator, input } of this.#edges) operator.take(batch, input);
  }
}

/**
 * Runs `step` for each item. An item for which it throws goes to the dead letters, after `undo`, or stops
 * the run with `bad-record`.
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

/** Hands a refused item to the dead letters, or throws. */
export function refuse(
  batch: Batch,
  at: number,
  env: OperatorEnv,
  thrown: unknown,
  undo: () => void,
): void {
  if (thrown instanceof AssertionError) throw thrown;
  const error = itemError(batch, at, env.name, thrown);
  if (error.details['code'] === 'version-conflict') env.counters.conflicts += 1;
  if (env.deadLetters === undefined) throw error;
  undo();
  env.counters.deadLetters += 1;
  env.deadLetters.add(env.name, batch, at, error);
}

function itemError(batch: Batch, at: number, name: string, thrown: unknown): SynclineError {
  const cause = SynclineError.from(thrown, 'bad-record');
  const { origin, epoch } = batch;
  const round = batch.rounds[at];
  const key = batch.keys?.[at];
  const ofKey = key === undefined ? '' : `, key ${showKey(key)}`;
  return new SynclineError(
    'bad-record',
    `operator "${name}" failed on record ${round} of partition "${origin}"${ofKey}: ${cause.message}. ` +
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

/** Refuses a flood of outputs for one item. */
export function checkOutputs(count: number): void {
  const { value: outputsMax } = streamsLimits.outputsPerItemMax;
  if (count < outputsMax) return;
  throw new SynclineError(
    'limit-exceeded',
    `an operator emitted more than ${outputsMax} items for one item or timer`,
    { details: { limit: 'outputsPerItemMax' } },
  );
}

/** Undoes what the current item has changed, if it is refused in the end. */
export class Journal {
  readonly #notes: {
    readonly cells: AnyCells;
    readonly key: Key;
    readonly isPresent: boolean;
    readonly value: unknown;
    readonly version: unknown;
  }[] = [];

  /** Called before a key changes. */
  note(cells: AnyCells, key: Key): void {
    const cell = cells.find(key);
    const isPresent = cell !== undefined;
    const value = isPresent ? cells.valueAt(cell) : undefined;
    const version = isPresent ? cells.versionAt(cell) : undefined;
    this.#notes.push({ cells, key, isPresent, value, version });
  }

  clear(): void {
    this.#notes.length = 0;
  }

  undo(): void {
    for (const { cells, key, isPresent, value, version } of this.#notes.reverse()) {
      const cell = cells.edit(key);
      if (!isPresent) {
        if (cell !== undefined) cells.remove(cell);
      } else if (cell === undefined) cells.insert(key, value, version);
      else cells.change(cell, value, version);
    }
    this.clear();
  }
}
