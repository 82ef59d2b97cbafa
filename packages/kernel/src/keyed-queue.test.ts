import { expect, test } from 'vitest';
import { KeyedQueue } from './keyed-queue.js';

/** A task that ends on request, and the tasks that have started so far. */
function rig() {
  const queue = new KeyedQueue();
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const run = (key: string, name: string, signal?: AbortSignal) => {
    const task = () => {
      begun.push(name);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, (error) => (error ? reject(error) : resolve(name)));
      });
    };
    return queue.run(key, task, signal);
  };
  return { begun, ends, run };
}

test('tasks of a key run one at a time, in order, also after one that failed; other keys do not wait', async () => {
  const { begun, ends, run } = rig();
  const [first, second, third, other] = [
    run('a', '1'),
    run('a', '2'),
    run('a', '3'),
    run('b', '4'),
  ];
  expect(begun).toEqual(['1', '4']);
  ends.get('1')?.(new Error('one fails'));
  await expect(first).rejects.toThrow('one fails');
  await expect.poll(() => begun).toEqual(['1', '4', '2']);
  ends.get('2')?.();
  expect(await second).toBe('2');
  await expect.poll(() => begun).toEqual(['1', '4', '2', '3']);
  ends.get('3')?.();
  ends.get('4')?.();
  expect(await Promise.all([third, other])).toEqual(['3', '4']);
});

test('a task whose signal fires does not wait for the one before it', async () => {
  const { begun, ends, run } = rig();
  const stop = new AbortController();
  const tasks = [run('a', '1'), run('a', '2', stop.signal)];
  stop.abort();
  await expect.poll(() => begun).toEqual(['1', '2']);
  for (const end of ends.values()) end();
  expect(await Promise.all(tasks)).toEqual(['1', '2']);
});

test('a task after an aborted one still waits for those before it', async () => {
  const { begun, ends, run } = rig();
  const stop = new AbortController();
  const tasks = [run('a', '1'), run('a', '2', stop.signal), run('a', '3')];
  stop.abort();
  await expect.poll(() => begun).toEqual(['1', '2']);
  ends.get('2')?.();
  expect(await tasks[1]).toBe('2');
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['1', '2']);
  ends.get('1')?.();
  await expect.poll(() => begun).toEqual(['1', '2', '3']);
  ends.get('3')?.();
  expect(await Promise.all(tasks)).toEqual(['1', '2', '3']);
});
