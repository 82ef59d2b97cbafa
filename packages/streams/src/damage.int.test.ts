// Damage to a real checkpoint directory of 50 epochs: each of its files with one byte flipped, cut short, emptied,
// removed, or of a newer format. A start on it is refused, and refused again, with the savepoints to restore from; or
// the damage is harmless: then the output is complete and correct.
//
// LevelDB skips damaged records of its log without an error and does not verify its tables, so this is what our own
// checksums are for. Files below 4 KiB are damaged in every byte, larger ones in 4,096 bytes spread evenly;
// STREAMS_DAMAGE_TRIALS sets how many of each file at most.
import { cp, link, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  makeMemoryDirectory,
  type StreamStart,
  type StreamStartOutcome,
  startChild,
  type TempDirectory,
} from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    streamsDamageTrials: number;
  }
}

const TRIALS_MAX = inject('streamsDamageTrials');
const EPOCHS = 50;
const RECORDS_PER_EPOCH = 20;
/** A new process each time: LevelDB turns its log into a table when it is opened. */
const STARTS = 5;
/** A few damaged bytes of a table trigger an assertion of LevelDB, which ends the process. */
const ABORTED = 'aborted by LevelDB';
const REFUSALS = [
  ABORTED,
  'storage-failed',
  'corrupt',
  'out-of-step',
  'too-new',
  'fenced',
  'conflict',
  'incompatible',
];

let directory: TempDirectory;
beforeAll(async () => {
  directory = await makeMemoryDirectory('damage');
});
afterAll(() => directory[Symbol.asyncDispose]());

const lineOf = (n: number) => `${JSON.stringify({ user: `user-${n % 37}`, n })}\n`;
const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => lineOf(from + index)).join('');

interface Place {
  readonly root: string;
  readonly backend: 'memory' | 'embedded';
}

let starter = startChild('stream-starter');
afterAll(() => starter.kill());

/** Runs until the entire input is committed, in a child process, since damage can end it. */
async function catchUp(
  { root, backend }: Place,
  records: number,
  savepoint?: string,
): Promise<StreamStartOutcome> {
  const asked: StreamStart = {
    input: join(directory.path, `${backend}.jsonl`),
    root,
    backend,
    records,
    recordsPerEpoch: RECORDS_PER_EPOCH,
    ...(savepoint === undefined ? {} : { savepoint }),
  };
  starter.send(JSON.stringify(asked));
  const line = await starter.nextLine();
  if (line !== undefined) return JSON.parse(line) as StreamStartOutcome;
  expect(await starter.ended).toBe('SIGABRT');
  starter = startChild('stream-starter');
  return { code: ABORTED };
}

async function outputOf(root: string): Promise<string> {
  const names = (await readdir(join(root, 'out'))).filter((name) => name.startsWith('part-'));
  const parts = names.sort().map((name) => readFile(join(root, 'out', name), 'utf8'));
  return (await Promise.all(parts)).join('');
}

/** Part files never change, so copies share them. */
async function copyTo(root: string, sound: string): Promise<void> {
  const isPart = (path: string) => basename(path).startsWith('part-');
  await cp(sound, root, { recursive: true, filter: (path) => !isPart(path) });
  for (const name of await readdir(join(sound, 'out'))) {
    if (isPart(name)) await link(join(sound, 'out', name), join(root, 'out', name));
  }
}

interface Damage {
  readonly name: string;
  /** Changes the file at the path. */
  apply(path: string): Promise<void>;
}

const NEWER: Damage = {
  name: 'of a newer format',
  apply: (path) => writeFile(path, 'syncline-streams 2\n'),
};

function damagesOf(file: string, bytes: Buffer): readonly Damage[] {
  const count = Math.min(bytes.length, 4_096, TRIALS_MAX);
  const spread = Array.from({ length: count }, (_, at) => Math.floor((at * bytes.length) / count));
  const flips = spread.map((at) => ({
    name: `byte ${at} flipped`,
    apply: (path: string) =>
      writeFile(
        path,
        bytes.map((byte, i) => (i === at ? byte ^ 0x41 : byte)),
      ),
  }));
  const cuts = spread
    .filter((_, index) => index % 4 === 0)
    .map((at) => ({ name: `cut at ${at}`, apply: (path: string) => truncate(path, at) }));
  const newer = file.endsWith('/FORMAT') ? [NEWER] : [];
  return [...flips, ...cuts, ...newer, { name: 'removed', apply: (path) => rm(path) }];
}

/** The result of a start on a damaged copy: refused with a code, or harmless. */
async function outcomeOf(place: Place, expected: string, before: string): Promise<string> {
  const { code, savepoints } = await catchUp(place, (EPOCHS + 1) * RECORDS_PER_EPOCH);
  const output = await outputOf(place.root);
  if (code === undefined) {
    expect(output).toBe(expected);
    return 'harmless';
  }
  expect(REFUSALS).toContain(code);
  // Embedded state is verified as it is read, so intact epochs may come before the refusal.
  expect(output.startsWith(before) && expected.startsWith(output)).toBe(true);
  const savepoint = join(place.root, 'state/savepoints/middle.snap');
  expect(await readFile(savepoint)).toHaveLength(savepointBytes);
  if (['corrupt', 'too-new', 'storage-failed'].includes(code))
    expect(savepoints).toEqual([savepoint]);
  await checkSecondStart(place, expected, code);
  return code;
}

/** LevelDB has dropped what it could not read; the rest must not be mistaken for everything. */
async function checkSecondStart(place: Place, expected: string, code: string): Promise<void> {
  const before = await outputOf(place.root);
  const { code: again } = await catchUp(place, (EPOCHS + 1) * RECORDS_PER_EPOCH);
  const output = await outputOf(place.root);
  // Embedded state that is not read again is not refused again.
  if (place.backend === 'memory' && code !== ABORTED)
    expect({ again, output }).toEqual({ again: code, output: before });
  else expect(again === undefined ? output === expected : expected.startsWith(output)).toBe(true);
}

let savepointBytes = 0;

describe.each(['memory', 'embedded'] as const)('a damaged directory, %s state', (backend) => {
  test('X49 T11 is refused with the savepoints, or the damage is harmless', async ({
    annotate,
  }) => {
    const input = join(directory.path, `${backend}.jsonl`);
    const sound = { root: join(directory.path, `${backend}-sound`), backend };
    await writeFile(input, '');
    for (let begun = 0; begun < STARTS; begun += 1) {
      const [from, to] = [begun, begun + 1].map(
        (part) => (part * EPOCHS * RECORDS_PER_EPOCH) / STARTS,
      ) as [number, number];
      await writeFile(input, linesOf(from, to), { flag: 'a' });
      expect(await catchUp(sound, to, begun === 2 ? 'middle' : undefined)).toEqual({});
      if (begun !== 2) continue;
      savepointBytes = (await readFile(join(sound.root, 'state/savepoints/middle.snap'))).length;
    }
    await writeFile(input, linesOf(EPOCHS * RECORDS_PER_EPOCH, (EPOCHS + 1) * RECORDS_PER_EPOCH), {
      flag: 'a',
    });
    const before = await outputOf(sound.root);
    const whole = { root: join(directory.path, `${backend}-whole`), backend };
    await copyTo(whole.root, sound.root);
    expect(await catchUp(whole, (EPOCHS + 1) * RECORDS_PER_EPOCH)).toEqual({});
    const expected = await outputOf(whole.root);

    const outcomes: Record<string, number> = {};
    const files = (
      await readdir(join(sound.root, 'state'), { recursive: true, withFileTypes: true })
    )
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(sound.root.length + 1));
    for (const file of files) {
      const bytes = await readFile(join(sound.root, file));
      for (const damage of file.includes('savepoints/') ? [] : damagesOf(file, bytes)) {
        const place = { root: join(directory.path, 'trial'), backend };
        await copyTo(place.root, sound.root);
        await damage.apply(join(place.root, file));
        const outcome = await outcomeOf(place, expected, before).catch((thrown: unknown) => {
          throw new Error(`${file}, ${damage.name}`, { cause: thrown });
        });
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        await rm(place.root, { recursive: true });
      }
    }
    await annotate(JSON.stringify(outcomes));
    expect(outcomes).toMatchObject({ corrupt: expect.any(Number), 'too-new': expect.any(Number) });
  }, 3_600_000);
});
