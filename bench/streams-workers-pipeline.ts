// The pipelines of the benches with workers: in a separate module, because threads import it.
//
// JSON lines are counted per user. In addition, each record costs N rounds of a hash: 0 for a pipeline that does little
// but move records, 20,000 for one whose operator has real work to do. It hashes numbers: `charCodeAt` would be slower
// on the main thread, where ioredis is loaded (see fair-decision-ioredis).
import { join } from 'node:path';
import { aggregate, definePipeline, fileSink, jsonlSource, numberCodec } from '@syncline/streams';

export const WORKERS_PIPELINE = new URL(import.meta.url);

/** Files to read; each is a partition. */
export const WORKERS_FILES = 4;

interface Line {
  readonly user: string;
}

const directory = process.env['BENCH_WORKERS_DIR'] ?? '.';
const work = Number(process.env['BENCH_WORKERS_WORK'] ?? 0);

export function inputFiles(of: string): readonly string[] {
  return Array.from({ length: WORKERS_FILES }, (_, file) => join(of, `in-${file}.jsonl`));
}

export const counts = definePipeline('counts', (p) => {
  p.source(jsonlSource<Line>({ uid: 'in', files: inputFiles(directory) }))
    .keyBy((line) => line.user)
    .process({
      uid: 'counts',
      state: { count: aggregate(numberCodec) },
      onItem(_line: Line, ctx) {
        let hash = 0;
        for (let round = 0; round < work; round += 1) hash = Math.imul(hash ^ round, 16_777_619);
        const count = ctx.state.count.update((before = 0) => before + 1);
        if (hash === 1) ctx.emit({ hash, count });
      },
    })
    .to(fileSink({ uid: 'out', dir: join(directory, 'out') }));
});
