// kill -9 in the middle of writes: writes acknowledged as buffered survive, and nothing is torn.
import { checkLedger, lastInLedger, makeTempDirectory, startChild } from '@syncline/testkit';
import { expect, it } from 'vitest';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';

/** Kills per run. A release runs more: SYNCLINE_KILL_ROUNDS=500. */
const ROUNDS = Number(process.env['SYNCLINE_KILL_ROUNDS'] ?? 10);
const ROUNDS_PER_STORE = 10;
const deps = { clock: createSystemClock(), logger: silentLogger };

it(`K15 ${ROUNDS} kills lose nothing that was acknowledged and tear nothing`, async () => {
  for (let done = 0; done < ROUNDS; done += ROUNDS_PER_STORE) {
    await killAndCheck(Math.min(ROUNDS - done, ROUNDS_PER_STORE));
  }
}, 3_600_000);

/** One store, killed again and again. It grows, and so does the time to check it. */
async function killAndCheck(rounds: number): Promise<void> {
  await using directory = await makeTempDirectory('kill');
  let last = 0;
  for (let round = 0; round < rounds; round += 1) {
    // Small values give many batches per second, large ones are torn more often.
    const valueBytesMax = round % 2 === 0 ? '300' : '50000';
    await using writer = startChild('storage-writer', directory.path, 'buffered', valueBytesMax);
    expect(await writer.lineThatStarts('ready')).toBe(`ready ${last}`);
    writer.send('write 1000000000');
    const acked = await killAfter(writer, 20 + ((round * 37) % 200));
    const storage = await openLevelStorage(deps, { directory: directory.path });
    last = lastInLedger(storage);
    expect(last).toBeGreaterThanOrEqual(acked);
    await checkLedger(storage);
    await storage.close();
  }
}

/** Kills it after `acks` acknowledgements, and returns the last one that it gave. */
async function killAfter(writer: ReturnType<typeof startChild>, acks: number): Promise<number> {
  let acked = '';
  for (let ack = 0; ack < acks; ack += 1) acked = await writer.lineThatStarts('ack');
  await writer.kill();
  for (let line = await writer.nextLine(); line; line = await writer.nextLine()) acked = line;
  return Number(acked.split(' ')[1]);
}
