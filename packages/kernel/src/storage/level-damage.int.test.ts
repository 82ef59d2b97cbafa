// Flipped bytes on disk: a reader gets the right value, `corrupt`, or finds the key missing, but never a wrong
// value. Plain LevelDB can return one, since it does not verify its tables on read.
//
// Keys can go missing because LevelDB silently drops damaged records of its log, and because a damaged key in a
// table is a different key. A slice that must notice keeps its own chain of checksums. Rarely (1 of 2,176 flips
// over a whole table) LevelDB fails an assertion of its own and ends the process.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ChildProgram, ledgerBatch, makeTempDirectory, startChild } from '@syncline/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';

const COUNT = 40;
const VALUE_BYTES = 100;
const ENTRIES = 3 * COUNT;
/** Flips per kind of file. A release runs more: SYNCLINE_DAMAGE_FLIPS=2000. */
const FLIPS = Number(process.env['SYNCLINE_DAMAGE_FLIPS'] ?? 60);
const deps = { clock: createSystemClock(), logger: silentLogger };

interface Found {
  readonly right: number;
  readonly wrong: number;
  readonly opening: string;
  readonly range: string;
}

let reader = startReader();
afterAll(() => reader.kill());

describe('K18 a single flipped bit', () => {
  for (const kind of ['.ldb', '.log'] as const) {
    it(`in a ${kind} file never gives a wrong value (${FLIPS} flips)`, async () => {
      await using directory = await makeTempDirectory('damage');
      await writeLedger(directory.path, kind);
      const intact = await readDamaged(directory.path, (content) => content);
      expect(intact).toMatchObject({ right: ENTRIES, opening: 'ok', range: 'ok' });
      let noticed = 0;
      for (let flip = 0; flip < FLIPS; flip += 1) {
        const damage = (content: Buffer, name: string) =>
          name.endsWith(kind) ? flipped(content, (flip + 0.5) / FLIPS, flip % 8) : content;
        const found = await readDamaged(directory.path, damage);
        expect(found, `flip ${flip}`).toMatchObject({ wrong: 0 });
        expect(found.range, `flip ${flip}`).not.toBe('wrong');
        if (found.opening !== 'ok' || found.range !== 'ok') noticed += 1;
      }
      expect(noticed).toBeGreaterThan(FLIPS / 2);
    }, 300_000);
  }
});

/** A store that was just written has a log; opening it again turns that into a table. */
async function writeLedger(directory: string, kind: '.ldb' | '.log'): Promise<void> {
  const storage = await openLevelStorage(deps, { directory });
  for (let number = 1; number <= COUNT; number += 1) {
    await storage.write(ledgerBatch(number, VALUE_BYTES), { durability: 'buffered' });
  }
  await storage.close();
  if (kind === '.ldb') await (await openLevelStorage(deps, { directory })).close();
}

/** Reads a copy of the store, since reading changes it, in a child process, since damage may end it. */
async function readDamaged(
  directory: string,
  damage: (content: Buffer, name: string) => Buffer,
): Promise<Found> {
  await using copy = await makeTempDirectory('damage');
  for (const name of await readdir(directory)) {
    await writeFile(join(copy.path, name), damage(await readFile(join(directory, name)), name));
  }
  reader.send(copy.path);
  const line = await reader.nextLine();
  if (line !== undefined) return JSON.parse(line);
  expect(await reader.ended).toBe('SIGABRT');
  reader = startReader();
  return { right: 0, wrong: 0, opening: 'ended', range: 'ended' };
}

function startReader(): ChildProgram {
  return startChild('storage-reader', String(COUNT), String(VALUE_BYTES));
}

/** `at` is a place in the file from 0 to 1. An empty file stays as it is. */
function flipped(content: Buffer, at: number, bit: number): Buffer {
  const place = Math.floor(at * content.length);
  const byte = content[place];
  if (byte !== undefined) content[place] = byte ^ (1 << bit);
  return content;
}
