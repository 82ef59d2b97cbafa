// Streams: whole pipelines on a real directory.
//
// The cost of exactly-once is the ratio between a pipeline with a checkpoint each second and the same one
// that only commits at its end; a plain Map over the same items is what the work itself costs. Checkpoint
// pause and recovery are measured with 1,000,000 keys, of which 100,000 change between checkpoints.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  aggregate,
  definePipeline,
  fileSink,
  jsonlSource,
  memorySource,
  numberCodec,
  type Pipeline,
  start,
  tumbling,
} from '@syncline/streams';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';

const EVENTS = 2_000_000;
const KEYS = 100_000;
const MANY_KEYS = 1_000_000;
const DIRTY_KEYS = 100_000;
const LINES = 500_000;
const NEVER_MS = 1_000_000_000;

interface Click {
  readonly user: number;
  readonly atMs: number;
}

/** Made when the first bench asks: other benches need not wait for it. */
let clicks: readonly Click[] | undefined;

function allClicks(): readonly Click[] {
  const random = createSeededRandom('bench/streams');
  clicks ??= Array.from({ length: EVENTS }, (_, index) => ({
    user: random.u32() % KEYS,
    atMs: Math.floor(index / 1_000),
  }));
  return clicks;
}

interface Work {
  run(): Promise<number>;
}

async function withDirectory<T>(body: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-streams-'));
  try {
    return await body(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const nothingToClose = { async [Symbol.asyncDispose]() {} };

function pipelineContestant(
  name: string,
  everyMs: number,
  events: number,
  build: (directory: string) => Pipeline,
): Contestant<Work> {
  return {
    name,
    async open() {
      const run = () =>
        withDirectory(async (directory) => {
          const dir = join(directory, 'state');
          const running = await start(build(directory), { dir, checkpoint: { everyMs } });
          await running.finished;
          return events;
        });
      return { run, ...nothingToClose };
    },
  };
}

const windowCounts = (directory: string) =>
  definePipeline('clicks', (p) => {
    p.source(memorySource({ uid: 'in', partitions: { a: allClicks() } }), {
      eventTime: (click) => click.atMs,
    })
      .keyBy((click) => click.user)
      .window(tumbling({ sizeMs: 1_000 }), {
        uid: 'counts',
        late: 'drop',
        codec: numberCodec,
        initial: () => 0,
        add: (count) => count + 1,
      })
      .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
  });

const plainMap: Contestant<Work> = {
  name: 'Map',
  async open() {
    const run = async () => {
      const counts = new Map<number, number>();
      for (const { user } of allClicks()) counts.set(user, (counts.get(user) ?? 0) + 1);
      return EVENTS;
    };
    return { run, ...nothingToClose };
  },
};

async function writeLines(path: string): Promise<void> {
  const file = createWriteStream(path);
  for (let line = 0; line < LINES; line += 1) {
    const user = `user-${String((line * 7_919) % KEYS).padStart(6, '0')}`;
    const text = `${JSON.stringify({ user, atMs: 1_700_000_000 + line })}\n`;
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

function linesContestant(name: string, isEmitting: boolean): Contestant<Work> {
  return {
    name,
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'bench-lines-'));
      const input = join(directory, 'in.jsonl');
      await writeLines(input);
      const build = (place: string) =>
        definePipeline('lines', (p) => {
          p.source(jsonlSource<{ readonly user: string }>({ uid: 'in', files: [input] }))
            .keyBy((click) => click.user)
            .process({
              uid: 'counts',
              state: { count: aggregate(numberCodec) },
              onItem(click: { readonly user: string }, ctx) {
                const count = ctx.state.count.update((before = 0) => before + 1);
                if (isEmitting) ctx.emit({ user: click.user, count });
              },
            })
            .to(fileSink({ uid: 'out', dir: join(place, 'out') }));
        });
      const { run } = await pipelineContestant(name, 1_000, LINES, build).open();
      return {
        run,
        [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
      };
    },
  };
}

/** Counts for many keys, then changes some of them again and again. */
const manyKeys = (directory: string, rounds: number) =>
  definePipeline('many', (p) => {
    const all = Array.from({ length: MANY_KEYS }, (_, key) => key);
    const changed = all.slice(0, DIRTY_KEYS);
    const records = [...all, ...Array.from({ length: rounds }, () => changed).flat()];
    p.source(memorySource({ uid: 'in', partitions: { a: records } }))
      .keyBy((key) => key)
      .process({
        uid: 'counts',
        state: { count: aggregate(numberCodec) },
        onItem(_key: number, ctx) {
          ctx.state.count.update((before = 0) => before + 1);
        },
      })
      .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
  });

/** The 99th percentile of the pauses of one run, in ms. */
const pauses: Contestant<Work> = {
  name: 'streams',
  async open() {
    const run = () =>
      withDirectory(async (directory) => {
        const checkpoint = { everyMs: NEVER_MS, everyRecords: DIRTY_KEYS, minPauseMs: 0 };
        const dir = join(directory, 'state');
        const running = await start(manyKeys(directory, 20), { dir, checkpoint });
        const seen: number[] = [];
        for await (const { pauseMs } of running.checkpoints()) seen.push(pauseMs);
        seen.sort((left, right) => left - right);
        return seen[Math.floor(seen.length * 0.99)] ?? 0;
      });
    return { run, ...nothingToClose };
  },
};

/** From the call of `start` until it has recovered, in ms. */
const recovery: Contestant<Work> = {
  name: 'streams',
  async open() {
    const directory = await mkdtemp(join(tmpdir(), 'bench-recovery-'));
    const dir = join(directory, 'state');
    const first = await start(manyKeys(directory, 0), { dir });
    await first.finished;
    const run = async () => {
      const startedMs = performance.now();
      const running = await start(manyKeys(directory, 0), { dir });
      const tookMs = performance.now() - startedMs;
      await running.stop();
      return tookMs;
    };
    return { run, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
  },
};

export const streamsBenches: readonly AnyBench[] = [
  defineBench<Work>({
    name: 'streams-window-count',
    unit: 'events/s',
    about:
      '2,000,000 events of 100,000 keys from memory, counted per window of 1 s, with a checkpoint each second, against none and against a bare Map',
    contestants: [
      pipelineContestant('checkpoints', 1_000, EVENTS, windowCounts),
      pipelineContestant('no checkpoints', NEVER_MS, EVENTS, windowCounts),
      plainMap,
    ],
    run: (subject) => subject.run(),
  }),
  defineBench<Work>({
    name: 'streams-jsonl',
    unit: 'lines/s',
    about: '500,000 lines of JSON counted per key, without output and with one line of output each',
    contestants: [linesContestant('count', false), linesContestant('count and write', true)],
    run: (subject) => subject.run(),
  }),
  defineBench<Work>({
    name: 'streams-pause',
    unit: 'ms',
    better: 'less',
    about: 'checkpoint pause, 99th percentile, 1,000,000 keys in memory of which 100,000 changed',
    contestants: [pauses],
    run: (subject) => subject.run(),
  }),
  defineBench<Work>({
    name: 'streams-recovery',
    unit: 'ms',
    better: 'less',
    about: 'from `start` until records are read again, 1,000,000 keys in memory',
    contestants: [recovery],
    run: (subject) => subject.run(),
  }),
];
