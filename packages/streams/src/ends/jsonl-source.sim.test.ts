// Files that are rotated, truncated or appended to while a reader is between two batches.
import { SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { type JsonlSourceOptions, jsonlSource } from './jsonl-source.js';
import type { Json, Source, SourceBatch } from './source.js';

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

/** With a width, every line has the same number of bytes. */
const text = (from: number, to: number, width = 0) =>
  Buffer.from(
    numbers(from, to)
      .map((n) => `${String(n).padStart(width)}\n`)
      .join(''),
  );

/** Reads as a run does: after a retryable error it continues after the last batch. */
class Reader {
  readonly items: Json[] = [];
  readonly batches: SourceBatch<Json>[] = [];
  retries = 0;
  readonly #world: SimulatedBody;
  readonly #source: Source<Json>;
  readonly #stop = new AbortController();
  #reading: AsyncIterator<SourceBatch<Json>> | undefined;

  constructor(world: SimulatedBody, options: Partial<JsonlSourceOptions>) {
    this.#world = world;
    this.#source = jsonlSource<Json>({
      uid: 'in',
      files: ['in.jsonl'],
      follow: true,
      batchItems: 100,
      ...options,
    });
    this.#source.attach?.({ ...world, path: (path) => path });
  }

  /** As at the start of a run. */
  async check(): Promise<void> {
    this.#reading = undefined;
    const { position = null } = this.batches.at(-1) ?? {};
    await this.#source.check('in.jsonl', position, this.#stop.signal);
  }

  async next(): Promise<SourceBatch<Json>> {
    for (;;) {
      const from = this.batches.at(-1)?.position ?? null;
      this.#reading ??= this.#source
        .read('in.jsonl', from, this.#stop.signal)
        [Symbol.asyncIterator]();
      try {
        const { value } = await this.#reading.next();
        this.batches.push(value);
        this.items.push(...value.items);
        return value;
      } catch (thrown) {
        if (!(thrown instanceof SynclineError) || !thrown.retryable) throw thrown;
        this.#reading = undefined;
        this.retries += 1;
        await this.#world.clock.sleep(100);
      }
    }
  }

  async readThrough(last: number): Promise<void> {
    while (this.items.at(-1) !== last) await this.next();
  }

  async readToIdle(): Promise<void> {
    while ((await this.next()).idle !== true);
  }
}

const LINES = 150_000; // of 16 bytes: more than two pieces of a file

sim(
  'X38 a file that is rotated between two reads is finished before its replacement',
  async (world) => {
    const { files } = world;
    await files.append('in.jsonl', text(0, LINES, 15));
    const reader = new Reader(world, { rotation: 'rename' });
    await reader.next();
    await files.rename('in.jsonl', 'in.jsonl.1');
    await files.append('in.jsonl', text(LINES, 2 * LINES, 15));
    await reader.readThrough(2 * LINES - 1);
    expect(reader.items).toEqual(numbers(0, 2 * LINES));
    expect(reader.retries).toBe(1);
    expect(reader.batches.filter((batch) => batch.nextIncarnation === true)).toHaveLength(1);
  },
);

sim(
  'X38 a rotated file is found again although the new one begins with the same content',
  async (world) => {
    const { files } = world;
    await files.append('in.jsonl', Buffer.concat([text(0, LINES, 15), text(1, 2)]));
    const reader = new Reader(world, { rotation: 'rename' });
    await reader.next();
    await files.rename('in.jsonl', 'in.jsonl.1');
    await files.append('in.jsonl', Buffer.concat([text(0, LINES, 15), text(2, 3)]));
    await reader.readThrough(1);
    await reader.readThrough(2);
    expect(reader.items).toEqual([...numbers(0, LINES), 1, ...numbers(0, LINES), 2]);
  },
);

sim('a missing file is refused, and its place named if it differs', async (world) => {
  const signal = new AbortController().signal;
  const messageOf = async (file: string, root: string) => {
    const source = jsonlSource({ uid: 'in', files: [file] });
    source.attach?.({ ...world, path: (path) => root + path.replace(/^\//, '') });
    const reading = source.read(file, null, signal)[Symbol.asyncIterator]();
    return await reading.next().catch(String);
  };
  const advice = 'Check its name, or set follow to wait for it.';
  expect(await messageOf('in.jsonl', 'data/')).toContain(
    `the file in.jsonl does not exist (looked for /data/in.jsonl). ${advice}`,
  );
  expect(await messageOf('/in.jsonl', '')).toContain(
    `the file /in.jsonl does not exist. ${advice}`,
  );
});

sim('X38 a file that is rewritten between two reads is position-lost', async (world) => {
  const { files } = world;
  await files.append('in.jsonl', text(0, LINES, 15));
  const reader = new Reader(world, {});
  await reader.next();
  const handle = files.openAppend('in.jsonl');
  handle.truncate(0);
  handle.append([text(LINES, 2 * LINES, 15)]);
  await handle.close();
  await expect(reader.readThrough(LINES - 1)).rejects.toMatchObject({ code: 'position-lost' });
  expect(reader.items.every((item) => Number(item) < LINES)).toBe(true);
});

sim('a renamed file is followed until the new one has content', async (world) => {
  const { files } = world;
  await files.append('in.jsonl', text(0, 10));
  const reader = new Reader(world, { rotation: 'rename' });
  await reader.readToIdle();
  await files.append('in.jsonl', Buffer.from('1'));
  await files.rename('in.jsonl', 'in.jsonl.1');
  await reader.readToIdle();
  await files.append('in.jsonl.1', Buffer.from('0\n'));
  await reader.readToIdle();
  expect(reader.items).toEqual(numbers(0, 11));
  await files.append('in.jsonl', Buffer.alloc(0));
  await reader.readToIdle();
  await files.append('in.jsonl.1', Buffer.from('11\n12')); // the last line has no newline
  await reader.readToIdle();
  expect(reader.items).toEqual(numbers(0, 12));
  await files.append('in.jsonl', text(13, 15));
  await reader.readThrough(14);
  expect(reader.items).toEqual(numbers(0, 15));
});

sim(
  'the last lines of a renamed file may come just before the first of the new one',
  async (world) => {
    const { files } = world;
    await files.append('in.jsonl', text(0, 10));
    let misses = 0;
    const stat: typeof files.stat = async (path) => {
      const found = await files.stat(path);
      if (path !== 'in.jsonl' || found !== undefined) return found;
      misses += 1;
      // The first time the reader looks for the old file, the second time for a new one.
      if (misses < 2) return undefined;
      await files.append('in.jsonl.1', text(10, 12));
      await files.append('in.jsonl', text(12, 15));
      return await files.stat(path);
    };
    const watched = new Proxy(files, {
      get(target, name) {
        if (name === 'stat') return stat;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const reader = new Reader({ ...world, files: watched }, { rotation: 'rename' });
    await reader.readToIdle();
    await files.rename('in.jsonl', 'in.jsonl.1');
    await reader.readThrough(14);
    expect(reader.items).toEqual(numbers(0, 15));
    expect(misses).toBe(2);
  },
);

sim('a new file that is renamed before its first line is read is found again', async (world) => {
  const { files } = world;
  await files.append('in.jsonl', text(0, 10));
  const reader = new Reader(world, { rotation: 'rename' });
  await reader.readToIdle();
  await files.rename('in.jsonl', 'in.jsonl.1');
  await files.append('in.jsonl', text(10, 20));
  while ((await reader.next()).nextIncarnation !== true);
  await files.rename('in.jsonl', 'in.jsonl.2');
  await files.append('in.jsonl', text(20, 30));
  await reader.readThrough(29);
  expect(reader.items).toEqual(numbers(0, 30));
});

sim('an empty file that is renamed with its first lines is read first', async (world) => {
  const { files } = world;
  await files.append('in.jsonl', Buffer.alloc(0));
  const reader = new Reader(world, { rotation: 'rename' });
  await reader.readToIdle();
  await files.append('in.jsonl', text(0, 10));
  await files.rename('in.jsonl', 'in.jsonl.1');
  await files.append('in.jsonl', text(10, 20));
  await reader.readThrough(19);
  expect(reader.items).toEqual(numbers(0, 20));
});

sim(
  'X38 a rotation that was missed is position-lost, and older files are no sign of it',
  async (world) => {
    const { files, clock } = world;
    const append = async (name: string, from: number, to: number) => {
      await clock.sleep(1_000);
      await files.append(name, text(from, to));
    };
    await append('in.jsonl.2', 100, 110); // read to its end long ago
    await append('in.jsonl', 0, 10);
    const reader = new Reader(world, { rotation: 'rename' });
    await reader.readToIdle();
    await files.rename('in.jsonl.2', 'in.jsonl.3');
    await files.rename('in.jsonl', 'in.jsonl.2');
    await append('in.jsonl', 10, 20);
    await append('in.jsonl.pos', 10, 20);
    await reader.readThrough(19);
    await append('in.jsonl', 20, 30);
    await files.rename('in.jsonl', 'in.jsonl.1');
    await append('in.jsonl', 30, 40);
    await files.rename('in.jsonl', 'in.jsonl.4');
    await append('in.jsonl', 40, 50);
    await expect(reader.readThrough(49)).rejects.toMatchObject({
      code: 'position-lost',
      message: expect.stringContaining('in.jsonl.4 was not read'),
    });
    expect(reader.items).toEqual(numbers(0, 30));
    await expect(reader.check()).rejects.toMatchObject({ code: 'position-lost' });
    await files.append('in.jsonl.1', text(30, 40));
    await files.remove('in.jsonl.4');
    await reader.check();
    await reader.readThrough(49);
    expect(reader.items).toEqual(numbers(0, 50));
  },
);

/** Counts the bytes that are read from files. */
function counted(world: SimulatedBody) {
  const read = { bytes: 0 };
  const readAt: typeof world.files.readAt = async (path, offset, length) => {
    const bytes = await world.files.readAt(path, offset, length);
    read.bytes += bytes.length;
    return bytes;
  };
  const files = new Proxy(world.files, {
    get(target, name) {
      if (name === 'readAt') return readAt;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { read, world: { ...world, files } };
}

const LONG = 5_500_000; // several pieces of a file

sim('a line above the limit is one bad record, and its position is valid', async (world) => {
  const { files } = world;
  const long = Buffer.alloc(LONG, 'é');
  await files.append('in.jsonl', Buffer.concat([text(0, 3), long, text(3, 4), text(4, 10)]));
  const reader = new Reader(world, {});
  await reader.readToIdle();
  const [first] = reader.batches;
  expect(reader.items).toEqual([0, 1, 2, ...numbers(4, 10)]);
  expect(first?.bad).toMatchObject([
    { at: 3, reason: expect.stringContaining('more than 1048576 bytes') },
  ]);
  expect(first?.bad?.[0]?.raw).toEqual(Uint8Array.from(long.subarray(0, 65_536)));
  expect(first?.position).toMatchObject({ offset: 6 + LONG + 2 });
  for (const { position } of reader.batches) {
    const resumed = new Reader(world, {});
    resumed.batches.push({ items: [], position });
    await resumed.readToIdle();
    expect(resumed.items).toEqual(position === first?.position ? numbers(4, 10) : []);
  }
});

sim('what was read of an unfinished line above the limit is not read again', async (world) => {
  const { files } = world;
  const { read, world: watched } = counted(world);
  await files.append('in.jsonl', Buffer.concat([text(0, 3), Buffer.alloc(LONG, 'x')]));
  const reader = new Reader(watched, {});
  for (let poll = 0; poll < 10; poll += 1) await reader.readToIdle();
  expect(read.bytes).toBeLessThan(1.5 * LONG);
  await files.append('in.jsonl', Buffer.concat([Buffer.alloc(LONG, 'x'), text(3, 5)]));
  await reader.readThrough(4);
  expect(reader.items).toEqual([0, 1, 2, 4]);
  expect(read.bytes).toBeLessThan(3 * LONG);
  await files.append('in.jsonl', text(5, 7));
  await reader.readThrough(6);
  expect(reader.retries).toBe(0);
});

sim('a file is refused under a second path, at once or in a later run', async (world) => {
  const { files } = world;
  await files.append('in.jsonl', text(0, 3));
  await files.append('other.jsonl', text(0, 3));
  await files.append('empty.jsonl', Buffer.alloc(0));
  const reader = new Reader(world, {});
  const { position } = await reader.next();
  const open = (...names: readonly string[]) => {
    const source = jsonlSource({ uid: 'in', files: names });
    source.attach?.({ ...world, path: (path) => path.replace('./', '') });
    return source;
  };
  const refused = {
    code: 'conflict',
    message: expect.stringContaining('are the same file, which would be read twice'),
  };
  const distinct = open('in.jsonl', 'other.jsonl', 'empty.jsonl', './empty.jsonl', 'none.jsonl');
  expect(await distinct.partitions(new AbortController().signal)).toHaveLength(5);
  const twice = open('in.jsonl', 'other.jsonl', './in.jsonl');
  await expect(twice.partitions(new AbortController().signal)).rejects.toMatchObject(refused);
  const signal = new AbortController().signal;
  await open('in.jsonl').check('in.jsonl', position as never, signal);
  await open('other.jsonl').check('in.jsonl', position as never, signal);
  const renamed = open('other.jsonl', './in.jsonl').check('in.jsonl', position as never, signal);
  await expect(renamed).rejects.toMatchObject(refused);
});
