import { expect, test } from 'vitest';
import { SynclineError } from '../error.js';
import { Arrivals } from './socket-connection.js';

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** Records the chunks that it receives. It asks to wait at a chunk that ends in a question mark. */
function createReader() {
  const journal: string[] = [];
  let goOn: () => void = () => {};
  const take = (chunk: Uint8Array): Promise<void> | undefined => {
    const text = Buffer.from(chunk).toString();
    journal.push(text);
    if (!text.endsWith('?')) return undefined;
    return new Promise((resolve) => {
      goOn = resolve;
    });
  };
  const reader = { take, end: () => void journal.push('end') };
  const answer = async (): Promise<void> => {
    goOn();
    await Promise.resolve();
  };
  return { reader, journal, answer };
}

test('chunks that arrived before the reader are delivered first, later ones immediately', () => {
  let takenBytes = 0;
  const arrivals = new Arrivals((chunk) => {
    takenBytes += chunk.length;
  });
  const { reader, journal } = createReader();
  arrivals.offer(bytes('one'));
  expect([arrivals.length, arrivals.bytes, takenBytes]).toEqual([1, 3, 0]);
  arrivals.handTo(reader);
  arrivals.offer(bytes('two'));
  expect(journal).toEqual(['one', 'two']);
  expect([arrivals.length, arrivals.bytes, takenBytes]).toEqual([0, 0, 6]);
});

test('while the reader is busy chunks are held, and the end comes after them', async () => {
  const arrivals = new Arrivals(() => undefined);
  const { reader, journal, answer } = createReader();
  arrivals.handTo(reader);
  for (const text of ['one?', 'two?', 'three']) arrivals.offer(bytes(text));
  arrivals.close();
  expect(journal).toEqual(['one?']);
  await answer();
  expect(journal).toEqual(['one?', 'two?']);
  await answer();
  expect(journal).toEqual(['one?', 'two?', 'three', 'end']);
});

test('a reader that is still busy with the last chunk is notified of the end immediately, and only once', async () => {
  const arrivals = new Arrivals(() => undefined);
  const { reader, journal, answer } = createReader();
  arrivals.handTo(reader);
  arrivals.offer(bytes('one?'));
  arrivals.close();
  expect(journal).toEqual(['one?', 'end']);
  await answer();
  expect(journal).toEqual(['one?', 'end']);
});

test('a reader is notified immediately, and only once, that the connection is gone', async () => {
  const arrivals = new Arrivals(() => undefined);
  const { reader, journal, answer } = createReader();
  arrivals.handTo(reader);
  arrivals.offer(bytes('one?'));
  arrivals.offer(bytes('two'));
  arrivals.fail(new SynclineError('closed', 'gone'));
  arrivals.close();
  await answer();
  expect(journal).toEqual(['one?', 'end']);
});

test('a pulling reader gets the held chunks, and then the error', async () => {
  const arrivals = new Arrivals(() => undefined);
  const pulled = arrivals.pull();
  arrivals.offer(bytes('one'));
  arrivals.fail(new SynclineError('closed', 'gone'));
  expect(await pulled.next()).toEqual({ done: false, value: bytes('one') });
  await expect(pulled.next()).rejects.toThrow('gone');
});
