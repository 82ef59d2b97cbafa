import { expect, test } from 'vitest';
import { callbackSink } from '../ends/callback-sink.js';
import { SinkWriter } from './sink-writer.js';

/** How many batches of this size are accepted before a write is due. */
function batchesUntilFull(itemsPerBatch: number): number {
  const fence = { pipeline: 'p', generation: 1, attempt: 0, token: 't' };
  const writer = new SinkWriter(
    callbackSink({ uid: 'out', call: async () => {} }) as never,
    0,
    fence,
  );
  const items = new Array<null>(itemsPerBatch).fill(null);
  const rounds = items.map((_, index) => index);
  const rest = { keys: undefined, indexes: undefined, times: undefined };
  let batches = 0;
  while (!writer.isFull) {
    writer.take({ items, rounds, ...rest, origin: 'in/a', epoch: 0, emitter: 'in' });
    batches += 1;
  }
  return batches;
}

test('pending output is written after a number of items, or of batches if they are large', () => {
  expect(batchesUntilFull(512)).toBe(4);
  expect(batchesUntilFull(1)).toBe(64);
});
