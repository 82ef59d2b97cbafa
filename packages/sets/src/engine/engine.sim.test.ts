// A process that dies at every single file operation: while it writes, during a checkpoint, at a rotation, while it
// stops and while it starts. The next start must find a state that existed, with everything that was acknowledged.
// `SETS_CRASH_SEEDS=500 npx vitest run --project sim packages/sets/src/engine/engine.sim` tries more.
import { assert, type Durability } from '@syncline/kernel';
import {
  createSeededRandom,
  runInSimulation,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import { describe, expect, inject, test } from 'vitest';
import type { SetsEngine } from './engine.js';
import { CrashPlan, type CrashPoint, crashPointsAt } from './testing/crash-plan.js';
import { listOf } from './testing/driven-state.js';
import { contentOf, startEngine } from './testing/simulated-engine.js';

declare module 'vitest' {
  interface ProvidedContext {
    setsCrashSeeds: number;
  }
}

const crashSeeds = inject('setsCrashSeeds');
/** Power losses per file operation. */
const lossesCount = Math.ceil(crashSeeds / 25);
/** Runs with two crashes, per class. */
const doubleCrashes = 2 * crashSeeds;

type Change = readonly [kind: 'add' | 'remove', set: string, ...members: string[]];

/** What was done, and what was acknowledged before the process died. */
class Ledger {
  /** After each operation, in order. */
  readonly versions: string[] = ['-'];
  /** By version. Inspecting everything takes time, so most runs use what the run without a crash has seen. */
  readonly contents = new Map<string, string>([['-', '- 0 0 0 0 sets']]);
  isLooking: boolean;
  readonly #dots = new Set<string>();
  readonly #writes: Promise<void>[] = [];
  /** Operations that were acknowledged, and those that must survive a power loss. */
  acknowledged = 0;
  powerSafe = 0;
  /** The epoch of the running process, or of the last one that was stopped. */
  epoch: number | undefined;
  /** While it starts or stops, the content of its identity file is unknown. */
  stage: 'changing' | 'running' | 'stopped' = 'changing';
  /** Elements that a checkpoint found only in the list of its pin. */
  pinEntries = 0;

  constructor(isLooking: boolean) {
    this.isLooking = isLooking;
  }

  async start(ports: SimPorts, durability: Durability): Promise<SetsEngine> {
    this.stage = 'changing';
    const engine = await startEngine(ports, { durability });
    this.epoch = engine.epoch;
    this.stage = 'running';
    return engine;
  }

  async stop(engine: SetsEngine): Promise<void> {
    await Promise.all(this.#writes.splice(0));
    this.stage = 'changing';
    await engine.stop();
    this.stage = 'stopped';
    this.powerSafe = this.versions.length - 1;
  }

  /** All changes in one turn. Resolves when they are acknowledged. */
  write(engine: SetsEngine, ...changes: readonly Change[]): Promise<void> {
    for (const change of changes) this.#change(engine, change);
    const written = this.#acknowledge(engine, this.versions.length - 1);
    written.catch(() => {}); // a stop waits for it, too
    this.#writes.push(written);
    return written;
  }

  /** What is left after a crash is durable; everything later is gone. */
  recovered(index: number): void {
    this.versions.length = index + 1;
    this.#writes.length = 0;
    this.acknowledged = index;
    this.powerSafe = index;
    this.isLooking = true;
  }

  #change(engine: SetsEngine, [kind, ...words]: Change): void {
    const { keyspace, epoch } = engine;
    const before = keyspace.lastCounter();
    keyspace[kind](listOf(...words), 0, 1);
    if (keyspace.lastCounter() === before) return;
    for (let counter = before + 1; counter <= keyspace.lastCounter(); counter += 1) {
      assert(!this.#dots.has(`${epoch}:${counter}`), `S3: dot ${epoch}:${counter} is made once`);
      this.#dots.add(`${epoch}:${counter}`);
    }
    const version = keyspace.version().toString();
    this.versions.push(version);
    if (this.isLooking) this.contents.set(version, contentOf(engine.state));
    this.pinEntries = Math.max(this.pinEntries, engine.state.pins.entries);
  }

  async #acknowledge(engine: SetsEngine, index: number): Promise<void> {
    await engine.turns.settled();
    this.acknowledged = Math.max(this.acknowledged, index);
    if (engine.turns.durability === 'synced') this.powerSafe = Math.max(this.powerSafe, index);
  }
}

// Names and members have up to four bytes, so that rows of all kinds share the pages of the heap.

async function writeUnderCheckpoint({ clock }: SimPorts, engine: SetsEngine, ledger: Ledger) {
  engine.checkpoints?.start();
  for (let n = 0; engine.checkpoints?.facts().isRunning === true && n < 40; n += 1) {
    const written = ledger.write(
      engine,
      ['remove', `s${n % 9}`, 'm0', `m${n}`],
      n % 2 === 0 ? ['add', `s${n % 9}`, `l${n}`] : ['add', `n${n}`, 'm0', 'm1'],
      ['remove', `s${(n + 4) % 9}`, 'm0', 'm1', 'm2', 'm3'],
    );
    if (n % 4 === 0) await written;
    else if (n % 2 === 0) await clock.sleep(1);
    else await new Promise<void>((resolve) => void clock.defer(resolve)); // within a slice of the walk
  }
}

/** Writes, a checkpoint under writes, more writes with one that becomes due by itself, a stop, a start, a stop. */
async function workload(ports: SimPorts, ledger: Ledger, durability: Durability): Promise<void> {
  const { clock } = ports;
  let engine = await ledger.start(ports, durability);
  for (let n = 0; n < 9; n += 1) {
    const written = ledger.write(engine, ['add', `s${n}`, ...['m0', 'm1', 'm2'].slice(n % 3)]);
    if (n % 2 === 0) await written;
  }
  await ledger.write(engine, ['add', 's0', 'm0', 'm3'], ['remove', 's1', 'm1']);
  await writeUnderCheckpoint(ports, engine, ledger);
  const { acknowledged } = ledger;
  await clock.sleep(1_100);
  ledger.powerSafe = Math.max(ledger.powerSafe, acknowledged); // the sync of each second has run
  for (let n = 0; n < 16; n += 1) {
    const members = ['m0', `a${n}`, `b${n}`, `c${n}`];
    await ledger.write(engine, ['add', `s${n % 4}`, ...members], ['remove', `s${n % 5}`, 'm1']);
    await clock.sleep(15);
  }
  await ledger.stop(engine);
  engine = await ledger.start(ports, durability);
  await ledger.write(engine, ['add', 's1', 'z'], ['remove', 's2', 'm0']);
  await ledger.write(engine, ['add', 's2', 'z']);
  await ledger.stop(engine); // without a checkpoint
}

interface Expected {
  readonly reference: Ledger;
  readonly hasLostPower: boolean;
  /** Also stop and start again. */
  readonly isThorough: boolean;
}

/** After a crash: what was found, and that it can be used. */
async function check(
  ports: SimPorts,
  ledger: Ledger,
  durability: Durability,
  { reference, hasLostPower, isThorough }: Expected,
): Promise<number> {
  const { stage, epoch } = ledger;
  const engine = await ledger.start(ports, durability);
  const version = engine.keyspace.version().toString();
  const index = ledger.versions.indexOf(version);
  expect(index, `${version} is a version that existed`).toBeGreaterThanOrEqual(0);
  const wanted = ledger.contents.get(version) ?? reference.contents.get(version);
  expect(contentOf(engine.state), 'S21').toBe(wanted);
  const safe = hasLostPower ? ledger.powerSafe : ledger.acknowledged;
  expect(index, 'S6 nothing acknowledged is missing').toBeGreaterThanOrEqual(safe);
  if (stage === 'running') expect(engine.epoch, 'S3 after a crash').not.toBe(epoch);
  if (stage === 'stopped') expect(engine.epoch, 'S3 after a clean stop').toBe(epoch);
  ledger.recovered(index);
  await ledger.write(engine, ['add', 's0', 'm0', 'y'], ['remove', 's1', 'm2']);
  if (!isThorough) return index;
  for (const set of ['s7', 'y']) await ledger.write(engine, ['add', set, 'm0', 'y']);
  const content = contentOf(engine.state);
  await ledger.stop(engine);
  const again = await ledger.start(ports, durability);
  expect(contentOf(again.state)).toBe(content);
  expect(again.epoch, 'S3 after a clean stop').toBe(engine.epoch);
  expect(await ports.files.list('checkpoint')).not.toContainEqual(expect.stringMatching(/tmp$/));
  await ledger.write(again, ['add', 's0', 'x']);
  return index;
}

interface Outcome {
  /** File operations of the first process, and of the second. */
  readonly operations: readonly string[];
  readonly recovery: readonly string[];
  readonly ledger: Ledger;
  /** How many operations were left after the last crash. */
  readonly found: number;
}

/** One run of the workload that dies at `points[0]`; the next start dies at `points[1]`, and so on. */
async function run(
  durability: Durability,
  reference: Ledger | undefined,
  ...points: readonly CrashPoint[]
): Promise<Outcome> {
  const simulation = new Simulation({ seed: 1 });
  const ledger = new Ledger(reference === undefined);
  const operations: string[][] = [];
  let boot = (_ports: SimPorts) => {};
  const node = simulation.addNode('n1', (ports) => boot(ports));
  /** Runs a process until it is done, or dies at the point. */
  const live = async (point: CrashPoint | undefined, body: (ports: SimPorts) => Promise<void>) => {
    const plan = new CrashPlan(node, point);
    node.disk.plan = plan;
    const booted = new Promise<SimPorts>((resolve) => {
      boot = resolve;
    });
    node.start();
    await Promise.race([plan.crashed, booted.then(body)]);
    operations.push([...plan.operations]);
    node.kill();
  };
  let found = -1;
  await simulation.run(async () => {
    await live(points[0], (ports) => workload(ports, ledger, durability));
    if (reference === undefined) return;
    const hasLostPower = points.some(({ how }) => how === 'losePower');
    const isThorough = points.length > 1 || (points[0]?.index ?? 0) % 3 === 0;
    for (const point of [...points.slice(1), undefined]) {
      await live(point, async (ports) => {
        found = await check(ports, ledger, durability, { reference, hasLostPower, isThorough });
      });
    }
  });
  return { operations: operations[0] ?? [], recovery: operations[1] ?? [], ledger, found };
}

/** Names the crash points when it fails. */
async function runWithCrashes(
  durability: Durability,
  reference: Outcome,
  ...points: readonly CrashPoint[]
): Promise<Outcome> {
  try {
    return await run(durability, reference.ledger, ...points);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const first = reference.operations[(points[0]?.index ?? 0) - 1];
    throw new Error(`${JSON.stringify(points)} (${first}): ${reason}`, { cause });
  }
}

describe.each(['buffered', 'synced'] as const)('in class %s', (durability) => {
  test('the workload reaches every step of a log and of a checkpoint', async () => {
    const { operations, ledger } = await run(durability, undefined);
    const count = (pattern: RegExp) => operations.filter((each) => pattern.test(each)).length;
    expect(count(/^handle-open log\/\d+\.log/), 'rotations').toBeGreaterThan(5);
    expect(count(/^append checkpoint\/\d+\.tmp/), 'parts of checkpoints').toBeGreaterThan(6);
    expect(count(/^names checkpoint\/\d+\.ckpt/), 'renames and removals').toBeGreaterThan(3);
    expect(count(/^names log\/\d+\.log/), 'segments that go').toBeGreaterThan(3);
    expect(count(/^names identity/), 'two starts, two stops').toBe(4);
    const identities = [...operations.keys()].filter((at) => operations[at] === 'names identity');
    const checkpointsUpTo = (identity: number) =>
      new Set(
        operations
          .slice(0, identities[identity])
          .join(' ')
          .match(/\d+\.tmp/g),
      ).size;
    expect(checkpointsUpTo(1), 'by hand, when due, at the first stop').toBe(3);
    expect(checkpointsUpTo(3), 'the second stop needs none').toBe(3);
    expect(ledger.pinEntries).toBeGreaterThan(0);
    expect(ledger.versions.length).toBeGreaterThan(40);
    expect(ledger.powerSafe).toBe(ledger.versions.length - 1);
  });

  test('S3 S6 S21 a process that dies at any file operation comes back with everything acknowledged', async () => {
    const reference = await run(durability, undefined);
    const found = new Set<number>();
    for (const [index, operation] of reference.operations.entries()) {
      for (const point of crashPointsAt(index + 1, operation, lossesCount)) {
        found.add((await runWithCrashes(durability, reference, point)).found);
      }
    }
    expect(found.size).toBeGreaterThan(25);
  });

  test('S3 S6 S21 a start that dies is completed by the next one', async () => {
    const reference = await run(durability, undefined);
    const random = createSeededRandom(`double/${durability}`);
    const pick = <T>(list: readonly T[]) => list[Math.floor(random.float() * list.length)] as T;
    const somePoint = (operations: readonly string[]) => {
      const index = 1 + Math.floor(random.float() * operations.length);
      return pick([...crashPointsAt(index, operations[index - 1] ?? '', 3)]);
    };
    for (let runs = 0; runs < doubleCrashes; runs += 1) {
      const first = somePoint(reference.operations);
      const { recovery } = await runWithCrashes(durability, reference, first);
      await runWithCrashes(durability, reference, first, somePoint(recovery));
    }
  });
});

test('S21 checkpoints of an empty store, and twice of the same record, change nothing', () =>
  runInSimulation(1, async (ports) => {
    const takeCheckpoint = async ({ checkpoints }: SetsEngine) => {
      expect(checkpoints?.start()).toBe(true);
      expect(checkpoints?.start(), 'one at a time').toBe(false);
      await ports.clock.sleep(100);
      expect(checkpoints?.facts()).toMatchObject({ isRunning: false, lastStatus: 'ok' });
    };
    let engine = await startEngine(ports);
    await takeCheckpoint(engine);
    await engine.stop();
    engine = await startEngine(ports);
    expect(contentOf(engine.state)).toBe('- 0 0 0 0 sets');
    engine.keyspace.add(listOf('a', 'x', 'y'), 0, 1);
    await takeCheckpoint(engine); // it ends the turn
    await takeCheckpoint(engine);
    expect(await ports.files.list('checkpoint')).toEqual(['0000000000000001.ckpt']);
    await engine.stop();
    const content = contentOf(engine.state);
    engine = await startEngine(ports);
    expect(contentOf(engine.state)).toBe(content);
    expect(engine.checkpoints?.last).toMatchObject({ number: 1 });
    expect(engine.log?.nextNumber).toBe(2);
  }));
