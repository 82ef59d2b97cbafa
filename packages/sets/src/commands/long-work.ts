// How commands work for longer than a turn: reads through a pin, changes in parts behind the write gate, and both in
// slices, so that others run in between. A read ends as soon as its client is gone; a change that has begun is
// completed anyway.
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';
import { ByteCollector, type ByteList } from '../byte-list.js';
import type { Keyspace, WriteHold } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { Reply } from '../resp/reply-writer.js';
import type { CommandContext } from './command.js';
import { ELEMENT_EXTRA_BYTES, OPERATION_BYTES } from './load.js';

const ITEMS_PER_CHECK = 64;
/** One operation of a change that takes several. Small ones hold the event loop for a short time only. */
const PART_ELEMENTS_MAX = 4_096;
const PART_BYTES_MAX = 256 * 1024;

/** For loops: undefined to continue, a promise if others should run first. */
export type Pause = () => Promise<void> | undefined;

/** For reads: throws `aborted` once the client has gone. */
export function pauseUnlessGone(keyspace: Keyspace, signal: AbortSignal): Pause {
  return () => {
    if (signal.aborted) throw abortedError('a command whose client has gone', signal);
    return keyspace.yieldIfOverBudget()?.then(() => void keyspace.commit());
  };
}

/** Sends the items of a list as fast as the client takes them. */
export async function writeBulks(reply: Reply, list: ByteList, pauseOf: Pause): Promise<void> {
  for (let index = 0; index < list.length; index += 1) {
    reply.bulkOf(list, index);
    const pause = reply.room() ?? (index % ITEMS_PER_CHECK === 0 ? pauseOf() : undefined);
    if (pause !== undefined) await pause;
  }
}

/** Sends members as they come, as fast as the client takes them. */
export async function writeBatches(
  reply: Reply,
  batches: AsyncIterable<readonly Uint8Array[]>,
  pauseOf: Pause,
): Promise<void> {
  for await (const batch of batches) {
    for (const member of batch) {
      reply.bulk(member, 0, member.length);
      const full = reply.room();
      if (full !== undefined) await full;
    }
    const pause = pauseOf();
    if (pause !== undefined) await pause;
  }
}

/** Several changes as one operation: all of them, or none if that is too large. */
export function inOneOperation(keyspace: Keyspace, change: () => void): void {
  keyspace.begin();
  try {
    change();
  } catch (thrown) {
    keyspace.abandon();
    throw thrown;
  }
  keyspace.end();
}

/** Keeps other writes out while the work runs, except between its parts. */
export async function withGate<Result>(
  keyspace: Keyspace,
  signal: AbortSignal,
  work: (hold: WriteHold) => Promise<Result>,
): Promise<Result> {
  const hold = await keyspace.closeGate(signal);
  try {
    return await work(hold);
  } finally {
    hold.release();
  }
}

/** Whether the words from `from` on are too many members for one operation. */
export function exceedsOperation(args: ByteList, from: number): boolean {
  const elementsMax = setsLimits.operationElementsMax.value;
  // Almost always enough: all words lie in the buffer.
  const isSmall =
    args.length <= elementsMax / 2 && args.buffer.length < setsLimits.operationBytesMax.value / 2;
  return !isSmall && partEnd(args, from, elementsMax, OPERATION_BYTES) < args.length;
}

/** Adds or removes the words after `key`, in parts; returns how many members were absent, or present. */
export async function changeInParts(
  { args, keyspace }: Pick<CommandContext, 'args' | 'keyspace'>,
  key: number,
  kind: 'add' | 'remove',
  hold: WriteHold,
): Promise<number> {
  let changed = 0;
  for (let from = key + 1; from < args.length; ) {
    const to = partEnd(args, from, PART_ELEMENTS_MAX, PART_BYTES_MAX);
    changed += keyspace[kind](args, key, from, to);
    from = to;
    const pause = hold.nextPart();
    if (pause !== undefined) await pause;
  }
  return changed;
}

/** How many members of average size one part may change. */
export function membersPerPart(keyspace: Keyspace, args: ByteList, key: number): number {
  const bytes = Math.max(1, keyspace.memberBytes(args, key));
  const fitting = Math.floor((PART_BYTES_MAX * keyspace.cardinality(args, key)) / bytes);
  return Math.max(1, Math.min(PART_ELEMENTS_MAX, fitting));
}

/** The index after the last member that still fits. At least one always does. */
function partEnd(args: ByteList, from: number, elementsMax: number, bytesMax: number): number {
  const end = Math.min(args.length, from + elementsMax);
  let bytes = 0;
  for (let index = from; index < end; index += 1) {
    bytes += args.sizeOf(index) + ELEMENT_EXTRA_BYTES;
    if (bytes > bytesMax) return Math.max(index, from + 1);
  }
  return end;
}

/** Members of one set within a part. `from` and `to` are indices into its words. */
interface Run {
  readonly kind: 'add' | 'remove';
  readonly set: Uint8Array;
  readonly key: number;
  readonly from: number;
  to: number;
}

/**
 * Changes of any number of sets. Together they are one operation if they fit in one, so that they are never visible
 * half done; otherwise one operation per part. Without a hold of the gate they are only collected.
 */
export class ChangeParts {
  readonly #keyspace: Keyspace;
  readonly #hold: WriteHold | undefined;
  #part = new ChangePart();
  /** Complete, but not applied yet. */
  readonly #waiting: ChangePart[] = [];
  #waitingElements = 0;
  #waitingBytes = 0;
  #isSplit = false;
  /** Members that were walked last. */
  readonly #page = new ByteCollector();

  constructor(deps: { readonly keyspace: Keyspace; readonly hold?: WriteHold }) {
    this.#keyspace = deps.keyspace;
    this.#hold = deps.hold;
  }

  /**
   * Undefined: continue. `set` must be the same object for consecutive members of one set. Throws `limit-exceeded`
   * when there is no hold, and more was collected than one operation takes.
   */
  push(kind: Run['kind'], set: Uint8Array, member: Uint8Array): Promise<void> | undefined {
    this.#part.push(kind, set, member);
    if (!this.#part.isFull) return undefined;
    this.#complete();
    const isOneOperation =
      this.#waitingElements + PART_ELEMENTS_MAX <= setsLimits.operationElementsMax.value &&
      this.#waitingBytes + PART_BYTES_MAX <= OPERATION_BYTES;
    if (isOneOperation && !this.#isSplit) return undefined;
    if (this.#hold === undefined)
      throw new SynclineError('limit-exceeded', 'the changes do not fit in one operation');
    this.#isSplit = true;
    return this.#applyParts(this.#hold);
  }

  /**
   * Removes all members, or all but those to be kept. The set is walked as it is: members that others add in the
   * meantime may or may not be removed.
   */
  async removeAll(
    names: ByteList,
    key: number,
    isKept: (member: Uint8Array) => boolean | Promise<boolean> = () => false,
  ): Promise<void> {
    const keyspace = this.#keyspace;
    const set = names.bytes(key);
    const count = membersPerPart(keyspace, names, key);
    let position = 0;
    const page = this.#page;
    do {
      page.truncate(0);
      const from = { position, count };
      position = keyspace.scan(names, key, from, (...member) => void page.push(...member));
      for (let index = 0; index < page.list.length; index += 1) {
        const member = page.list.bytes(index);
        const kept = isKept(member);
        const isRemoved = kept === false || (kept !== true && !(await kept));
        const applied = isRemoved ? this.push('remove', set, member) : undefined;
        const isCheck = index % ITEMS_PER_CHECK === 0;
        const pause = applied ?? (isCheck ? this.pause() : undefined);
        if (pause !== undefined) await pause;
      }
    } while (position !== 0);
  }

  /** With a hold, others may write in between only once the changes are several operations: one must be seen whole. */
  pause(): Promise<void> | undefined {
    const keyspace = this.#keyspace;
    if (this.#hold === undefined)
      return keyspace.yieldIfOverBudget()?.then(() => void keyspace.commit());
    return this.#isSplit ? this.#hold.nextPart() : keyspace.yieldIfOverBudget();
  }

  async finish(hold: WriteHold): Promise<void> {
    this.#complete();
    if (this.#isSplit) return this.#applyParts(hold);
    inOneOperation(this.#keyspace, () => {
      for (const part of this.#waiting) part.apply(this.#keyspace);
    });
    await hold.nextPart();
  }

  #complete(): void {
    this.#waiting.push(this.#part);
    this.#waitingElements += this.#part.elements;
    this.#waitingBytes += this.#part.bytes;
    this.#part = new ChangePart();
  }

  async #applyParts(hold: WriteHold): Promise<void> {
    for (const part of this.#waiting.splice(0)) {
      inOneOperation(this.#keyspace, () => part.apply(this.#keyspace));
      const pause = hold.nextPart();
      if (pause !== undefined) await pause;
    }
  }
}

class ChangePart {
  readonly #words = new ByteCollector();
  readonly #runs: Run[] = [];
  elements = 0;

  get bytes(): number {
    return this.#words.bytes + this.#words.list.length * ELEMENT_EXTRA_BYTES;
  }

  get isFull(): boolean {
    return this.elements >= PART_ELEMENTS_MAX || this.bytes >= PART_BYTES_MAX;
  }

  push(kind: Run['kind'], set: Uint8Array, member: Uint8Array): void {
    const { list } = this.#words;
    let run = this.#runs.at(-1);
    if (run === undefined || run.kind !== kind || run.set !== set) {
      const key = this.#words.pushBytes(set);
      run = { kind, set, key, from: list.length, to: list.length };
      this.#runs.push(run);
    }
    this.#words.pushBytes(member);
    this.elements += 1;
    run.to = list.length;
  }

  apply(keyspace: Keyspace): void {
    for (const { kind, key, from, to } of this.#runs)
      keyspace[kind](this.#words.list, key, from, to);
  }
}

/** A wait that ends when its time is over, or when its client has gone. The signal fires after `timeoutMs`, 0 being never, or with `gone`. */
export async function waitWithin<Result>(
  clock: Clock,
  timeoutMs: number,
  gone: AbortSignal,
  wait: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onGone = () => stop.abort();
  if (gone.aborted) onGone();
  const timer = timeoutMs === 0 ? undefined : clock.setTimer(timeoutMs, () => stop.abort());
  gone.addEventListener('abort', onGone, { once: true });
  try {
    return await wait(stop.signal);
  } finally {
    timer?.cancel();
    gone.removeEventListener('abort', onGone);
  }
}
