// A process that dies at every single file operation of a segment log: before the operation or after it, by a kill or
// by a power loss. The next start must find a prefix with everything that was acknowledged.
import { expect, test } from 'vitest';
import { createSeededRandom } from '../seeded-random.js';
import {
  type DiskOperation,
  SeededDiskPlan,
  type UnsyncedChange,
  type Verdict,
} from '../sim/disk/disk-plan.js';
import type { SimNode, SimPorts } from '../sim/sim-node.js';
import { Simulation } from '../sim/simulation.js';
import { appendNumbered, contentOf, numbered, openSampleLog } from './sample-log.js';
import type { SegmentLog, SegmentLogOptions } from './segment-log.js';

type CrashKind = 'kill' | 'losePower';

interface CrashPoint {
  readonly kind: CrashKind;
  /** Number of the operation since the plan was set, from 1. */
  readonly index: number;
  readonly moment: 'before' | 'after';
  /** Decides what a power loss leaves. */
  readonly seed: number;
}

/** Ends the process at one operation; without a point it only counts. */
class CrashPlan extends SeededDiskPlan {
  readonly #node: SimNode;
  readonly #point: CrashPoint | undefined;
  readonly kinds: string[] = [];
  /** Kinds of operations that find the disk full. */
  full: ReadonlySet<string> = new Set();
  #isOver = false;

  constructor(node: SimNode, point?: CrashPoint) {
    super(createSeededRandom(point?.seed ?? 0));
    this.#node = node;
    this.#point = point;
  }

  override verdict(operation: DiskOperation): Verdict {
    if (this.#isOver) return 'ok';
    this.kinds.push(operation.kind);
    this.#crashAt('before');
    return this.full.has(operation.kind) ? 'full' : 'ok';
  }

  override done(): void {
    this.#crashAt('after');
  }

  #crashAt(moment: 'before' | 'after'): void {
    const point = this.#point;
    if (this.#isOver || point?.index !== this.kinds.length || point.moment !== moment) return;
    this.#isOver = true;
    this.#node[point.kind]();
  }
}

/** What was acknowledged before the process died. */
class Ledger {
  /** Records whose append has begun, and has returned. */
  begun = 0;
  returned = 0;
  synced = 0;
  replayFrom = 1;

  append(log: SegmentLog, count: number): void {
    for (let n = 0; n < count; n += 1) {
      this.begun = log.nextNumber;
      appendNumbered(log, 1);
      this.returned = log.nextNumber - 1;
    }
  }

  async sync(log: SegmentLog): Promise<void> {
    await log.sync();
    this.synced = Math.max(this.synced, log.syncedThrough);
  }
}

/** For a new segment: there is no space for the file, or only for the file. */
type Fullness = 'no file' | 'no record';

/** Every kind of operation, several rotations, a sync with appends in flight, a full disk, a drop. */
async function workload(
  ports: SimPorts,
  ledger: Ledger,
  plan: CrashPlan,
  fullness: Fullness,
): Promise<void> {
  const { log } = await openSampleLog(ports, { reserveBytes: 1000 });
  ledger.append(log, 3);
  await ledger.sync(log);
  ledger.append(log, 5);
  const inFlight = ledger.sync(log);
  ledger.append(log, 6);
  await ports.clock.sleep(0.1);
  ledger.append(log, 4);
  await inFlight;
  const files = await ports.files.list('log');
  plan.full = new Set(['handle-write', ...(fullness === 'no file' ? ['handle-open'] : [])]);
  for (const useReserve of [false, true]) {
    ledger.begun = log.nextNumber;
    const full = { code: 'storage-full', outcome: 'not-applied' };
    expect(() => log.append(1, [], { useReserve })).toThrow(expect.objectContaining(full));
  }
  plan.full = new Set();
  ledger.append(log, 3);
  const leftoverCount = fullness === 'no file' ? 0 : 1;
  expect((await ports.files.list('log')).length).toBe(files.length + leftoverCount);
  await ledger.sync(log);
  expect((await ports.files.list('log')).length).toBe(files.length);
  ledger.replayFrom = 14; // a caller has a checkpoint of everything before
  await log.dropBefore(14);
  ledger.append(log, 7);
  await log.close();
  ledger.synced = log.nextNumber - 1;
}

interface Outcome {
  readonly kinds: readonly string[];
  readonly ledger: Ledger;
  readonly replayed: readonly string[];
  readonly hasEnded: boolean;
}

async function crashDuringWorkload(fullness: Fullness, point?: CrashPoint): Promise<Outcome> {
  const simulation = new Simulation({ seed: 1 });
  const ledger = new Ledger();
  let hasEnded = false;
  let replayed: readonly string[] | undefined;
  const node = simulation.addNode('n1', async (ports) => {
    if (ledger.begun === 0 && plan.kinds.length === 0) {
      await workload(ports, ledger, plan, fullness);
      hasEnded = true;
    } else {
      const { replayFrom } = ledger;
      const opened = await openSampleLog(ports, { replayFrom, mustBeWhole: hasEnded });
      replayed = opened.replayed;
      appendNumbered(opened.log, 8);
      await opened.log.close();
      const again = await openSampleLog(ports, { replayFrom, mustBeWhole: true });
      expect(again.replayed).toEqual(numbered(replayFrom, again.log.nextNumber - 1));
      expect(again.replayed.length).toBe(replayed.length + 8);
      replayed = opened.replayed;
    }
  });
  const plan = new CrashPlan(node, point);
  node.disk.plan = plan;
  return simulation.run(async () => {
    node.start();
    while (!hasEnded && node.state !== 'down') await simulation.clock.sleep(1);
    if (node.state !== 'down') node.kill();
    const kinds = [...plan.kinds];
    plan.full = new Set();
    node.start();
    while (replayed === undefined) {
      await simulation.clock.sleep(1);
      expect(node.state, 'the log can be opened').toBe('running');
    }
    await simulation.clock.sleep(100);
    expect(node.state, 'the log can be used').toBe('running');
    return { kinds, ledger, replayed, hasEnded };
  });
}

test.each(['no file', 'no record'] as const)(
  'K40 K41 K42 K44 a process that dies at any file operation loses nothing that was acknowledged (%s fits)',
  async (fullness) => {
    const { kinds, ledger, hasEnded } = await crashDuringWorkload(fullness);
    expect(hasEnded).toBe(true);
    expect(ledger).toMatchObject({ returned: 28, synced: 28 });
    expect(new Set(kinds)).toEqual(
      new Set([
        ...['names', 'sync-names', 'read', 'sync'],
        ...['handle-open', 'handle-write', 'handle-truncate'],
      ]),
    );
    const lengths = new Set<number>();
    for (let index = 1; index <= kinds.length; index += 1) {
      for (const moment of ['before', 'after'] as const) {
        for (const seed of [0, 1, 2, 3, 4]) {
          const kind = seed === 0 ? 'kill' : 'losePower';
          const at = `${kind} ${moment} ${kinds[index - 1]} ${index}, seed ${seed}`;
          const outcome = await crashDuringWorkload(fullness, { kind, index, moment, seed }).catch(
            (cause) => {
              throw new Error(at, { cause });
            },
          );
          const { begun, returned, synced, replayFrom } = outcome.ledger;
          const through = replayFrom + outcome.replayed.length - 1;
          expect(outcome.replayed, at).toEqual(numbered(replayFrom, through));
          expect(through, at).toBeGreaterThanOrEqual(kind === 'kill' ? returned : synced);
          expect(through, at).toBeLessThanOrEqual(begun);
          lengths.add(through);
        }
      }
    }
    expect(lengths.size).toBeGreaterThan(20);
  },
);

/** Loses power after the last step of `body`, and returns what is replayed. */
async function losePowerAfter(
  seed: number,
  options: Partial<SegmentLogOptions>,
  body: (ports: SimPorts, node: SimNode) => Promise<void>,
): Promise<readonly string[]> {
  const simulation = new Simulation({ seed });
  let replayed: readonly string[] | undefined;
  let hasLostPower = false;
  const node = simulation.addNode('n1', async (ports) => {
    if (hasLostPower) {
      replayed = (await openSampleLog(ports, options)).replayed;
      return;
    }
    await body(ports, node);
    hasLostPower = true;
    node.losePower();
  });
  return simulation.run(async () => {
    node.start();
    while (!hasLostPower) await simulation.clock.sleep(1);
    node.start();
    await simulation.clock.sleep(100);
    expect(replayed, 'the log can be opened').toBeDefined();
    return replayed ?? [];
  });
}

test('K41 K43 a power loss before the first sync leaves a prefix, not a log without its beginning', async () => {
  const lengths = new Set<number>();
  for (let seed = 0; seed < 50; seed += 1) {
    const replayed = await losePowerAfter(seed, {}, async (ports) => {
      const { log } = await openSampleLog(ports);
      appendNumbered(log, 20);
    });
    expect(replayed).toEqual(numbered(1, replayed.length));
    lengths.add(replayed.length);
  }
  expect(lengths.size).toBeGreaterThan(2);
});

test('K44 the part of a record that hit a full disk does not come back after a clean close', async () => {
  for (let seed = 0; seed < 30; seed += 1) {
    const replayed = await losePowerAfter(seed, { mustBeWhole: true }, async (ports, node) => {
      const { log } = await openSampleLog(ports);
      appendNumbered(log, 2);
      await log.sync();
      const { plan } = node.disk;
      node.disk.plan = new FullDisk(createSeededRandom(seed));
      expect(() => appendNumbered(log, 1)).toThrow();
      node.disk.plan = plan;
      await log.close();
    });
    expect(replayed).toEqual(numbered(1, 2));
  }
});

/** Takes a part of what is written. */
class FullDisk extends SeededDiskPlan {
  override verdict({ kind }: DiskOperation): Verdict {
    return kind === 'handle-write' ? 'full' : 'ok';
  }
}

test('K41 K43 a segment is removed after the name of the next one is durable', async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const replayed = await losePowerAfter(seed, { replayFrom: 7 }, async (ports) => {
      const { log } = await openSampleLog(ports);
      appendNumbered(log, 1);
      await log.sync();
      appendNumbered(log, 5);
      await log.sync();
      appendNumbered(log, 1); // in a new segment
      void log.dropBefore(7);
      await ports.clock.sleep(1 + 0.1 * seed);
    });
    expect(replayed).toEqual(numbered(7, 6 + replayed.length));
  }
});

interface Damage {
  readonly name: string;
  /** Changes a log of three segments with records 1 to 16. */
  readonly files: (content: Map<string, Uint8Array>) => void;
  readonly options?: Partial<SegmentLogOptions>;
  /** The records that are left. */
  readonly left: readonly string[];
  readonly nextNumber: number;
}

const segment = (first: number) => `${String(first).padStart(16, '0')}.log`;
const cutTo = (content: Map<string, Uint8Array>, name: string, length: number) =>
  content.set(name, content.get(name)?.subarray(0, length) ?? new Uint8Array());

const DAMAGES: readonly Damage[] = [
  {
    name: 'a bad record in a middle segment',
    files: (content) => void content.get(segment(7))?.fill(0, 100, 101),
    left: numbered(1, 8),
    nextNumber: 9,
  },
  {
    name: 'a missing segment',
    files: (content) => void content.delete(segment(7)),
    left: numbered(1, 6),
    nextNumber: 7,
  },
  {
    name: 'a torn header',
    files: (content) => void cutTo(content, segment(13), 20),
    left: numbered(1, 12),
    nextNumber: 13,
  },
  {
    name: 'a torn tail',
    files: (content) => void cutTo(content, segment(13), 140),
    left: numbered(1, 15),
    nextNumber: 16,
  },
  {
    name: 'a bad record before replayFrom',
    files: (content) => void cutTo(content, segment(7), 100),
    options: { replayFrom: 11 },
    left: [],
    nextNumber: 11,
  },
  {
    name: 'a torn header of the only segment',
    files: (content) => {
      for (const first of [1, 13]) content.delete(segment(first));
      cutTo(content, segment(7), 30);
    },
    options: { replayFrom: 7 },
    left: [],
    nextNumber: 7,
  },
  {
    name: 'a torn header of the first segment of a new log',
    files: (content) => {
      for (const first of [7, 13]) content.delete(segment(first));
      cutTo(content, segment(1), 30);
    },
    left: [],
    nextNumber: 1,
  },
];

/** Opens a damaged log, is interrupted, and opens it again. Returns the operations of the first attempt. */
async function crashDuringCut(damage: Damage, point?: CrashPoint): Promise<readonly string[]> {
  const simulation = new Simulation({ seed: 1 });
  let stage: 'prepare' | 'cut' | 'check' | 'done' = 'prepare';
  let plan: CrashPlan | undefined;
  const node = simulation.addNode('n1', async (ports) => {
    if (stage === 'prepare') {
      await prepareDamage(ports, damage);
      stage = 'cut';
      plan = new CrashPlan(node, point);
      node.disk.plan = plan;
      const { log } = await openSampleLog(ports, damage.options);
      expect(log.nextNumber).toBe(damage.nextNumber);
      node.disk.plan = new SeededDiskPlan(createSeededRandom(1));
    }
    stage = 'check';
    const { log, replayed } = await openSampleLog(ports, damage.options);
    expect(replayed).toEqual(damage.left);
    expect(log.nextNumber).toBe(damage.nextNumber);
    appendNumbered(log, 8);
    await log.close();
    const again = await openSampleLog(ports, { ...damage.options, mustBeWhole: true });
    const through = damage.nextNumber + 7;
    const added = numbered(damage.nextNumber, through);
    expect(again.replayed).toEqual([...damage.left, ...added]);
    await again.log.close();
    stage = 'done';
  });
  await simulation.run(async () => {
    node.start();
    while (stage !== 'done') {
      await simulation.clock.sleep(1);
      if (node.state === 'down') node.start();
    }
  });
  return plan?.kinds ?? [];
}

async function prepareDamage(ports: SimPorts, damage: Damage): Promise<void> {
  const { log } = await openSampleLog(ports);
  appendNumbered(log, 16);
  await log.close();
  const { files } = ports;
  const content = new Map<string, Uint8Array>();
  for (const [name, hex] of Object.entries(await contentOf(ports))) {
    content.set(name, Uint8Array.from(Buffer.from(hex, 'hex')));
    await files.remove(`log/${name}`);
  }
  damage.files(content);
  for (const [name, bytes] of content) {
    await files.append(`log/${name}`, bytes);
    await files.sync(`log/${name}`);
  }
  await files.syncDir('log');
}

test.each(DAMAGES)(
  'K42 a cut after $name is completed after a crash at any step',
  async (damage) => {
    const kinds = await crashDuringCut(damage);
    for (let index = 1; index <= kinds.length; index += 1) {
      for (const moment of ['before', 'after'] as const) {
        for (const seed of [0, 1, 2, 3, 4, 5]) {
          const kind = seed === 0 ? 'kill' : 'losePower';
          const point = { kind, index, moment, seed } as const;
          await crashDuringCut(damage, point).catch((cause) => {
            throw new Error(`${kind} ${moment} ${kinds[index - 1]} ${index}, seed ${seed}`, {
              cause,
            });
          });
        }
      }
    }
  },
);

test('K41 K43 a power loss leaves a beginning, whichever names of new segments it keeps', async () => {
  for (let kept = 0; kept < 8; kept += 1) {
    const simulation = new Simulation({ seed: kept });
    let found: readonly string[] | undefined;
    const node = simulation.addNode('n1', async (ports) => {
      const { log, replayed } = await openSampleLog(ports);
      found = replayed;
      if (log.nextNumber === 1) appendNumbered(log, 20);
    });
    node.disk.plan = new (class extends SeededDiskPlan {
      override losePower() {
        let names = 0;
        return {
          survives: ({ kind }: UnsyncedChange) => kind !== 'name' || ((kept >> names++) & 1) === 1,
          survivingBytes: (uncertainBytes: number) => uncertainBytes,
        };
      }
    })(createSeededRandom(1));
    await simulation.run(async () => {
      node.start();
      await simulation.clock.sleep(1000);
      node.losePower();
      node.start();
      await simulation.clock.sleep(1000);
    });
    expect(found).toEqual(numbered(1, found?.length ?? 0));
    expect(found?.length).toBeGreaterThanOrEqual(6);
  }
});
