// Runs with several workers under a simulated disk, clock and message bus: workers and processes that die at any
// step, messages that are lost, repeated or late, and a different number of workers at each start.
import type { Clock } from '@syncline/kernel';
import {
  createSeededRandom,
  runInSimulation,
  type SimPorts,
  type SimulatedBody,
  Simulation,
} from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { fileSink } from '../ends/file-sink.js';
import { memorySource } from '../ends/memory-source.js';
import type { OutboxSink } from '../ends/sink.js';
import type { Source } from '../ends/source.js';
import { definePipeline, type Pipeline } from '../pipeline/define.js';
import { tumbling } from '../pipeline/window.js';
import type { PipelineRun } from '../run/run.js';
import { type StartOptions, start } from '../run/start.js';
import { numberCodec } from '../state/codec.js';
import { type AggregateDescription, aggregate } from '../state/state-backend.js';
import { SimulatedWorkers, type SimulatedWorkersOptions } from './simulated-workers.js';

interface Event {
  readonly user: string;
  readonly team: number;
  readonly t: number;
}

interface UserCount {
  readonly user: string;
  readonly team: number;
  readonly count: number | undefined;
}

const PARTITIONS = 5;

const partitions = Object.fromEntries(
  Array.from({ length: PARTITIONS }, (_, partition) => [
    `p${partition}`,
    [...new Array(60).keys()].map((index): Event => {
      const number = index * PARTITIONS + partition;
      return { user: `user-${(number * 7) % 23}`, team: number % 4, t: number * 10 };
    }),
  ]),
);
const events = Object.values(partitions).flat();

/** Two exchanges, one after another, timers, windows, part files and rows that wait in the store. */
interface Shape {
  /** How long each batch of a source takes. */
  readonly pauseMs?: number;
  readonly batchItems?: number;
  readonly onEvent?: (event: Event) => void;
}

function counting(delivered: string[], shape: Shape = {}): Pipeline {
  const { batchItems = 7, onEvent } = shape;
  const rows: OutboxSink = {
    kind: 'outbox',
    uid: 'rows',
    contract: 'dedup-at-consumer',
    mark: async () => null,
    async deliver(part) {
      for (const { id, value } of part.rows) delivered.push(`${id} ${JSON.stringify(value)}`);
      return 'committed';
    },
  };
  return definePipeline('counting', (p) => {
    const users = p
      .source(paced(memorySource({ uid: 'in', partitions, batchItems }), shape.pauseMs), {
        eventTime: (event) => event.t,
      })
      .keyBy((event) => event.user)
      .process<{ count: AggregateDescription<number> }, UserCount>({
        uid: 'users',
        state: { count: aggregate(numberCodec) },
        onItem(event: Event, ctx) {
          onEvent?.(event);
          const count = ctx.state.count.update((n = 0) => n + 1);
          ctx.setTimer(Math.ceil((event.t + 1) / 500) * 500);
          ctx.emit({ user: event.user, team: event.team, count });
        },
        onTimer({ atMs }, ctx) {
          ctx.emit({ user: String(ctx.key), team: -1, count: atMs });
        },
      });
    users.to(fileSink({ uid: 'users-out', dir: 'users' }));
    const teams = users.filter((each) => each.team >= 0).keyBy((each) => each.team);
    teams.reduce({ uid: 'teams', initial: () => 0, add: (n: number) => n + 1 }).to(rows);
    teams
      .window(tumbling({ sizeMs: 400 }), {
        uid: 'windows',
        late: 'drop',
        codec: numberCodec,
        initial: () => 0,
        add: (n) => n + 1,
      })
      .to(fileSink({ uid: 'windows-out', dir: 'windows' }));
  });
}

/** The expected output, as a multiset, computed without any of the code under test. */
function expectedOutput() {
  const users = new Map<string, number>();
  const teams = new Map<number, number>();
  const windows = new Map<string, number>();
  const timers = new Set<string>();
  const lines: string[] = [];
  const rows: string[] = [];
  for (const { user, team, t } of events) {
    const count = (users.get(user) ?? 0) + 1;
    users.set(user, count);
    const value = (teams.get(team) ?? 0) + 1;
    teams.set(team, value);
    rows.push(JSON.stringify({ key: team, value }));
    timers.add(JSON.stringify({ user, team: -1, count: Math.ceil((t + 1) / 500) * 500 }));
    const startMs = Math.floor(t / 400) * 400;
    windows.set(`${team} ${startMs}`, (windows.get(`${team} ${startMs}`) ?? 0) + 1);
  }
  // Which team a user's count goes with depends on the interleaving of the partitions.
  for (const [user, count] of users) for (let n = 1; n <= count; n += 1) lines.push(`${user} ${n}`);
  return {
    users: lines.sort(),
    timers: [...timers].sort(),
    rows: rows.sort(),
    windows: [...windows]
      .map(([name, value]) => {
        const [key, startMs] = name.split(' ').map(Number) as [number, number];
        return JSON.stringify({ key, startMs, endMs: startMs + 400, value });
      })
      .sort(),
  };
}

function paced<T>(source: Source<T, number>, pauseMs = 0): Source<T, number> {
  let clock: Clock | undefined;
  return {
    ...source,
    attach: (ports) => {
      clock = ports.clock;
    },
    async *read(partition, from, signal) {
      for await (const batch of source.read(partition, from, signal)) {
        if (pauseMs > 0) await clock?.sleep(pauseMs, signal);
        yield batch;
      }
    },
  };
}

async function linesIn({ files }: Pick<SimPorts, 'files'>, dir: string): Promise<string[]> {
  let text = '';
  for (const name of await files.list(dir)) {
    if (!name.startsWith('part-')) continue;
    text += Buffer.from(await files.readAt(`${dir}/${name}`, 0, 1e9)).toString();
  }
  return text.split('\n').filter((line) => line !== '');
}

async function outputOf(ports: Pick<SimPorts, 'files'>, delivered: readonly string[]) {
  const lines = await linesIn(ports, 'users');
  const isTimer = (line: string) => line.includes('"team":-1');
  return {
    users: lines
      .filter((line) => !isTimer(line))
      .map((line) => JSON.parse(line) as { user: string; count: number })
      .map(({ user, count }) => `${user} ${count}`)
      .sort(),
    timers: lines.filter(isTimer).sort(),
    // A consumer drops repeats by id.
    rows: [...new Set(delivered)].map((row) => row.slice(row.indexOf(' ') + 1)).sort(),
    windows: (await linesIn(ports, 'windows')).sort(),
  };
}

interface Life {
  readonly run: PipelineRun;
  readonly workers: SimulatedWorkers;
}

async function startIn(
  ports: SimPorts,
  pipeline: Pipeline,
  count: number,
  options: SimulatedWorkersOptions = {},
  settings: StartOptions = {},
): Promise<Life> {
  const { clock, random, logger, files, openStorage } = ports;
  const workers = new SimulatedWorkers(ports, pipeline, options);
  const run = await start(
    pipeline,
    {
      dir: 'state',
      checkpoint: { everyMs: 50, everyRecords: 40, minPauseMs: 0 },
      workers: count,
      ...settings,
    },
    {
      clock,
      random,
      logger,
      files,
      path: (path) => path,
      openStorage: (path) => openStorage(path),
      spawnWorkers: workers.spawn,
    },
  );
  return { run, workers };
}

/** A start that encounters a fault fails, like that of one process; then it is started again. */
async function startAgain(...args: Parameters<typeof startIn>): Promise<Life> {
  for (;;) {
    try {
      return await startIn(...args);
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: expect.stringMatching(/unavailable|timeout/) });
    }
  }
}

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

describe('workers', () => {
  sim('read everything, agree on each epoch, and finish', async (world) => {
    const delivered: string[] = [];
    const { run, workers } = await startIn(world, counting(delivered), 3);
    await run.finished;
    expect(run.state).toBe('finished');
    expect(workers.groups).toBe(1);
    expect(run.progress()).toMatchObject({ recordsIn: events.length, error: null });
    expect(await outputOf(world, delivered)).toEqual(expectedOutput());
    const again = await startIn(world, counting(delivered), 2);
    await again.run.finished;
    expect(again.run.state).toBe('finished');
  });

  sim('T8 X64 1, then 2, then 8, then 3 over one directory give the same output', async (world) => {
    const delivered: string[] = [];
    for (const count of [1, 2, 8, 3]) {
      const { run } = await startIn(world, counting(delivered, { pauseMs: 20 }), count);
      const before = run.progress().recordsIn;
      while (run.progress().recordsIn < before + 20) await world.clock.sleep(1);
      await run.stop();
    }
    const { run } = await startIn(world, counting(delivered), 4);
    await run.finished;
    expect(await outputOf(world, delivered)).toEqual(expectedOutput());
  });

  sim(
    'X62 T8 more of them than key groups, or without what they need, are refused',
    async (world) => {
      const pipeline = counting([]);
      const refused = async (count: number, settings: StartOptions, reason: RegExp) => {
        const failed = expect(startIn(world, pipeline, count, {}, settings)).rejects;
        await failed.toThrow(reason);
      };
      await refused(5, { keyGroups: 4 }, /5 workers cannot share 4 key groups/);
      await refused(65, {}, /integer from 1 to 64/);
      await refused(2, { state: 'embedded' }, /works with one worker only/);
      await expect(start(pipeline, { workers: 2 })).rejects.toThrow(/pass the URL of a module/);
    },
  );

  sim('an operator that throws fails the run with its own error', async (world) => {
    const pipeline = counting([], {
      onEvent({ t }) {
        if (t === 1_500) throw new Error('poison');
      },
    });
    const { run } = await startIn(world, pipeline, 3);
    await expect(run.finished).rejects.toMatchObject({
      code: 'bad-record',
      details: { uid: 'users' },
    });
    expect(run.state).toBe('failed');
  });

  sim('stop commits, and the signal ends them at any moment', async (world) => {
    const delivered: string[] = [];
    for (let at = 0; at < 30; at += 1) {
      const stop = new AbortController();
      const timer = world.clock.setTimer(at, () => stop.abort());
      const started = startIn(world, counting(delivered), 3, {}, { signal: stop.signal });
      const run = (await started.catch(() => undefined))?.run;
      await run?.finished;
      timer.cancel();
    }
    const { run } = await startIn(world, counting(delivered), 2);
    await run.finished;
    expect(await outputOf(world, delivered)).toEqual(expectedOutput());
  });
});

describe('a worker that dies', () => {
  test('D9 X40 at any message: all go back to the last checkpoint, and no key is lost or counted twice', async () => {
    let restarts = 0;
    for (let at = 1; at <= 400; at += 21) {
      await runInSimulation(`dies/${at}`, async (world) => {
        const delivered: string[] = [];
        let messages = 0;
        const victim = at % 3;
        const { run, workers } = await startAgain(world, counting(delivered), 3, {
          fate(_from, _message, kill) {
            messages += 1;
            if (messages === at) kill(victim);
            return 'delivered';
          },
        });
        await run.finished;
        restarts += workers.groups - 1;
        if (workers.groups > 1) expect(run.progress().generation).toBe(workers.groups);
        expect(await outputOf(world, delivered), `at message ${at}`).toEqual(expectedOutput());
      });
    }
    expect(restarts).toBeGreaterThan(10);
  });

  sim('again and again before a checkpoint fails the run', async (world) => {
    const { run, workers } = await startIn(world, counting([]), 2, {
      fate(_from, { kind }, kill) {
        if (kind === 'trigger') kill(1, 'out of memory');
        return 'delivered';
      },
    });
    await expect(run.finished).rejects.toThrow(/worker 1 ended \(out of memory\)/);
    expect(workers.groups).toBe(6);
  });
});

describe('messages', () => {
  sim('X63 that come twice count once', async (world) => {
    const delivered: string[] = [];
    const { run, workers } = await startIn(world, counting(delivered), 3, {
      fate: () => 'repeated',
    });
    await run.finished;
    expect(workers.groups).toBe(1);
    expect(await outputOf(world, delivered)).toEqual(expectedOutput());
  });

  for (const kind of ['start', 'ready', 'trigger', 'ack', 'committed', undefined]) {
    const name = kind ?? 'items of another worker';
    sim(`D8 X63 a lost "${name}" delays an epoch and is harmless`, async (world) => {
      const delivered: string[] = [];
      let left = 3;
      let seen = 0;
      const { run } = await startAgain(world, counting(delivered), 3, {
        fate(from, message) {
          const isMeant = message.kind === kind && (kind !== undefined || from !== 'main');
          if (!isMeant) return 'delivered';
          seen += 1;
          if (left === 0 || seen % 4 !== 3) return 'delivered';
          left -= 1;
          return 'lost';
        },
      });
      await run.finished;
      expect(await outputOf(world, delivered)).toEqual(expectedOutput());
    });
  }
});

describe('T18 alignment with bounded channels', () => {
  test('X60 X61 never deadlocks, however slow and skewed the channels are', async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      await runInSimulation(`slow/${seed}`, async (world) => {
        const delivered: string[] = [];
        const count = 2 + (seed % 4);
        const { run, workers } = await startIn(
          world,
          counting(delivered, { batchItems: 1 }),
          count,
          {
            // One worker is far behind the others, in turn.
            delayMs: (from) => (from === seed % count ? 60 : 1),
          },
        );
        await run.finished;
        expect(workers.groups, `seed ${seed}`).toBe(1);
        expect(await outputOf(world, delivered)).toEqual(expectedOutput());
      });
    }
  });
});

describe('X40 X64 processes that die', () => {
  test('at any moment, with a different number of workers after each restart, change no output', async () => {
    let [crashes, epochs] = [0, 0];
    for (let seed = 1; seed <= 15; seed += 1) {
      const simulation = new Simulation({ seed, eventsMax: 400_000 });
      const random = createSeededRandom(`lives/${seed}`);
      const delivered: string[] = [];
      let lives = 0;
      const output = await simulation.run(
        () =>
          new Promise((resolve) => {
            const node = simulation.addNode('pipeline', async (ports) => {
              lives += 1;
              const isLast = lives > 5;
              if (!isLast) {
                simulation.clock.setTimer(1 + random.float() * 300, () => {
                  crashes += 1;
                  if (random.float() < 0.5) node.kill();
                  else node.losePower();
                  node.start();
                });
              }
              const count = [1, 2, 8, 3][(seed + lives) % 4] ?? 1;
              const { run } = await startIn(ports, counting(delivered, { pauseMs: 10 }), count);
              await run.finished;
              epochs += run.progress().epoch;
              if (isLast) resolve(await outputOf(ports, delivered));
            });
            node.start();
          }),
      );
      expect(output, `seed ${seed}`).toEqual(expectedOutput());
    }
    expect(crashes).toBe(75);
    expect(epochs).toBeGreaterThan(75);
  });
});
