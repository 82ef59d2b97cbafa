// Reads a ledger that may be damaged and reports the result: a separate process, since damage can crash LevelDB
// itself.
//
//   node storage-reader.js COUNT VALUE_BYTES
//
// It reads one directory per line and answers with one line of JSON: the results of single reads, of opening
// and of a range.
import { createInterface } from 'node:readline';
import { createSystemClock, type Storage, SynclineError, silentLogger } from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { ledgerBatch } from '../storage-ledger.js';

const [count = '0', valueBytes = '0'] = process.argv.slice(2);
/** The one key with several versions: where a log lost its end, an older one is right. */
const LAST = Buffer.from('last');
const deps = { clock: createSystemClock(), logger: silentLogger };
const expected = expectedEntries();

for await (const directory of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await readStore(directory))}\n`);
}

async function readStore(directory: string) {
  const found = { right: 0, missing: 0, corrupt: 0, wrong: 0, opening: 'ok', range: 'ok' };
  try {
    await using storage = await openLevelStorage(deps, { directory });
    for (const [key, value] of expected) found[readOne(storage, key, value)] += 1;
    found.range = await readAll(storage);
  } catch (thrown) {
    found.opening = SynclineError.from(thrown).code;
  }
  return found;
}

function readOne(storage: Storage, key: string, value: Buffer) {
  try {
    const read = storage.get(Buffer.from(key, 'latin1'));
    if (read === undefined) return 'missing';
    return value.equals(read) ? 'right' : 'wrong';
  } catch (thrown) {
    if (SynclineError.from(thrown).code !== 'corrupt') throw thrown;
    return 'corrupt';
  }
}

async function readAll(storage: Storage): Promise<string> {
  let entries = 0;
  try {
    for await (const { key, value } of storage.range()) {
      if (Buffer.from(key).equals(LAST)) continue;
      const isRight = expected.get(Buffer.from(key).toString('latin1'))?.equals(value);
      if (!isRight) return 'wrong';
      entries += 1;
    }
    return entries === expected.size ? 'ok' : 'missing';
  } catch (thrown) {
    return SynclineError.from(thrown).code;
  }
}

function expectedEntries(): ReadonlyMap<string, Buffer> {
  const entries = new Map<string, Buffer>();
  for (let number = 1; number <= Number(count); number += 1) {
    for (const operation of ledgerBatch(number, Number(valueBytes)).operations) {
      if (operation.kind !== 'put' || LAST.equals(operation.key)) continue;
      entries.set(Buffer.from(operation.key).toString('latin1'), Buffer.from(operation.value));
    }
  }
  return entries;
}
