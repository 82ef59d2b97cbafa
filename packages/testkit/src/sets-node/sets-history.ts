// What the process has handed to the log, over all its lives, and how durable each record is; and of the present
// life what its clients sent and were told.
//
//   being written ─ appended ─▶ survives a kill ─ synced ─▶ survives a loss of power
//        │
//        ├ the disk is full: nothing of it is there, and its number and dots may be used again
//        └ the process ended in the middle: it may turn up at the next start
//
// S1  Equal versions mean equal digests, over all that was ever shown.
// S2  An operation drops exactly the dots of the elements that it changes.
// S3  No dot is made twice, unless its record found no room.
// S4  Counters have no gaps.
// S6  A kill takes nothing that was appended, a loss of power nothing that was synced; what is left is a prefix.
// S21 Checkpoint and log together hold the state after the last record that is left.
import { assert, dot as dotOf, formatActor, formatDot } from '@syncline/kernel';
import {
  type PlainOperation,
  PlainSets,
  plainByProtobuf,
  type RespReply,
  type StoredSets,
} from '@syncline/sets/testing';

/** The sets after one operation. */
export interface SetsStep {
  readonly sets: PlainSets;
  /** What led here; undefined in an empty store. */
  readonly operation: PlainOperation | undefined;
}

/** A command, or a whole transaction. */
export interface Sent {
  readonly words: readonly (readonly string[])[];
  readonly isTransaction: boolean;
  /** Operations that were in the log when it was sent. */
  readonly storedBefore: number;
  /** Undefined: it was never answered, so nobody knows what became of it. */
  answer: Answer | undefined;
}

export interface Answer {
  /** One per command; those of a transaction are within the last. */
  readonly replies: readonly RespReply[];
  /** Operations that were as durable as promised when it came. */
  readonly storedAfter: number;
}

export class SetsLife {
  /** `steps[n]` is after n operations of this life; the first is what was found. */
  readonly steps: SetsStep[];
  appendedCount = 0;
  syncedCount = 0;
  /** The disk may drop what was not synced, whatever ends the process. */
  hasSyncFailed = false;
  /** What was sent over each connection, in order. */
  readonly connections: Sent[][] = [];

  constructor(found: SetsStep) {
    this.steps = [found];
  }
}

interface LogRecord {
  readonly steps: readonly SetsStep[];
  /** Operations of its life up to its end. */
  readonly operationsCount: number;
}

const FIRST_STEP: SetsStep = { sets: new PlainSets(), operation: undefined };

export type LifeEnd = 'kill' | 'power';

export class SetsHistory {
  /** The record with number n stands at n - 1. Those that can never be the last one again are empty. */
  readonly #records: (LogRecord | undefined)[] = [];
  #appendedNumber = 0;
  #syncedNumber = 0;
  /** From every dot that was ever handed to the disk to its element. */
  readonly #dots = new Map<string, string>();
  /** By version, what was shown. */
  readonly #digests = new Map<string, string>();
  life = new SetsLife(FIRST_STEP);

  appending(body: Uint8Array): void {
    const steps: SetsStep[] = [];
    for (const operation of operationsOf(body)) {
      const step = stepAfter(steps.at(-1) ?? this.#lastStep(), operation);
      this.#takeDots(operation);
      steps.push(step);
    }
    assert(steps.length > 0, 'S6: a record holds an operation');
    this.life.steps.push(...steps);
    this.#records.push({ steps, operationsCount: this.life.steps.length - 1 });
  }

  /** Gives its number. */
  appended(): number {
    this.#appendedNumber = this.#records.length;
    this.life.appendedCount = this.life.steps.length - 1;
    return this.#appendedNumber;
  }

  /** There was no room: nothing of the record is on the disk. */
  refused(): void {
    const { steps = [] } = this.#records.pop() ?? {};
    this.life.steps.length -= steps.length;
    for (const { operation } of steps) for (const dot of dotsOf(operation)) this.#dots.delete(dot);
  }

  /** Every record up to this number survives a loss of power. */
  synced(number: number): void {
    this.#syncedNumber = Math.max(this.#syncedNumber, number);
    this.life.syncedCount = this.#records[number - 1]?.operationsCount ?? this.life.syncedCount;
  }

  shown(version: string, digest: string): void {
    const known = this.#digests.get(version) ?? digest;
    assert(known === digest, `S1: at ${version} the digest was ${known}, and is ${digest}`);
    this.#digests.set(version, digest);
  }

  /** What a new process will find. Starts its life, and gives the number of records that were lost. */
  recover(stored: StoredSets | undefined, end: LifeEnd): number {
    const last = (stored?.checkpointNumber ?? 0) + (stored?.logRecords ?? 0);
    const isSyncedOnly = end === 'power' || this.life.hasSyncFailed;
    const safe = isSyncedOnly ? this.#syncedNumber : this.#appendedNumber;
    assert(last >= safe, `S6: record ${safe} was stored, ${last} is left after a ${end}`);
    assert(last <= this.#records.length, `S6: record ${last} is found, but was never written`);
    const step = last === 0 ? FIRST_STEP : this.#records[last - 1]?.steps.at(-1);
    assert(step !== undefined, 'records that may be the last one are kept');
    const found = stored?.sets ?? new PlainSets();
    const [has, had] = [found, step.sets].map(
      (sets) => `${String(sets.version)} ${sets.lines().join()}`,
    );
    assert(has === had, `S21: after record ${last} the disk holds ${has}, not ${had}`);
    assert((stored?.flaws ?? []).length === 0, `S3: ${stored?.flaws.join()}`);
    const lost = Math.max(0, this.#appendedNumber - last);
    this.#records.length = last;
    this.#records.fill(undefined, 0, Math.max(0, this.#syncedNumber - 1));
    this.#appendedNumber = last;
    this.life = new SetsLife(step);
    return lost;
  }

  /** A start makes all that it has found durable. */
  started(): void {
    this.#syncedNumber = this.#records.length;
  }

  #lastStep(): SetsStep {
    return this.life.steps.at(-1) as SetsStep;
  }

  #takeDots(operation: PlainOperation): void {
    for (const [index, dot] of dotsOf(operation).entries()) {
      const element = operation.added[index]?.slice(0, 2).join('/') ?? 'a remove';
      const earlier = this.#dots.get(dot);
      assert(earlier === undefined, `S3: the dot ${dot} of ${element} was already ${earlier}`);
      this.#dots.set(dot, element);
    }
  }
}

/** Read by Protobuf-ES and not by the code under test. */
function operationsOf(body: Uint8Array): readonly PlainOperation[] {
  try {
    return plainByProtobuf(body);
  } catch (error) {
    assert(false, `S2: a record cannot be read: ${String(error)}`);
  }
}

/** One node makes all operations here, so every element has one dot. */
function stepAfter({ sets: before }: SetsStep, operation: PlainOperation): SetsStep {
  const { actor, base, added, removed, dropped } = operation;
  const name = `the operation ${formatDot(dotOf(actor, base))}`;
  const last = before.version.counterOf(actor);
  assert(base === last + 1, `S4: ${name} follows ${formatActor(actor)}:${last}`);
  const absent = removed.find(([set, member]) => !before.has({ set, member }));
  assert(absent === undefined, `S2: ${name} removes ${absent?.join('/')}, which is absent`);
  const had = [...added, ...removed].flatMap(([set, member]) =>
    before.dotsOf({ set, member }).map(formatDot),
  );
  assert(
    had.toSorted().join() === dropped.toSorted().join(),
    `S2: ${name} drops ${dropped.join()}, its elements had ${had.join()}`,
  );
  const sets = before.copy();
  sets.apply(operation);
  return { sets, operation };
}

/** Of all counters that an operation takes. */
function dotsOf(operation: PlainOperation | undefined): readonly string[] {
  if (operation === undefined) return [];
  const { actor, base, count } = operation;
  return Array.from({ length: count }, (_, index) => formatDot(dotOf(actor, base + index)));
}
