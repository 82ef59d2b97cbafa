// Applies what a pull has found: adds the missed elements, drops those that were removed elsewhere, and merges the
// version. In the log a repair is a run of records and an end; without the end it never happened.
//
//   repair      u8 what (1 add, 2 drop) · u32 index in its repair · an AntiEntropyPayload
//   repairEnd   u32 records · version vector
//
// A replay does exactly what was done when the repair was made: there is nothing between its records, so the version
// at that moment is the same. Adds are applied as they arrive. Those of a repair without an end are not covered by the
// version: that is how they are found and undone.
//
// S33  A dot that the version covers at the moment of applying is not added: it was seen, and may have been removed.
// S34  A repair counts completely or not at all, whatever ends the process in the meantime.
import { assert, type Dot, SynclineError, VersionVector } from '@syncline/kernel';
import type { SetEntry } from '../engine/set-table.js';
import type { SetsState } from '../engine/sets-state.js';
import { wordOf } from '../memory/element-heap.js';
import { type DotWords, readDots } from '../memory/element-row.js';
import { Payload } from './payload.js';

/** Elements between two yields, unless a test asks for fewer. */
const SLICE_ELEMENTS = 256;
const HEAD_BYTES = 5;
const END_HEAD_BYTES = 4;

export const RepairPart = { add: 1, drop: 2 } as const;
export type RepairPart = (typeof RepairPart)[keyof typeof RepairPart];

/** The head of a repair record; the payload follows. */
export function repairHead(part: RepairPart, index: number): Uint8Array {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(part, 0);
  head.writeUInt32BE(index, 1);
  return head;
}

export function repairEnd(records: number, version: VersionVector): readonly Uint8Array[] {
  const head = Buffer.alloc(END_HEAD_BYTES);
  head.writeUInt32BE(records);
  return [head, version.toBytes()];
}

/** Adds the dots that the version does not cover. Each step is a slice, and leaves the turn empty. */
export function* applyAdds(
  state: SetsState,
  payload: Payload,
  slice = SLICE_ELEMENTS,
): Generator<void, number, undefined> {
  let added = 0;
  for (let index = 0; index < payload.length; index += 1) {
    const [actor, counter] = [payload.actorOf(index), payload.counterOf(index)];
    if (counter > state.version.counterOf(actor)) {
      const set = state.sets.findOrCreate(payload.sets, payload.setOf(index));
      const row = state.findOrInsert(set, payload.members, index);
      changeDots(state, set, row, (dots) => [...dots, { actor, counter }]);
      added += 1;
    }
    if (index % slice === slice - 1) {
      state.settleTurn();
      yield;
    }
  }
  state.settleTurn();
  return added;
}

/** Drops those of the dots that still exist. */
export function* applyDrops(
  state: SetsState,
  payload: Payload,
  slice = SLICE_ELEMENTS,
): Generator<void, number, undefined> {
  let dropped = 0;
  for (let index = 0; index < payload.length; index += 1) {
    const [actor, counter] = [payload.actorOf(index), payload.counterOf(index)];
    const [set, row] = findElement(state, payload, index);
    if (set !== undefined && row !== 0) {
      const isOther = (dot: Dot) => dot.actor !== actor || dot.counter !== counter;
      dropped += dropDots(state, set, row, isOther);
    }
    if (index % slice === slice - 1) {
      state.settleTurn();
      yield;
    }
  }
  state.settleTurn();
  return dropped;
}

/** The last step: from now on everything that the peer had seen counts as seen here. */
export function mergeVersion(state: SetsState, version: VersionVector): void {
  for (const { actor, counter } of version.entries())
    if (counter > state.version.counterOf(actor)) state.advance(actor, counter);
  state.settleTurn();
}

/** Undoes the adds of a repair that has no end. */
export function* dropUncovered(state: SetsState): Generator<void, void, undefined> {
  const isCovered = ({ actor, counter }: Dot) => counter <= state.version.counterOf(actor);
  for (let position = 0; ; ) {
    const sets: SetEntry[] = [];
    position = state.sets.scan(position, SLICE_ELEMENTS, (set) => void sets.push(set));
    for (const set of sets) {
      for (let hash = 0; hash < 2 ** 32; ) {
        const rows: number[] = [];
        hash = set.table.walk(hash, SLICE_ELEMENTS, (row) => void rows.push(row));
        for (const row of rows) dropDots(state, set, row, isCovered);
        state.settleTurn();
        yield;
      }
    }
    if (position === 0) return;
  }
}

/** The part of the log that belongs to a repair, while it is replayed. */
export class RepairReplay {
  readonly #state: SetsState;
  /** Of the repair that has begun and not ended. */
  #records = 0;
  #drops: Payload[] = [];

  constructor(state: SetsState) {
    this.#state = state;
  }

  part(body: Uint8Array): void {
    const view = new DataView(body.buffer, body.byteOffset, body.length);
    if (body.length < HEAD_BYTES) throw damaged('a part of a repair is truncated');
    const index = view.getUint32(1);
    if (index === 0) this.abandon();
    if (index !== this.#records) throw damaged('a part of a repair is missing');
    this.#records += 1;
    const payload = new Payload(body.slice(HEAD_BYTES), 'corrupt');
    if (view.getUint8(0) === RepairPart.drop) this.#drops.push(payload);
    else if (view.getUint8(0) === RepairPart.add) run(applyAdds(this.#state, payload));
    else throw damaged('a part of a repair has an unknown kind');
  }

  end(body: Uint8Array): void {
    if (body.length < END_HEAD_BYTES) throw damaged('the end of a repair is truncated');
    const records = new DataView(body.buffer, body.byteOffset, body.length).getUint32(0);
    if (records === 0) this.abandon(); // a repair without parts, after one that has no end
    if (records !== this.#records) throw damaged('a part of a repair is missing');
    for (const payload of this.#drops) run(applyDrops(this.#state, payload));
    mergeVersion(this.#state, VersionVector.fromBytes(body.slice(END_HEAD_BYTES)));
    this.#records = 0;
    this.#drops = [];
  }

  /** Another record follows, or none: the repair that was begun has no end. */
  abandon(): void {
    if (this.#records === 0) return;
    this.#records = 0;
    this.#drops = [];
    run(dropUncovered(this.#state));
  }
}

function findElement(
  state: SetsState,
  payload: Payload,
  index: number,
): readonly [SetEntry | undefined, number] {
  const set = state.sets.find(payload.sets, payload.setOf(index));
  return [set, set === undefined ? 0 : state.find(set, payload.members, index)];
}

function dropDots(
  state: SetsState,
  set: SetEntry,
  row: number,
  isKept: (dot: Dot) => boolean,
): number {
  let gone = 0;
  changeDots(state, set, row, (dots) => {
    const kept = dots.filter(isKept);
    if (kept.length === dots.length) return dots;
    gone = dots.length - kept.length;
    if (state.pins.areOpen) state.pins.dropped(set, row, dots, kept);
    return kept;
  });
  return gone;
}

/** Does nothing when `change` returns what it was given. */
function changeDots(
  state: SetsState,
  set: SetEntry,
  row: number,
  change: (dots: readonly Dot[]) => readonly Dot[],
): void {
  const page = state.heap.words[row >>> 16] as Int32Array;
  const start = wordOf(row);
  const words: DotWords = { actor: 0, high: 0, low: 0 };
  readDots(page, start, words);
  const before = state.several.read(words);
  const after = change(before);
  if (after === before) return;
  assert(
    new Set(after.map(({ actor, counter }) => `${actor}:${counter}`)).size === after.length,
    'S3: a dot is added once',
  );
  state.touch(set, row, page, start);
  state.several.write(after, words);
  state.write(set, row, words);
}

function run(steps: Generator<void, unknown, undefined>): void {
  while (steps.next().done !== true);
}

function damaged(why: string): SynclineError {
  return new SynclineError(
    'corrupt',
    `the sets log is damaged: ${why}. Restore the directory from a backup, or move it away and start with an ` +
      'empty one, which loads the sets from a peer if there is one.',
  );
}
