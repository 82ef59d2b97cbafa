import { describe, expect, test } from 'vitest';
import { kernelLimits } from '../limits.js';
import { LiveBuffer } from './live-buffer.js';

interface Change {
  readonly revision: number;
  readonly key: string;
  readonly bytes: number;
}

const KIB = 1024;
const { feedBatchBytesMax, feedBatchEventsMax, feedCommitBytesMax } = kernelLimits;

function createBuffer(bounds: { eventsMax: number; bytesMax: number }) {
  const bytesOf = ({ bytes }: Change) => bytes;
  const buffer = new LiveBuffer<Change>({ overflow: 'fail', ...bounds, bytesOf });
  buffer.start(0);
  let revision = 0;
  const offer = (bytes: number, isAwaited = false) => {
    revision += 1;
    return buffer.offer({ revision, key: 'a', bytes }, isAwaited);
  };
  return { buffer, offer };
}

describe('the buffer of a live subscriber', () => {
  test('K23 accepts one whole commit for a waiting subscriber, in events and in bytes, and no more', () => {
    const byCount = createBuffer({ eventsMax: 4, bytesMax: 64 * KIB });
    for (let i = 0; i < 4 + feedBatchEventsMax.value; i += 1) {
      expect(byCount.offer(1, true)).toBe('taken');
    }
    expect(byCount.offer(1, true)).toBe('full');

    const byBytes = createBuffer({ eventsMax: 400, bytesMax: 64 * KIB });
    const room = 64 * KIB + feedCommitBytesMax.value;
    expect(byBytes.offer(40 * KIB, true)).toBe('taken');
    expect(byBytes.offer(room - 40 * KIB, true)).toBe('taken');
    expect(byBytes.offer(1, true)).toBe('full');
  });

  test('K23 keeps its own bounds for a subscriber that does not wait', () => {
    const byCount = createBuffer({ eventsMax: 2, bytesMax: 64 * KIB });
    expect([1, 1, 1].map((bytes) => byCount.offer(bytes))).toEqual(['taken', 'taken', 'full']);
    const byBytes = createBuffer({ eventsMax: 9, bytesMax: 10 });
    expect([6, 4, 1].map((bytes) => byBytes.offer(bytes))).toEqual(['taken', 'taken', 'full']);
  });

  test('K23 delivers up to a batch in bytes, and a larger change alone', () => {
    const { buffer, offer } = createBuffer({
      eventsMax: 99,
      bytesMax: 99 * feedBatchBytesMax.value,
    });
    const half = feedBatchBytesMax.value / 2;
    for (const bytes of [half, half, 1, 3 * half, half, half + 1, 5]) offer(bytes);
    const batches: number[][] = [];
    while (!buffer.isEmpty) batches.push(buffer.take(512).map(({ bytes }) => bytes));
    expect(batches).toEqual([[half, half], [1], [3 * half], [half], [half + 1, 5]]);
    for (const bytes of [1, 2, 3]) offer(bytes);
    expect(buffer.take(2)).toHaveLength(2);
    expect(buffer.take(2)).toHaveLength(1);
  });
});
