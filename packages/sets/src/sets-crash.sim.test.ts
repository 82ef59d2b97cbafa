// One node under crashes, losses of power, full, slow and failing disks, against a plain model.
//
// The model knows what the sets were at every version. After each restart the version that was found must
// be one that was, with the content that it had; and nothing may be missing that was acknowledged.
// `SETS_CRASH_SEEDS=2000 npx vitest run --project sim packages/sets/src/sets-crash` runs more seeds.
import { assert, type Durability, SynclineError } from '@syncline/kernel';
import { type SeededRandom, type SimPorts, Simulation } from '@syncline/kernel/testing';
import { expect, inject, test } from 'vitest';
import { ByteList } from './byte-list.js';
import { openEngine } from './open-engine.js';
import type { SetsEngine } from './sets-engine.js';

declare module 'vitest' {
  interface ProvidedContext {
    setsCrashSeeds: number;
  }
}

const NAMES = ['a', 'b'];
const MEMBERS = ['p', 'q', 'r', 's', 't'];
const LIVES = 6;
const never = new AbortController().signal;

interface Step {
  readonly version: string;
  /** 0: it was found at the start of this life. */
  readonly commit: number;
  readonly content: string;
  readonly dots: readonly string[];
}

class RecordedSets {
  /** All that may be stored, oldest first; the first one is. */
  #steps: Step[] = [{ version: '-', commit: 0, content: '', dots: [] }];
  /** Undone here, since the disk failed; nobody knows what it has kept. */
  #uncertain: Step[] = [];
  #killSafe = 0;
  #powerSafe = 0;
  #content = '';
  readonly #dots = new Set<string>();

  get content(): string {
    return this.#content;
  }

  /** How many members are added or removed by this. */
  change(kind: 'add' | 'remove', name: string, members: readonly string[]): number {
    const content = new Set(this.#content.split(' ').filter(Boolean));
    const before = content.size;
    for (const member of members) {
      if (kind === 'add') content.add(name + member);
      else content.delete(name + member);
    }
    this.#content = [...content].sort().join(' ');
    return Math.abs(content.size - before);
  }

  record(step: Omit<Step, 'content'>): void {
    for (const dot of step.dots) {
      assert(!this.#dots.has(dot), `S3: dot ${dot} is made once`);
      this.#dots.add(dot);
    }
    this.#steps.push({ ...step, content: this.#content });
  }

  acknowledge(version: string, durability: Durability): void {
    const index = this.#steps.findIndex((step) => step.version === version);
    assert(index >= 0, `${version} is acknowledged, so it was not undone`);
    this.#killSafe = Math.max(this.#killSafe, index);
    if (durability === 'synced') this.#powerSafe = Math.max(this.#powerSafe, index);
  }

  /** `isGone`: a full disk has kept nothing of it, so its dots may be used again. */
  undoFrom(commit: number, isGone: boolean): void {
    const kept = this.#steps.filter((step) => step.commit < commit);
    const undone = this.#steps.slice(kept.length);
    assert(this.#killSafe < kept.length, 'S7: what was acknowledged is not undone');
    this.#content = kept.at(-1)?.content ?? '';
    this.#steps = kept;
    if (!isGone) this.#uncertain.push(...undone);
    else for (const dot of undone.flatMap(({ dots }) => dots)) this.#dots.delete(dot);
  }

  /** What a new process has found. Gives what is wrong with it. */
  recover(version: string, content: string, end: 'kill' | 'power'): string | undefined {
    const possible = [...this.#steps, ...this.#uncertain];
    const index = possible.findIndex((step) => step.version === version);
    const step = possible[index];
    if (step === undefined) return `version ${version} never was`;
    if (step.content !== content) return `at ${version} "${content}" instead of "${step.content}"`;
    const safe = end === 'kill' ? this.#killSafe : this.#powerSafe;
    if (index < safe) return `${this.#steps[safe]?.version} was acknowledged, ${version} is left`;
    this.#steps = [{ ...step, commit: 0 }];
    this.#uncertain = [];
    this.#killSafe = 0;
    this.#powerSafe = 0;
    this.#content = content;
    return undefined;
  }
}

/** What happened in all runs, so that a test that no longer reaches it is noticed. */
const seen = { acknowledged: 0, undone: 0, failed: 0, cut: 0, clean: 0, views: 0, switched: 0 };

class World {
  readonly model = new RecordedSets();
  /** How the life before has ended. */
  end: 'kill' | 'power' = 'kill';
  engine: SetsEngine | undefined;
  readonly #seed: number;
  readonly #chance: SeededRandom;

  constructor(seed: number, chance: SeededRandom) {
    this.#seed = seed;
    this.#chance = chance;
  }

  async boot(ports: SimPorts): Promise<void> {
    this.engine = undefined;
    const storage = await ports.openStorage('db');
    const metrics = {
      ...ports.metrics,
      add: (name: string) => {
        if (name === 'syncline_sets_journal_cut_total') seen.cut += 1;
      },
    };
    const engine = await openEngine(
      { ...ports, metrics, storage },
      {
        nodeId: 1,
        clusterId: 'sim',
        durability: this.#seed % 2 === 0 ? 'synced' : 'buffered',
        cacheBytesMax: this.#seed % 3 === 0 ? 2_000 : 1_000_000,
      },
    );
    const wrong = this.model.recover(String(engine.state.version()), contentOf(engine), this.end);
    if (wrong !== undefined) throw new Error(wrong);
    this.end = 'kill';
    this.engine = engine;
    for (let client = 0; client < 3; client += 1) void this.#client(engine, ports);
  }

  /** Changes, reads and long commands, until the process ends. */
  async #client(engine: SetsEngine, { clock, exit }: SimPorts): Promise<void> {
    const chance = this.#chance;
    while (!engine.isClosing) {
      try {
        const dice = chance.float();
        if (dice < 0.9) await this.#write(engine);
        else if (dice < 0.94) await this.#readAll(engine);
        else if (dice < 0.98) await engine.keyspace.bringIn(NAMES.map((name) => Buffer.from(name)));
        else await this.#switchDurability(engine);
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
        if (thrown.code === 'storage-failed') {
          seen.failed += 1;
          return exit('the disk failed');
        }
      }
      if (chance.float() < 0.5) await clock.sleep(chance.float() ** 4 * 300);
    }
  }

  async #write(engine: SetsEngine): Promise<void> {
    const { keyspace } = engine;
    const admitted = keyspace.admit('write');
    if (admitted !== undefined) await admitted;
    for (let count = this.#chance.u32() % 4; count >= 0; count -= 1) this.#change(engine);
  }

  #change(engine: SetsEngine): void {
    const chance = this.#chance;
    const { keyspace, state, commits } = engine;
    const kind = chance.float() < 0.6 ? 'add' : 'remove';
    const name = NAMES[chance.u32() % NAMES.length] ?? '';
    const members = MEMBERS.filter(() => chance.float() < 0.3);
    const list = ByteList.of(...[name, ...members].map((text) => Buffer.from(text)));
    const before = state.lastCounter;
    const changed = keyspace[kind](list, 0, 1);
    expect(changed).toBe(this.model.change(kind, name, members));
    const commit = keyspace.takeCommitSeen();
    const { durability } = commits;
    const version = String(state.version());
    const actor = engine.identity.epoch;
    const count = state.lastCounter - before;
    if (count > 0) {
      const dots = Array.from({ length: count }, (_, index) => `${actor}:${before + 1 + index}`);
      this.model.record({ version, commit, dots });
    }
    commits.whenSettled(commit, (error) => {
      if (this.engine !== engine) return;
      if (error === undefined) {
        if (count > 0) this.model.acknowledge(version, durability);
        seen.acknowledged += 1;
        return;
      }
      seen.undone += 1;
      this.model.undoFrom(commit, error.code === 'storage-full');
      expect(contentOf(engine), 'S7 after a failed write memory is as it was').toBe(
        this.model.content,
      );
    });
  }

  async #readAll(engine: SetsEngine): Promise<void> {
    const hold = await engine.keyspace.closeGate(never);
    try {
      using view = await engine.keyspace.openView(never);
      const found: string[] = [];
      for await (const names of view.sets()) {
        for (const name of names) {
          for await (const members of view.members(name)) {
            found.push(...members.map((member) => Buffer.concat([name, member]).toString()));
          }
        }
      }
      expect(found.sort().join(' '), 'a view shows all that there is').toBe(this.model.content);
      seen.views += 1;
    } finally {
      hold.release();
    }
  }

  async #switchDurability(engine: SetsEngine): Promise<void> {
    const other = engine.commits.durability === 'synced' ? 'buffered' : 'synced';
    await engine.setDurability(other, never);
    seen.switched += 1;
  }
}

function contentOf({ state }: SetsEngine): string {
  const found: string[] = [];
  for (const name of NAMES) {
    const list = ByteList.of(Buffer.from(name), ...MEMBERS.map((member) => Buffer.from(member)));
    const set = state.setOf(list, 0);
    const members = MEMBERS.filter((_, index) => state.has(set, list, index + 1));
    expect(set.cardinality).toBe(members.length);
    found.push(...members.map((member) => name + member));
  }
  return found.sort().join(' ');
}

async function runSeed(seed: number): Promise<void> {
  const simulation = new Simulation({ seed });
  const chance = simulation.random.fork('workload');
  const faults = simulation.random.fork('faults');
  const world = new World(seed, chance);
  const node = simulation.addNode('node', (ports) => world.boot(ports));
  await simulation.run(async () => {
    for (let life = 0; life < LIVES; life += 1) {
      node.start();
      node.disk.adjust({
        slowProbability: faults.float() < 0.3 ? 0.1 : 0,
        slowMsMax: 2_000,
        syncFailureProbability: faults.float() < 0.1 ? 0.02 : 0,
      });
      await simulation.clock.sleep(faults.float() ** 3 * 600);
      if (faults.float() < 0.4) {
        node.disk.adjust({ isFull: true });
        await simulation.clock.sleep(faults.float() * 100);
        node.disk.adjust({ isFull: false });
        await simulation.clock.sleep(faults.float() * 1_500);
      }
      await endLife();
    }
    simulation.calm();
    while (world.engine === undefined) await simulation.clock.sleep(10);
    expect(contentOf(world.engine)).toBe(world.model.content);
  });

  async function endLife(): Promise<void> {
    const dice = faults.float();
    if (dice < 0.2 && world.engine !== undefined) {
      await world.engine.stop();
      seen.clean += 1;
    }
    if (dice < 0.6) return node.kill();
    world.end = 'power';
    node.losePower();
  }
}

const seeds = inject('setsCrashSeeds');
const timeout = 60_000 + seeds * 2_000;

test('S3 S5 S6 S7 no crash loses what was acknowledged, makes a dot twice, or leaves a hole', {
  timeout,
}, async () => {
  for (let seed = 0; seed < seeds; seed += 1) await runSeed(seed);
  for (const [name, count] of Object.entries(seen)) expect(count, name).toBeGreaterThan(0);
});
