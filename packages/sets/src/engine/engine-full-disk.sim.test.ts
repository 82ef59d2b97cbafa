// The engine on a disk that fills up: what is refused, what continues, and that memory always equals what is stored.
import type { SynclineError } from '@syncline/kernel';
import {
  createSeededRandom,
  type SeededRandom,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import type { SetsEngine } from './engine.js';
import { listOf } from './testing/driven-state.js';
import { contentOf, lowLimits, startEngine } from './testing/simulated-engine.js';
import { SmallDisk } from './testing/small-disk.js';

const full = expect.objectContaining({ code: 'storage-full' });

/** A process with an engine on a small disk. */
class World {
  readonly disk: SmallDisk;
  engine: SetsEngine;
  readonly #boot: () => Promise<SimPorts>;
  #ports: SimPorts;

  private constructor(
    boot: () => Promise<SimPorts>,
    { ports, disk, engine }: { ports: SimPorts; disk: SmallDisk; engine: SetsEngine },
  ) {
    this.#boot = boot;
    this.#ports = ports;
    this.disk = disk;
    this.engine = engine;
  }

  static run(body: (world: World) => Promise<void>, limits = lowLimits): Promise<void> {
    const simulation = new Simulation({ seed: 1 });
    let onBoot = (_ports: SimPorts) => {};
    const node = simulation.addNode('n1', (ports) => onBoot(ports));
    const boot = () =>
      new Promise<SimPorts>((resolve) => {
        onBoot = resolve;
        node.kill();
        node.start();
      });
    return simulation.run(async () => {
      const ports = await boot();
      const disk = new SmallDisk(ports.files);
      const engine = await startEngine(ports, { files: disk, limits });
      await body(new World(boot, { ports, disk, engine }));
    });
  }

  add(set: string, ...members: string[]): number {
    return this.engine.keyspace.add(listOf(set, ...members), 0, 1);
  }

  remove(set: string, ...members: string[]): number {
    return this.engine.keyspace.remove(listOf(set, ...members), 0, 1);
  }

  /** Ends the turn. */
  settled(): Promise<void> {
    return this.engine.turns.settled();
  }

  get content(): string {
    return contentOf(this.engine.state);
  }

  /** Kills the process, and starts the next one. */
  async restart(limits = lowLimits): Promise<void> {
    this.#ports = await this.#boot();
    this.disk.handTo(this.#ports.files);
    this.engine = await startEngine(this.#ports, { files: this.disk, limits });
  }

  sleep(ms: number): Promise<void> {
    return this.#ports.clock.sleep(ms);
  }
}

test('S7 a turn that finds the disk full is undone, reads continue, and writing resumes once there is space', () =>
  World.run(async (world) => {
    world.add('a', 'x', 'y');
    await world.settled();
    const before = world.content;
    world.disk.leave(0);
    world.add('a', 'z');
    world.add('b', 'x');
    world.remove('a', 'x');
    await expect(world.settled()).rejects.toEqual(full);
    expect(world.content).toBe(before);
    expect(world.engine.keyspace.cardinality(listOf('a'), 0)).toBe(2);
    expect(world.engine.keyspace.has(listOf('a', 'x'), 0, 1)).toBe(true);
    await world.settled();
    expect(world.engine.fullBy).toEqual(full);
    expect(world.engine.phase).toBe('serving');
    world.disk.leave(10_000);
    expect(world.add('a', 'z')).toBe(1);
    await world.settled();
    expect(world.engine.fullBy).toBeUndefined();
    const after = world.content;
    await world.restart();
    expect(world.content).toBe(after);
  }));

test('S7 undoing the first turn after a start undoes nothing that was replayed', () =>
  World.run(async (world) => {
    world.add('a', 'x', 'y', 'z');
    await world.settled();
    world.remove('a', 'x');
    await world.settled();
    await world.restart();
    const before = world.content;
    world.disk.leave(0);
    world.add('a', 'w');
    world.remove('a', 'y');
    await expect(world.settled()).rejects.toEqual(full);
    expect(world.content).toBe(before);
  }));

test('a remove gets through thanks to the reserve, where an add is refused', () =>
  World.run(async (world) => {
    world.add('a', 'x', 'y', 'z');
    await world.settled();
    world.disk.leave(0);
    world.add('a', 'w');
    await expect(world.settled()).rejects.toEqual(full);
    expect(() => world.add('a', 'w')).toThrow(full);
    expect(world.disk.sizeOf('log/reserve')).toBe(lowLimits.logReserveBytes);
    expect(world.remove('a', 'x')).toBe(1);
    await world.settled();
    expect(world.disk.sizeOf('log/reserve')).toBe(0);
    expect(() => world.add('a', 'w'), 'the rest of it is for removes').toThrow(full);
    expect(world.remove('a', 'y')).toBe(1);
    await world.settled();
    expect(world.engine.keyspace.cardinality(listOf('a'), 0)).toBe(1);
    world.disk.leave(10_000);
    await world.sleep(3_000);
    expect(world.disk.sizeOf('log/reserve'), 'refilled once there is space').toBe(
      lowLimits.logReserveBytes,
    );
    expect(world.add('a', 'w')).toBe(1);
    await world.settled();
  }));

test('S7 a turn that is undone has touched no watched set, and what was touched before stays so', () =>
  World.run(async (world) => {
    const { keyspace } = world.engine;
    const [watcher, touched] = [{ isTouched: false }, { isTouched: false }];
    keyspace.watch(listOf('a'), 0, watcher);
    keyspace.watch(listOf('b'), 0, touched);
    world.add('b', 'x');
    await world.settled();
    expect([watcher.isTouched, touched.isTouched]).toEqual([false, true]);
    world.disk.leave(0);
    world.add('a', 'x');
    world.add('b', 'y');
    expect(watcher.isTouched, 'others in this turn see it').toBe(true);
    await expect(world.settled()).rejects.toEqual(full);
    expect([watcher.isTouched, touched.isTouched]).toEqual([false, true]);
  }));

test('without a reserve removes are refused, too', () =>
  World.run(
    async (world) => {
      world.add('a', 'x');
      await world.settled();
      world.disk.leave(0);
      expect(world.remove('a', 'x')).toBe(1);
      await expect(world.settled()).rejects.toEqual(full);
      expect(() => world.remove('a', 'x')).toThrow(full);
      expect(world.engine.keyspace.has(listOf('a', 'x'), 0, 1)).toBe(true);
    },
    { ...lowLimits, logReserveBytes: 0 },
  ));

test('while the disk is full, one refused write does not affect others in its turn', () =>
  World.run(async (world) => {
    world.add('a', 'x');
    await world.settled();
    world.disk.leave(0);
    world.add('a', 'y');
    await expect(world.settled()).rejects.toEqual(full);
    world.disk.leave(200);
    expect(() => world.add('a', 'long'.repeat(100))).toThrow(full);
    expect(world.add('a', 'short')).toBe(1);
    const stored = world.settled();
    expect(world.add('a', 'long'.repeat(100))).toBe(1); // the disk had room, so this waits for the turn's end
    const refused = world.settled();
    await stored;
    await expect(refused).rejects.toEqual(full);
    expect(world.engine.keyspace.has(listOf('a', 'short'), 0, 1)).toBe(true);
    expect(world.engine.keyspace.cardinality(listOf('a'), 0)).toBe(2);
  }));

/** One command of any kind on a few small sets. */
function changeAtRandom({ keyspace }: SetsEngine, random: SeededRandom): void {
  const below = (end: number) => Math.floor(random.float() * end);
  const members = Array.from({ length: 1 + below(3) }, () => `m${below(6)}`);
  const args = listOf(`s${below(4)}`, ...members);
  const kind = below(6);
  if (kind === 0) keyspace.clear(args, 0);
  else if (kind === 1) keyspace.pop(args, 0, 1 + below(2), () => {});
  else if (kind === 2) keyspace.remove(args, 0, 1);
  else if (kind === 3) {
    keyspace.begin();
    keyspace.remove(args, 0, 1);
    keyspace.add(listOf('moved', ...members), 0, 1);
    keyspace.end();
  } else keyspace.add(args, 0, 1);
}

test.each(Array.from({ length: 6 }, (_, index) => index + 1))(
  'S7 after any refused turn, memory equals what it was before and what is stored (seed %i)',
  (seed) =>
    World.run(
      async (world) => {
        const random = createSeededRandom(seed);
        let refused = 0;
        for (let turn = 0; turn < 120; turn += 1) {
          const isFull = random.float() < 0.4;
          world.disk.leave(isFull ? random.float() * 60 : 1_000_000);
          const wasFull = world.engine.turns.fullBy !== undefined;
          let before = world.content;
          for (let count = 1 + random.float() * 4; count > 0; count -= 1) {
            try {
              changeAtRandom(world.engine, random);
              if (wasFull) before = world.content; // it is stored already
            } catch (thrown) {
              expect(thrown).toEqual(full);
              expect(world.content).toBe(before);
              refused += 1;
            }
            if (wasFull && world.engine.turns.fullBy === undefined) break;
          }
          const isStored = await world.settled().then(
            () => true,
            (error: SynclineError) => {
              expect(error.code).toBe('storage-full');
              return false;
            },
          );
          if (isStored) continue;
          expect(world.content).toBe(before);
          refused += 1;
        }
        expect(refused).toBeGreaterThan(10);
        world.disk.leave(1_000_000);
        const { liveDots, xor } = world.engine.keyspace.digest();
        const version = world.engine.keyspace.version();
        await world.restart();
        expect(world.engine.keyspace.digest()).toMatchObject({ liveDots, xor });
        expect(world.engine.keyspace.version().equals(version)).toBe(true);
      },
      { ...lowLimits, logReserveBytes: 0, checkpointLogBytesMin: 3_000 },
    ),
);

describe('a start on a full disk', () => {
  const noReserve = { ...lowLimits, logReserveBytes: 0 };

  test('S3 stores its epoch in the space of the reserve', () =>
    World.run(async (world) => {
      world.add('a', 'x', 'y');
      await world.settled();
      const { epoch } = world.engine;
      world.disk.leave(0);
      await world.restart();
      expect(world.engine.epoch).toBe(epoch + 1);
      expect(world.remove('a', 'x')).toBe(1);
      await world.settled();
    }));

  test('S3 serves reads, makes no dot, and stores its epoch once there is space', () =>
    World.run(async (world) => {
      world.add('a', 'x', 'y');
      await world.settled();
      const { epoch } = world.engine;
      const before = world.content;
      const records = world.engine.log?.nextNumber;
      world.disk.leave(0);
      await world.restart(noReserve);
      expect(world.engine.phase).toBe('serving');
      expect(world.engine.fullBy).toEqual(full);
      expect(world.engine.keyspace.has(listOf('a', 'x'), 0, 1)).toBe(true);
      await world.settled();
      for (let second = 0; second < 5; second += 1) {
        expect(() => world.add('a', 'z')).toThrow(full);
        expect(() => world.remove('a', 'x')).toThrow(full);
        await expect(world.engine.keyspace.admitWrite()).rejects.toEqual(full);
        await world.sleep(1_000);
      }
      expect(world.content).toBe(before);
      expect(world.engine.log?.nextNumber).toBe(records);
      world.disk.leave(10_000);
      await world.sleep(1_100);
      expect(world.engine.fullBy).toBeUndefined();
      expect(world.engine.epoch).toBe(epoch + 1);
      expect(world.add('a', 'z')).toBe(1);
      await world.settled();
      await world.engine.stop();
      const after = world.content;
      await world.restart(noReserve);
      expect(world.content).toBe(after);
      expect(world.engine.epoch).toBe(epoch + 1);
    }, noReserve));

  test.each(['stopped', 'killed'] as const)(
    'S3 that is %s before there was space changes nothing',
    (how) =>
      World.run(async (world) => {
        world.add('a', 'x');
        await world.settled();
        await world.engine.stop();
        const { epoch } = world.engine;
        const before = world.content;
        world.disk.leave(0);
        for (let starts = 0; starts < 3; starts += 1) {
          await world.restart(noReserve);
          expect(world.content).toBe(before);
          if (how === 'stopped') await world.engine.stop();
        }
        world.disk.leave(10_000);
        await world.restart(noReserve);
        expect(world.engine.epoch, 'the last run that wrote was stopped').toBe(epoch);
        expect(world.add('a', 'y')).toBe(1);
        await world.settled();
        const after = world.content;
        await world.restart(noReserve);
        expect(world.content).toBe(after);
        expect(world.engine.epoch).toBe(epoch + 1);
      }, noReserve),
  );
});

describe('a checkpoint', () => {
  test('S21 that finds the disk full keeps the previous one, and is retried', () =>
    World.run(async (world) => {
      const { engine, disk } = world;
      const write = async (count: number) => {
        for (let n = 0; n < count; n += 1) {
          world.add(`s${n % 3}`, `m${n}`, `n${n}`);
          await world.settled();
        }
      };
      await write(20);
      engine.checkpoints?.start();
      await world.sleep(100);
      const first = engine.checkpoints?.last;
      expect(first?.number).toBeGreaterThan(0);
      await write(60);
      disk.leave(250);
      engine.checkpoints?.start();
      await world.sleep(100);
      expect(engine.checkpoints?.facts()).toMatchObject({ isRunning: false, lastStatus: 'err' });
      expect(engine.checkpoints?.last).toEqual(first);
      const files = await disk.list('checkpoint');
      expect(files.map((name) => Number.parseInt(name, 10))).toEqual([first?.number]);
      expect(files[0]).toMatch(/ckpt$/);
      expect(engine.log?.firstNumber).toBeLessThanOrEqual((first?.number ?? 0) + 1);
      world.add('s0', 'small'); // what the checkpoint had taken is free again
      await world.settled();
      disk.leave(100_000);
      await world.sleep(11_000);
      expect(engine.checkpoints?.facts()).toMatchObject({ isRunning: false, lastStatus: 'ok' });
      expect(engine.checkpoints?.last.number).toBe((engine.log?.nextNumber ?? 0) - 1);
      expect((await disk.list('checkpoint')).length).toBe(1);
      const after = world.content;
      await world.restart();
      expect(world.content).toBe(after);
    }));

  test('S10 whose pin holds too much is abandoned, and retried', () =>
    World.run(
      async (world) => {
        const { engine } = world;
        const members = Array.from({ length: 60 }, (_, index) => `m${index}`);
        for (const set of ['a', 'b', 'c', 'd', 'e', 'f']) world.add(set, ...members);
        await world.settled();
        engine.checkpoints?.start();
        for (const set of ['a', 'b', 'c', 'd', 'e', 'f']) world.remove(set, ...members.slice(1));
        await world.settled();
        await world.sleep(100);
        expect(engine.checkpoints?.facts()).toMatchObject({ isRunning: false, lastStatus: 'err' });
        expect(engine.checkpoints?.last.number).toBe(0);
        expect(await world.disk.list('checkpoint')).toEqual([]);
        expect(engine.state.pins.areOpen).toBe(false);
        await world.sleep(11_000);
        expect(engine.checkpoints?.facts()).toMatchObject({ isRunning: false, lastStatus: 'ok' });
        expect(engine.checkpoints?.last.number).toBeGreaterThan(0);
        const after = world.content;
        await world.restart();
        expect(world.content).toBe(after);
      },
      { ...lowLimits, pinEntriesMax: 50 },
    ));
});
