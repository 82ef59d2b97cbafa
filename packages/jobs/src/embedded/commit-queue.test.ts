import { createMemoryStorage } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { CommitQueue, type CommitRequest } from './commit-queue.js';

function rig() {
  const batches: number[] = [];
  const gauges: number[] = [];
  const queue = new CommitQueue({
    storage: createMemoryStorage(),
    clock: {
      defer: (callback) => {
        queueMicrotask(callback);
        return { cancel: () => {} };
      },
    },
    metrics: {
      add: () => {},
      set: (_, value) => void gauges.push(value),
      observe: (_, value) => void batches.push(value),
    },
    apply: () => {},
    publish: () => {},
  });
  return { queue, batches, gauges };
}

function request(bytes = 1): CommitRequest {
  return { bytes, prepare: () => {}, done: () => {}, failed: () => {} };
}

/** The sizes of the batches that these become. */
async function batchesOf(requests: readonly CommitRequest[]): Promise<readonly number[]> {
  const { queue, batches } = rig();
  for (const each of requests) queue.push(each);
  await queue.idle();
  return batches;
}

const many = (length: number, bytes?: number) => Array.from({ length }, () => request(bytes));

describe('one commit', () => {
  test('J20 takes commitWritesMax writes and no more', async () => {
    const max = jobsLimits.commitWritesMax.value;
    expect(await batchesOf(many(max - 1))).toEqual([max - 1]);
    expect(await batchesOf(many(max))).toEqual([max]);
    expect(await batchesOf(many(max + 1))).toEqual([max, 1]);
  });

  test('J20 takes commitBytesMax bytes and no more, unless one write alone has more', async () => {
    const max = jobsLimits.commitBytesMax.value;
    expect(await batchesOf([request(max - 2), request()])).toEqual([2]);
    expect(await batchesOf([request(max - 1), request()])).toEqual([2]);
    expect(await batchesOf([request(max), request()])).toEqual([1, 1]);
    expect(await batchesOf([request(max + 1), request()])).toEqual([1, 1]);
  });
});

describe('the queue', () => {
  test('J20 holds writeQueueMax writes; a further one is overloaded', () => {
    const { queue, gauges } = rig();
    for (const each of many(jobsLimits.writeQueueMax.value)) queue.push(each);
    const refusal = { code: 'overloaded', details: { limit: 'writeQueueMax' } };
    expect(() => queue.push(request())).toThrow(expect.objectContaining(refusal));
    expect(queue.length).toBe(jobsLimits.writeQueueMax.value);
    expect(gauges.at(-1)).toBe(queue.length);
  });

  test('J20 holds writeQueueBytesMax bytes; a write beyond is overloaded, unless it is alone', () => {
    const max = jobsLimits.writeQueueBytesMax.value;
    const { queue } = rig();
    queue.push(request(max - 1));
    queue.push(request());
    const refusal = { code: 'overloaded', details: { limit: 'writeQueueBytesMax' } };
    expect(() => queue.push(request())).toThrow(expect.objectContaining(refusal));
    expect(queue.bytes).toBe(max);
    const empty = rig().queue;
    empty.push(request(max + 1));
    expect(empty.length).toBe(1);
  });

  test('what is internal is never refused', () => {
    const { queue } = rig();
    for (const each of many(jobsLimits.writeQueueMax.value)) queue.push(each);
    queue.pushInternal(request());
    expect(queue.length).toBe(jobsLimits.writeQueueMax.value + 1);
  });
});
