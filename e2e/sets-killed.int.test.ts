// kill -9 at any moment, again and again, while clients write without waiting for replies: what was acknowledged or
// shown is there, every other command has happened completely or not at all, and no dot ever names two elements.
//
// Some kills interrupt a checkpoint, some a start. A copy of the files is read by an independent reader, and the
// server must load the same sets. SETS_KILLS (10) says how often, for each class. SETS_FIGURES=1 prints figures.
import { readdirSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemRandom, randomBelow } from '@syncline/kernel';
import type { ClusterNode } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, inject, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { tell } from './sets-figures.js';
import { POPPED_SET, SetsPopper } from './sets-popper.js';
import { copyLeftSets, type LeftSets } from './sets-stored.js';
import { SetsWitness, WITNESSED_SET } from './sets-witness.js';
import { SetsWriter } from './sets-writer.js';

const KILLS = inject('setsKills');
const WRITERS = 3;
const LIFE_MS_MAX = 120;
const MS_PER_KILL = 30_000;
const WAIT = { timeout: 60_000, interval: 2 };
/** So that a checkpoint takes some time. */
const FILLER = 8_000;
const SAVE_INTERVAL_MS = 10;
/** Kills between two lines that report progress. */
const PROGRESS_KILLS = 10;
const random = createSystemRandom();

/** When the server is killed. */
const MOMENTS = ['during a checkpoint', 'at work', 'at any time'] as const;

test.concurrent.each(['buffered', 'synced'])(
  'S3 S6 S21 kill -9 in class %s loses nothing acknowledged, and no dot is used twice',
  async (durability) => {
    await using cluster = await startCluster({
      nodes: 1,
      env: { SYNCLINE_SETS_DURABILITY: durability },
    });
    const node = cluster.node(1);
    await addFiller(node);
    const clients = new Clients();
    const checks = new DirectoryChecks();
    const firstMs = performance.now();
    let startMs = LIFE_MS_MAX;
    for (let kill = 0; kill < KILLS; kill += 1) {
      clients.start(node.address('resp').port);
      await whenToKill(MOMENTS[kill % MOMENTS.length] ?? 'at work', node, clients);
      await node.kill();
      await clients.ended();
      await using copy = await copyLeftSets(node.dataDir);
      const interrupted = kill % 3 === 1 ? await killWhileStarting(node, startMs) : undefined;
      const beganMs = performance.now();
      const start = node.start();
      start.catch(() => undefined); // it is awaited below, unless a check fails before
      const left = await copy.read();
      checks.check(left);
      if (interrupted !== undefined) checks.checkInterruptedStart(interrupted);
      clients.check(left);
      await start;
      startMs = performance.now() - beganMs;
      await expectServed(node, left, clients);
      if ((kill + 1) % PROGRESS_KILLS === 0) {
        const seconds = ((performance.now() - firstMs) / 1000).toFixed(0);
        tell(
          `${durability}: ${kill + 1} of ${KILLS} kills in ${seconds} s; ${checks.dotsCount} dots`,
        );
      }
    }
    await expectCleanStop(node, checks);
    expect(clients.answeredCount).toBeGreaterThan(KILLS * 10);
    // A checkpoint may end before its kill arrives, so a few kills prove nothing either way.
    if (KILLS >= 10 * MOMENTS.length) expect(checks.partialCheckpoints).toBeGreaterThan(0);
    tell(
      `${durability}: ${KILLS} kills, ${checks.partialCheckpoints} during a checkpoint; ${clients.answeredCount} answered, 0 lost, ` +
        `${clients.unansweredCount} happened without an answer; ${checks.dotsCount} dots seen, 0 reused; ${checks.epochsCount} epochs`,
    );
  },
  30_000 + KILLS * MS_PER_KILL,
);

async function addFiller(node: ClusterNode): Promise<void> {
  const redis = new Redis(node.address('resp').port);
  await redis.sadd('filler', ...Array.from({ length: FILLER }, (_, index) => `filler:${index}`));
  redis.disconnect();
}

/** All clients that write and read while the server is killed. */
class Clients {
  readonly #writers = Array.from({ length: WRITERS }, (_, n) => new SetsWriter(`w${n}`, random));
  readonly #witness = new SetsWitness();
  readonly #popper = new SetsPopper();
  #witnessed = 0;
  unansweredCount = 0;

  get answeredCount(): number {
    const popped = this.#popper.poppedCount;
    return this.#writers.reduce((sum, writer) => sum + writer.answeredCount, popped);
  }

  /** A version that a client was shown. */
  get shownVersion(): string {
    return this.#witness.shownVersion;
  }

  start(port: number): void {
    for (const writer of this.#writers) writer.start(port);
    this.#witness.start(port, this.#witnessed);
    this.#popper.start(port);
    keepSaving(port);
  }

  async ended(): Promise<void> {
    const clients = [...this.#writers, this.#witness, this.#popper];
    await Promise.all(clients.map((client) => client.ended()));
    for (const { wrong } of clients) expect(wrong).toBeUndefined();
  }

  /** Resolves once each writer has been answered again. */
  whenAtWork(): () => void {
    const before = this.#writers.map((writer) => writer.answeredCount);
    return () => {
      for (const [index, { answeredCount }] of this.#writers.entries())
        expect(answeredCount).toBeGreaterThan((before[index] ?? 0) + 10);
    };
  }

  check({ members }: LeftSets): void {
    const witnessed = members.get(WITNESSED_SET) ?? new Set();
    expect(this.#witness.compare(witnessed)).toBeUndefined();
    this.#witnessed = witnessed.size;
    expect(this.#popper.compare(members.get(POPPED_SET) ?? new Set())).toBeUndefined();
    for (const writer of this.#writers) {
      const found = new Set<string>();
      for (const set of writer.sets)
        for (const member of members.get(set) ?? [])
          if (member.startsWith(`${writer.name}:`)) found.add(`${set} ${member}`);
      const steps = writer.compare(found);
      if (typeof steps === 'string') expect.fail(steps);
      this.unansweredCount += steps;
    }
  }
}

/** What must hold across all runs on one directory. */
class DirectoryChecks {
  readonly #bindings = new Map<string, string>();
  readonly #epochs = new Set<number>();
  partialCheckpoints = 0;

  get dotsCount(): number {
    return this.#bindings.size;
  }

  get epochsCount(): number {
    return this.#epochs.size;
  }

  check({ flaws, bindings, identity, hasPartialCheckpoint }: LeftSets): void {
    expect(flaws).toEqual([]);
    for (const [dot, element] of bindings) {
      const known = this.#bindings.get(dot);
      if (known !== undefined && known !== element) expect.fail(`${dot}: ${known} and ${element}`);
      this.#bindings.set(dot, element);
    }
    expect(this.#epochs.has(identity.epoch), 'an epoch was used before').toBe(false);
    this.#epochs.add(identity.epoch);
    if (hasPartialCheckpoint) this.partialCheckpoints += 1;
  }

  /** A server that was killed while starting has made no dots. */
  checkInterruptedStart({ flaws, identity }: LeftSets): void {
    expect(flaws).toEqual([]);
    this.#epochs.add(identity.epoch);
  }
}

/** Requests checkpoints all the time, until the connection breaks. */
function keepSaving(port: number): void {
  const socket = connectTcp(port, '127.0.0.1');
  const timer = setInterval(() => socket.write('BGSAVE\r\n'), SAVE_INTERVAL_MS);
  socket.on('error', () => undefined); // the server is killed
  socket.on('close', () => clearInterval(timer));
  socket.resume();
}

async function whenToKill(
  moment: (typeof MOMENTS)[number],
  node: ClusterNode,
  clients: Clients,
): Promise<void> {
  if (moment !== 'at any time') await vi.waitFor(clients.whenAtWork(), WAIT);
  if (moment !== 'during a checkpoint') return sleep(randomBelow(random, LIFE_MS_MAX));
  const names = () => readdirSync(join(node.dataDir, 'sets', 'checkpoint'));
  const isRunning = () => expect(names().join()).toContain('.tmp');
  await vi.waitFor(isRunning, WAIT);
  return sleep(randomBelow(random, 10));
}

/** A process that is killed before it was ready may or may not have raised the epoch. */
async function killWhileStarting(node: ClusterNode, startMs: number): Promise<LeftSets> {
  const start = node.start().catch(() => undefined);
  await sleep(randomBelow(random, Math.ceil(startMs)));
  await node.kill();
  await start;
  await using copy = await copyLeftSets(node.dataDir);
  return await copy.read();
}

/** The server has loaded exactly what is stored. */
async function expectServed(node: ClusterNode, left: LeftSets, clients: Clients): Promise<void> {
  const redis = new Redis(node.address('resp').port);
  try {
    expect((await redis.keys('*')).toSorted()).toEqual([...left.members.keys()].toSorted());
    for (const [set, members] of left.members) {
      const shown = await redis.smembers(set);
      expect(shown.length, set).toBe(members.size);
      expect(shown.find((member) => !members.has(member))).toBeUndefined();
    }
    await redis.call('SYNCLINE.READ', 'AFTER', clients.shownVersion, 'SCARD', WITNESSED_SET);
  } finally {
    redis.disconnect();
  }
}

/** What the node reports about itself matches its files. */
async function expectCleanStop(node: ClusterNode, checks: DirectoryChecks): Promise<void> {
  const redis = new Redis(node.address('resp').port);
  const [version, liveDots] = (await redis.call('SYNCLINE.DIGEST')) as [string, number];
  redis.disconnect();
  await node.stop();
  await using copy = await copyLeftSets(node.dataDir);
  const left = await copy.read();
  checks.check(left);
  expect(left.identity.state).toBe('clean');
  expect(left.version.toString()).toBe(version);
  expect([...left.members.values()].reduce((sum, { size }) => sum + size, 0)).toBe(liveDots);
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly setsKills: number;
  }
}
