// Dot: the name of one change, (actor, counter). Applying a dot twice is harmless because its name shows that it was
// already applied.
//
// On the wire 12 bytes, big endian: u16 node, u16 epoch, u32 counter high, u32 counter low. Bytes of dots sort like
// their numbers. Counters stay below 2^53, so that they are plain numbers here.
import { SynclineError } from '../error.js';
import { type ActorId, actorId, formatActor } from './actor-id.js';

export interface Dot {
  readonly actor: ActorId;
  /** 1 to 2^53 - 1. 0 means "none yet" in a version vector and never names a change. */
  readonly counter: number;
}

export const DOT_BYTES = 12;

export function dot(actor: ActorId, counter: number): Dot {
  if (!Number.isSafeInteger(counter) || counter < 1) {
    throw new SynclineError(
      'invalid-argument',
      `counter ${counter} of actor ${formatActor(actor)} is not an integer from 1 to 2^53 - 1`,
      { details: { field: 'counter' } },
    );
  }
  return { actor, counter };
}

/** By node, epoch, counter: the order of their bytes. */
export function compareDots(a: Dot, b: Dot): number {
  return a.actor - b.actor || a.counter - b.counter;
}

/** Writes 12 bytes at `offset`. */
export function writeDot(view: DataView, offset: number, { actor, counter }: Dot): void {
  view.setUint32(offset, actor);
  view.setUint32(offset + 4, Math.floor(counter / 2 ** 32));
  view.setUint32(offset + 8, counter >>> 0);
}

/** Reads 12 bytes at `offset`. Refuses what `dot` and `actorId` refuse, as from hostile bytes. */
export function readDot(view: DataView, offset: number): Dot {
  const actor = actorId(view.getUint16(offset), view.getUint16(offset + 2));
  return dot(actor, view.getUint32(offset + 4) * 2 ** 32 + view.getUint32(offset + 8));
}

/** `node.epoch:counter`. */
export function formatDot({ actor, counter }: Dot): string {
  return `${formatActor(actor)}:${counter}`;
}
