import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoundedQueue, SynclineError } from './index.js';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('K7 BoundedQueue', () => {
  test('holds itemsMax items and refuses the next', () => {
    const queue = new BoundedQueue<number>({ itemsMax: 2 });
    expect([queue.offer(1), queue.offer(2), queue.offer(3)]).toEqual(['taken', 'taken', 'full']);
    expect(queue.takeNow()).toMatchObject({ item: 1 });
    expect(queue.offer(3)).toBe('taken');
  });

  test('an item larger than bytesMax is accepted if the queue is empty', () => {
    const queue = new BoundedQueue<number>({ itemsMax: 9, bytesMax: 10, bytesOf: (n) => n });
    expect([queue.offer(99), queue.offer(1)]).toEqual(['taken', 'full']);
    queue.takeNow();
    expect([queue.offer(10), queue.offer(1), queue.bytes]).toEqual(['taken', 'full', 10]);
  });

  test('never exceeds its bounds and keeps the order, whatever the sequence of calls', () => {
    const commands = fc.array(fc.oneof(fc.nat({ max: 6 }), fc.constant('take' as const)));
    fc.assert(
      fc.property(commands, (list) => {
        const queue = new BoundedQueue<number>({ itemsMax: 3, bytesMax: 9, bytesOf: (n) => n });
        const model: number[] = [];
        for (const command of list) {
          if (command === 'take') expect(queue.takeNow()?.item).toBe(model.shift());
          else if (queue.offer(command) === 'taken') model.push(command);
          expect(queue.length).toBe(model.length);
          expect(queue.length).toBeLessThanOrEqual(3);
          expect(queue.bytes).toBe(model.reduce((sum, n) => sum + n, 0));
          expect(queue.bytes).toBeLessThanOrEqual(9);
        }
      }),
    );
  });

  test('keeps the order over thousands of items', () => {
    const queue = new BoundedQueue<number>({ itemsMax: 10_000 });
    for (let i = 0; i < 5000; i += 1) queue.offer(i);
    for (let i = 0; i < 5000; i += 1) expect(queue.takeNow()?.item).toBe(i);
    expect(queue.length).toBe(0);
  });

  test('keeps no reference to items that were taken', async () => {
    const queue = new BoundedQueue<object>({ itemsMax: 10 });
    const taken: WeakRef<object>[] = [];
    for (let i = 0; i < 100; i += 1) {
      queue.offer({ i });
      if (i < 5) continue; // some stay in, so that the queue is never empty
      const item = queue.takeNow()?.item;
      if (item) taken.push(new WeakRef(item));
    }
    await new Promise((resolve) => setImmediate(resolve)); // a WeakRef holds its target for one job
    collectGarbage();
    expect(taken.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(3);
  });

  test('a waiting taker receives the next item; close ends the loop after the remaining items', async () => {
    const queue = new BoundedQueue<string>({ itemsMax: 5 });
    const seen: string[] = [];
    const loop = (async () => {
      for await (const item of queue) seen.push(item);
    })();
    queue.offer('a');
    await Promise.resolve();
    queue.offer('b');
    queue.close();
    await loop;
    expect(seen).toEqual(['a', 'b']);
    expect(queue.offer('c')).toBe('closed');
  });

  test('fail reaches the taker after the last item', async () => {
    const queue = new BoundedQueue<string>({ itemsMax: 5 });
    queue.offer('a');
    queue.fail(new SynclineError('unavailable', 'gone'));
    expect(await queue.take()).toMatchObject({ item: 'a' });
    await expect(queue.take()).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('an abort releases the taker and loses no item', async () => {
    const queue = new BoundedQueue<string>({ itemsMax: 5 });
    const abort = new AbortController();
    const waiting = queue.take(abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    queue.offer('a');
    expect(await queue.take()).toMatchObject({ item: 'a' });
  });

  test('a second taker is refused', async () => {
    const queue = new BoundedQueue<string>({ itemsMax: 5 });
    const first = queue.take();
    await expect(queue.take()).rejects.toMatchObject({ code: 'conflict' });
    queue.offer('a');
    expect(await first).toMatchObject({ item: 'a' });
  });
});
