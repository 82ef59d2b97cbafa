// Streams: one pipeline on 1, 2 and 4 threads.
//
// Threads share the reading and the operators, and pay for it at `keyBy`: a record whose key another thread owns is
// copied there. So a pipeline that does little per record gains nothing, and one with work to do scales.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@syncline/streams';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';
import { inputFiles, WORKERS_PIPELINE } from './streams-workers-pipeline.js';

interface Work {
  run(): Promise<number>;
}

const KEYS = 100_000;

async function writeLines(directory: string, lines: number): Promise<void> {
  const files = inputFiles(directory);
  for (const [index, path] of files.entries()) {
    const file = createWriteStream(path);
    for (let line = index; line < lines; line += files.length) {
      const user = `user-${String((line * 7_919) % KEYS).padStart(6, '0')}`;
      const text = `${JSON.stringify({ user, atMs: 1_700_000_000 + line })}\n`;
      if (!file.write(text)) await once(file, 'drain');
    }
    file.end();
    await once(file, 'close');
  }
}

function contestant(workers: number, lines: number, work: number): Contestant<Work> {
  return {
    name: workers === 1 ? '1 worker' : `${workers} workers`,
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'bench-workers-'));
      await writeLines(directory, lines);
      return {
        async run() {
          process.env['BENCH_WORKERS_DIR'] = directory;
          process.env['BENCH_WORKERS_WORK'] = String(work);
          // A query makes it a new module: this thread caches modules for its whole lifetime.
          const module = new URL(`?${directory}-${work}`, WORKERS_PIPELINE);
          const dir = join(directory, 'state');
          const running = await start(module, { dir, workers });
          await running.finished;
          await rm(dir, { recursive: true });
          await rm(join(directory, 'out'), { recursive: true });
          return lines;
        },
        [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
      };
    },
  };
}

const workersBench = (name: string, about: string, lines: number, work: number) =>
  defineBench<Work>({
    name,
    unit: 'lines/s',
    about,
    contestants: [
      contestant(2, lines, work),
      contestant(1, lines, work),
      contestant(4, lines, work),
    ],
    run: (subject) => subject.run(),
  });

export const streamsWorkersBenches: readonly AnyBench[] = [
  workersBench(
    'streams-workers',
    '500,000 lines of JSON from 4 files counted per key: hardly any work per record',
    500_000,
    0,
  ),
  workersBench(
    'streams-workers-busy',
    '100,000 lines of JSON from 4 files, each with about 30 µs of work in the operator',
    100_000,
    20_000,
  ),
];
