// Starts a pipeline on a checkpoint directory that may be damaged, until it has read a number of records, and
// reports the result: a separate process, since damage can crash LevelDB itself.
//
// It takes one `StreamStart` per line, as JSON, and answers each with one line of JSON: `{}`, or the error.
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SynclineError } from '@syncline/kernel';
import {
  aggregate,
  definePipeline,
  fileSink,
  jsonlSource,
  numberCodec,
  start,
} from '@syncline/streams';
import type { StreamStart, StreamStartOutcome } from '../stream-plan.js';

interface Line {
  readonly user: string;
  readonly n: number;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await outcomeOf(JSON.parse(line) as StreamStart))}\n`);
}

async function outcomeOf(asked: StreamStart): Promise<StreamStartOutcome> {
  try {
    await catchUp(asked);
    return {};
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    return { code: thrown.code, savepoints: thrown.details['savepoints'] };
  }
}

async function catchUp({ input, root, backend, records, recordsPerEpoch, savepoint }: StreamStart) {
  const pipeline = definePipeline('damaged', (p) => {
    p.source(
      jsonlSource<Line>({
        uid: 'in',
        files: [input],
        follow: true,
        pollMs: 1,
        batchItems: recordsPerEpoch,
      }),
    )
      .keyBy((line) => line.user)
      .process({
        uid: 'sums',
        state: { sum: aggregate(numberCodec) },
        onItem(line: Line, ctx) {
          ctx.emit({ n: line.n, sum: ctx.state.sum.update((sum = 0) => sum + line.n) });
        },
      })
      .to(fileSink({ uid: 'out', dir: join(root, 'out') }));
  });
  const run = await start(pipeline, {
    dir: join(root, 'state'),
    state: backend,
    keyGroups: 16,
    checkpoint: { everyMs: 60_000, everyRecords: recordsPerEpoch, minPauseMs: 0 },
  });
  if (run.progress().recordsIn < records) {
    for await (const checkpoint of run.checkpoints()) if (checkpoint.records >= records) break;
  }
  if (savepoint !== undefined) await run.savepoint(savepoint);
  await run.stop();
}
