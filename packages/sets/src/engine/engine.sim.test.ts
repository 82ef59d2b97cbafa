// A process that dies at every single file operation: while it writes, during a checkpoint, at a rotation, while it
// stops and while it starts. The next start must find a state that was, with everything it was promised.
// `SETS_CRASH_SEEDS=500 npx vitest run --project sim packages/sets/src/engine/engine.sim` tries more.
import { assert, type Durability } from '@syncline/kernel';
import { type SimPorts, Simulation } from '@syncline/kernel/testing';
import { describe, expect, inject, test } from 'vitest';
import type { SetsEngine } from './engine.js';
import { CrashPlan, type CrashPoint, crashPointsAt } from './testing/crash-plan.js';
import { listOf } from './testing/driven-state.js';
import { contentOf, openEngine, startEngine } from './testing/simulated-engine.js';

declare module 'vitest' {
  interface ProvidedContext {
    setsCrashSeeds: number;
  }
}

const crashSeeds = inject('setsCrashSeeds');
/** Losses of power per operation. */
const lossSeeds = Math.ceil(crashSeeds / 12);

type Change = readonly [kind: 'add' | 'remove', set: string, ...members: string[]];

/** What was done and what was promised before the process died. */
class Ledger {
  /** After each operation, in order. */
  readonly versions: string[] = ['-'];
  /** By version. Only the run without a crash looks at all of it. */
  readonly contents = new Map<string, string>([['-', '']]);
  readonly isReference: boolean;
  readonly #dots = new Set<string>();
  readonly #writes: Promise<void>[] = [];
  /** Operations that were acknowledged, and those that must survive a loss of power. */
  acknowledged = 0;
  powerSafe = 0;
  /** Of the running process, or of the one that was stopped last. */
  epoch: number | undefined;
  /** Between two of these it is not known what the identity says. */
  process: 'changing' | 'running' | 'stopped' = 'changing';

  constructor(isReference: boolean) {
    this.isReference = isReference;
  }

  async start(ports: SimPorts, durability: Durability): Promise<SetsEngine> {
    this.process = 'changing';
    const engine = await startEngine(ports, { durability });
    this.epoch = engine.epoch;
    this.process = 'running';
    this.#note(engine);
    return engine;
  }

  async stop(engine: SetsEngine): Promise<void> {
    await Promise.all(this.#writes);
    this.process = 'changing';
    await engine.stop();
    this.process = 'stopped';
    this.powerSafe = this.versions.length - 1;
  }

  /** All changes in one turn. Resolves when they are acknowledged. */
  write(engine: SetsEngine, ...changes: readonly Change[]): Promise<void> {
    const written = this.#write(engine, changes);
    this.#writes.push(written);
    written.catch(() => {}); // it is awaited at the latest before the stop, unless the process has died
    return written;
  }

  async #write(engine: SetsEngine, changes: readonly Change[]): Promise<void> {
    for (const [kind, ...words] of changes) {
      const before = engine.keyspace.lastCounter();
      engine.keyspace[kind](listOf(...words), 0, 1);
      for (let counter = before + 1; counter <= engine.keyspace.lastCounter(); counter += 1) {
        const dot = `${engine.epoch}:${counter}`;
        assert(!this.#dots.has(dot), `S3: the dot ${dot} was made before`);
        this.#dots.add(dot);
      }
      if (engine.keyspace.lastCounter() > before) this.versions.push('');
      this.#note(engine);
    }
    const index = this.versions.length - 1;
    await engine.turns.settled();
    this.acknowledged = Math.max(this.acknowledged, index);
    if (engine.turns.durability === 'synced') this.powerSafe = Math.max(this.powerSafe, index);
  }

  #note(engine: SetsEngine): void {
    const version = engine.keyspace.version().toString();
    this.versions[this.versions.length - 1] = version;
    if (this.isReference) this.contents.set(version, contentOf(engine.state));
  }
}

async function writeUnderCheckpoint(ports: SimPorts, engine: SetsEngine, ledger: Ledger) {
  engine.checkpoints?.start();
  for (let n = 0; engine.checkpoints?.facts().isRunning === true && n < 40; n += 1) {
    const set = `set ${n % 9}`;
    const written = ledger.write(
      engine,
      ['remove', set, 'm0', `m${n}`],
      n % 2 === 0 ? ['add', set, `late ${n}`] : ['add', `new ${n}`, 'm0', 'm1'],
      ['remove', `set ${(n + 4) % 9}`, 'm0', 'm1', 'm2', 'm3'],
    );
    if (n % 3 === 0) await written;
    else await ports.clock.sleep(0.3);
  }
}

/** Writes, a checkpoint under writes, more writes with one that becomes due by itself, a stop, a start, a stop. */
async function workload(ports: SimPorts, ledger: Ledger, durability: Durability): Promise<void> {
  const { clock } = ports;
  let engine = await ledger.start(ports, durability);
  for (let n = 0; n < 9; n += 1) {
    const written = ledger.write(
      engine,
      ['add', `set ${n}`, 'm0', 'm1', 'm2'].slice(0, 3 + (n % 3)) as never,
    );
    if (n % 2 === 0) await written;
  }
  await ledger.write(engine, ['add', 'set 0', 'm0', 'm3'], ['remove', 'set 1', 'm0']);
  await writeUnderCheckpoint(ports, engine, ledger);
  const { acknowledged } = ledger;
  await clock.sleep(1_100);
  ledger.powerSafe = Math.max(ledger.powerSafe, acknowledged); // the sync of each second has run
  for (let n = 0; n < 16; n += 1) {
    const member = `member ${n}`.padEnd(60, '.');
    await ledger.write(
      engine,
      ['add', `set ${n % 4}`, member, 'm0'],
      ['remove', `set ${n % 5}`, 'm1'],
    );
    await clock.sleep(15);
  }
  await ledger.stop(engine);
  engine = await ledger.start(ports, durability);
  await ledger.write(engine, ['add', 'set 1', 'after the stop'], ['remove', 'set 2', 'm0']);
  for (let n = 0; n < 4; n += 1)
    await ledger.write(engine, ['add', 'set 2', `after the stop ${n}`]);
  await ledger.stop(engine);
}

/** After a crash: what was found, and that it can be used. */
async function check(
  ports: SimPorts,
  { ledger, reference, safe }: { ledger: Ledger; reference: Ledger; safe: number },
  durability: Durability,
): Promise<number> {
  const engine = await openEngine(ports, { durability });
  const { process, epoch } = ledger;
  await engine.load();
  const version = engine.keyspace.version().toString();
  const index = ledger.versions.lastIndexOf(version);
  expect(index, `${version} was a version`).toBeGreaterThanOrEqual(0);
  if (index > 0) expect(contentOf(engine.state), 'S21').toBe(reference.contents.get(version));
  expect(index, 'S6 nothing is missing that was promised').toBeGreaterThanOrEqual(safe);
  if (process === 'running') expect(engine.epoch, 'S3 after a crash').not.toBe(epoch);
  if (process === 'stopped') expect(engine.epoch, 'S3 after a clean stop').toBe(epoch);
  for (const set of ['set 0', 'set 7', 'another'])
    await ledger.write(engine, ['add', set, 'm0', 'after the crash'], ['remove', 'set 1', 'm2']);
  const content = contentOf(engine.state);
  await engine.stop();
  const again = await startEngine(ports, { durability });
  expect(contentOf(again.state)).toBe(content);
  expect(again.epoch).toBe(engine.epoch);
  expect(await ports.files.list('checkpoint')).not.toContainEqual(expect.stringMatching(/tmp$/));
  await ledger.write(again, ['add', 'set 0', 'after the check']);
  await again.stop();
  return index;
}

interface Outcome {
  /** Of the life that died first, or of all if none died; then those of the second. */
  readonly operations: readonly string[];
  readonly recovery: readonly string[];
  readonly ledger: Ledger;
  /** How many operations were left. */
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
  /** What a process does until it is done, or dies at the point. */
  const live = async (point: CrashPoint | undefined, body: (ports: SimPorts) => Promise<void>) => {
    const plan = new CrashPlan(node, point);
    node.disk.plan = plan;
    const booted = new Promise<SimPorts>((resolve) => {
      boot = resolve;
    });
    node.start();
    await Promise.race([plan.crashed, booted.then(body)]);
    operations.push([...plan.operations]);
  };
  let found = -1;
  await simulation.run(async () => {
    await live(points[0], (ports) => workload(ports, ledger, durability));
    if (reference === undefined) return;
    node.kill();
    const hasLostPower = points.some(({ how }) => how === 'losePower');
    const safe = hasLostPower ? ledger.powerSafe : ledger.acknowledged;
    for (const point of [...points.slice(1), undefined]) {
      await live(point, async (ports) => {
        found = await check(ports, { ledger, reference, safe }, durability);
      });
    }
    node.kill();
  });
  return { operations: operations[0] ?? [], recovery: operations[1] ?? [], ledger, found };
}

/** Fails with the crash points in its message. */
async function runWithCrash(
  durability: Durability,
  reference: Ledger,
  ...points: readonly CrashPoint[]
): Promise<Outcome> {
  try {
    return await run(durability, reference, ...points);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${JSON.stringify(points)}: ${reason}`, { cause });
  }
}

describe.each(['buffered', 'synced'] as const)('in class %s', (durability) => {
  test('S3 S6 S21 a process that dies at any file operation comes back with what was promised', async () => {
    const { operations, ledger: reference } = await run(durability, undefined);
    expect(operations.length).toBeGreaterThan(0);
    const found = new Set<number>();
    for (let index = 1; index <= operations.length; index += 1) {
      for (const point of crashPointsAt(index, lossSeeds))
        found.add((await runWithCrash(durability, reference, point)).found);
    }
    console.log(durability, operations.length, found.size, reference.versions.length);
  });
});
