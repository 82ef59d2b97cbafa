// Writes a ledger to a LevelDB store on request, and reports what was acknowledged.
//
//   node storage-writer.js DIRECTORY buffered|synced VALUE_BYTES_MAX
//
// It reads lines `write COUNT` and `fill COUNT`, and prints `ready N` (the last number found), `ack N`,
// `full N`, `resumed N` and, after COUNT acknowledgements, `done N`. `fill` starts to count only after the
// disk has refused three writes: how much it takes before that depends on LevelDB's compactions. After a
// full disk it reads, and tries the same number again. Any other failure ends it with exit code 1.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createSystemClock,
  type Storage,
  type SynclineError,
  silentLogger,
} from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { checkLedger, lastInLedger, ledgerBatch } from '../storage-ledger.js';

/** Concurrent writes, so that a kill finds some of them queued. */
const WINDOW = 4;
const PAUSE_MS = 5;
const REFUSALS = 3;

const [directory = '', durability = 'buffered', valueBytesMax = '1000'] = process.argv.slice(2);
const storage = await openLevelStorage(
  { clock: createSystemClock(), logger: silentLogger },
  { directory },
);
process.stdin.once('end', () => process.exit()); // the parent is gone
let next = lastInLedger(storage) + 1;
say(`ready ${next - 1}`);
for await (const line of createInterface({ input: process.stdin })) {
  const [command, count] = line.split(' ');
  await write(Number(count), command === 'fill' ? REFUSALS : 0);
  say(`done ${next - 1}`);
}

/** Writes until there are `count` acknowledgements after `refusals` refused writes. */
async function write(count: number, refusals: number): Promise<void> {
  let isFull = false;
  let refusalsLeft = refusals;
  let end = refusals === 0 ? next + count : Number.POSITIVE_INFINITY;
  while (next < end) {
    const refused = await writeWindow(storage);
    if (refused && (refused.code !== 'storage-full' || refused.outcome !== 'not-applied')) {
      throw refused;
    }
    if (refused && !isFull) await checkLedger(storage); // reads continue
    if (refused) say(`full ${next}`);
    else if (isFull) say(`resumed ${next}`);
    isFull = refused !== undefined;
    if (!isFull) continue;
    refusalsLeft -= 1;
    if (refusalsLeft === 0) end = next + count;
    await sleep(PAUSE_MS);
  }
}

/** Returns the error of the first refused write. All later ones must be refused as well. */
async function writeWindow(to: Storage): Promise<SynclineError | undefined> {
  const options = { durability: durability === 'synced' ? 'synced' : 'buffered' } as const;
  const writes = Array.from({ length: WINDOW }, (_, ahead) =>
    to.write(ledgerBatch(next + ahead, sizeOf(next + ahead)), options),
  );
  let refused: SynclineError | undefined;
  for (const outcome of await Promise.allSettled(writes)) {
    if (outcome.status === 'rejected') refused ??= outcome.reason;
    else if (refused) throw new Error(`${next} was acknowledged after a refused write`);
    else {
      say(`ack ${next}`);
      next += 1;
    }
  }
  return refused;
}

function sizeOf(number: number): number {
  return (number * 7919) % (Number(valueBytesMax) + 1);
}

/** Printed before the next write, whatever then happens to this process. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
