// kill -9 at any moment, again and again, while clients write without waiting: what was answered or shown is there,
// what was not has happened whole or not at all, and no dot ever names two elements.
//
// SETS_KILLS says how often, for each class. SETS_FIGURES=1 prints what was measured.
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createSystemClock,
  createSystemRandom,
  openLevelStorage,
  randomBelow,
  silentLogger,
} from '@syncline/kernel';
import { readStoredSets, type StoredSets } from '@syncline/sets/testing';
import { type ClusterNode, makeTempDirectory, startCluster } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, inject, test, vi } from 'vitest';
import { tell } from './sets-figures.js';
import { SetsWitness } from './sets-witness.js';
import { SetsWriter } from './sets-writer.js';

const KILLS = inject('setsKills');
const WRITERS = 3;
const LIFE_MS_MAX = 500;
const MS_PER_KILL = 20_000;
const WAIT = { timeout: 20_000, interval: 5 };
const random = createSystemRandom();

test.each(['buffered', 'synced'])(
  'S3 S6 kill -9 in class %s loses nothing that was answered, and no dot is used twice',
  async (durability) => {
    await using cluster = await startCluster({
      nodes: 1,
      env: { SYNCLINE_SETS_DURABILITY: durability },
    });
    const node = cluster.node(1);
    const writers = Array.from(
      { length: WRITERS },
      (_, index) => new SetsWriter(`w${index}`, random),
    );
    const witness = new SetsWitness();
    const bindings = new Map<string, string>();
    const epochs = new Set<number>();
    let members = 0;
    let startMs = LIFE_MS_MAX;
    let unanswered = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { port } = node.address('resp');
      for (const writer of writers) writer.start(port);
      witness.start(port, members);
      if (kill % 2 === 0) await vi.waitFor(whenAtWork(writers), WAIT);
      await sleep(randomBelow(random, LIFE_MS_MAX));
      await node.kill();
      await Promise.all([...writers, witness].map((client) => client.ended()));
      for (const { wrong } of [...writers, witness]) expect(wrong).toBeUndefined();
      const stored = await readKilled(node);
      expectStored(stored, bindings);
      expect(epochs.has(stored.identity.epoch), 'an epoch was used before').toBe(false);
      epochs.add(stored.identity.epoch);
      if (kill % 4 === 2) await killWhileStarting(node, { epochs, startMs });
      const beganMs = performance.now();
      await node.start();
      startMs = performance.now() - beganMs;
      ({ members, happened: unanswered } = await compareAll(node, {
        writers,
        witness,
        unanswered,
      }));
    }
    await compareStopped(node, bindings);
    const answered = writers.reduce(
      (sum, writer) => sum + writer.answeredCount,
      witness.answeredMax,
    );
    expect(answered).toBeGreaterThan(KILLS * 10);
    tell(
      `${durability}: ${KILLS} kills, ${answered} answered, 0 lost, ${unanswered} happened without an answer; ${bindings.size} dots seen, 0 reused; ${epochs.size} epochs`,
    );
  },
  20_000 + KILLS * MS_PER_KILL,
);

/** Passes once each writer was answered again. The other lives end at any moment, also before that. */
function whenAtWork(writers: readonly SetsWriter[]): () => void {
  const before = writers.map((writer) => writer.answeredCount);
  return () => {
    for (const [index, { answeredCount }] of writers.entries())
      expect(answeredCount).toBeGreaterThan((before[index] ?? 0) + 10);
  };
}

interface Lives {
  readonly epochs: Set<number>;
  /** How long the last start took. */
  readonly startMs: number;
}

/** A process that is killed before it was ready has raised the epoch, or not yet. */
async function killWhileStarting(node: ClusterNode, { epochs, startMs }: Lives): Promise<void> {
  const start = node.start().then(
    () => undefined,
    () => undefined, // it was not to be
  );
  await sleep(randomBelow(random, Math.ceil(startMs)));
  await node.kill();
  await start;
  const { identity, flaws } = await readKilled(node);
  expect(flaws).toEqual([]);
  epochs.add(identity.epoch);
}

/** Reads a copy, so that the server finds what the killed one has left. */
async function readKilled(node: ClusterNode): Promise<StoredSets> {
  await using copy = await makeTempDirectory('killed');
  const directory = join(copy.path, 'db');
  await cp(join(node.dataDir, 'sets', 'db'), directory, { recursive: true });
  await using storage = await openLevelStorage(
    { clock: createSystemClock(), logger: silentLogger },
    { directory },
  );
  return await readStoredSets(storage);
}

/** `bindings` are those of all lives. */
function expectStored(stored: StoredSets, bindings: Map<string, string>): void {
  expect(stored.flaws).toEqual([]);
  for (const [dot, element] of stored.bindings) {
    const known = bindings.get(dot);
    if (known !== undefined && known !== element) expect.fail(`${dot}: ${known} and ${element}`);
    bindings.set(dot, element);
  }
}

interface Clients {
  readonly writers: readonly SetsWriter[];
  readonly witness: SetsWitness;
  readonly unanswered: number;
}

/** Gives the members of the growing set, and how many steps have happened without an answer until now. */
async function compareAll(node: ClusterNode, { writers, witness, unanswered }: Clients) {
  const redis = new Redis(node.address('resp').port);
  try {
    const kept = await redis.smembers('kept');
    expect(witness.compare(kept)).toBeUndefined();
    const version = await redis.call(
      'SYNCLINE.READ',
      'AFTER',
      witness.shownVersion,
      'SCARD',
      'kept',
    );
    expect(version).toBe(kept.length);
    let happened = unanswered;
    for (const writer of writers) {
      const found = new Set<string>();
      for (const set of writer.sets) {
        const members = await redis.smembers(set);
        const own = members.filter((member) => member.startsWith(`${writer.name}:`));
        for (const member of own) found.add(`${set} ${member}`);
      }
      const steps = writer.compare(found);
      if (typeof steps === 'string') expect.fail(steps);
      happened += steps;
    }
    return { members: kept.length, happened };
  } finally {
    redis.disconnect();
  }
}

/** What the node says of itself is what its storage adds up to. */
async function compareStopped(node: ClusterNode, bindings: Map<string, string>): Promise<void> {
  const redis = new Redis(node.address('resp').port);
  const [version, liveDots] = (await redis.call('SYNCLINE.DIGEST')) as [string, number];
  redis.disconnect();
  await node.stop();
  const stored = await readKilled(node);
  expectStored(stored, bindings);
  expect(stored.identity.state).toBe('clean');
  expect(stored.journalRecords).toBe(0);
  expect(stored.version.toString()).toBe(version);
  expect(stored.bindings.size).toBe(liveDots);
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly setsKills: number;
  }
}
