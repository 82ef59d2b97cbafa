// Damage at every byte of a log. Whatever is changed or missing, a start finds a prefix of what was appended
// and continues after it, or refuses the log without changing it.
import { expect, test } from 'vitest';
import { crc32 } from '../hash/crc32.js';
import { runInSimulation, type SimulatedBody } from '../sim/run-in-simulation.js';
import { appendNumbered, bytes, contentOf, numbered, openSampleLog } from './sample-log.js';

/** Three segments: records 1 to 6, 7 to 12 and 13 to 16. */
const RECORDS = 16;
const HEADER_BYTES = 31;
const RECORD_BYTES = 29;

interface SampleFile {
  readonly name: string;
  readonly content: Uint8Array;
  readonly firstNumber: number;
}

async function writeSample(world: SimulatedBody): Promise<readonly SampleFile[]> {
  const { log } = await openSampleLog(world);
  appendNumbered(log, RECORDS);
  await log.close();
  const samples: SampleFile[] = [];
  for (const name of await world.files.list('log')) {
    const content = await world.files.readAt(`log/${name}`, 0, 1000);
    samples.push({ name, content, firstNumber: Number.parseInt(name, 10) });
  }
  expect(samples.map(({ content }) => content.length)).toEqual([205, 205, 147]);
  return samples;
}

class DamagedLog {
  readonly #world: SimulatedBody;
  #count = 0;

  constructor(world: SimulatedBody) {
    this.#world = world;
  }

  /** Writes the files to a separate directory. */
  async create(files: readonly Pick<SampleFile, 'name' | 'content'>[]): Promise<string> {
    this.#count += 1;
    const directory = `damaged-${this.#count}`;
    await this.#world.files.makeDir(directory);
    for (const { name, content } of files) {
      await this.#world.files.append(`${directory}/${name}`, content);
    }
    return directory;
  }

  /** K40  The log has exactly its first records; new ones follow them. */
  async expectPrefix(directory: string, through: number): Promise<void> {
    const world = this.#world;
    const { log, replayed } = await openSampleLog(world, { directory });
    expect(replayed, directory).toEqual(numbered(1, through));
    expect(log).toMatchObject({ nextNumber: through + 1, syncedThrough: through });
    appendNumbered(log, 8);
    await log.close();
    const again = await openSampleLog(world, { directory, mustBeWhole: true });
    expect(again.replayed, directory).toEqual(numbered(1, through + 8));
    expect(again.log.cutBytes).toBe(0);
    await again.log.close();
    const late = await openSampleLog(world, {
      directory,
      mustBeWhole: true,
      replayFrom: through + 1,
    });
    expect(late.replayed, directory).toEqual(numbered(through + 1, through + 8));
    await late.log.close();
  }

  /** K43  A log that must be complete is refused, and not a byte of it changes. */
  async expectRefused(directory: string, reason: string): Promise<void> {
    const before = await contentOf(this.#world, directory);
    const mustBeWhole = { directory, mustBeWhole: true };
    await expect(openSampleLog(this.#world, mustBeWhole), directory).rejects.toMatchObject({
      code: 'corrupt',
      details: { reason },
    });
    expect(await contentOf(this.#world, directory)).toEqual(before);
  }
}

/** The last good record if everything from this byte on is damaged. */
function lastBefore({ firstNumber }: SampleFile, offset: number): number {
  return firstNumber - 1 + Math.max(Math.floor((offset - HEADER_BYTES) / RECORD_BYTES), 0);
}

test('K40 K43 every byte changed, one at a time', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    for (const sample of samples) {
      for (let offset = 0; offset < sample.content.length; offset += 1) {
        const content = sample.content.slice();
        content[offset] = (content[offset] ?? 0) ^ (offset % 2 === 0 ? 0x01 : 0xff);
        const directory = await damaged.create(
          samples.map((each) => (each === sample ? { ...each, content } : each)),
        );
        await damaged.expectRefused(directory, 'damaged');
        await damaged.expectPrefix(directory, lastBefore(sample, offset));
      }
    }
  }));

test.each(['missing', 'zeros'])('K40 K43 every file cut at every byte, the rest is %s', (rest) =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    for (const sample of samples) {
      for (let offset = 0; offset < sample.content.length; offset += 1) {
        const kept = sample.content.subarray(0, offset);
        const content = rest === 'missing' ? kept : Buffer.concat([kept], sample.content.length);
        const directory = await damaged.create(
          samples.map((each) => (each === sample ? { ...each, content } : each)),
        );
        const isEndOfRecord =
          offset >= HEADER_BYTES && (offset - HEADER_BYTES) % RECORD_BYTES === 0;
        const looksWhole = rest === 'missing' && sample === samples.at(-1) && isEndOfRecord;
        if (!looksWhole) await damaged.expectRefused(directory, 'damaged');
        await damaged.expectPrefix(directory, lastBefore(sample, offset));
      }
    }
  }),
);

test('K40 K43 a lost segment: the first is refused, any other ends the log before it', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    const without = (index: number) => damaged.create(samples.toSpliced(index, 1));
    await damaged.expectRefused(await without(0), 'missing');
    await expect(openSampleLog(world, { directory: await without(0) })).rejects.toMatchObject({
      code: 'corrupt',
      details: { reason: 'missing', replayFrom: 1, firstNumber: 7 },
    });
    await damaged.expectRefused(await without(1), 'damaged');
    await damaged.expectPrefix(await without(1), 6);
    await damaged.expectPrefix(await without(2), 12);
  }));

test('K40 a segment of another log with the same numbers is not mistaken for our own', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const { log } = await openSampleLog(world, { directory: 'other' });
    log.append(1, [bytes('another first record')]);
    appendNumbered(log, RECORDS - 1);
    await log.close();
    const damaged = new DamagedLog(world);
    const foreign = await Promise.all(
      samples.map(async ({ name }) => ({
        name,
        content: await world.files.readAt(`other/${name}`, 0, 1000),
      })),
    );
    const [first, second, third] = samples;
    const [, foreignSecond, foreignThird] = foreign;
    if (!first || !second || !third || !foreignSecond || !foreignThird) throw new Error('3 files');
    await damaged.expectPrefix(await damaged.create([first, foreignSecond, foreignThird]), 6);
    await damaged.expectPrefix(await damaged.create([first, second, foreignThird]), 12);
    const renamed = { ...third, name: second.name };
    await damaged.expectPrefix(await damaged.create([first, renamed]), 6);
  }));

test('a record that is copied to another place is not accepted', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    const last = samples.at(-1);
    if (last === undefined) throw new Error('the sample has files');
    const repeated = Buffer.concat([last.content, last.content.subarray(-RECORD_BYTES)]);
    const directory = await damaged.create(samples.with(-1, { ...last, content: repeated }));
    await damaged.expectRefused(directory, 'damaged');
    await damaged.expectPrefix(directory, RECORDS);
  }));

test('damage before replayFrom, which a snapshot covers, starts the log again at replayFrom', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    const [first, second, third] = samples;
    if (!first || !second || !third) throw new Error('the sample has three files');
    const cut = { ...second, content: second.content.subarray(0, 70) }; // through record 7
    for (const files of [[first, cut, third], [first, cut], [first]]) {
      for (const replayFrom of [9, 12]) {
        const directory = await damaged.create(files);
        const options = { directory, replayFrom };
        await expect(openSampleLog(world, { ...options, mustBeWhole: true })).rejects.toMatchObject(
          { code: 'corrupt' },
        );
        const { log, replayed } = await openSampleLog(world, options);
        expect(replayed).toEqual([]);
        expect(log).toMatchObject({ firstNumber: replayFrom, nextNumber: replayFrom, segments: 1 });
        appendNumbered(log, 10);
        await log.close();
        const again = await openSampleLog(world, { ...options, mustBeWhole: true });
        expect(again.replayed).toEqual(numbered(replayFrom, replayFrom + 9));
        await again.log.close();
      }
    }
  }));

test('K43 a newer format is refused and not changed, in any segment that is read', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    const newer = Buffer.from('53594c470002', 'hex'); // format 2
    const check = Buffer.alloc(2);
    check.writeUInt16BE(crc32(newer) & 0xffff);
    for (const sample of samples) {
      const content = Buffer.concat([newer, check, sample.content.subarray(8)]);
      const directory = await damaged.create(
        samples.map((each) => (each === sample ? { ...each, content } : each)),
      );
      await damaged.expectRefused(directory, 'too-new');
      const error = openSampleLog(world, { directory });
      await expect(error).rejects.toThrow('has format 2, which this version cannot read');
    }
  }));

test('a cut is reported once, with the segment, the offset and the bytes dropped', () =>
  runInSimulation(1, async (world) => {
    const samples = await writeSample(world);
    const damaged = new DamagedLog(world);
    const [first, second, third] = samples;
    if (!first || !second || !third) throw new Error('the sample has three files');
    const cut = { ...second, content: second.content.subarray(0, 70) };
    const lines: unknown[] = [];
    const logger = {
      ...world.logger,
      warn: (msg: string, fields: unknown) => lines.push([msg, fields]),
    };
    const directory = await damaged.create([first, cut, third]);
    const { log } = await openSampleLog({ ...world, logger }, { directory });
    expect(log.cutBytes).toBe(10 + third.content.length);
    expect(lines).toEqual([
      [
        'log truncated at the first bad record',
        {
          segment: `${directory}/${second.name}`,
          offset: 60,
          reason: 'a bad record',
          bytesDropped: 10 + third.content.length,
          segmentsRemoved: 1,
          nextNumber: 8,
        },
      ],
    ]);
    expect(await world.files.list(directory)).toEqual([first.name, second.name]);
    await log.close();
  }));
