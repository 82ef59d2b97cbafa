// A view that ends with its client: once that is gone, every read of it throws `aborted`, so that nobody walks
// a large set for an answer which nobody takes. A change that has begun reads a view that lasts.
import { abortedError } from '@syncline/kernel';
import type { KeyspaceView } from '../keyspace.js';

export function endingView(view: KeyspaceView, signal: AbortSignal): KeyspaceView {
  const checked = (): KeyspaceView => {
    if (signal.aborted) throw abortedError('reading for a client that is gone', signal);
    return view;
  };
  return {
    cardinality: (set) => checked().cardinality(set),
    has: (set, member) => checked().has(set, member),
    members: (set, position) => checkedBatches(view.members(set, position), checked),
    sets: (position) => checkedBatches(view.sets(position), checked),
    randomMember: async (set) => checked().randomMember(set),
    randomSet: async () => checked().randomSet(),
    positionOf: (bytes) => view.positionOf(bytes),
    close: () => view.close(),
    [Symbol.dispose]: () => view.close(),
  };
}

async function* checkedBatches(
  batches: AsyncIterable<readonly Uint8Array[]>,
  check: () => void,
): AsyncGenerator<readonly Uint8Array[]> {
  for await (const batch of batches) {
    check();
    yield batch;
  }
}
