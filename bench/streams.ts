// Streams: the speed of whole pipelines on a real directory.
//
// The cost of exactly-once is the ratio between a pipeline with a checkpoint each second and the same one that only
// commits at its end, over input that takes several seconds; a plain Map over the same items shows the cost of the
// work itself.

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
  type Source,
  start,
  tumbling,
} from '@syncline/streams';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';

const EVENTS = 2_000_000;
/** For the pipeline whose checkpoints are measured: it reads the same events several times. */
const REPEATS = 5;
const KEYS = 100_000;
const BATCH_ITEMS = 512;
const LINES = 500_000;
const NEVER_MS = 1_000_000_000;

interface Click {
  readonly user: number;
}

/** Created when the first bench needs it: other benches do not have to wait for it. */
let clicks: readonly Click[] | undefined;

function allClicks(): readonly Click[] {
  const random = createSeededRandom('bench/streams');
  clicks ??= Array.from({ length: EVENTS }, () => ({ user: random.u32() % KEYS }));
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

const clicksOnce = () => memorySource({ uid: 'in', partitions: { a: allClicks() } });

/** All events, again and again. */
function repeated(): Source<Click, number> {
  const { uid, partitions, check } = clicksOnce();
  return {
    uid,
    isFinite: true,
    partitions,
    check,
    async *read(_partition, from) {
      const all = allClicks();
      for (let at = from ?? 0; at < REPEATS * EVENTS; ) {
        const first = at % EVENTS;
        const items = all.slice(first, first + BATCH_ITEMS);
        at += items.length;
        yield { items, position: at };
      }
      yield { items: [], position: REPEATS * EVENTS, end: true };
    },
  };
}

/** 1,000 events a millisecond. */
const windowCounts = (source: () => Source<Click, number>) => (directory: string) => {
  let events = 0;
  return definePipeline('clicks', (p) => {
    p.source(source(), { eventTime: () => Math.floor(events++ / 1_000) })
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
};

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

export const streamsBenches: readonly AnyBench[] = [
  defineBench<Work>({
    name: 'streams-window-count',
    unit: 'events/s',
    about:
      '2,000,000 events of 100,000 keys from memory, counted per window of 1 s, with a checkpoint each second, against a bare Map',
    contestants: [
      pipelineContestant('checkpoints', 1_000, EVENTS, windowCounts(clicksOnce)),
      plainMap,
    ],
    run: (subject) => subject.run(),
  }),
  defineBench<Work>({
    name: 'streams-overhead',
    unit: 'events/s',
    about:
      'the same pipeline over 10,000,000 events, with a checkpoint each second, against one that only commits at its end',
    contestants: [
      pipelineContestant('checkpoints', 1_000, REPEATS * EVENTS, windowCounts(repeated)),
      pipelineContestant('no checkpoints', NEVER_MS, REPEATS * EVENTS, windowCounts(repeated)),
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
];
