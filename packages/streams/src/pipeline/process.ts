// The keyed operator that runs user code with states and timers. `reduce` is built on it.
//
// User code gets one context object that is updated for each item: its key, time, states and `emit`. All changes to
// state go through it, so that those of a rejected item can be undone.
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { AggregateState } from '../state/aggregate-state.js';
import type { Cells } from '../state/cells.js';
import type { Key } from '../state/key.js';
import type {
  AggregateDescription,
  PutResult,
  StateDescription,
  VersionedDescription,
} from '../state/state-backend.js';
import type { LogicalTime, Version } from '../state/version.js';
import { VersionedState } from '../state/versioned-state.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { type Batch, BatchBuilder, childIndex } from './batch.js';
import {
  checkNoPromise,
  checkOutputs,
  Journal,
  Operator,
  type OperatorEnv,
  refuse,
} from './operator.js';
import { type KeyTimers, TIMERS, type TimerKind, Timers } from './timers.js';

/** An aggregate state, for the current key. */
export interface KeyedAggregate<V> {
  get(): V | undefined;
  /** As `AggregateBackend.update`: `undefined` removes the key. */
  update(fn: (value: V | undefined) => V | undefined): V | undefined;
}

/** A versioned state, for the current key. */
export interface KeyedVersioned<V, Ver extends Version> {
  get(): { readonly value: V; readonly version: Ver } | undefined;
  put(value: V, version: Ver): PutResult;
  delete(version: Ver): PutResult;
}

export type KeyedStateOf<Description> =
  Description extends AggregateDescription<infer V>
    ? KeyedAggregate<V>
    : Description extends VersionedDescription<infer V, infer Ver>
      ? KeyedVersioned<V, Ver>
      : never;

export type StateDescriptions = Readonly<Record<string, StateDescription>>;

export type KeyedStates<States extends StateDescriptions> = {
  readonly [Name in keyof States]: KeyedStateOf<States[Name]>;
};

/** Available to user code while it handles an item or a timer. The object is reused, so do not keep it. */
export interface ProcessContext<K extends Key, States extends StateDescriptions, U> {
  readonly key: K;
  readonly state: KeyedStates<States>;
  /** Logical time of the item, or of the timer that fires. The same in every replay. */
  readonly time: LogicalTime;
  /** Event time of the item, if its source has event times. For an event timer, the time at which it was due. */
  readonly eventMs: number | undefined;
  /** Everything at or before this has arrived; -Infinity before anything is known, Infinity at the end. */
  readonly watermarkMs: number;
  emit(item: U): void;
  /** Fires when the watermark reaches `atMs`. If it already has, the timer fires when the watermark next advances. */
  setTimer(atMs: number): void;
  deleteTimer(atMs: number): void;
  /** Fires when the wall clock reaches `atMs`. Its output depends on the clock, so a replay may differ. */
  setClockTimer(atMs: number): void;
  deleteClockTimer(atMs: number): void;
}

export interface ProcessHandlers {
  onItem(item: unknown, context: unknown): void;
  onTimer?(timer: { readonly kind: TimerKind; readonly atMs: number }, context: unknown): void;
}

export class ProcessOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #handlers: ProcessHandlers;
  readonly #timers: Timers | undefined;
  readonly #journal: Journal | undefined;
  readonly #out = new BatchBuilder();
  readonly #context: Context;
  /** The only state, if there is just one: most items will use it. */
  readonly #only: AnyCells | undefined;
  #finalTimers = 0;

  constructor(env: OperatorEnv, states: readonly string[], handlers: ProcessHandlers) {
    super(env.name);
    this.#env = env;
    this.#handlers = handlers;
    if (handlers.onTimer !== undefined) {
      this.#timers = new Timers(env.cells(TIMERS), env.keyGroups);
    }
    this.#journal = env.deadLetters === undefined ? undefined : new Journal();
    this.#context = new Context(this.#out, this.#timers, this.#journal, () => this.watermarkMs);
    const [only, ...others] = states;
    if (only !== undefined && others.length === 0) this.#only = env.cells(only);
    for (const name of states) {
      this.#context.state[name] = keyedState(env.cells(name), this.#context, this.#journal);
    }
  }

  override async load(): Promise<void> {
    const timers = this.#timers;
    if (timers === undefined) return;
    await this.#env.forEach(TIMERS, ({ key, value }) => timers.index(key, value as KeyTimers));
  }

  take(batch: Batch): void {
    const { items, keys = [], rounds, times } = batch;
    const context = this.#context;
    const { onItem } = this.#handlers;
    context.origin = batch.origin;
    context.epoch = batch.epoch;
    context.firingMs = Number.NEGATIVE_INFINITY;
    const { length } = items;
    this.#only?.warm(keys);
    let at = 0;
    for (;;) {
      try {
        for (; at < length; at += 1) {
          context.key = keys[at] as Key;
          context.round = rounds[at] as number;
          context.index = batch.indexes === undefined ? 0 : (batch.indexes[at] as number);
          context.eventMs = times === undefined ? undefined : times[at];
          context.emitted = 0;
          const returned: unknown = onItem(items[at], context);
          if (returned !== undefined) checkNoPromise(returned);
          if (this.#journal !== undefined) this.#journal.clear();
        }
        break;
      } catch (thrown) {
        refuse(batch, at, this.#env, thrown, () => this.#undo());
        at += 1;
      }
    }
    if (this.#out.length > 0) this.emit(this.#out.take(batch.origin, batch.epoch, this.name));
  }

  protected override reach(ms: number): void {
    if (ms > this.watermarkMs) this.#fire('event', ms);
    this.forward(ms);
  }

  override tick(nowMs: number): void {
    this.#timers?.compact();
    this.#fire('clock', nowMs);
  }

  override get nextTickMs(): number {
    return this.#timers?.nextMs('clock') ?? Number.POSITIVE_INFINITY;
  }

  #fire(kind: TimerKind, throughMs: number): void {
    const timers = this.#timers;
    if (timers === undefined || timers.nextMs(kind) > throughMs) return;
    const context = this.#context;
    const out = this.#out;
    context.origin = kind === 'event' ? `timer:${this.name}` : `clock:${this.name}`;
    context.epoch = 0;
    for (;;) {
      const timer = timers.takeDue(kind, throughMs);
      if (timer === undefined) break;
      if (throughMs === Number.POSITIVE_INFINITY) this.#countFinal();
      context.key = timer.key;
      context.round = timer.atMs;
      context.index = 0;
      context.eventMs = kind === 'event' ? timer.atMs : undefined;
      context.firingMs = timer.atMs;
      context.emitted = 0;
      try {
        const returned: unknown = this.#handlers.onTimer?.({ kind, atMs: timer.atMs }, context);
        checkNoPromise(returned);
        if (this.#journal !== undefined) this.#journal.clear();
      } catch (thrown) {
        const item = { timer: kind, atMs: timer.atMs };
        const one = new BatchBuilder();
        one.push(item, timer.key, timer.atMs, 0, timer.atMs);
        const batch = one.take(context.origin, 0, this.name);
        refuse(batch, 0, this.#env, thrown, () => this.#undo());
      }
      if (out.length >= streamsLimits.batchItemsMax.value) this.#flush();
    }
    this.#flush();
  }

  #flush(): void {
    const { origin, epoch } = this.#context;
    if (this.#out.length > 0) this.emit(this.#out.take(origin, epoch, this.name));
  }

  #undo(): void {
    this.#journal?.undo();
    this.#out.cut(this.#out.length - this.#context.emitted);
  }

  #countFinal(): void {
    this.#finalTimers += 1;
    const { value: timersMax } = streamsLimits.finalTimersMax;
    if (this.#finalTimers <= timersMax) return;
    throw new SynclineError(
      'limit-exceeded',
      `operator "${this.name}" fired ${timersMax} timers after its input ended, and keeps setting more. ` +
        'Do not set a timer again once `ctx.watermarkMs` is Infinity.',
      { details: { limit: 'finalTimersMax', uid: this.name } },
    );
  }
}

/** Updated for each item. Monomorphic, so that the inner loop stays fast. */
class Context {
  key: Key = '';
  origin = '';
  epoch = 0;
  round = 0;
  index = 0;
  eventMs: number | undefined;
  emitted = 0;
  /** Time of the timer that is firing, if any. */
  firingMs = Number.NEGATIVE_INFINITY;
  readonly state: Record<string, unknown> = {};
  readonly #out: BatchBuilder;
  readonly #timers: Timers | undefined;
  readonly #journal: Journal | undefined;
  readonly #watermark: () => number;

  constructor(
    out: BatchBuilder,
    timers: Timers | undefined,
    journal: Journal | undefined,
    watermark: () => number,
  ) {
    this.#out = out;
    this.#timers = timers;
    this.#journal = journal;
    this.#watermark = watermark;
  }

  get time(): LogicalTime {
    return { epoch: this.epoch, round: this.round, origin: this.origin, index: this.index };
  }

  get watermarkMs(): number {
    return this.#watermark();
  }

  emit(item: unknown): void {
    checkNoPromise(item);
    checkOutputs(this.emitted);
    const index = childIndex(this.index, this.emitted);
    this.#out.push(item, this.key, this.round, index, this.eventMs);
    this.emitted += 1;
  }

  /** Timers at or before the watermark have already fired, so a new one is moved to just after it. */
  setTimer(atMs: number): void {
    const firedMs = Math.max(this.firingMs, this.#watermark());
    const isFinal = firedMs === Number.POSITIVE_INFINITY;
    const atLeastMs = (isFinal ? this.firingMs : firedMs) + 1;
    this.#set('event', Math.max(atMs, atLeastMs));
  }

  deleteTimer(atMs: number): void {
    this.#noted().delete('event', this.key, atMs);
  }

  setClockTimer(atMs: number): void {
    this.#set('clock', Math.max(atMs, this.firingMs + 1));
  }

  deleteClockTimer(atMs: number): void {
    this.#noted().delete('clock', this.key, atMs);
  }

  #set(kind: TimerKind, atMs: number): void {
    this.#noted().set(kind, this.key, atMs);
  }

  #noted(): Timers {
    const timers = this.#timers;
    if (timers === undefined) {
      throw new SynclineError('invalid-argument', 'an operator with timers needs `onTimer`', {
        details: { field: 'onTimer' },
      });
    }
    this.#journal?.note(timers.cells, this.key);
    this.#journal?.onUndo(timers.countKeeper());
    return timers;
  }
}

/** Only synchronous state changes are used here, so no turns are ever taken. */
const noTurns = { defer: () => ({ cancel() {} }) };

function keyedState(cells: AnyCells, context: Context, journal: Journal | undefined): unknown {
  if (cells.schema.kind === 'aggregate') {
    const state = new AggregateState(cells as Cells<unknown, undefined, unknown>, noTurns);
    return {
      get: () => state.get(context.key),
      update(fn: (value: unknown) => unknown) {
        if (journal !== undefined) journal.note(cells, context.key);
        return state.update(context.key, fn);
      },
    };
  }
  const state = new VersionedState(cells as Cells<unknown, Version, unknown>, noTurns);
  return {
    get: () => state.get(context.key),
    put(value: unknown, version: Version) {
      journal?.note(cells, context.key);
      return state.put(context.key, value, version);
    },
    delete(version: Version) {
      journal?.note(cells, context.key);
      return state.delete(context.key, version);
    },
  };
}
