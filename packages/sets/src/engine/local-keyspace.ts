// The sets of this node as commands see them: every call works on memory, within the turn. What changes named members
// is in local-changes.ts. The methods that commands call thousands of times per turn allocate nothing.
import {
  abortedError,
  type Random,
  randomBelow,
  type SynclineError,
  type VersionVector,
} from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type {
  Digest,
  Keyspace,
  Pin,
  ScanFrom,
  VisitBytes,
  Watcher,
  WriteHold,
} from '../keyspace.js';
import { ROW_HEADER_WORDS } from '../memory/element-row.js';
import { LocalChanges, type LocalChangesDeps } from './local-changes.js';
import { MemberPin } from './member-pin.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';
import type { LoopShare, Turns } from './turns.js';
import type { WriteGate } from './write-gate.js';

/** Draws that may miss, because they hit a removed member or an empty set, before all are listed instead. */
const MISSES_MAX = 64;

export interface LocalKeyspaceDeps extends LocalChangesDeps {
  readonly turns: Turns;
  readonly gate: WriteGate;
  readonly loop: LoopShare;
  readonly random: Random;
}

export class LocalKeyspace extends LocalChanges implements Keyspace {
  readonly #deps: LocalKeyspaceDeps;
  readonly #versionWaits = new VersionWaits();

  constructor(deps: LocalKeyspaceDeps) {
    super(deps);
    this.#deps = deps;
  }

  cardinality(args: ByteList, key: number): number {
    return this.state.sets.find(args, key)?.cardinality ?? 0;
  }

  has(args: ByteList, key: number, member: number): boolean {
    const set = this.state.sets.find(args, key);
    return set !== undefined && this.state.has(set, args, member);
  }

  fetch(args: ByteList, key: number, members: ByteList): void {
    const set = this.state.sets.find(args, key);
    if (set !== undefined) this.state.fetch(set, members);
  }

  endFetch(): void {
    this.state.endFetch();
  }

  setsCount(): number {
    return this.state.sets.filledCount;
  }

  memberBytes(args: ByteList, key: number): number {
    const set = this.state.sets.find(args, key);
    return set === undefined ? 0 : set.table.bytes - set.table.size * ROW_HEADER_WORDS * 4;
  }

  forEach(args: ByteList, key: number, visit: VisitBytes): void {
    const set = this.state.sets.find(args, key);
    set?.table.forEach((row) => {
      if (this.state.isPresent(row)) this.show(row, visit);
    });
  }

  sample(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    for (const row of this.#sampleRows(args, key, count)) this.show(row, visit);
  }

  draw(args: ByteList, key: number, count: number, visit: VisitBytes): void {
    const set = this.state.sets.find(args, key);
    if (set === undefined) return;
    for (let drawn = 0; drawn < count; drawn += 1) this.show(this.#randomRow(set), visit);
  }

  scan(args: ByteList, key: number, from: ScanFrom, visit: VisitBytes): number {
    const set = this.state.sets.find(args, key);
    if (set === undefined) return 0;
    let { position } = from;
    let missing = from.count;
    do {
      position = set.table.scan(position, missing, (row) => {
        if (!this.state.isPresent(row)) return;
        missing -= 1;
        this.show(row, visit);
      });
    } while (position !== 0 && missing > 0);
    return position;
  }

  scanNames(from: ScanFrom, visit: VisitBytes): number {
    let { position } = from;
    let missing = from.count;
    do {
      position = this.state.sets.scan(position, missing, ({ name, cardinality }) => {
        if (cardinality === 0) return;
        missing -= 1;
        visit(name, 0, name.length);
      });
    } while (position !== 0 && missing > 0);
    return position;
  }

  randomName(visit: VisitBytes): boolean {
    const { sets } = this.state;
    const { random } = this.#deps;
    if (sets.filledCount === 0) return false;
    for (let misses = 0; misses < MISSES_MAX; misses += 1) {
      const { name, cardinality } = sets.random(random);
      if (cardinality === 0) continue;
      visit(name, 0, name.length);
      return true;
    }
    let left = randomBelow(random, sets.filledCount);
    this.scanNames({ position: 0, count: sets.filledCount }, (...name) => {
      if (left === 0) visit(...name);
      left -= 1;
    });
    return true;
  }

  clear(args: ByteList, key: number): number {
    const set = this.state.sets.find(args, key);
    return set === undefined ? 0 : this.removeRows(set, this.#presentRows(set), undefined);
  }

  pop(args: ByteList, key: number, count: number, visit: VisitBytes): number {
    const set = this.state.sets.find(args, key);
    if (set === undefined) return 0;
    return this.removeRows(set, this.#sampleRows(args, key, count), visit);
  }

  admitWrite(): Promise<void> | undefined {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    return this.#deps.gate.admit();
  }

  whenWhole(): Promise<void> | undefined {
    return this.#deps.gate.whenWhole();
  }

  closeGate(signal: AbortSignal): Promise<WriteHold> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    return this.#deps.gate.close(signal);
  }

  openPin(sets: readonly Uint8Array[]): Pin {
    const { turns, loop, random } = this.#deps;
    const commitNow = () => void turns.commitNow();
    const yieldIfOverBudget = () => loop.yieldIfOverBudget();
    return new MemberPin(this.state, { random, commitNow, yieldIfOverBudget }, sets);
  }

  commit(): SynclineError | undefined {
    return this.#deps.turns.commitNow();
  }

  yieldIfOverBudget(): Promise<void> | undefined {
    return this.#deps.loop.yieldIfOverBudget();
  }

  version(): VersionVector {
    return this.state.version.toVector();
  }

  digest(): Digest {
    return this.state.digestNow();
  }

  lastCounter(): number {
    return this.state.version.ownCounter;
  }

  whenApplied(version: VersionVector, signal: AbortSignal): Promise<void> {
    return this.#versionWaits.wait(this.state, version, signal);
  }

  versionMoved(): void {
    this.#versionWaits.moved(this.state);
  }

  watch(args: ByteList, key: number, watcher: Watcher): void {
    this.state.sets.watch(watcher, args, key);
  }

  isWatched(args: ByteList, key: number, watcher: Watcher): boolean {
    return this.state.sets.find(args, key)?.watchers?.has(watcher) ?? false;
  }

  unwatch(watcher: Watcher): void {
    this.state.sets.unwatch(watcher);
  }

  #presentRows(set: SetEntry): number[] {
    const rows: number[] = [];
    set.table.forEach((row) => {
      if (this.state.isPresent(row)) rows.push(row);
    });
    return rows;
  }

  /** `count` different members, or all of them in random order. */
  #sampleRows(args: ByteList, key: number, count: number): readonly number[] {
    const set = this.state.sets.find(args, key);
    if (set === undefined) return [];
    const { random } = this.#deps;
    const wanted = Math.min(count, set.cardinality);
    if (wanted * 3 > set.cardinality || set.table.size > 2 * set.cardinality)
      return shuffledPart(this.#presentRows(set), wanted, random);
    const picked = new Set<number>();
    while (picked.size < wanted) picked.add(this.#randomRow(set));
    return [...picked];
  }

  /** Uniform over the members of a non-empty set. Rows that this turn has removed are drawn and skipped. */
  #randomRow(set: SetEntry): number {
    for (let misses = 0; misses < MISSES_MAX; misses += 1) {
      const row = set.table.randomRow(this.#deps.random);
      if (this.state.isPresent(row)) return row;
    }
    const rows = this.#presentRows(set);
    return rows[randomBelow(this.#deps.random, rows.length)] as number;
  }
}

/** The first `count` of the rows after a fair shuffle. Changes the list. */
function shuffledPart(rows: number[], count: number, random: Random): readonly number[] {
  for (let place = 0; place < count; place += 1) {
    const other = place + randomBelow(random, rows.length - place);
    const row = rows[other] as number;
    rows[other] = rows[place] as number;
    rows[place] = row;
  }
  rows.length = count;
  return rows;
}

interface VersionWait {
  readonly counter: number;
  resolve(): void;
}

/** Reads that wait for a version. Each waits for one missing dot at a time, so a turn wakes only those it serves. */
class VersionWaits {
  /** By actor, the lowest counter first. */
  readonly #waits = new Map<number, VersionWait[]>();

  async wait(state: SetsState, version: VersionVector, signal: AbortSignal): Promise<void> {
    for (const { actor, counter } of version.entries()) {
      if (state.version.counterOf(actor) >= counter) continue;
      if (signal.aborted) throw abortedError('waiting for a version', signal);
      await new Promise<void>((resolve, reject) => {
        const waits = this.#waits.get(actor) ?? [];
        this.#waits.set(actor, waits);
        const leave = () => {
          waits.splice(waits.indexOf(entry), 1);
          if (waits.length === 0) this.#waits.delete(actor);
          reject(abortedError('waiting for a version', signal));
        };
        const entry: VersionWait = {
          counter,
          resolve: () => {
            signal.removeEventListener('abort', leave);
            resolve();
          },
        };
        const before = waits.findLastIndex((other) => other.counter <= counter);
        waits.splice(before + 1, 0, entry);
        signal.addEventListener('abort', leave, { once: true });
      });
    }
  }

  moved({ version }: SetsState): void {
    if (this.#waits.size === 0) return;
    for (const [actor, waits] of this.#waits) {
      const counter = version.counterOf(actor as Parameters<typeof version.counterOf>[0]);
      while (waits[0] !== undefined && waits[0].counter <= counter) waits.shift()?.resolve();
      if (waits.length === 0) this.#waits.delete(actor);
    }
  }
}
