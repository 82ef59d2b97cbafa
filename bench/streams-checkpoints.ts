// Streams: what checkpoints and recovery cost with 1,000,000 keys.
//
// The pause is the longest time between two looks at the clock while records are processed, for each checkpoint,
// whatever held the loop: encoding, merging, garbage collection, or the machine. The same pipeline without
// checkpoints says how much of it is the machine. Every run has a process of its own. Recovery is measured from outside, from the start of a process
// until output of a new record is visible.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  aggregate,
  definePipeline,
  fileSink,
  numberCodec,
  type Source,
  type SourceBatch,
  start,
} from '@syncline/streams';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench, quantile } from './measure.js';
import { serveTask, TaskProcess } from './streams.js';
import { RECOVERY_PROGRAM, type RecoveryPlan } from './streams-recovery-process.js';

const KEYS = 1_000_000;
const CHANGED_KEYS = 100_000;
/** Of a run whose 99th percentile is taken, of one whose median is taken, and of the one that warms up. */
const CHECKPOINTS = { 'pause p99': 60, 'commit median': 20, warmUp: 5 };
const BATCH_ITEMS = 512;
/** One look at the clock for this many records. */
const LOOK_EVERY = 256;
const EVERY_MS = 100;
const NEVER_MS = 1_000_000_000;
/** What a checkpoint takes about, where there are none. */
const WITHOUT_MS = 250;

interface Figure {
  measure(round: number): Promise<number>;
}

interface SeenCheckpoint {
  readonly longestGapMs: number;
  readonly commitMs: number;
}

/** All keys once; when `isLoaded` resolves, some of them again and again until `isDone`. */
function keysSource(isLoaded: Promise<unknown>, isDone: () => boolean): Source<number, number> {
  const batchAt = (first: number): SourceBatch<number, number> => {
    const length = first < KEYS ? Math.min(BATCH_ITEMS, KEYS - first) : BATCH_ITEMS;
    const keyAt = (at: number) => (at < KEYS ? at : (at - KEYS) % CHANGED_KEYS);
    const items = Array.from({ length }, (_, index) => keyAt(first + index));
    return { items, position: first + length };
  };
  return {
    uid: 'in',
    isFinite: true,
    async partitions() {
      return ['a'];
    },
    async check() {},
    async *read(_partition, from) {
      for (let at = from ?? 0; !isDone(); ) {
        if (at === KEYS) await isLoaded;
        const batch = batchAt(at);
        at = batch.position;
        yield batch;
      }
      yield { items: [], position: from ?? 0, end: true };
    },
  };
}

/** Counts for all keys and commits that, then changes some of them under checkpoints, or without any. */
async function checkpointsOf(
  directory: string,
  everyMs: number,
  count: number,
): Promise<SeenCheckpoint[]> {
  let release = () => {};
  const isLoaded = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen: SeenCheckpoint[] = [];
  let lookedMs = 0;
  let longestGapMs = 0;
  let items = 0;
  const pipeline = definePipeline('many', (p) => {
    p.source(keysSource(isLoaded, () => seen.length >= count))
      .keyBy((key) => key)
      .process({
        uid: 'counts',
        state: { count: aggregate(numberCodec) },
        onItem(_key: number, ctx) {
          ctx.state.count.update((before = 0) => before + 1);
          items += 1;
          if (items % LOOK_EVERY !== 0) return;
          const nowMs = performance.now();
          if (lookedMs > 0) longestGapMs = Math.max(longestGapMs, nowMs - lookedMs);
          lookedMs = nowMs;
        },
      })
      .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
  });
  const note = (commitMs: number) => {
    seen.push({ longestGapMs, commitMs });
    longestGapMs = 0;
  };
  const run = await start(pipeline, { dir: join(directory, 'state'), checkpoint: { everyMs } });
  while (items < KEYS) await setTimeout(10);
  await run.checkpoint();
  const looking = everyMs === NEVER_MS ? lookWithout() : lookAtCheckpoints();
  release();
  await looking;
  await run.finished;
  return seen.slice(1); // the first saw the wait for the load

  async function lookAtCheckpoints(): Promise<void> {
    for await (const { commitMs } of run.checkpoints()) note(commitMs);
  }
  async function lookWithout(): Promise<void> {
    while (seen.length < count) {
      await setTimeout(WITHOUT_MS);
      note(0);
    }
  }
}

interface CheckpointPlan {
  readonly figure: 'pause p99' | 'commit median';
  readonly everyMs: number;
  readonly count: number;
  readonly directory: string;
}

serveTask<CheckpointPlan>(import.meta.filename, async (plan) => {
  const seen = await checkpointsOf(plan.directory, plan.everyMs, plan.count);
  const isPause = plan.figure === 'pause p99';
  return quantile(
    seen.map(({ longestGapMs, commitMs }) => (isPause ? longestGapMs : commitMs)),
    isPause ? 0.99 : 0.5,
  );
});

function checkpointBench(
  name: string,
  about: string,
  bound: number,
  figure: CheckpointPlan['figure'],
  others: readonly number[],
): AnyBench {
  const contestantOf = (everyMs: number): Contestant<Figure> => ({
    name: everyMs === NEVER_MS ? 'no checkpoints' : 'streams',
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'bench-checkpoints-'));
      return {
        async measure(round) {
          const count = round === 0 ? CHECKPOINTS.warmUp : CHECKPOINTS[figure];
          const place = join(directory, String(round));
          const plan: CheckpointPlan = { figure, everyMs, count, directory: place };
          await using child = new TaskProcess(import.meta.filename, plan);
          return await child.run();
        },
        [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
      };
    },
  });
  return defineBench<Figure>({
    name,
    unit: 'ms',
    better: 'less',
    about: `${about}, 1,000,000 keys in memory of which 100,000 change between checkpoints`,
    bound: { name: 'goal', value: bound },
    contestants: [contestantOf(EVERY_MS), ...others.map(contestantOf)],
    isLong: true,
    run: (subject, round) => subject.measure(round),
  });
}

const userLine = (user: number) =>
  `${JSON.stringify({ user: `user-${String(user).padStart(7, '0')}` })}\n`;

async function writeUsers(path: string): Promise<void> {
  const file = createWriteStream(path);
  for (let user = 0; user < KEYS; user += 1) {
    if (!file.write(userLine(user))) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

/** Resolves with the time until the process said that its output is visible. */
async function timeToOutput(plan: RecoveryPlan): Promise<number> {
  const startedMs = performance.now();
  const child = fork(RECOVERY_PROGRAM, [JSON.stringify(plan)]);
  const ended = once(child, 'exit');
  const [answer] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  const tookMs = performance.now() - startedMs;
  await ended;
  if (answer !== 'visible') throw new Error(`the process ended with ${String(answer)}`);
  return tookMs;
}

function recoveryBench(state: 'memory' | 'embedded', bound: number): AnyBench {
  return defineBench<Figure>({
    name: state === 'memory' ? 'streams-recovery' : 'streams-recovery-embedded',
    unit: 'ms',
    better: 'less',
    about: `from the start of a process until output of a new record is visible, 1,000,000 keys, state ${state}`,
    bound: { name: 'goal', value: bound },
    contestants: [
      {
        name: 'streams',
        async open() {
          const directory = await mkdtemp(join(tmpdir(), 'bench-recovery-'));
          const input = join(directory, 'in.jsonl');
          await writeUsers(input);
          let records = KEYS;
          await timeToOutput({ directory, state, records });
          return {
            async measure() {
              await appendFile(input, userLine((records * 7_919) % KEYS));
              records += 1;
              return await timeToOutput({ directory, state, records });
            },
            [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
          };
        },
      },
    ],
    run: (subject, round) => subject.measure(round),
  });
}

export const streamsCheckpointBenches: readonly AnyBench[] = [
  checkpointBench(
    'streams-pause',
    'longest time without a processed record per checkpoint, 99th percentile',
    10,
    'pause p99',
    [NEVER_MS],
  ),
  checkpointBench(
    'streams-commit',
    'time of the synced write that is the commit point, median',
    100,
    'commit median',
    [],
  ),
  recoveryBench('memory', 800),
  recoveryBench('embedded', 500),
];
