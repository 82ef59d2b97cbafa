// What a stream gets when it has room again, all at once and with current values: its Welcome, the requested
// snapshots, the cells it missed, its acknowledgements. It stops when the sink is full again, or when others
// come first, and continues from there the next time.
//
// A snapshot lists every cell and is marked as such; no other message of its seed is sent in between. Cells
// that change after they were listed are marked as missed, and follow.
import { type Delivered, sendLoneAck } from './broadcast-round.js';
import type { CellMarks } from './cell-marks.js';
import type { StoreTimes } from './memory-seed.js';
import { collectCells, encodeShared, encodeWith, type SnapshotPage } from './response-frames.js';
import type { SeedMirror } from './seed-mirror.js';
import type { OwedSnapshot, StreamOutbox } from './stream-outbox.js';

export interface CatchUpSource {
  /** 0 in the default tracker. */
  readonly epoch: number;
  readonly activeInstances: number;
  /** Undefined: the seed is unknown, or too old to be named. */
  liveMirror(seed: bigint): SeedMirror | undefined;
  /** The stream is about to get all of the seed. */
  releaseAcks(outbox: StreamOutbox, seed: bigint): void;
  /** False: others come first, and the stream is held until a later turn. */
  mayList(outbox: StreamOutbox): boolean;
  /** Cells were listed for a stream. */
  listed(bytes: number): void;
  /** In the default tracker. */
  pageOf(mirror: SeedMirror, from: number, times: StoreTimes): SnapshotPage;
}

export function catchUp(
  source: CatchUpSource,
  outbox: StreamOutbox,
  times: StoreTimes,
  delivered: Delivered,
): void {
  const { epoch } = source;
  while (!outbox.isBehind && !outbox.isEnded) {
    const { owesValues } = outbox;
    if (owesValues && !source.mayList(outbox)) return;
    const message = nextMessage(source, outbox, times);
    if (message === undefined) {
      sendLoneAck(outbox, epoch, delivered);
      return;
    }
    if (owesValues) source.listed(message.length);
    delivered.bytesCount += message.length;
    outbox.write(message);
  }
}

function nextMessage(
  source: CatchUpSource,
  outbox: StreamOutbox,
  times: StoreTimes,
): Uint8Array | undefined {
  const { welcome } = outbox;
  if (welcome !== undefined) {
    outbox.welcome = undefined;
    return welcome;
  }
  if (outbox.owesInstances) {
    outbox.owesInstances = false;
    const { epoch, activeInstances } = source;
    outbox.instancesSent = activeInstances;
    return encodeWith(0n, undefined, { epoch, activeInstances });
  }
  const snapshot = outbox.snapshots[0];
  if (snapshot !== undefined) return snapshotMessage(source, outbox, snapshot, times);
  for (const [seed, marks] of outbox.missed) {
    const mirror = source.liveMirror(seed);
    if (mirror !== undefined) return missedMessage(source, outbox, { mirror, marks }, times);
    outbox.missed.delete(seed);
  }
  return undefined;
}

function snapshotMessage(
  source: CatchUpSource,
  outbox: StreamOutbox,
  snapshot: OwedSnapshot,
  times: StoreTimes,
): Uint8Array {
  const { seed, nextSlot: from } = snapshot;
  const { epoch } = source;
  const mirror = source.liveMirror(seed);
  if (from === 0) outbox.missed.delete(seed); // all of it is about to be sent
  if (from === 0) source.releaseAcks(outbox, seed);
  if (epoch === 0 && mirror !== undefined) {
    const { bytes, nextSlot } = source.pageOf(mirror, from, times);
    continueAt(outbox, snapshot, nextSlot);
    return bytes;
  }
  const next = (slot: number) => mirror?.nextListed(slot, times.monotonicMs) ?? -1;
  const collected = mirror && collectCells(mirror, next, from, times);
  const nextSlot = collected?.nextSlot ?? -1;
  const snapshotEnd = nextSlot === -1;
  continueAt(outbox, snapshot, nextSlot);
  if (epoch === 0) return encodeWith(seed, undefined, {});
  // Changes during a long snapshot are sent after it, together with the acknowledgement.
  const ackedSeq = outbox.owesValues ? 0 : outbox.takeAck();
  return encodeWith(seed, collected?.cells, { epoch, ackedSeq, isSnapshot: true, snapshotEnd });
}

function continueAt(outbox: StreamOutbox, snapshot: OwedSnapshot, nextSlot: number): void {
  if (nextSlot === -1) outbox.snapshots.shift();
  else snapshot.nextSlot = nextSlot;
}

function missedMessage(
  { epoch }: CatchUpSource,
  outbox: StreamOutbox,
  { mirror, marks }: { readonly mirror: SeedMirror; readonly marks: CellMarks },
  times: StoreTimes,
): Uint8Array {
  const { seed } = mirror;
  const { cells, nextSlot } = collectCells(mirror, (from) => marks.next(from), 0, times);
  if (nextSlot !== -1) {
    for (let slot = marks.next(0); slot !== nextSlot; slot = marks.next(slot + 1))
      marks.delete(slot);
    return encodeShared(seed, cells, epoch);
  }
  outbox.missed.delete(seed);
  const ackedSeq = outbox.owesValues ? 0 : outbox.takeAck();
  return epoch === 0 ? encodeShared(seed, cells, 0) : encodeWith(seed, cells, { epoch, ackedSeq });
}
