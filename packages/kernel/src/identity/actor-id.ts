// ActorId: who makes dots. One node in one epoch, packed as node · 2^16 + epoch.
//
// The epoch is part of the identity so that a node that lost its newest writes can never name another change with a
// counter that others have already seen.
import { SynclineError } from '../error.js';

/** An unsigned 32-bit number. Created only by `actorId`. */
export type ActorId = number & { readonly __brand: 'ActorId' };

export const NODE_ID_MAX = 0xffff;
export const EPOCH_MAX = 0xffff;

/** Node ids are 1 to 65535, epochs 0 to 65535. */
export function actorId(node: number, epoch: number): ActorId {
  if (!isWholeWithin(node, 1, NODE_ID_MAX)) {
    throw new SynclineError(
      'invalid-argument',
      `node id ${node} is not an integer from 1 to ${NODE_ID_MAX}`,
      {
        details: { field: 'node' },
      },
    );
  }
  if (!isWholeWithin(epoch, 0, EPOCH_MAX)) {
    throw new SynclineError(
      'invalid-argument',
      `epoch ${epoch} is not an integer from 0 to ${EPOCH_MAX}`,
      {
        details: { field: 'epoch' },
      },
    );
  }
  return (node * 0x10000 + epoch) as ActorId;
}

export function nodeOf(actor: ActorId): number {
  return actor >>> 16;
}

export function epochOf(actor: ActorId): number {
  return actor & 0xffff;
}

/** `node.epoch`, as logs and version vectors show it. */
export function formatActor(actor: ActorId): string {
  return `${nodeOf(actor)}.${epochOf(actor)}`;
}

function isWholeWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
