import { expect, test } from 'vitest';
import { createSeededRandom } from '../../seeded-random.js';
import { type ContentLoss, FileContent, PAGE_BYTES } from './file-content.js';

const filled = (length: number, value: number) => new Uint8Array(length).fill(value);
const read = (content: FileContent) => [...content.slice(0, content.length)];

/** The first byte of each page, which represents all of it. */
const pages = (content: FileContent) =>
  read(content).filter((_, index) => index % PAGE_BYTES === 0);

function losing(lostPages: readonly number[], survivingBytes = Number.MAX_SAFE_INTEGER) {
  const loss: ContentLoss = {
    survivesPage: (page) => !lostPages.includes(page),
    survivingBytes: (uncertainBytes) => Math.min(uncertainBytes, survivingBytes),
  };
  return loss;
}

function syncedContent(bytes: Uint8Array): FileContent {
  const content = new FileContent();
  content.append(bytes);
  content.completeSync(content.beginSync());
  return content;
}

test('appended bytes can be read, and cut', () => {
  const content = new FileContent();
  for (let value = 1; value <= 5; value += 1) content.append(filled(3000, value));
  expect(content.length).toBe(15_000);
  expect([...content.slice(2999, 3001)]).toEqual([1, 2]);
  content.truncate(2999);
  content.append(filled(2, 9));
  expect(content.length).toBe(3001);
  expect([...content.slice(2998, 9999)]).toEqual([1, 9, 9]);
});

test('K86 any subset of unsynced pages may be lost, and reads as zeros', () => {
  const written = () => {
    const content = new FileContent();
    for (let value = 1; value <= 4; value += 1) content.append(filled(PAGE_BYTES, value));
    return content;
  };
  for (let subset = 0; subset < 16; subset += 1) {
    const lost = [0, 1, 2, 3].filter((page) => (subset & (1 << page)) !== 0);
    const content = written();
    content.lose(losing(lost));
    expect(pages(content)).toEqual(
      [0, 1, 2, 3].map((page) => (lost.includes(page) ? 0 : page + 1)),
    );
  }
  for (const length of [0, 1, PAGE_BYTES, 2 * PAGE_BYTES + 17]) {
    const content = written();
    content.lose(losing([], length));
    expect(content.length).toBe(length);
    content.lose(losing([0, 1, 2, 3], 0));
    expect(content.length).toBe(length); // what a power loss has left is durable
  }
});

test('K86 a lost page that was synced in part keeps its synced part', () => {
  const content = syncedContent(filled(100, 1));
  content.append(filled(PAGE_BYTES, 2));
  content.lose(losing([0]));
  expect(content.length).toBe(100 + PAGE_BYTES);
  expect(read(content).slice(99, 101)).toEqual([1, 0]);
  expect(read(content).slice(PAGE_BYTES - 1, PAGE_BYTES + 1)).toEqual([0, 2]);
});

test('K86 a cut that is not synced may be undone, even below later appends', () => {
  const cut = () => {
    const content = syncedContent(filled(3 * PAGE_BYTES, 1));
    content.truncate(PAGE_BYTES);
    content.append(filled(10, 2));
    return content;
  };
  const undone = cut();
  undone.lose(losing([1, 2]));
  expect(read(undone)).toEqual([...filled(3 * PAGE_BYTES, 1)]);
  const kept = cut();
  kept.lose(losing([], 10));
  expect(read(kept)).toEqual([...filled(PAGE_BYTES, 1), ...filled(10, 2)]);
  const shortest = cut();
  shortest.lose(losing([], 0));
  expect(read(shortest)).toEqual([...filled(PAGE_BYTES, 1)]);
  const synced = cut();
  synced.completeSync(synced.beginSync());
  synced.lose(losing([0, 1, 2], 0));
  expect(read(synced)).toEqual([...filled(PAGE_BYTES, 1), ...filled(10, 2)]);
});

test('K86 a sync covers what was written before it began, not what came during it', () => {
  const content = syncedContent(filled(10, 1));
  content.append(filled(10, 2));
  const begun = content.beginSync();
  content.append(filled(PAGE_BYTES, 3));
  content.completeSync(begun);
  content.lose(losing([0, 1], 0));
  expect(read(content)).toEqual([...filled(10, 1), ...filled(10, 2)]);
});

test('a sync that completes after a later one undoes nothing', () => {
  const content = new FileContent();
  content.append(filled(10, 1));
  const first = content.beginSync();
  content.append(filled(10, 2));
  const second = content.beginSync();
  content.completeSync(second);
  content.append(filled(10, 3));
  content.completeSync(first);
  content.lose(losing([0], 0));
  expect(read(content)).toEqual([...filled(10, 1), ...filled(10, 2)]);
});

test('K86 over random histories each page is as it was synced or as it was last written', () => {
  const random = createSeededRandom('pages');
  const upTo = (max: number) => Math.floor(random.float() * (max + 1));
  for (let round = 0; round < 200; round += 1) {
    const content = new FileContent();
    let synced: Uint8Array = new Uint8Array(0);
    for (let step = 0; step < 20; step += 1) {
      const choice = random.float();
      if (choice < 0.6) content.append(filled(upTo(6000), 1 + upTo(254)));
      else if (choice < 0.8) content.truncate(upTo(content.length));
      else {
        content.completeSync(content.beginSync());
        synced = content.slice(0, content.length);
      }
    }
    const current = content.slice(0, content.length);
    content.lose({ survivesPage: () => random.float() < 0.5, survivingBytes: upTo });
    const left = content.slice(0, content.length);
    const versions = [synced, current].map((bytes) => Buffer.concat([bytes], 200_000)); // then zeros
    for (let start = 0; start < left.length; start += PAGE_BYTES) {
      const end = Math.min(start + PAGE_BYTES, left.length);
      const page = left.subarray(start, end);
      const isAllowed = versions.some((bytes) => bytes.subarray(start, end).equals(page));
      expect(isAllowed, `round ${round}, page at ${start}`).toBe(true);
    }
  }
});
