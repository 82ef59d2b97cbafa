// How a start handles checkpoints and logs that no healthy run leaves, and dots that were dropped in the meantime.
import {
  actorId,
  type Clock,
  type Dot,
  type Files,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { engineLimits } from '../limits.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { BlockKind, CheckpointEncoder } from './checkpoint-format.js';
import { LiveDigest } from './live-digest.js';
import { type Loaded, load, openDirectory } from './load.js';
import { SetsState } from './sets-state.js';
import { linesOf, listOf } from './testing/driven-state.js';
import { startEngine } from './testing/simulated-engine.js';

const { elements: E, dropped: D } = BlockKind;
const keys = createOrderKeys('test');
const identity = { nodeId: 1, clusterId: 'test', epoch: 3, state: 'open' } as const;
const one = actorId(1, 3);
const two = actorId(2, 1);
const dotOf = (actor: Dot['actor'], counter: number): Dot => ({ actor, counter });

type Element = readonly [
  kind: typeof E | typeof D,
  set: string,
  member: string,
  ...dots: readonly Dot[],
];

interface Written {
  readonly number?: number;
  readonly nodeId?: number;
  readonly clusterId?: string;
  /** In the header, where it differs from the file's name. */
  readonly logNumber?: number;
  readonly elements: readonly Element[];
  /** Of these dots instead of those in `elements`. */
  readonly digestOf?: readonly Dot[];
}

async function writeCheckpoint(files: Files, written: Written): Promise<void> {
  const { number = 7, nodeId = 1, clusterId = 'test', elements } = written;
  const version = VersionVector.of(dotOf(one, 100), dotOf(two, 100));
  const logNumber = written.logNumber ?? number;
  const encoder = new CheckpointEncoder({ nodeId, clusterId, takenMs: 5, logNumber, version });
  let kind: number = E;
  for (const [elementKind, set, member, ...dots] of elements) {
    if (elementKind !== kind) encoder.closeBlock();
    kind = elementKind;
    encoder.add(elementKind, Buffer.from(set), dots, Buffer.from(member));
  }
  const digest = new LiveDigest(keys.riblt);
  for (const dot of written.digestOf ?? elements.flatMap(([, , , ...dots]) => dots))
    digest.addDot(dot);
  encoder.end(digest);
  await files.append(`checkpoint/${String(number).padStart(16, '0')}.ckpt`, encoder.take());
}

/** The log after the checkpoint is lost, so it starts again there. */
async function writeLogHead(files: Files): Promise<void> {
  await files.append(`log/${'1'.padStart(16, '0')}.log`, new Uint8Array(0));
}

async function loadFrom(
  { files, clock, logger }: SimulatedBody,
  ...checkpoints: readonly Written[]
): Promise<{ readonly state: SetsState; readonly loaded: Loaded }> {
  await openDirectory(files, identity);
  for (const written of checkpoints) await writeCheckpoint(files, written);
  await writeLogHead(files);
  const state = new SetsState(keys);
  const deps = {
    state,
    files,
    clock,
    logger,
    limits: engineLimits,
    keepsOwnOperations: false,
    onProgress: () => {},
  };
  return { state, loaded: await load(deps, identity) };
}

test('S21 dots that were dropped meanwhile join the element that was there before', () =>
  runInSimulation(1, async (world) => {
    const { state, loaded } = await loadFrom(world, {
      elements: [
        [E, 'a', 'x', dotOf(one, 1)],
        [E, 'a', 'y', dotOf(one, 2), dotOf(two, 2)],
        [D, 'a', 'x', dotOf(two, 1)],
        [D, 'a', 'y', dotOf(two, 3)],
        [D, 'a', 'y', dotOf(one, 4)],
        [D, 'gone', 'z', dotOf(one, 5)],
        [D, 'gone', 'z', dotOf(two, 5), dotOf(two, 6)],
      ],
    });
    expect(linesOf(state)).toEqual([
      'a/x 1.3:1',
      'a/x 2.1:1',
      'a/y 1.3:2',
      'a/y 1.3:4',
      'a/y 2.1:2',
      'a/y 2.1:3',
      'gone/z 1.3:5',
      'gone/z 2.1:5',
      'gone/z 2.1:6',
    ]);
    expect(state.sets.filledCount).toBe(2);
    expect(state.several.size, 'one list per element').toBe(3);
    expect(loaded.checkpoint).toMatchObject({ number: 7, takenMs: 5 });
    expect(loaded.log.nextNumber).toBe(8);
  }));

test('the newest of several checkpoints is used', () =>
  runInSimulation(1, async (world) => {
    const old: Written = { number: 3, elements: [[E, 'a', 'old', dotOf(one, 1)]] };
    const young: Written = { number: 11, elements: [[E, 'a', 'new', dotOf(one, 2)]] };
    const { state, loaded } = await loadFrom(world, young, old);
    expect(linesOf(state)).toEqual(['a/new 1.3:2']);
    expect(loaded.checkpoint.number).toBe(11);
  }));

const x: Element = [E, 'a', 'x', dotOf(one, 1)];
test.each<[why: string, written: Written]>([
  ['it is of another node', { nodeId: 2, elements: [x] }],
  ['it is of another cluster', { clusterId: 'other', elements: [x] }],
  ['its name has another number', { logNumber: 8, elements: [x] }],
  ['a dot is missing', { elements: [x], digestOf: [dotOf(one, 1), dotOf(one, 2)] }],
  ['a dot is another one', { elements: [x], digestOf: [dotOf(one, 2)] }],
  ['a dot comes twice', { elements: [x, [D, 'a', 'x', dotOf(one, 1)]], digestOf: [dotOf(one, 1)] }],
])('S21 a checkpoint is refused when %s, and nothing changes', (_, written) =>
  runInSimulation(1, async (world) => {
    const older: Written = { number: 3, elements: [x] };
    const error = await loadFrom(world, older, written).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SynclineError);
    expect(error).toMatchObject({ code: 'corrupt' });
    expect((error as SynclineError).message).toContain('checkpoint/0000000000000007.ckpt');
    expect(await world.files.list('checkpoint')).toHaveLength(2);
  }),
);

test('what an interrupted checkpoint has left is removed', () =>
  runInSimulation(1, async (world) => {
    await world.files.makeDir('checkpoint');
    await world.files.append('checkpoint/0000000000000009.tmp', Buffer.from('half of it'));
    const { state } = await loadFrom(world, { elements: [x] });
    expect(linesOf(state)).toEqual(['a/x 1.3:1']);
    expect(await world.files.list('checkpoint')).toEqual(['0000000000000007.ckpt']);
  }));

test('data without an identity is refused', () =>
  runInSimulation(1, async (ports) => {
    await startEngine(ports);
    await ports.files.remove('identity');
    const error = await startEngine(ports).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'corrupt', details: { path: 'identity' } });
  }));

test('S21 a log without the checkpoint before it is refused', () =>
  runInSimulation(1, async (ports) => {
    const engine = await startEngine(ports);
    for (let n = 0; n < 30; n += 1) {
      engine.keyspace.add(listOf('a', `m${n}`), 0, 1);
      await engine.turns.settled();
    }
    engine.checkpoints?.start();
    await ports.clock.sleep(100);
    const [name] = await ports.files.list('checkpoint');
    await ports.files.remove(`checkpoint/${name}`);
    const error = await startEngine(ports).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'corrupt', details: { reason: 'missing' } });
  }));

test('S19 a large record is replayed in slices, and what it has written is there', () =>
  runInSimulation(1, async (ports) => {
    const engine = await startEngine(ports);
    const members = Array.from({ length: 30_000 }, (_, n) => `member ${n}`);
    engine.keyspace.add(listOf('a', ...members), 0, 1);
    await engine.turns.settled();
    const { digest } = engine.state;
    let deferred = 0;
    let readings = 0; // each reading of the clock is a millisecond later
    const clock: Clock = {
      nowMs: () => ports.clock.nowMs(),
      monotonicMs: () => {
        readings += 1;
        return readings;
      },
      sleep: (ms, signal) => ports.clock.sleep(ms, signal),
      setTimer: (ms, callback) => ports.clock.setTimer(ms, callback),
      defer: (callback) => {
        deferred += 1;
        return ports.clock.defer(callback);
      },
    };
    const state = new SetsState(createOrderKeys('test'));
    const deps = {
      ...ports,
      clock,
      state,
      limits: engineLimits,
      onProgress: () => {},
      keepsOwnOperations: false,
    };
    const loaded = await load(deps, { nodeId: 1, clusterId: 'test', epoch: 1, state: 'open' });
    expect([loaded.replayed, state.digest.xor]).toEqual([1, digest.xor]);
    expect(state.digest.liveDots).toBe(30_000);
    expect(deferred, 'one per four steps of 512 members').toBeGreaterThan(10);
  }));
