// One round: what changed since the last one, encoded once and sent to every stream. A stream with a pending
// acknowledgement gets the same bytes followed by its own field. One whose sink is full gets marks instead, so
// it never delays the others.
import type { Random } from '@syncline/kernel';
import type { CellMarks } from './cell-marks.js';
import { type Choice, chooseHot } from './hot-cells.js';
import type { StoreTimes } from './memory-seed.js';
import { collectCells, encodeShared, encodeWith, withAck } from './response-frames.js';
import type { SeedMirror } from './seed-mirror.js';
import type { StreamOutbox } from './stream-outbox.js';

/** One message of a round, for all streams. */
interface RoundMessage {
  readonly part: RoundPart;
  readonly bytes: Uint8Array;
}

/** The cells of one seed in a round. */
export interface RoundPart {
  readonly mirror: SeedMirror;
  readonly sent: CellMarks;
}

export interface Round {
  readonly parts: readonly RoundPart[];
  readonly messages: readonly RoundMessage[];
  readonly cellsCount: number;
}

export interface TakenParts {
  readonly parts: readonly RoundPart[];
  /** The oldest change that this round leaves for a later one. */
  readonly oldestLeft: number;
}

/** Removes the marks that this round sends from the mirrors. */
export function takeParts(
  mirrors: readonly SeedMirror[],
  budgetCells: number,
  random: Random,
): TakenParts {
  const choices: Choice[] = [];
  let dirtyCount = 0;
  for (const { dirty, hot } of mirrors) {
    dirtyCount += dirty.count;
    if (hot !== undefined) choices.push({ dirty, hot });
  }
  if (budgetCells === 0 || dirtyCount <= budgetCells) {
    const parts = mirrors.map((mirror) => {
      const sent = mirror.takeDirty();
      mirror.hot?.sentAll(sent);
      return { mirror, sent };
    });
    return { parts, oldestLeft: Number.POSITIVE_INFINITY };
  }
  const chosen = chooseHot(choices, budgetCells, random);
  const parts = mirrors.flatMap((mirror, index) => {
    const sent = chosen[index];
    return sent === undefined ? [] : [{ mirror, sent }];
  });
  const left = choices.map(({ dirty, hot }) => hot.passOver(dirty));
  return { parts, oldestLeft: Math.min(...left) };
}

export function encodeRound(parts: readonly RoundPart[], epoch: number, times: StoreTimes): Round {
  const messages: RoundMessage[] = [];
  let cellsCount = 0;
  for (const part of parts) {
    const { mirror, sent } = part;
    const next = (from: number) => sent.next(from);
    cellsCount += sent.count;
    for (let slot = next(0); slot !== -1; ) {
      const { cells, nextSlot } = collectCells(mirror, next, slot, times);
      const bytes = encodeShared(mirror.seed, cells, epoch);
      messages.push({ part, bytes });
      slot = nextSlot;
    }
  }
  return { parts, messages, cellsCount };
}

export interface Delivered {
  bytesCount: number;
  /** Changes that a stream will never see, since newer values replace them. */
  coalescedCount: number;
}

/** Sends the round to one stream, which may be behind, or fall behind. */
export function deliverRound(
  round: Round,
  outbox: StreamOutbox,
  epoch: number,
  delivered: Delivered,
): void {
  if (outbox.isBehind) {
    missParts(round.parts, outbox, delivered);
    return;
  }
  const { messages } = round;
  for (const [index, { bytes }] of messages.entries()) {
    const ack = index === messages.length - 1 ? outbox.takeAck() : 0;
    const own = ack === 0 ? bytes : withAck(bytes, ack);
    delivered.bytesCount += own.length;
    if (outbox.write(own)) continue;
    const rest = messages.slice(index + 1).map((message) => message.part);
    missParts([...new Set(rest)], outbox, delivered);
    return;
  }
  sendLoneAck(outbox, epoch, delivered);
}

/** For a change that left nothing to send. It names no seed, which may be too old to be named. */
export function sendLoneAck(outbox: StreamOutbox, epoch: number, delivered: Delivered): void {
  const ackedSeq = outbox.takeAck();
  if (ackedSeq === 0) return;
  const message = encodeWith(0n, undefined, { epoch, ackedSeq });
  delivered.bytesCount += message.length;
  outbox.write(message);
}

function missParts(parts: readonly RoundPart[], outbox: StreamOutbox, delivered: Delivered): void {
  for (const { mirror, sent } of parts) {
    if (sent.count > 0) delivered.coalescedCount += outbox.miss(mirror.seed, sent);
  }
}
