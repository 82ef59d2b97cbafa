// Writes a ledger to a LevelDB store as it is told, and says what was acknowledged.
//
//   node storage-writer.js DIRECTORY buffered|synced VALUE_BYTES_MAX
//
// It takes lines `write COUNT`, and says `ready N` (the last number found), `ack N`, `full N`, `resumed N`
// and, after COUNT acknowledgements, `done N`. After a full disk it reads, and tries the same number
// again. Anything else that fails ends it with exit code 1.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createSystemClock,
  openLevelStorage,
  type Storage,
  type SynclineError,
  silentLogger,
} from '@syncline/kernel';
import { checkLedger, lastInLedger, ledgerBatch } from '../storage-ledger.js';

/** Writes in flight at the same time, so that a kill meets some that are queued. */
const WINDOW = 4;
const PAUSE_MS = 5;

const [directory = '', durability = 'buffered', valueBytesMax = '1000'] = process.argv.slice(2);
const storage = await openLevelStorage(
  { clock: createSystemClock(), logger: silentLogger },
  { directory },
);
process.stdin.once('end', () => process.exit()); // whoever started it is gone
let next = lastInLedger(storage) + 1;
say(`ready ${next - 1}`);
for await (const line of createInterface({ input: process.stdin })) {
  await writeUpTo(next + Number(line.split(' ')[1]));
  say(`done ${next - 1}`);
}

async function writeUpTo(end: number): Promise<void> {
  let isFull = false;
  while (next < end) {
    const refused = await writeWindow(storage);
    if (refused && (refused.code !== 'storage-full' || refused.outcome !== 'not-applied')) {
      throw refused;
    }
    if (refused && !isFull) await checkLedger(storage); // reads go on
    if (refused) say(`full ${next}`);
    else if (isFull) say(`resumed ${next}`);
    isFull = refused !== undefined;
    if (isFull) await sleep(PAUSE_MS);
  }
}

/** Returns the error of the first write that was refused. Those behind it must be refused as well. */
async function writeWindow(to: Storage): Promise<SynclineError | undefined> {
  const options = { durability: durability === 'synced' ? 'synced' : 'buffered' } as const;
  const writes = Array.from({ length: WINDOW }, (_, ahead) =>
    to.write(ledgerBatch(next + ahead, sizeOf(next + ahead)), options),
  );
  let refused: SynclineError | undefined;
  for (const outcome of await Promise.allSettled(writes)) {
    if (outcome.status === 'rejected') refused ??= outcome.reason;
    else if (refused) throw new Error(`${next} was acknowledged behind a refused write`);
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

/** Written before the next write is made, whatever happens to this process then. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
