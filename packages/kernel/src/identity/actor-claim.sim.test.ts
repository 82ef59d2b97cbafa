import { expect, test } from 'vitest';
import {
  type ActorId,
  actorId,
  claimActor,
  createMemoryStorage,
  type Durability,
  epochOf,
  StorageBatch,
} from '../index.js';
import { createSeededRandom, runInSimulation, type SimPorts, Simulation } from '../testing.js';

const key = new TextEncoder().encode('n');
const counterKey = new TextEncoder().encode('counter');
const SEEDS = 100;

/** A process that makes dots, keeps its counter on disk as a slice would, and sometimes stops cleanly. */
async function makeDots({ openStorage, clock, random }: SimPorts, onDot: (dot: string) => void) {
  const storage = await openStorage('db');
  const claim = await claimActor({ storage, random }, { key, node: 7 });
  const stored = storage.get(counterKey);
  let counter = claim.wasClean && stored ? Number(new TextDecoder().decode(stored)) : 0;
  const store = (durability: Durability) => {
    const bytes = new TextEncoder().encode(String(counter));
    return storage.write(new StorageBatch().put(counterKey, bytes), { durability });
  };
  if (claim.wasClean) onDot('clean start');
  for (;;) {
    counter += 1;
    onDot(`${claim.actor}:${counter}`);
    await store('buffered');
    await clock.sleep(random.float() * 5);
    if (random.float() < 0.1) {
      await store('synced');
      return claim.release();
    }
  }
}

test('K2 no dot is made twice, however often power is lost, and clean stops keep the actor', async () => {
  let cleanStarts = 0;
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const simulation = new Simulation({ seed });
    const made = new Set<string>();
    const node = simulation.addNode('node', (ports) =>
      makeDots(ports, (dot) => {
        if (dot === 'clean start') cleanStarts += 1;
        else expect(made.has(dot), `seed ${seed}: dot ${dot} made twice`).toBe(false);
        made.add(dot);
      }),
    );
    const chance = simulation.random.fork('faults');
    await simulation.run(async () => {
      for (let life = 0; life < 12; life += 1) {
        node.start();
        await simulation.clock.sleep(chance.float() * 60);
        if (chance.float() < 0.5) node.kill();
        else node.losePower();
      }
    });
  }
  expect(cleanStarts).toBeGreaterThan(SEEDS / 2);
});

test('K2 a new store draws its epoch at random and leaves out those that are known', async () => {
  const random = createSeededRandom(1);
  const epochs = new Set<number>();
  for (let i = 0; i < 50; i += 1) {
    const { actor } = await claimActor(
      { storage: createMemoryStorage(), random },
      { key, node: 1 },
    );
    epochs.add(epochOf(actor));
  }
  expect(epochs.size).toBeGreaterThan(45);
  const isTaken = (epoch: number) => epoch !== 40;
  const { actor } = await claimActor(
    { storage: createMemoryStorage(), random },
    { key, node: 1, isTaken },
  );
  expect(actor).toBe(actorId(1, 40));
  const all = claimActor(
    { storage: createMemoryStorage(), random },
    { key, node: 1, isTaken: () => true },
  );
  await expect(all).rejects.toMatchObject({ code: 'limit-exceeded' });
});

test('a store of another node, or with a damaged record, is refused', async () => {
  await runInSimulation(1, async ({ random }) => {
    const storage = createMemoryStorage();
    await claimActor({ storage, random }, { key, node: 1 });
    const other = claimActor({ storage, random }, { key, node: 2 });
    await expect(other).rejects.toMatchObject({
      code: 'conflict',
      details: { stored: 1, given: 2 },
    });
    await storage.write(new StorageBatch().put(key, new Uint8Array(3)), { durability: 'synced' });
    await expect(claimActor({ storage, random }, { key, node: 1 })).rejects.toMatchObject({
      code: 'corrupt',
    });
  });
});

test('the epoch after the last is the first', async () => {
  const random = createSeededRandom(1);
  const storage = createMemoryStorage();
  const only = (wanted: number) => (epoch: number) => epoch !== wanted;
  const claim = (isTaken?: (epoch: number) => boolean) =>
    claimActor({ storage, random }, { key, node: 1, ...(isTaken && { isTaken }) });
  const actors: ActorId[] = [(await claim(only(65535))).actor, (await claim()).actor];
  expect(actors.map(epochOf)).toEqual([65535, 0]);
});
