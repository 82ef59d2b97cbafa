// Streams: the speed of whole pipelines on a real directory, each in a process of its own: garbage collection takes
// longer in a process that also holds the objects of others.
//
// All inputs take seconds, so that checkpoints come once a second and the start and the last checkpoint, which every run
// has, count little. The cost of exactly-once is the ratio between a pipeline with a checkpoint each second and the same
// one that only commits at its end; a plain Map over the same items shows the cost of the work itself.

import { type ChildProcess, fork } from 'node:child_process';
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
/** Pipelines read the same events several times. */
const REPEATS = 15;
const KEYS = 100_000;
const BATCH_ITEMS = 512;
const LINES = 2_000_000;
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

/** A process that does a task each time it is asked to, and answers with a number. It calls `serveTask`. */
export class TaskProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(program: string, plan: unknown) {
    this.#child = fork(program, [JSON.stringify(plan)]);
    this.#exited = once(this.#child, 'exit');
  }

  async run(): Promise<number> {
    this.#child.send('run');
    const [answer] = (await Promise.race([once(this.#child, 'message'), this.#exited])) as [
      unknown,
    ];
    if (this.#child.exitCode !== null) throw new Error(`the process ended with ${String(answer)}`);
    return answer as number;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }
}

/** In the process: does the task of the plan whenever the parent asks for it. */
export function serveTask<Plan>(program: string, task: (plan: Plan) => Promise<number>): void {
  const [, started, plan = ''] = process.argv;
  if (started !== program) return;
  process.on('message', () => {
    void task(JSON.parse(plan) as Plan).then((value) => process.send?.(value));
  });
}

async function withDirectory<T>(body: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-streams-'));
  try {
    return await body(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function runPipeline(
  everyMs: number,
  events: number,
  build: (directory: string) => Pipeline,
): Promise<number> {
  return withDirectory(async (directory) => {
    const dir = join(directory, 'state');
    const running = await start(build(directory), { dir, checkpoint: { everyMs } });
    await running.finished;
    return events;
  });
}

/** All events, again and again. */
function repeated(): Source<Click, number> {
  const { uid, partitions, check } = memorySource({ uid: 'in', partitions: { a: allClicks() } });
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
const windowCounts = (directory: string) => {
  let events = 0;
  return definePipeline('clicks', (p) => {
    p.source(repeated(), { eventTime: () => Math.floor(events++ / 1_000) })
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

async function countInMap(): Promise<number> {
  const counts = new Map<number, number>();
  for (const { user } of allClicks()) counts.set(user, (counts.get(user) ?? 0) + 1);
  return EVENTS;
}

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

const lineCounts = (input: string, isEmitting: boolean) => (directory: string) =>
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
      .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
  });

type BenchPlan =
  | { readonly task: 'Map' }
  | { readonly task: 'window'; readonly everyMs: number }
  | { readonly task: 'lines'; readonly input: string; readonly isEmitting: boolean };

serveTask<BenchPlan>(import.meta.filename, async (plan) => {
  switch (plan.task) {
    case 'Map':
      return await countInMap();
    case 'window':
      return await runPipeline(plan.everyMs, REPEATS * EVENTS, windowCounts);
    case 'lines':
      return await runPipeline(1_000, LINES, lineCounts(plan.input, plan.isEmitting));
  }
});

function contestant(name: string, plan: BenchPlan): Contestant<Work> {
  return { name, open: async () => new TaskProcess(import.meta.filename, plan) };
}

const windowContestant = (name: string, everyMs: number) =>
  contestant(name, { task: 'window', everyMs });

function linesContestant(name: string, isEmitting: boolean): Contestant<Work> {
  return {
    name,
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'bench-lines-'));
      const input = join(directory, 'in.jsonl');
      await writeLines(input);
      const child = new TaskProcess(import.meta.filename, { task: 'lines', input, isEmitting });
      return {
        run: () => child.run(),
        async [Symbol.asyncDispose]() {
          await child[Symbol.asyncDispose]();
          await rm(directory, { recursive: true });
        },
      };
    },
  };
}

export const streamsBenches: readonly AnyBench[] = [
  defineBench<Work>({
    name: 'streams-window-count',
    unit: 'events/s',
    about:
      '30,000,000 events of 100,000 keys from memory, counted per window of 1 s, with a checkpoint every second, against a plain Map',
    contestants: [windowContestant('checkpoints', 1_000), contestant('Map', { task: 'Map' })],
    run: (subject) => subject.run(),
  }),
  defineBench<Work>({
    name: 'streams-overhead',
    unit: 'events/s',
    about:
      'the same pipeline with a checkpoint each second, against one that only commits at its end',
    contestants: [
      windowContestant('checkpoints', 1_000),
      windowContestant('no checkpoints', NEVER_MS),
    ],
    run: (subject) => subject.run(),
  }),
  defineBench<Work>({
    name: 'streams-jsonl',
    unit: 'lines/s',
    about:
      '2,000,000 lines of JSON counted per key, without output and with one line of output each',
    contestants: [linesContestant('count', false), linesContestant('count and write', true)],
    run: (subject) => subject.run(),
  }),
];
