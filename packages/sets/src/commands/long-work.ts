// How commands work beyond a turn: through a view, behind the gate if they write, and never for long at a
// time. A client that is gone ends reads; a change that has begun is brought to its end all the same.
import type { ByteList } from '../byte-list.js';
import type { GateHold, Keyspace, KeyspaceView } from '../keyspace.js';
import type { CommandContext } from './command.js';
import { endingView } from './ending-view.js';

/** Items between two questions for the time. */
const ITEMS_PER_LOOK = 64;

/** For reads, which end with `aborted` when the client is gone. */
export async function withView<Result>(
  keyspace: Keyspace,
  signal: AbortSignal,
  work: (view: KeyspaceView) => Promise<Result>,
): Promise<Result> {
  const view = await keyspace.openView(signal);
  try {
    return await work(endingView(view, signal));
  } finally {
    view.close();
  }
}

/**
 * No other write runs meanwhile, so what the view shows is what there is. What the work has changed is stored
 * before anybody else writes, and so before any part of its answer leaves (S5).
 */
export async function withGate<Result>(
  keyspace: Keyspace,
  signal: AbortSignal,
  work: (hold: GateHold) => Promise<Result>,
): Promise<Result> {
  const hold = await keyspace.closeGate(signal);
  try {
    const result = await work(hold);
    await hold.settled();
    return result;
  } finally {
    hold.release();
  }
}

/** For changes that are found by reading: they go on when the client is gone, so that none stays half done. */
export function withGateAndView<Result>(
  keyspace: Keyspace,
  signal: AbortSignal,
  work: (hold: GateHold, view: KeyspaceView) => Promise<Result>,
): Promise<Result> {
  return withGate(keyspace, signal, async (hold) => {
    const view = await keyspace.openView(signal);
    try {
      return await work(hold, view);
    } finally {
      view.close();
    }
  });
}

/** The items of a list from an index on, as fast as the client takes them. */
export async function writeBulks(
  { reply, keyspace }: CommandContext,
  list: ByteList,
  from = 0,
): Promise<void> {
  for (let index = from; index < list.length; index += 1) {
    reply.bulkOf(list, index);
    const pause = reply.room() ?? (index % ITEMS_PER_LOOK === 0 ? keyspace.breathe() : undefined);
    if (pause !== undefined) await pause;
  }
}

/** All members of some batches, as they come. */
export async function writeBatches(
  { reply, keyspace }: CommandContext,
  batches: AsyncIterable<readonly Uint8Array[]>,
): Promise<void> {
  for await (const batch of batches) {
    for (const member of batch) {
      reply.bulk(member, 0, member.length);
      const full = reply.room();
      if (full !== undefined) await full;
    }
    const pause = keyspace.breathe();
    if (pause !== undefined) await pause;
  }
}
