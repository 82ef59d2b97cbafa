// What the node has written to the log, across all restarts, and how durable each record is. For the current process,
// also what its clients sent and received.
//
//   being written ─ appended ─▶ survives a kill ─ synced ─▶ survives a power loss
//        │
//        ├ the disk is full: nothing of it is there, and its number and dots may be used again
//        └ the process ended in the middle: it may turn up at the next start
//
// S1   Equal versions mean equal digests, in everything that was ever shown.
// S2   An operation drops exactly the dots of the elements that it changes.
// S3   No dot is made twice, unless its record found no room.
// S4   Counters have no gaps.
// S6   A kill loses nothing that was appended, a power loss nothing that was synced; what remains is a prefix.
// S21  Checkpoint and log together hold the state after the last record that is left.
import { assert, type Durability, dot as dotOf, formatActor, formatDot } from '@syncline/kernel';
import {
  type PlainOperation,
  PlainSets,
  plainByProtobuf,
  type RespReply,
  type StoredSets,
} from '@syncline/sets/testing';
import type { RandomCommand } from './random-commands.js';

/** The sets after one operation. */
export interface SetsStep {
  readonly sets: PlainSets;
  /** The operation that led here; undefined in an empty store. */
  readonly operation: PlainOperation | undefined;
}

const FIRST_STEP: SetsStep = { sets: new PlainSets(), operation: undefined };

/** A command, or a whole transaction. */
export interface Sent extends RandomCommand {
  /** Operations that were in the log when it was sent. */
  readonly storedBefore: number;
  /** Undefined if it was never answered, so it may or may not have run. */
  answer: Answer | undefined;
}

export interface Answer {
  /** One per command; those of a transaction are within the last. */
  readonly replies: readonly RespReply[];
  /** Operations that were as durable as promised when the reply came. */
  readonly storedAfter: number;
}

export class SetsLife {
  /** `steps[n]` is the state after n operations of this process; the first is what it found on disk. */
  readonly steps: SetsStep[];
  appendedCount = 0;
  syncedCount = 0;
  /** The disk may drop what was not synced, however the process ends. */
  hasSyncFailed = false;
  /** The durability class that clients may rely on, unless a change of it is in flight. */
  durability: Durability;
  switchesInFlight = 0;
  /** What was sent over each connection, in order. */
  readonly connections: Sent[][] = [];

  constructor(found: SetsStep, durability: Durability) {
    this.steps = [found];
    this.durability = durability;
  }
}

interface LogRecord {
  readonly steps: readonly SetsStep[];
  /** Operations of its process up to its end. */
  readonly operationsCount: number;
}

export type LifeEnd = 'kill' | 'power';

export class SetsHistory {
  readonly #durability: Durability;
  /** The record with number n is at n - 1. Records that can never be the last one again are empty. */
  readonly #records: (LogRecord | undefined)[] = [];
  #appendedNumber = 0;
  #syncedNumber = 0;
  /** From every dot that was ever handed to the disk to its element. */
  readonly #dots = new Map<string, string>();
  /** The digest shown for each version. */
  readonly #digests = new Map<string, string>();
  life: SetsLife;

  /** Every process starts in this durability class. */
  constructor(durability: Durability) {
    this.#durability = durability;
    this.life = new SetsLife(FIRST_STEP, durability);
  }

  appending(body: Uint8Array): void {
    const { steps } = this.life;
    const before = steps.length;
    for (const operation of operationsOf(body)) {
      for (const [index, dot] of dotsOf(operation).entries()) {
        const element = operation.added[index]?.slice(0, 2).join('/') ?? 'a remove';
        const earlier = this.#dots.get(dot);
        assert(earlier === undefined, `S3: the dot ${dot} of ${element} was already ${earlier}`);
        this.#dots.set(dot, element);
      }
      steps.push(stepAfter(steps.at(-1) ?? FIRST_STEP, operation));
    }
    assert(steps.length > before, 'S6: a record holds an operation');
    this.#records.push({ steps: steps.slice(before), operationsCount: steps.length - 1 });
  }

  /** Returns its number. */
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

  /** Every record up to this number survives a power loss. */
  synced(number: number): void {
    this.#syncedNumber = Math.max(this.#syncedNumber, number);
    this.life.syncedCount = this.#records[number - 1]?.operationsCount ?? this.life.syncedCount;
  }

  sending(command: RandomCommand): Sent {
    if (command.words[0]?.[0] === 'CONFIG') this.life.switchesInFlight += 1;
    return { ...command, storedBefore: this.life.appendedCount, answer: undefined };
  }

  answered(sent: Sent, replies: readonly RespReply[]): void {
    const { durability, switchesInFlight, appendedCount, syncedCount } = this.life;
    const isSynced = durability === 'synced' && switchesInFlight === 0;
    sent.answer = { replies, storedAfter: isSynced ? syncedCount : appendedCount };
    const [[name, , , value] = []] = sent.words;
    if (name === 'CONFIG') {
      this.life.durability = value === 'always' ? 'synced' : 'buffered';
      this.life.switchesInFlight -= 1;
    }
    const [version, dots, xor] = (replies[0]?.items ?? []).map(({ text }) => text ?? '');
    if (name === 'SYNCLINE.DIGEST' && version !== undefined) this.shown(version, `${dots} ${xor}`);
  }

  shown(version: string, digest: string): void {
    const known = this.#digests.get(version) ?? digest;
    assert(known === digest, `S1: at ${version} the digest was ${known}, and is now ${digest}`);
    this.#digests.set(version, digest);
  }

  /** What a new process will find. Starts its part of the history, and returns the number of records that were lost. */
  recover(stored: StoredSets | undefined, end: LifeEnd): number {
    const last = (stored?.checkpointNumber ?? 0) + (stored?.logRecords ?? 0);
    const isSyncedOnly = end === 'power' || this.life.hasSyncFailed;
    const safe = isSyncedOnly ? this.#syncedNumber : this.#appendedNumber;
    assert(last >= safe, `S6: record ${safe} was stored, ${last} is the last one after: ${end}`);
    assert(last <= this.#records.length, `S6: record ${last} is found, but was never written`);
    const step = last === 0 ? FIRST_STEP : this.#records[last - 1]?.steps.at(-1);
    assert(step !== undefined, 'records that may be the last one are kept');
    const found = stored?.sets ?? FIRST_STEP.sets;
    const [has, had] = [found, step.sets].map(
      (sets) => `${String(sets.version)} ${sets.lines().join()}`,
    );
    assert(has === had, `S21: after record ${last} the disk holds ${has}, not ${had}`);
    assert((stored?.flaws ?? []).length === 0, `S3: ${stored?.flaws.join()}`);
    const lost = Math.max(0, this.#appendedNumber - last);
    this.#records.length = last;
    this.#records.fill(undefined, 0, Math.max(0, this.#syncedNumber - 1));
    this.#appendedNumber = last;
    this.life = new SetsLife(step, this.#durability);
    return lost;
  }

  /** A start makes everything it has found durable. */
  started(): void {
    this.#syncedNumber = this.#records.length;
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
  const elements = [...added, ...removed].map(([set, member]) => ({ set, member }));
  const had = elements.flatMap((element) => before.dotsOf(element).map(formatDot));
  const isExact = had.toSorted().join() === dropped.toSorted().join();
  assert(isExact, `S2: ${name} drops ${dropped.join()}, its elements had ${had.join()}`);
  const sets = before.copy();
  sets.apply(operation);
  return { sets, operation };
}

/** The dots of all counters that an operation uses. */
function dotsOf(operation: PlainOperation | undefined): readonly string[] {
  if (operation === undefined) return [];
  const { actor, base, count } = operation;
  return Array.from({ length: count }, (_, index) => formatDot(dotOf(actor, base + index)));
}
