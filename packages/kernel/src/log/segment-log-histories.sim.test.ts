// Random histories of a segment log, compared with a plain model: a list of records. Each process appends, syncs,
// drops and encounters full disks, missing descriptors and failing syncs, until it is killed, loses power (which
// keeps any subset of the unsynced pages) or closes the log. The next one must find a prefix of the list, with
// everything that was synced, and after a kill or a close everything that was appended.
import { expect, test } from 'vitest';
import { SynclineError } from '../error.js';
import { crc32 } from '../hash/crc32.js';
import type { SeededRandom } from '../seeded-random.js';
import {
  calmDisk,
  type DiskOperation,
  SeededDiskPlan,
  type Verdict,
} from '../sim/disk/disk-plan.js';
import type { SimNode, SimPorts } from '../sim/sim-node.js';
import { Simulation } from '../sim/simulation.js';
import { bytes } from './sample-log.js';
import { SegmentLog } from './segment-log.js';

const SEEDS = 60;
const LIVES = 12;

/** What happened over all seeds: a branch that is never taken proves nothing. */
const reached = {
  cuts: 0,
  lostRecords: 0,
  rotations: 0,
  refusals: 0,
  failures: 0,
  cleanStarts: 0,
  drops: 0,
};

class Model {
  /** Kind and checksum of each record; index 0 is record 1. */
  readonly records: string[] = [];
  /** Records up to here must be found by the next process. */
  promised = 0;
  synced = 0;
  /** The caller has a snapshot of every record before this one. */
  replayFrom = 1;
  wasClosed = false;

  /** What a failed sync has lost only shows after a restart. */
  noteFailure(): void {
    this.promised = this.synced;
    reached.failures += 1;
  }
}

/** Occasionally there are no descriptors for a while. */
class PlanWithoutDescriptors extends SeededDiskPlan {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    super(random);
    this.#random = random.fork('descriptors');
  }

  override verdict(operation: DiskOperation): Verdict {
    const isNewSegment = operation.kind === 'handle-open' && this.profile.slowProbability > 0;
    if (isNewSegment && this.#random.float() < 0.2) return 'no-descriptors';
    return super.verdict(operation);
  }
}

const describe = (kind: number, body: Uint8Array) => `${kind}:${body.length}:${crc32(body)}`;

async function openLog(ports: SimPorts, model: Model): Promise<SegmentLog> {
  const { replayFrom, wasClosed } = model;
  const replayed: string[] = [];
  model.wasClosed = false;
  const log = await SegmentLog.open(ports, {
    directory: 'sets/log',
    owner: bytes('node 1'),
    segmentBytesMax: 20_000,
    reserveBytes: 10_000,
    replayFrom,
    mustBeWhole: wasClosed,
    onRecord(number, kind, body) {
      expect(number).toBe(replayFrom + replayed.length);
      replayed.push(describe(kind, body));
    },
  });
  const through = replayFrom - 1 + replayed.length;
  expect(replayed).toEqual(model.records.slice(replayFrom - 1, through));
  expect(through).toBeGreaterThanOrEqual(model.promised);
  expect(log).toMatchObject({ nextNumber: through + 1, syncedThrough: through });
  if (wasClosed) reached.cleanStarts += 1;
  if (log.cutBytes > 0) reached.cuts += 1;
  reached.lostRecords += model.records.length - through;
  model.records.length = through;
  model.promised = through;
  model.synced = through;
  return log;
}

/** Mostly short records, some of several pages. */
function randomBody(random: SeededRandom): Uint8Array {
  const size = random.float() < 0.2 ? random.float() * 12_000 : random.float() * 300;
  return random.bytes(Math.floor(size));
}

function appendOne(log: SegmentLog, model: Model, random: SeededRandom): void {
  const body = randomBody(random);
  const kind = Math.floor(random.float() * 256);
  const middle = Math.floor(random.float() * body.length);
  const segmentsBefore = log.segments;
  const useReserve = random.float() < 0.5;
  model.records.push(describe(kind, body));
  try {
    const number = log.append(kind, [body.subarray(0, middle), body.subarray(middle)], {
      useReserve,
    });
    expect(number).toBe(model.records.length);
    model.promised = number;
  } catch (thrown) {
    if (!(thrown instanceof SynclineError) || thrown.outcome !== 'not-applied') throw thrown;
    model.records.pop();
    reached.refusals += 1;
  }
  if (segmentsBefore > 0) reached.rotations += log.segments - segmentsBefore;
}

async function live(ports: SimPorts, model: Model): Promise<void> {
  const { random, clock } = ports;
  const log = await openLog(ports, model);
  const sync = async () => {
    await log.sync();
    model.synced = Math.max(model.synced, log.syncedThrough);
  };
  for (;;) {
    const choice = random.float();
    if (choice < 0.7) appendOne(log, model, random);
    else if (choice < 0.78) await sync();
    else if (choice < 0.86) sync().catch(() => model.noteFailure());
    else if (choice < 0.98) await clock.sleep(random.float() * 3);
    else if (choice < 0.995) {
      await sync();
      model.replayFrom = 1 + Math.floor(random.float() * log.syncedThrough);
      model.replayFrom = Math.max(model.replayFrom, log.firstNumber);
      await log.dropBefore(model.replayFrom);
      reached.drops += 1;
    } else {
      await log.close();
      model.synced = model.records.length;
      model.wasClosed = true;
      return;
    }
  }
}

async function history(seed: number): Promise<void> {
  const simulation = new Simulation({ seed });
  const model = new Model();
  const chance = simulation.random.fork('faults');
  const node: SimNode = simulation.addNode('n1', async (ports) => {
    await live(ports, model).catch((thrown: unknown) => {
      const isFinal = thrown instanceof SynclineError && thrown.code === 'storage-failed';
      if (!isFinal) throw thrown;
      model.noteFailure();
    });
  });
  const plan = new PlanWithoutDescriptors(simulation.random.fork('plan'));
  node.disk.plan = plan;
  await simulation.run(async () => {
    for (let count = 0; count < LIVES; count += 1) {
      plan.profile = calmDisk;
      node.start();
      await simulation.clock.sleep(chance.float() * 100);
      if (node.state !== 'down') {
        plan.profile = {
          slowProbability: 0.05,
          slowMsMax: 30,
          isFull: chance.float() < 0.3,
          syncFailureProbability: chance.float() < 0.15 ? 0.3 : 0,
        };
      }
      await simulation.clock.sleep(chance.float() * 30);
      if (chance.float() < 0.5) {
        node.losePower();
        model.promised = model.synced;
      } else node.kill();
    }
  });
}

test('K40 K41 K44 every process in a random history finds a prefix with everything that was acknowledged', async () => {
  for (let seed = 0; seed < SEEDS; seed += 1) await history(seed);
  for (const [what, count] of Object.entries(reached)) {
    expect(count, what).toBeGreaterThan(SEEDS / 10);
  }
});
